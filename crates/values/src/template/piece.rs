//! What a template is compiled to: pieces in order, parts with names, and values made from them.

use super::change::Change;
use super::checksum::Sum;
use super::digest::Digest;
use super::format::Format;
use super::value::Value;

/// Most parts whose length or checksum stands inside the part itself.
pub const MOST_PATCHES: usize = 16;

/// Most marks of a text that is put together.
pub const MOST_MARKS: usize = 64;

/// Most bytes of a message in which a pattern looks for what is then said (`{captured}`).
pub const MOST_CAPTURED: usize = 4096;

/// Most bytes of what a user of a flow knows by one name.
pub const MOST_OF_A_VALUE: usize = 64 << 10;

/// Most names of parts.
pub const MOST_PARTS: usize = 64;

/// A whole template.
#[derive(Debug, Default)]
pub struct Program {
    /// In order of the text.
    pub pieces: Vec<Piece>,
    /// The parts with names.
    pub parts: Vec<Part>,
}

impl Program {
    /// Bytes without slots.
    pub fn of_bytes(bytes: Vec<u8>) -> Program {
        Program { pieces: vec![Piece::Bytes(bytes.into())], parts: Vec::new() }
    }

    /// All of it where it has no slots.
    #[inline]
    pub fn fixed(&self) -> Option<&[u8]> {
        fixed(&self.pieces)
    }
}

/// The bytes of pieces without slots.
#[inline]
pub fn fixed(pieces: &[Piece]) -> Option<&[u8]> {
    match pieces {
        [] => Some(&[]),
        [Piece::Bytes(bytes)] => Some(bytes),
        _ => None,
    }
}

/// A part with a name.
#[derive(Debug, Default)]
pub struct Part {
    /// As written.
    pub name: String,
    /// Its content.
    pub pieces: Vec<Piece>,
    /// What stands inside the part and is made from the whole of it: lengths first, then checksums, each in order.
    pub patches: Vec<Patch>,
}

/// Bytes that are filled in once the part around them is complete.
#[derive(Debug)]
pub struct Patch {
    /// Which of the places kept while filling.
    pub place: usize,
    /// How many bytes.
    pub size: usize,
    /// What is made.
    pub function: Function,
}

/// One piece.
#[derive(Debug)]
pub enum Piece {
    /// The same in every request.
    Bytes(Box<[u8]>),
    /// From the fill.
    Value(Value),
    /// A part with a name: where it is defined, and wherever it is named again.
    Part(usize),
    /// Made from its content.
    Made(Box<Made>),
    /// Zeros that a [`Patch`] of a part around it overwrites.
    Place { place: usize, size: usize },
    /// What this group of a pattern found in the message that is replied to.
    Captured(usize),
    /// Where filling tells how far it is; no bytes.
    Mark(usize),
    /// A name that is not looked up yet; none are left once a template is compiled.
    Name { name: String, at: usize },
}

/// A function and what it is of.
#[derive(Debug)]
pub struct Made {
    /// What is made.
    pub function: Function,
    /// From what.
    pub content: Vec<Piece>,
}

/// What can be made from bytes.
#[derive(Debug)]
pub enum Function {
    /// Their number, plus something.
    Length { format: Format, add: i64 },
    /// A checksum.
    Sum { sum: Sum, format: Format },
    /// A digest, keyed (HMAC) where there is a key.
    Digest { digest: Digest, key: Option<Vec<Piece>> },
    /// Two lower-case digits for each byte.
    Hex,
    /// RFC 4648 4, with padding.
    Base64,
    /// Percent-encoded (RFC 3986 2.1): all but the unreserved characters.
    Url,
    /// Percent-encoded where a byte can stand in no URL at all; the rest as it is.
    UrlSafe,
    /// As it may stand in a header line: what would end it is a space.
    LineSafe,
    /// As it stands between the quotes of a JSON text.
    Json,
    /// Something else in its place.
    Change(Change),
    /// Filled up to a size with a byte; what is longer stays.
    Pad { size: usize, with: u8 },
    /// Each byte exclusive-or the one at the same place of this; as long as the longer of the two.
    Xor { other: Vec<Piece> },
}

impl Function {
    /// How many bytes it always makes.
    pub fn fixed_size(&self) -> Option<usize> {
        match self {
            Function::Length { format, .. } | Function::Sum { format, .. } => format.fixed_size(),
            Function::Digest { digest, .. } => Some(digest.size()),
            _ => None,
        }
    }

    /// What it needs beside its content.
    pub fn beside(&self) -> &[Piece] {
        match self {
            Function::Xor { other } | Function::Digest { key: Some(other), .. } => other,
            _ => &[],
        }
    }
}
