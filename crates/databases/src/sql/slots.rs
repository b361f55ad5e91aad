//! Slots in SQL sent as text: digits and parts of names unquoted, everything else quoted and escaped, so that a slot
//! means the same as a parameter of a prepared statement.

use std::sync::Arc;

use brunt_contract::{SlotContext, UsageError};

use super::scan::{LiteralPart, SqlPiece};
use brunt_values::template::{Notation, SlotScope, Template, expand};

/// A template with its own random bits.
#[derive(Debug)]
pub struct SqlSlot {
    template: Template,
    salt: u64,
}

impl SqlSlot {
    /// Appends the filled slot.
    #[inline]
    pub fn fill(&self, context: &SlotContext, out: &mut Vec<u8>) {
        self.template.fill(&SlotContext { random: context.random.wrapping_add(self.salt), ..*context }, out);
    }
}

/// The compiler of the slots of a run.
#[derive(Debug, Default)]
pub struct SqlSlots {
    count: u64,
    /// Number of requests after which the data of the slots is used up.
    pub end: Option<u64>,
    /// Names of a flow's variables.
    pub variables: Arc<[String]>,
}

impl SqlSlots {
    /// Compiles a template of the option `place`.
    ///
    /// # Errors
    /// Returns what is wrong with the template.
    pub fn slot(&mut self, template: &str, place: &str) -> Result<SqlSlot, UsageError> {
        self.count += 1;
        // With splitmix64's odd increment, no two slots share their random bits.
        let salt = self.count.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let scope = SlotScope { variables: &self.variables, ..SlotScope::default() };
        let template = Template::parse_scoped(template, place, Notation::Plain, scope)?;
        self.end = self.end.into_iter().chain(template.data_end()).min();
        Ok(SqlSlot { template, salt })
    }
}

/// A piece of SQL with its slots compiled.
#[derive(Debug)]
pub enum SqlFragment {
    /// Literal SQL.
    Sql(Box<[u8]>),
    /// A slot within quotes, which are part of the surrounding SQL.
    Quoted(SqlSlot),
    /// A slot for digits, or for a part of a name.
    Bare(SqlSlot),
}

impl SqlFragment {
    /// Appends the piece. `escape` escapes the bytes from a position on for a quoted literal.
    pub fn append(&self, context: &SlotContext, out: &mut Vec<u8>, escape: fn(usize, &mut Vec<u8>)) {
        match self {
            SqlFragment::Sql(sql) => out.extend_from_slice(sql),
            SqlFragment::Bare(slot) => slot.fill(context, out),
            SqlFragment::Quoted(slot) => {
                let from = out.len();
                slot.fill(context, out);
                escape(from, out);
            }
        }
    }
}

/// Compiles SQL that is sent as text and filled for every request.
///
/// # Errors
/// Returns what is wrong with a slot.
pub fn compile_fragments(
    pieces: &[SqlPiece],
    slots: &mut SqlSlots,
    place: &str,
) -> Result<Box<[SqlFragment]>, UsageError> {
    let (mut all, mut sql) = (Vec::new(), Vec::new());
    for piece in pieces {
        let (template, quote) = match piece {
            SqlPiece::Sql(text) => {
                sql.extend_from_slice(text.as_bytes());
                continue;
            }
            SqlPiece::Name(slot) => (braced(slot), None),
            SqlPiece::Value(slot) if yields_integer(slot) => (braced(slot), None),
            SqlPiece::Value(slot) => (braced(slot), Some(b'\'')),
            SqlPiece::Literal(parts) => (literal_template(parts), Some(b'\'')),
        };
        let slot = slots.slot(&template, place)?;
        sql.extend(quote);
        if !sql.is_empty() {
            all.push(SqlFragment::Sql(std::mem::take(&mut sql).into()));
        }
        all.push(if quote.is_some() { SqlFragment::Quoted(slot) } else { SqlFragment::Bare(slot) });
        sql.extend(quote);
    }
    if !sql.is_empty() {
        all.push(SqlFragment::Sql(sql.into()));
    }
    Ok(all.into())
}

/// Replaces each byte from `from` on for which `pair` returns two bytes.
#[inline]
pub fn escape_pairs(from: usize, out: &mut Vec<u8>, pair: fn(u8) -> Option<[u8; 2]>) {
    expand(
        from,
        out,
        |byte| if pair(byte).is_some() { 2 } else { 1 },
        |byte, room| room.copy_from_slice(&pair(byte).expect("two bytes of it")),
    );
}

/// Returns a slot as a separate template.
pub fn braced(slot: &str) -> String {
    format!("{{{slot}}}")
}

/// Returns a literal as a template, with literal braces doubled.
pub fn literal_template(parts: &[LiteralPart]) -> String {
    let written = |part: &LiteralPart| match part {
        LiteralPart::Text(text) => text.replace('{', "{{").replace('}', "}}"),
        LiteralPart::Slot(slot) => braced(slot),
    };
    parts.iter().map(written).collect()
}

/// Returns `true` for slots that yield a plain integer: `{counter}`, but neither `{counter hex}` nor `{random 16}`.
pub fn yields_integer(slot: &str) -> bool {
    let whole = match slot.split_ascii_whitespace().next() {
        Some("counter" | "user" | "time") => true,
        Some("random") => slot.contains(".."),
        _ => false,
    };
    // A slot with a format accepts no second format.
    whole && Template::parse(&format!("{{{slot} u64le}}"), "").is_ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::escape_pairs;

    proptest! {
        #[test]
        fn bytes_become_pairs_and_nothing_else_changes(before in "[a']{0,4}", text in "[a'\"]{0,12}") {
            let mut out = [&before[..], &text].concat().into_bytes();
            escape_pairs(before.len(), &mut out, |byte| (byte == b'\'').then_some(*b"\\'"));
            prop_assert_eq!(String::from_utf8(out).unwrap(), before + &text.replace('\'', "\\'"));
        }
    }
}
