//! Text with slots, compiled once and filled for every request without an allocation.
//!
//! `{counter}`, `{random 16}`, `{random 1..100}`, `{user}`, `{time}`, `{uuid}` and `{csv FILE.COLUMN}` are filled from
//! [`wire::Fill`]; `{name=…}` gives a part a name, and `{length …}`, `{crc32 …}`, `{md5 …}`, `{hmac-md5 KEY …}`, `{xor A B}`
//! and their like are made from a part, so that binary protocols need no code. `{{` and `}}` are braces themselves.
//! `docs/guide.md` lists all of it. Any protocol may use it: none is named here. Left out: arithmetic and conditions.

mod checksum;
mod csv;
mod digest;
mod emit;
mod format;
mod notation;
mod parse;
mod piece;
mod resolve;
mod sizes;
mod slots;
#[cfg(test)]
mod tests;
mod value;

use wire::{Complaint, Fill};

pub use notation::Notation;

use piece::Program;

/// A text whose slots are compiled.
#[derive(Debug)]
pub struct Template {
    program: Program,
}

impl Template {
    /// Compiles a text that stands for itself between its slots. `place` is what a complaint names: an option or a line.
    ///
    /// # Errors
    /// What is wrong with a slot, and what would be right.
    pub fn parse(text: &str, place: &str) -> Result<Template, Complaint> {
        Template::parse_as(text, place, Notation::Plain)
    }

    /// As [`Template::parse`], with the bytes between the slots written in another notation.
    ///
    /// # Errors
    /// What is wrong with a slot or with the notation, and what would be right.
    pub fn parse_as(text: &str, place: &str, notation: Notation) -> Result<Template, Complaint> {
        let program = parse::program(text, notation).map_err(|trouble| Complaint::new(place, trouble))?;
        Ok(Template { program })
    }

    /// Bytes without slots.
    pub fn fixed(bytes: impl Into<Vec<u8>>) -> Template {
        Template { program: Program::of_bytes(bytes.into()) }
    }

    /// Appends the text with its slots filled. The same `fill` gives the same bytes.
    #[inline]
    pub fn fill(&self, fill: &Fill, out: &mut Vec<u8>) {
        match self.is_fixed() {
            Some(bytes) => out.extend_from_slice(bytes),
            None => emit::program(&self.program, fill, out),
        }
    }

    /// All of the text where it has no slots, so that it may be encoded once.
    #[inline]
    pub fn is_fixed(&self) -> Option<&[u8]> {
        self.program.fixed()
    }
}

/// What is always true, whatever the text: for the fuzz target. Texts that read files are left out.
///
/// # Panics
/// Where it is not.
#[cfg(any(test, feature = "oracle"))]
pub fn oracle(text: &str) {
    if text.contains("csv") || text.len() > 4096 {
        return;
    }
    for notation in [Notation::Plain, Notation::Escaped, Notation::Hex] {
        let Ok(template) = Template::parse_as(text, "", notation) else { continue };
        let (mut once, mut twice) = (Vec::new(), Vec::new());
        template.fill(&Fill { number: 41, user: 7, random: 3, unix_ns: 5 }, &mut once);
        template.fill(&Fill { number: 41, user: 7, random: 3, unix_ns: 5 }, &mut twice);
        assert_eq!(once, twice);
    }
}
