//! `Set-Cookie`: what a line of an answer asks to be kept (RFC 6265bis 5.6).

use std::ops::Range;

use cause::Plain;

use super::date;
use super::domain_matches;
use values::kept::{Budget, Taken};
use values::verify::header;

/// Name and value together.
const LARGEST: usize = 4096;
/// The value of an attribute; longer ones are passed over.
const LARGEST_ATTRIBUTE: usize = 1024;
/// Lines of one answer that are looked at.
const MOST: usize = 100;
/// Nothing is kept longer than 400 days.
const LONGEST: u64 = 400 * 86_400;

/// Why an answer cannot be kept.
pub const NO_ROOM: Plain = cause::http1::no_room_for_cookies();

/// What an answer asks its user to keep.
#[derive(Debug)]
pub struct Lesson {
    /// Line by line.
    pub(super) sets: Vec<Set>,
}

/// What one line asks for.
#[derive(Debug)]
pub(super) struct Set {
    /// As it came, but for its domain, which is in small letters.
    line: Box<[u8]>,
    name: Range<u32>,
    value: Range<u32>,
    /// Without its first dot; None: the host alone.
    domain: Option<Range<u32>>,
    path: Option<Range<u32>>,
    pub secure: bool,
    pub expiry: Expiry,
    pub taken: Taken,
}

/// Until when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Expiry {
    /// As long as its user is there.
    #[default]
    Session,
    /// A second since 1970.
    At(u64),
    /// So many seconds.
    In(u64),
}

impl Expiry {
    /// As a second since 1970.
    pub fn at(self, now: u64) -> Option<u64> {
        match self {
            Expiry::Session => None,
            Expiry::At(at) => Some(at.min(now + LONGEST)),
            Expiry::In(seconds) => Some(now + seconds.min(LONGEST)),
        }
    }
}

/// What the head of an answer, as HTTP/1 writes it, asks to be kept; None where it asks for nothing.
///
/// # Errors
/// There is no room for it.
pub fn heard(head: &[u8], budget: &Budget) -> Result<Option<Box<Lesson>>, Plain> {
    let mut sets = Vec::new();
    for line in header::values(head, "set-cookie").take(MOST) {
        sets.extend(Set::parse(line, budget)?);
    }
    Ok((!sets.is_empty()).then(|| Box::new(Lesson { sets })))
}

/// Whether the head of an answer has any such line.
pub fn are_set(head: &[u8]) -> bool {
    header::values(head, "set-cookie").next().is_some()
}

impl Set {
    fn parse(line: &[u8], budget: &Budget) -> Result<Option<Set>, Plain> {
        let mut parts = line.split(|&b| b == b';').map(<[u8]>::trim_ascii);
        let pair = parts.next().unwrap_or_default();
        let (name, value) = halves(pair).unwrap_or((b"", pair));
        let control = line.iter().any(|&b| (b < 0x20 && b != b'\t') || b == 0x7f);
        if control || name.len() + value.len() > LARGEST || pair.is_empty() || (name.is_empty() && value.is_empty()) {
            return Ok(None);
        }
        let (mut domain, mut path, mut secure, mut until, mut age) = (None, None, false, None, None);
        for part in parts {
            let (attribute, value) = halves(part).unwrap_or((part, b""));
            if value.len() > LARGEST_ATTRIBUTE {
                continue;
            }
            match attribute {
                _ if attribute.eq_ignore_ascii_case(b"expires") => until = date::parse(value).or(until),
                _ if attribute.eq_ignore_ascii_case(b"max-age") => age = max_age(value).or(age),
                _ if attribute.eq_ignore_ascii_case(b"domain") => {
                    domain = Some(value.strip_prefix(b".").unwrap_or(value)).filter(|value| !value.is_empty());
                }
                _ if attribute.eq_ignore_ascii_case(b"path") => path = Some(value).filter(|v| v.starts_with(b"/")),
                _ if attribute.eq_ignore_ascii_case(b"secure") => secure = true,
                _ => {}
            }
        }
        let size = name.len() + value.len() + path.map_or(0, <[u8]>::len) + domain.map_or(0, <[u8]>::len);
        let taken = budget.take(size + super::OVERHEAD).ok_or(NO_ROOM)?;
        let expiry = age.map(Expiry::In).or(until.map(Expiry::At)).unwrap_or_default();
        let [name, value] = [name, value].map(|part| place(line, part));
        let [domain, path] = [domain, path].map(|part| part.map(|part| place(line, part)));
        let mut set = Set { line: line.into(), name, value, domain, path, secure, expiry, taken };
        if let Some(domain) = set.domain.clone() {
            set.line[domain.start as usize..domain.end as usize].make_ascii_lowercase();
        }
        Ok(Some(set))
    }

    fn part(&self, part: &Range<u32>) -> &[u8] {
        &self.line[part.start as usize..part.end as usize]
    }

    pub fn name(&self) -> &[u8] {
        self.part(&self.name)
    }

    pub fn value(&self) -> &[u8] {
        self.part(&self.value)
    }

    pub fn path(&self) -> Option<&[u8]> {
        self.path.as_ref().map(|path| self.part(path))
    }

    /// The domain it is kept for where this host sets it, and whether that is the host alone. None: not for this host to set.
    pub fn domain_for<'a>(&'a self, host: &'a str) -> Option<(&'a str, bool)> {
        match self.domain.as_ref().map(|domain| self.part(domain)) {
            Some(domain) if *domain != *host.as_bytes() => {
                // One that is no text is nobody's.
                let domain = std::str::from_utf8(domain).ok()?;
                (domain.contains('.') && domain_matches(host, domain)).then_some((domain, false))
            }
            // A host of one label, or an address, has none below it.
            domain => Some((host, domain.is_none() || !host.contains('.') || super::is_address(host))),
        }
    }

    /// Names with a prefix promise something (4.1.3).
    pub fn keeps_its_prefix(&self, host_only: bool) -> bool {
        let name = self.name();
        let begins = |prefix: &[u8]| name.get(..prefix.len()).is_some_and(|name| name.eq_ignore_ascii_case(prefix));
        let of_host = self.secure && host_only && self.domain.is_none() && self.path() == Some(b"/");
        (!begins(b"__secure-") || self.secure) && (!begins(b"__host-") || of_host)
    }
}

/// Where a part of a line stands in it.
fn place(line: &[u8], part: &[u8]) -> Range<u32> {
    let from = (part.as_ptr() as usize).saturating_sub(line.as_ptr() as usize);
    // An empty part may be no part of it.
    let from = if part.is_empty() { 0 } else { from as u32 };
    from..from + part.len() as u32
}

/// What stands before and behind the first `=`.
fn halves(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr::memchr(b'=', text)?;
    Some((text[..at].trim_ascii(), text[at + 1..].trim_ascii()))
}

/// Seconds; whatever is not above zero has passed.
fn max_age(value: &[u8]) -> Option<u64> {
    let digits = value.strip_prefix(b"-").unwrap_or(value);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let past = digits.len() < value.len();
    Some(if past { 0 } else { std::str::from_utf8(digits).ok()?.parse().unwrap_or(u64::MAX) })
}
