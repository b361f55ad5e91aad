//! Slots in SQL that is sent as text: digits and parts of names as they are, all else in quotes and escaped, so that it
//! means what a parameter of a prepared statement would.

use std::sync::Arc;

use wire::{Complaint, Fill};

use super::scan::{Part, Piece};
use values::template::{Notation, Scope, Template, widened};

/// A template that differs in its random bits from the others of the run.
#[derive(Debug)]
pub struct Slot {
    template: Template,
    salt: u64,
}

impl Slot {
    /// Appends what it stands for this time.
    #[inline]
    pub fn fill(&self, fill: &Fill, out: &mut Vec<u8>) {
        self.template.fill(&Fill { random: fill.random.wrapping_add(self.salt), ..*fill }, out);
    }
}

/// Makes the slots of a run.
#[derive(Debug, Default)]
pub struct Slots {
    count: u64,
    /// After how many requests of a run their data is at its end.
    pub end: Option<u64>,
    /// What users of a flow know by name.
    pub variables: Arc<[String]>,
}

impl Slots {
    /// The slot of a template in the option `place`.
    ///
    /// # Errors
    /// What is wrong with the template.
    pub fn slot(&mut self, template: &str, place: &str) -> Result<Slot, Complaint> {
        self.count += 1;
        // The odd number of splitmix64's increment: no two slots share their random bits.
        let salt = self.count.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let scope = Scope { variables: &self.variables, ..Scope::default() };
        let template = Template::parse_in(template, place, Notation::Plain, scope)?;
        self.end = self.end.into_iter().chain(template.end()).min();
        Ok(Slot { template, salt })
    }
}

/// A piece of SQL with its slots compiled.
#[derive(Debug)]
pub enum Filled {
    /// As it is.
    Sql(Box<[u8]>),
    /// Inside quotes that stand in the SQL around it.
    Quoted(Slot),
    /// Digits, or part of a name.
    Bare(Slot),
}

impl Filled {
    /// Appends the piece. `escape` escapes what stands from a position on, for a literal in quotes.
    pub fn put(&self, fill: &Fill, out: &mut Vec<u8>, escape: fn(usize, &mut Vec<u8>)) {
        match self {
            Filled::Sql(sql) => out.extend_from_slice(sql),
            Filled::Bare(slot) => slot.fill(fill, out),
            Filled::Quoted(slot) => {
                let from = out.len();
                slot.fill(fill, out);
                escape(from, out);
            }
        }
    }
}

/// SQL as it is sent, to be filled for every request.
///
/// # Errors
/// What is wrong with a slot.
pub fn filled(pieces: &[Piece], slots: &mut Slots, place: &str) -> Result<Box<[Filled]>, Complaint> {
    let (mut all, mut sql) = (Vec::new(), Vec::new());
    for piece in pieces {
        let (template, quote) = match piece {
            Piece::Sql(text) => {
                sql.extend_from_slice(text.as_bytes());
                continue;
            }
            Piece::Name(slot) => (braced(slot), None),
            Piece::Value(slot) if gives_integer(slot) => (braced(slot), None),
            Piece::Value(slot) => (braced(slot), Some(b'\'')),
            Piece::Literal(parts) => (template(parts), Some(b'\'')),
        };
        let slot = slots.slot(&template, place)?;
        sql.extend(quote);
        if !sql.is_empty() {
            all.push(Filled::Sql(std::mem::take(&mut sql).into()));
        }
        all.push(if quote.is_some() { Filled::Quoted(slot) } else { Filled::Bare(slot) });
        sql.extend(quote);
    }
    if !sql.is_empty() {
        all.push(Filled::Sql(sql.into()));
    }
    Ok(all.into())
}

/// Writes what stands from `from` on anew: for a byte that `pair` knows, the two bytes it tells.
#[inline]
pub fn doubled(from: usize, out: &mut Vec<u8>, pair: fn(u8) -> Option<[u8; 2]>) {
    widened(
        from,
        out,
        |byte| if pair(byte).is_some() { 2 } else { 1 },
        |byte, room| room.copy_from_slice(&pair(byte).expect("two bytes of it")),
    );
}

/// A slot alone, as a template.
pub fn braced(slot: &str) -> String {
    format!("{{{slot}}}")
}

/// A literal as a template: braces that are none of slots are doubled.
pub fn template(parts: &[Part]) -> String {
    let written = |part: &Part| match part {
        Part::Text(text) => text.replace('{', "{{").replace('}', "}}"),
        Part::Slot(slot) => braced(slot),
    };
    parts.iter().map(written).collect()
}

/// True for slots that give an integer in no format of their own: `{counter}`, and neither `{counter hex}` nor
/// `{random 16}`.
pub fn gives_integer(slot: &str) -> bool {
    let whole = match slot.split_ascii_whitespace().next() {
        Some("counter" | "user" | "time") => true,
        Some("random") => slot.contains(".."),
        _ => false,
    };
    // What has a format takes no other.
    whole && Template::parse(&format!("{{{slot} u64le}}"), "").is_ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::doubled;

    proptest! {
        #[test]
        fn bytes_become_pairs_and_nothing_else_changes(before in "[a']{0,4}", text in "[a'\"]{0,12}") {
            let mut out = [&before[..], &text].concat().into_bytes();
            doubled(before.len(), &mut out, |byte| (byte == b'\'').then_some(*b"\\'"));
            prop_assert_eq!(String::from_utf8(out).unwrap(), before + &text.replace('\'', "\\'"));
        }
    }
}
