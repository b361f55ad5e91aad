//! `--expect-header 'Content-Type: application/json*'`, `--expect-trailer`: required header and trailer lines.

use std::fmt;

use brunt_cause::{Cause, Complaint, checks, complaint};

use crate::budget::{BudgetedBuffer, MemoryBudget, NO_ROOM};
use crate::capture::source::excerpt;

/// An expected header line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedHeader {
    name: String,
    /// The texts between the asterisks, in order; `None` if any value is accepted.
    value: Option<Vec<String>>,
}

impl ExpectedHeader {
    /// Parses `NAME`, `NAME: VALUE` or `NAME: VA*UE`.
    ///
    /// # Errors
    /// The text is invalid; the error describes why.
    pub fn parse(text: &str) -> Result<ExpectedHeader, Complaint> {
        let (name, value) = match text.split_once(':') {
            Some((name, value)) => (name, Some(value.trim().split('*').map(str::to_owned).collect())),
            None => (text, None),
        };
        let token = |b: u8| b.is_ascii_graphic() && !b"\"(),/:;<=>?@[\\]{}".contains(&b);
        if name.is_empty() || !name.bytes().all(token) {
            return Err(complaint!(
                "\"{text}\" has no header name; write NAME: VALUE, such as Content-Type: application/json*",
                "“{text}”缺少头部名称；请写 NAME: VALUE，例如 Content-Type: application/json*"
            ));
        }
        Ok(ExpectedHeader { name: name.to_owned(), value })
    }

    /// Creates a line that no head contains, for a text that is not a header line.
    pub fn never(text: &str) -> ExpectedHeader {
        ExpectedHeader { name: text.to_owned(), value: Some(Vec::new()) }
    }

    /// Returns `true` if the head contains such a line.
    pub fn holds(&self, head: &[u8]) -> bool {
        field_values(head, &self.name).any(|found| self.value.as_ref().is_none_or(|parts| matches_parts(found, parts)))
    }

    /// Returns the cause of a mismatch, with the actual headers.
    #[cold]
    pub fn mismatch(&self, head: &[u8]) -> Cause {
        match self.found(head) {
            Some(found) => checks::header_differs(self.to_string(), found),
            None => checks::no_header(self.to_string(), describe_names(checks::headers, checks::no_headers(), head)),
        }
    }

    /// Returns the cause of a mismatch, with the actual trailers.
    #[cold]
    pub fn trailer_mismatch(&self, trailers: &[u8]) -> Cause {
        match self.found(trailers) {
            Some(found) => checks::trailer_differs(self.to_string(), found),
            None => {
                checks::no_trailer(self.to_string(), describe_names(checks::trailers, checks::no_trailers(), trailers))
            }
        }
    }

    fn found(&self, head: &[u8]) -> Option<String> {
        let value = field_values(head, &self.name).next()?;
        Some(format!("{}: {}", self.name, excerpt(value)))
    }
}

impl fmt::Display for ExpectedHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.value.iter().try_for_each(|parts| write!(f, ": {}", parts.join("*")))
    }
}

/// Header lines of a response, kept in HTTP/1 format without the start line.
#[derive(Debug, Default)]
pub struct KeptHeaderLines {
    text: BudgetedBuffer,
    over_budget: bool,
}

impl KeptHeaderLines {
    /// Appends raw bytes of the lines.
    pub fn push_raw(&mut self, piece: &[u8], budget: &MemoryBudget) {
        if self.text.is_empty() {
            self.put(b"\r\n", budget);
        }
        self.put(piece, budget);
    }

    /// Appends a field; characters that would end its line become spaces.
    pub fn push_field(&mut self, name: &[u8], value: &[u8], budget: &MemoryBudget) {
        let line = [name, b": ", value].concat();
        let harmless = line.iter().map(|&b| if matches!(b, 0 | b'\r' | b'\n') { b' ' } else { b });
        self.push_raw(&harmless.chain(*b"\r\n").collect::<Vec<u8>>(), budget);
    }

    fn put(&mut self, bytes: &[u8], budget: &MemoryBudget) {
        self.over_budget = self.over_budget || !self.text.extend(bytes, budget);
    }

    /// Returns all lines.
    ///
    /// # Errors
    /// The memory budget was exhausted.
    pub fn text(&self) -> Result<&[u8], Cause> {
        if self.over_budget { Err(checks::headers_unchecked(NO_ROOM)) } else { Ok(&self.text) }
    }
}

/// Returns the cause `there` with the header names of a head, or `none` if it has no headers.
pub fn describe_names(there: fn(String) -> Cause, none: brunt_cause::StaticCause, head: &[u8]) -> Cause {
    let names = head.split(|&b| b == b'\n').skip(1).filter_map(|line| line.split(|&b| b == b':').next());
    let names: Vec<&[u8]> = names.map(<[u8]>::trim_ascii).filter(|name| !name.is_empty()).collect();
    if names.is_empty() { none.into() } else { there(excerpt(&names.join(&b", "[..]))) }
}

/// Returns all values of a field in a head in HTTP/1 format.
pub fn field_values<'a>(head: &'a [u8], name: &'a str) -> impl Iterator<Item = &'a [u8]> {
    let mut from = memchr::memchr(b'\n', head).map(|end| end + 1);
    let lines = std::iter::from_fn(move || {
        let rest = &head[from?..];
        let end = memchr::memchr(b'\n', rest);
        from = from.zip(end).map(|(from, end)| from + end + 1);
        Some(&rest[..end.unwrap_or(rest.len())])
    });
    lines.filter_map(move |line| {
        let (own, rest) = line.split_at_checked(name.len())?;
        let value = rest.strip_prefix(b":").filter(|_| own.eq_ignore_ascii_case(name.as_bytes()))?;
        Some(value.trim_ascii())
    })
}

/// Returns `true` if `found` consists of the parts in order, with any text between them.
fn matches_parts(found: &[u8], parts: &[String]) -> bool {
    let [first, middle @ .., last] = parts else {
        return parts.first().is_some_and(|only| only.as_bytes() == found);
    };
    let Some(mut rest) = found.strip_prefix(first.as_bytes()) else { return false };
    for part in middle {
        let Some(at) = memchr::memmem::find(rest, part.as_bytes()) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last.as_bytes())
}
