//! The compiled form of a template: pieces in order, named parts, and values computed from them.

use super::UrlPlace;
use super::change::ValueChange;
use super::checksum::Checksum;
use super::digest::DigestAlgorithm;
use super::format::NumberFormat;
use super::value::SlotValue;

/// Maximum number of lengths and checksums located inside the part that they cover.
pub const MOST_PATCHES: usize = 16;

/// Maximum number of marks in a template.
pub const MOST_MARKS: usize = 64;

/// Maximum number of bytes of a message that a pattern searches for captures (`{captured}`).
pub const MOST_CAPTURED: usize = 4096;

/// Maximum size of one value of a user, in bytes.
pub const MOST_OF_A_VALUE: usize = 64 << 10;

/// Maximum number of named parts.
pub const MOST_PARTS: usize = 64;

/// A compiled template.
#[derive(Debug, Default)]
pub struct TemplateProgram {
    /// Pieces in the order of the text.
    pub pieces: Vec<TemplatePiece>,
    /// Named parts.
    pub parts: Vec<TemplatePart>,
}

impl TemplateProgram {
    /// Creates a program from bytes without slots.
    pub fn from_bytes(bytes: Vec<u8>) -> TemplateProgram {
        TemplateProgram { pieces: vec![TemplatePiece::Bytes(bytes.into())], parts: Vec::new() }
    }

    /// Returns the whole text if it has no slots.
    #[inline]
    pub fn fixed(&self) -> Option<&[u8]> {
        fixed(&self.pieces)
    }
}

/// Returns the bytes of pieces without slots.
#[inline]
pub fn fixed(pieces: &[TemplatePiece]) -> Option<&[u8]> {
    match pieces {
        [] => Some(&[]),
        [TemplatePiece::Bytes(bytes)] => Some(bytes),
        _ => None,
    }
}

/// A named part.
#[derive(Debug, Default)]
pub struct TemplatePart {
    /// Name as written.
    pub name: String,
    /// Content of the part.
    pub pieces: Vec<TemplatePiece>,
    /// Values inside the part that are computed from the whole part: lengths first, then checksums, each in text order.
    pub patches: Vec<Patch>,
}

/// Bytes that are filled in once the enclosing part is complete.
#[derive(Debug)]
pub struct Patch {
    /// Index of the place to overwrite.
    pub place: usize,
    /// Size in bytes.
    pub size: usize,
    /// Function to compute.
    pub function: TemplateFunction,
}

/// One piece of a template.
#[derive(Debug)]
pub enum TemplatePiece {
    /// Constant bytes.
    Bytes(Box<[u8]>),
    /// A value computed from the fill.
    Value(SlotValue),
    /// A named part, at its definition and at every reference.
    Part(usize),
    /// The result of a function.
    Call(Box<FunctionCall>),
    /// Zeros that a [`Patch`] of an enclosing part overwrites.
    Place { place: usize, size: usize },
    /// A captured group of the message being replied to.
    Captured(usize),
    /// A mark, whose offset is recorded during filling; produces no bytes.
    Mark(usize),
    /// A name that is not resolved yet; a compiled template contains none.
    Name { name: String, at: usize },
}

/// A function and its argument.
#[derive(Debug)]
pub struct FunctionCall {
    /// The function.
    pub function: TemplateFunction,
    /// Argument of the function.
    pub content: Vec<TemplatePiece>,
}

/// A function of bytes.
#[derive(Debug)]
pub enum TemplateFunction {
    /// The number of bytes, plus a constant.
    Length { format: NumberFormat, add: i64 },
    /// A checksum.
    Sum { sum: Checksum, format: NumberFormat },
    /// A digest, or a message authentication code (HMAC) if there is a key.
    Digest { digest: DigestAlgorithm, key: Option<Vec<TemplatePiece>> },
    /// Two lowercase digits for each byte.
    Hex,
    /// RFC 4648 4, with padding.
    Base64,
    /// Percent-encoding (RFC 3986 2.1) of all but the unreserved characters.
    Url,
    /// Percent-encoding of bytes that are not allowed at this place of a URL; the rest is unchanged, and so is what is
    /// encoded already.
    UrlSafe(UrlPlace),
    /// The text with spaces instead of characters that would end a header line.
    LineSafe,
    /// The text escaped for use inside a JSON string.
    Json,
    /// A change to the value.
    Change(ValueChange),
    /// Padding with a byte up to a size; longer content is unchanged.
    Pad { size: usize, with: u8 },
    /// The exclusive-or with another text; as long as the longer of the two.
    Xor { other: Vec<TemplatePiece> },
}

impl TemplateFunction {
    /// Returns the size of the result in bytes if it does not depend on the content.
    pub fn fixed_size(&self) -> Option<usize> {
        match self {
            TemplateFunction::Length { format, .. } | TemplateFunction::Sum { format, .. } => format.fixed_size(),
            TemplateFunction::Digest { digest, .. } => Some(digest.size()),
            _ => None,
        }
    }

    /// Returns the second argument of the function, besides its content; empty if there is none.
    pub fn extra_argument(&self) -> &[TemplatePiece] {
        match self {
            TemplateFunction::Xor { other } | TemplateFunction::Digest { key: Some(other), .. } => other,
            _ => &[],
        }
    }
}
