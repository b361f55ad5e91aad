//! Parser of `Set-Cookie` lines (RFC 6265bis 5.6).

use std::ops::Range;

use brunt_cause::StaticCause;

use super::date;
use super::domain_matches;
use brunt_values::budget::{MemoryBudget, Reservation};
use brunt_values::verify::header;

/// Maximum length of name and value together, in bytes.
const LARGEST: usize = 4096;
/// Maximum length of an attribute's value; longer ones are ignored.
const LARGEST_ATTRIBUTE: usize = 1024;
/// Maximum number of lines read per response.
const MAX_LINES: usize = 100;
/// Maximum lifetime, in seconds: 400 days.
const MAX_LIFETIME: u64 = 400 * 86_400;

/// The failure of a response whose cookies do not fit.
pub const NO_ROOM: StaticCause = brunt_cause::http1::no_room_for_cookies();

/// The cookies that a response sets.
#[derive(Debug)]
pub struct CookieUpdates {
    /// The cookies, in the order of their lines.
    pub(super) sets: Vec<SetCookie>,
}

/// A parsed `Set-Cookie` line.
#[derive(Debug)]
pub(super) struct SetCookie {
    /// The line as received, except for the domain, which is in lower case.
    line: Box<[u8]>,
    name: Range<u32>,
    value: Range<u32>,
    /// Domain without its leading dot; `None` for a host-only cookie.
    domain: Option<Range<u32>>,
    path: Option<Range<u32>>,
    pub secure: bool,
    pub expiry: CookieExpiry,
    pub taken: Reservation,
}

/// Expiry of a cookie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum CookieExpiry {
    /// Kept for the lifetime of its user.
    #[default]
    Session,
    /// A time in seconds since 1970.
    At(u64),
    /// A number of seconds from now.
    After(u64),
}

impl CookieExpiry {
    /// Returns the expiry in seconds since 1970.
    pub fn at(self, now: u64) -> Option<u64> {
        match self {
            CookieExpiry::Session => None,
            CookieExpiry::At(at) => Some(at.min(now + MAX_LIFETIME)),
            CookieExpiry::After(seconds) => Some(now + seconds.min(MAX_LIFETIME)),
        }
    }
}

/// Reads the cookies that a response head in HTTP/1 form sets. Returns `None` if it sets none.
///
/// # Errors
/// Returns an error if the memory budget is exhausted.
pub fn read_set_cookies(head: &[u8], budget: &MemoryBudget) -> Result<Option<Box<CookieUpdates>>, StaticCause> {
    let mut sets = Vec::new();
    for line in header::field_values(head, "set-cookie").take(MAX_LINES) {
        sets.extend(SetCookie::parse(line, budget)?);
    }
    Ok((!sets.is_empty()).then(|| Box::new(CookieUpdates { sets })))
}

/// Returns whether a response head has a `Set-Cookie` line.
pub fn has_set_cookie(head: &[u8]) -> bool {
    header::field_values(head, "set-cookie").next().is_some()
}

impl SetCookie {
    fn parse(line: &[u8], budget: &MemoryBudget) -> Result<Option<SetCookie>, StaticCause> {
        let mut parts = line.split(|&b| b == b';').map(<[u8]>::trim_ascii);
        let pair = parts.next().unwrap_or_default();
        let (name, value) = split_pair(pair).unwrap_or((b"", pair));
        let control = line.iter().any(|&b| (b < 0x20 && b != b'\t') || b == 0x7f);
        if control || name.len() + value.len() > LARGEST || pair.is_empty() || (name.is_empty() && value.is_empty()) {
            return Ok(None);
        }
        let (mut domain, mut path, mut secure, mut until, mut age) = (None, None, false, None, None);
        for part in parts {
            let (attribute, value) = split_pair(part).unwrap_or((part, b""));
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
        let taken = budget.reserve(size + super::OVERHEAD).ok_or(NO_ROOM)?;
        let expiry = age.map(CookieExpiry::After).or(until.map(CookieExpiry::At)).unwrap_or_default();
        let [name, value] = [name, value].map(|part| range_of(line, part));
        let [domain, path] = [domain, path].map(|part| part.map(|part| range_of(line, part)));
        let mut set = SetCookie { line: line.into(), name, value, domain, path, secure, expiry, taken };
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

    /// Returns the domain of the cookie when set by `host`, and whether it is host-only. Returns `None` if the host may
    /// not set it.
    pub fn domain_for<'a>(&'a self, host: &'a str) -> Option<(&'a str, bool)> {
        match self.domain.as_ref().map(|domain| self.part(domain)) {
            Some(domain) if *domain != *host.as_bytes() => {
                // A domain that is not UTF-8 matches no host.
                let domain = std::str::from_utf8(domain).ok()?;
                (domain.contains('.') && domain_matches(host, domain)).then_some((domain, false))
            }
            // A single-label host or an IP address has no subdomains.
            domain => Some((host, domain.is_none() || !host.contains('.') || super::is_address(host))),
        }
    }

    /// Checks the `__Secure-` and `__Host-` name prefixes (4.1.3).
    pub fn satisfies_prefix(&self, host_only: bool) -> bool {
        let name = self.name();
        let begins = |prefix: &[u8]| name.get(..prefix.len()).is_some_and(|name| name.eq_ignore_ascii_case(prefix));
        let of_host = self.secure && host_only && self.domain.is_none() && self.path() == Some(b"/");
        (!begins(b"__secure-") || self.secure) && (!begins(b"__host-") || of_host)
    }
}

/// Returns the range of `part` within `line`.
fn range_of(line: &[u8], part: &[u8]) -> Range<u32> {
    let from = (part.as_ptr() as usize).saturating_sub(line.as_ptr() as usize);
    // An empty part may lie outside the line.
    let from = if part.is_empty() { 0 } else { from as u32 };
    from..from + part.len() as u32
}

/// Splits a text at the first `=`.
fn split_pair(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr::memchr(b'=', text)?;
    Some((text[..at].trim_ascii(), text[at + 1..].trim_ascii()))
}

/// Parses `Max-Age` in seconds; negative values become 0.
fn max_age(value: &[u8]) -> Option<u64> {
    let digits = value.strip_prefix(b"-").unwrap_or(value);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let past = digits.len() < value.len();
    Some(if past { 0 } else { std::str::from_utf8(digits).ok()?.parse().unwrap_or(u64::MAX) })
}
