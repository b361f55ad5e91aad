//! Cookie jar: stores cookies set by `Set-Cookie` and sends them back, as browsers do (RFC 6265bis 5.7, 5.8).
//!
//! Each user has a separate jar. Its bounds are those of browsers (50 cookies per domain, 4 KiB each), with a smaller
//! total of 64 KiB; the total size of all jars is bounded too. There is no list of public suffixes: a cookie for a
//! domain of one label is refused, but one for `co.uk` is not.

pub mod date;
mod request;
mod set_cookie;
#[cfg(test)]
mod tests;

pub use request::{CookieRequest, CookieSite, site};
pub use set_cookie::{CookieUpdates, NO_ROOM, has_set_cookie, read_set_cookies};

use std::cell::RefCell;
use std::cmp::Reverse;

use brunt_values::budget::{MemoryBudget, Reservation};

use self::set_cookie::SetCookie;

/// Maximum number of cookies per domain.
const MAX_PER_DOMAIN: usize = 50;
/// Bound of one jar, in bytes.
const USER_LIMIT: usize = 64 << 10;
/// Bound of all jars of a run, in bytes.
const TOTAL_LIMIT: usize = 256 << 20;
/// Estimated cost of a cookie in addition to its texts, in bytes.
const OVERHEAD: usize = 96;

/// Creates the memory budget of all jars of a run.
pub fn budget() -> MemoryBudget {
    MemoryBudget::of(TOTAL_LIMIT)
}

thread_local! {
    /// Buffer for a `Cookie` line, so that a request does not allocate.
    static LINE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A stored cookie.
#[derive(Debug)]
struct StoredCookie {
    name: Box<[u8]>,
    value: Box<[u8]>,
    domain: Box<str>,
    /// Set if the cookie goes to this host only, not to its subdomains.
    host_only: bool,
    path: Box<[u8]>,
    secure: bool,
    /// Expiry in seconds since 1970; `None` for a session cookie.
    expires: Option<u64>,
    /// Creation order within the jar.
    created: u64,
    taken: Reservation,
}

impl StoredCookie {
    fn is_expired(&self, now: u64) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    fn matches(&self, site: &CookieSite<'_>, now: u64) -> bool {
        let host = if self.host_only { *self.domain == *site.host } else { domain_matches(&site.host, &self.domain) };
        host && (site.secure || !self.secure) && path_matches(site.path, &self.path) && !self.is_expired(now)
    }
}

/// The cookies of one user, in sending order.
#[derive(Debug, Default)]
pub struct CookieJar {
    cookies: Vec<StoredCookie>,
    created: u64,
}

impl CookieJar {
    /// Stores the cookies that a response from `site` sets; `now` is in seconds since 1970.
    pub fn learn(&mut self, site: &CookieSite<'_>, lesson: CookieUpdates, now: u64) {
        for set in lesson.sets {
            self.store(site, set, now);
        }
    }

    fn store(&mut self, site: &CookieSite<'_>, set: SetCookie, now: u64) {
        let Some((domain, host_only)) = set.domain_for(&site.host) else { return };
        if (set.secure && !site.secure) || !set.satisfies_prefix(host_only) {
            return;
        }
        let (name, path) = (set.name(), set.path().unwrap_or_else(|| default_path(site.path)));
        let overlays = |c: &StoredCookie| {
            c.secure && *c.name == *name && path_matches(path, &c.path) && domain_matches(domain, &c.domain)
        };
        // An insecure origin must not overlay a secure cookie.
        if !site.secure && self.cookies.iter().any(overlays) {
            return;
        }
        let is_same =
            |c: &StoredCookie| *c.name == *name && *c.domain == *domain && c.host_only == host_only && *c.path == *path;
        let before = self.cookies.iter().position(is_same);
        let expires = set.expiry.at(now);
        if expires.is_some_and(|expires| expires <= now) {
            before.map(|at| self.cookies.remove(at));
            return;
        }
        // A cookie set again with the same value only changes its expiry and its secure flag.
        if let Some(known) = before.map(|at| &mut self.cookies[at]).filter(|known| *known.value == *set.value()) {
            (known.secure, known.expires) = (set.secure, expires);
            return;
        }
        let born = before.map_or(self.created, |at| self.cookies.remove(at).created);
        self.created += u64::from(before.is_none());
        let (name, value, domain, path) = (name.into(), set.value().into(), domain.into(), path.into());
        let SetCookie { secure, taken, .. } = set;
        let cookie = StoredCookie { name, value, domain, host_only, path, secure, expires, created: born, taken };
        self.make_room(&cookie, now);
        let rank = |c: &StoredCookie| (Reverse(c.path.len()), c.created);
        let at = self.cookies.partition_point(|c| rank(c) < rank(&cookie));
        self.cookies.insert(at, cookie);
    }

    /// Evicts expired cookies first, then the oldest ones (of the same domain if the domain has too many).
    fn make_room(&mut self, new: &StoredCookie, now: u64) {
        let mut all_live = false;
        loop {
            let of_domain = self.cookies.iter().filter(|c| c.domain == new.domain).count() >= MAX_PER_DOMAIN;
            let bytes: usize = self.cookies.iter().map(|c| c.taken.bytes()).sum();
            if !of_domain && bytes + new.taken.bytes() <= USER_LIMIT {
                return;
            }
            if !std::mem::replace(&mut all_live, true) {
                self.cookies.retain(|c| !c.is_expired(now));
                continue;
            }
            let candidates = self.cookies.iter().enumerate().filter(|(_, c)| !of_domain || c.domain == new.domain);
            let Some((oldest, _)) = candidates.min_by_key(|(_, c)| c.created) else { return };
            self.cookies.remove(oldest);
        }
    }

    /// Appends the value of the `Cookie` field for a request to `site` that already has the value `own`; a cookie of
    /// the jar replaces one with the same name. Returns `false`, with nothing appended, if the jar has none for this
    /// request.
    pub fn put(&self, site: &CookieSite<'_>, own: &[u8], now: u64, out: &mut Vec<u8>) -> bool {
        let mine = || self.cookies.iter().filter(|c| c.matches(site, now));
        let from = out.len();
        let mut pair = |parts: [&[u8]; 3]| {
            if out.len() > from {
                out.extend_from_slice(b"; ");
            }
            parts.iter().for_each(|part| out.extend_from_slice(part));
        };
        if !own.is_empty() {
            if mine().next().is_none() {
                return false;
            }
            for given in own.split(|&b| b == b';').map(<[u8]>::trim_ascii).filter(|given| !given.is_empty()) {
                let name = given.split(|&b| b == b'=').next().unwrap_or_default().trim_ascii();
                if !mine().any(|c| *c.name == *name) {
                    pair([given, b"", b""]);
                }
            }
        }
        for c in mine() {
            pair([&c.name, if c.name.is_empty() { b"" } else { b"=" }, &c.value]);
        }
        // Every cookie has a name or a value, so something was appended.
        out.len() > from
    }

    /// Adds the cookies for the HTTP/1 request that begins at `from`; its head must be complete.
    pub fn put_into(&self, request: &mut Vec<u8>, from: usize, secure: bool, now: u64) {
        if self.cookies.is_empty() {
            return;
        }
        LINE.with_borrow_mut(|line| {
            line.clear();
            let Some(CookieRequest { site, own, end }) = site(&request[from..], secure) else { return };
            let said = own.as_ref().map_or(&[][..], |own| &request[from..][own.clone()]);
            if !self.put(&site, said, now, line) {
                return;
            }
            match own {
                Some(own) => drop(request.splice(from + own.start..from + own.end, line.iter().copied())),
                None => insert(request, from + end, [b"Cookie: ", line, b"\r\n"]),
            }
        });
    }
}

/// Inserts the parts at `at`, the end of the head's last line.
fn insert(request: &mut Vec<u8>, mut at: usize, parts: [&[u8]; 3]) {
    let (before, more) = (request.len(), parts.iter().map(|part| part.len()).sum::<usize>());
    request.resize(before + more, 0);
    request.copy_within(at..before, at + more);
    for part in parts {
        request[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    }
}

/// Returns `true` if `host` domain-matches `domain` (RFC 6265 5.1.3); both in lower case.
fn domain_matches(host: &str, domain: &str) -> bool {
    host == domain || (host.strip_suffix(domain).is_some_and(|below| below.ends_with('.')) && !is_address(host))
}

fn is_address(host: &str) -> bool {
    host.contains(':') || host.parse::<std::net::Ipv4Addr>().is_ok()
}

/// Returns `true` if `path` path-matches `of` (RFC 6265 5.1.4).
fn path_matches(path: &[u8], of: &[u8]) -> bool {
    path.strip_prefix(of).is_some_and(|rest| rest.is_empty() || of.ends_with(b"/") || rest.starts_with(b"/"))
}

/// Returns the default path of a cookie: the directory of the request path.
fn default_path(path: &[u8]) -> &[u8] {
    match path.iter().rposition(|&b| b == b'/') {
        Some(at @ 1..) if path.starts_with(b"/") => &path[..at],
        _ => b"/",
    }
}
