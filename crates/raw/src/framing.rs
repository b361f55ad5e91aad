//! Stateless detection of the end of an answer that is in memory from its first byte on.

use brunt_contract::ProtocolError;
use memchr::memmem::Finder;

use super::field::{FieldResult, RawField};
use brunt_values::pattern::Regex;

/// The declared end of an answer.
#[derive(Debug)]
pub enum AnswerEnd {
    /// A fixed number of bytes.
    Bytes(u64),
    /// A delimiter.
    Delimiter(Box<Finder<'static>>),
    /// A length field.
    Length(LengthField),
    /// The first match of a regular expression.
    Regex(Box<Regex>),
    /// The end of the connection.
    Close,
    /// The end of the datagram.
    Datagram,
    /// No answers at all.
    Never,
}

/// A length field within the answer.
#[derive(Clone, Copy, Debug)]
pub struct LengthField {
    /// The field.
    pub field: RawField,
    /// The number to add to the field to get the length of the whole answer; `None` if the field counts the bytes after
    /// it.
    pub add: Option<i64>,
}

impl LengthField {
    /// Returns the length of the whole answer, whose beginning is split into two slices; `None` if the length is not
    /// known yet.
    ///
    /// # Errors
    /// Fails if the length does not even cover the field itself, or if its digits are invalid.
    #[inline]
    pub fn total(&self, first: &[u8], second: &[u8]) -> Result<Option<u64>, ProtocolError> {
        let (number, end) = match self.field.find(first, second) {
            FieldResult::Incomplete => return Ok(None),
            FieldResult::Invalid => return Err(ProtocolError(brunt_cause::raw::length_not_a_number())),
            FieldResult::Number(number, end) => (self.field.signed(number), end as i128),
        };
        let total = number + self.add.map_or(end, i128::from);
        if total < end {
            return Err(ProtocolError(brunt_cause::raw::length_too_small()));
        }
        u64::try_from(total).map(Some).map_err(|_| ProtocolError(brunt_cause::raw::length_out_of_range()))
    }
}

impl AnswerEnd {
    /// Returns the length of the answer at the beginning of `bytes`; `None` if it is incomplete.
    ///
    /// # Errors
    /// Fails if the bytes violate the declared framing.
    #[inline]
    pub fn find(&self, bytes: &[u8]) -> Result<Option<usize>, ProtocolError> {
        let fits = |total: u64| usize::try_from(total).ok().filter(|total| *total <= bytes.len());
        Ok(match self {
            AnswerEnd::Bytes(total) => fits(*total),
            AnswerEnd::Delimiter(text) => match text.needle() {
                // The most common case, for which setting up the finder would cost more than the search.
                [.., b'\n'] if text.needle().len() <= 2 => short_line(text.needle(), bytes),
                needle => text.find(bytes).map(|at| at + needle.len()),
            },
            AnswerEnd::Length(length) => length.total(bytes, &[])?.and_then(fits),
            AnswerEnd::Regex(regex) => regex.find(&mut regex.begin(), bytes),
            AnswerEnd::Datagram => Some(bytes.len()),
            AnswerEnd::Close | AnswerEnd::Never => None,
        })
    }
}

/// Returns the end of the first line that ends with this delimiter of one or two bytes.
#[inline]
fn short_line(needle: &[u8], bytes: &[u8]) -> Option<usize> {
    let ends = |at: &usize| bytes[..=*at].ends_with(needle);
    memchr::memchr_iter(b'\n', bytes).find(ends).map(|at| at + 1)
}
