//! Freshness metadata of a response, as a private cache reads it (RFC 9111 4.2 and 5.2.2).
//!
//! `private`, `public` and `s-maxage` make no difference to a private cache. Neither do `must-revalidate` and
//! `immutable`: stale responses are never used, and fresh ones are never revalidated.

use crate::cookies::date;
use brunt_values::verify::header;

/// Divisor of the heuristic lifetime: without explicit freshness a response is fresh for a tenth of the time since its
/// last change, as in browsers (RFC 9111 4.2.2).
const HEURISTIC_DIVISOR: u64 = 10;
const SECOND: u64 = 1_000_000_000;

/// Freshness metadata of a response head.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Freshness {
    control: Option<CacheControl>,
    /// `Expires`. `Some(None)` is an invalid date, which counts as expired.
    expires: Option<Option<u64>>,
    /// `Date`, in seconds since 1970.
    date: Option<u64>,
    /// `Age` on arrival, in seconds.
    age: u64,
    /// `ETag`, as received.
    pub etag: Option<Box<[u8]>>,
    /// `Last-Modified`, as received.
    pub last_modified: Option<Box<[u8]>>,
    /// Names in `Vary`, in lower case.
    pub vary: Box<str>,
}

/// Directives of `Cache-Control`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct CacheControl {
    no_store: bool,
    no_cache: bool,
    max_age: Option<u64>,
}

impl CacheControl {
    /// Parses all `Cache-Control` lines; unknown directives are ignored.
    fn parse<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Option<CacheControl> {
        let mut control = None;
        for line in lines {
            let control = control.get_or_insert_with(CacheControl::default);
            for word in line.split(|b| *b == b',').map(<[u8]>::trim_ascii) {
                let (name, value) = match memchr::memchr(b'=', word) {
                    Some(at) => (&word[..at], Some(&word[at + 1..])),
                    None => (word, None),
                };
                if name.eq_ignore_ascii_case(b"no-store") {
                    control.no_store = true;
                } else if name.eq_ignore_ascii_case(b"no-cache") {
                    control.no_cache = true;
                } else if name.eq_ignore_ascii_case(b"max-age") && control.max_age.is_none() {
                    // An invalid value counts as expired (4.2.1).
                    control.max_age = Some(value.and_then(seconds).unwrap_or(0));
                }
            }
        }
        control
    }
}

/// Parses a number of seconds, which may be quoted; saturates if it is too large.
fn seconds(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii();
    let text = text.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\"")).unwrap_or(text);
    let digits = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    digits.then(|| std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).unwrap_or(u64::from(u32::MAX)))
}

impl Freshness {
    /// Reads a response head in HTTP/1 form.
    pub fn read(head: &[u8]) -> Freshness {
        let first = |name| header::field_values(head, name).next();
        let text = |name| first(name).filter(|text| !text.is_empty());
        let vary: Vec<_> = header::field_values(head, "vary").map(String::from_utf8_lossy).collect();
        Freshness {
            control: CacheControl::parse(header::field_values(head, "cache-control")),
            expires: first("expires").map(date::parse),
            date: first("date").and_then(date::parse),
            age: first("age").and_then(seconds).unwrap_or(0),
            etag: text("etag").map(Box::from),
            last_modified: text("last-modified").filter(|text| date::parse(text).is_some()).map(Box::from),
            vary: vary.join(",").to_ascii_lowercase().into(),
        }
    }

    /// Returns the metadata updated by the 304 that confirmed the response (4.3.4): fields the 304 does not have are
    /// kept.
    pub fn updated_by(self, by: Freshness) -> Freshness {
        Freshness {
            control: by.control.or(self.control),
            expires: by.expires.or(self.expires),
            date: by.date,
            age: by.age,
            etag: by.etag.or(self.etag),
            last_modified: by.last_modified.or(self.last_modified),
            vary: if by.vary.is_empty() { self.vary } else { by.vary },
        }
    }

    /// Returns the freshness lifetime in seconds, for a response requested at `asked` (nanoseconds since 1970).
    fn lifetime(&self, asked: u64) -> u64 {
        let date = self.date.unwrap_or(asked / SECOND);
        let control = self.control.unwrap_or_default();
        match (control.max_age, self.expires) {
            _ if control.no_cache => 0,
            (Some(max_age), _) => max_age,
            (None, Some(expires)) => expires.map_or(0, |expires| expires.saturating_sub(date)),
            (None, None) => {
                let modified = self.last_modified.as_deref().and_then(date::parse);
                modified.map_or(0, |modified| date.saturating_sub(modified) / HEURISTIC_DIVISOR)
            }
        }
    }

    /// Returns `true` if the response is fresh at `now`; `asked` is the time of its request (4.2.3; both in nanoseconds
    /// since 1970).
    pub fn is_fresh(&self, asked: u64, now: u64) -> bool {
        let apparent = self.date.map_or(0, |date| (asked / SECOND).saturating_sub(date));
        self.lifetime(asked) > self.age.max(apparent) + now.saturating_sub(asked) / SECOND
    }

    /// Returns `true` if a private cache may store the response and storing it is useful.
    pub fn is_worth_keeping(&self, asked: u64) -> bool {
        let asks = self.etag.is_some() || self.last_modified.is_some();
        let control = self.control.unwrap_or_default();
        !control.no_store && !self.vary.contains('*') && (asks || self.is_fresh(asked, asked))
    }

    /// Returns the size of the texts in bytes.
    pub fn size(&self) -> usize {
        let text = |text: &Option<Box<[u8]>>| text.as_ref().map_or(0, |text| text.len());
        text(&self.etag) + text(&self.last_modified) + self.vary.len()
    }
}
