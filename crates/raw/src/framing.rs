//! Where an answer ends, stateless: for an answer that lies in memory from its first byte on.

use memchr::memmem::Finder;
use wire::Broken;

use super::field::{Field, Found};
use values::pattern::Regex;

/// How the end of an answer is declared.
#[derive(Debug)]
pub enum End {
    /// After so many bytes.
    Bytes(u64),
    /// With this text.
    Text(Box<Finder<'static>>),
    /// Where a field says.
    Length(Length),
    /// With the first match.
    Regex(Box<Regex>),
    /// With the connection.
    Close,
    /// With the datagram.
    Datagram,
    /// There are no answers.
    Never,
}

/// A length within the answer.
#[derive(Clone, Copy, Debug)]
pub struct Length {
    /// Where it stands.
    pub field: Field,
    /// What is added to it to have the length of the whole answer; None: it counts what follows it.
    pub add: Option<i64>,
}

impl Length {
    /// The length of the whole answer, of which the beginning came in two pieces; None where it is not known yet.
    ///
    /// # Errors
    /// A length that does not hold even the field itself, and digits that are none.
    #[inline]
    pub fn total(&self, first: &[u8], second: &[u8]) -> Result<Option<u64>, Broken> {
        let (number, end) = match self.field.find(first, second) {
            Found::NotYet => return Ok(None),
            Found::Wrong => return Err(Broken(cause::raw::length_not_a_number())),
            Found::Number(number, end) => (self.field.signed(number), end as i128),
        };
        let total = number + self.add.map_or(end, i128::from);
        if total < end {
            return Err(Broken(cause::raw::length_too_small()));
        }
        u64::try_from(total).map(Some).map_err(|_| Broken(cause::raw::length_out_of_range()))
    }
}

impl End {
    /// How many of `bytes`, the beginning of an answer, it has; None where more must come.
    ///
    /// # Errors
    /// What does not follow the declared framing.
    #[inline]
    pub fn find(&self, bytes: &[u8]) -> Result<Option<usize>, Broken> {
        let fits = |total: u64| usize::try_from(total).ok().filter(|total| *total <= bytes.len());
        Ok(match self {
            End::Bytes(total) => fits(*total),
            End::Text(text) => match text.needle() {
                // The commonest of all, for which the finder's set-up would cost more than the search.
                [.., b'\n'] if text.needle().len() <= 2 => short_line(text.needle(), bytes),
                needle => text.find(bytes).map(|at| at + needle.len()),
            },
            End::Length(length) => length.total(bytes, &[])?.and_then(fits),
            End::Regex(regex) => regex.find(&mut regex.begin(), bytes),
            End::Datagram => Some(bytes.len()),
            End::Close | End::Never => None,
        })
    }
}

/// The end of the first line that ends with these one or two bytes.
#[inline]
fn short_line(needle: &[u8], bytes: &[u8]) -> Option<usize> {
    let ends = |at: &usize| bytes[..=*at].ends_with(needle);
    memchr::memchr_iter(b'\n', bytes).find(ends).map(|at| at + 1)
}
