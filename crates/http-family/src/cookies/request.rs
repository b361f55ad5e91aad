//! The parts of a request that determine its cookies, read from the encoded head, so that options, slots and redirects
//! are already applied.

use std::borrow::Cow;
use std::ops::Range;

/// Destination of a request.
#[derive(Debug)]
pub struct CookieSite<'a> {
    /// Host name in lower case, without port.
    pub host: Cow<'a, str>,
    /// Path without query.
    pub path: &'a [u8],
    /// Set for TLS and for the local host.
    pub secure: bool,
}

/// The parts of a request head that matter for cookies.
#[derive(Debug)]
pub struct CookieRequest<'a> {
    /// Destination of the request.
    pub site: CookieSite<'a>,
    /// Range of the value of the request's own `Cookie` field.
    pub own: Option<Range<usize>>,
    /// Offset of the end of the last field line.
    pub end: usize,
}

/// Reads a request head in HTTP/1 form; `secure` is set for TLS. Returns `None` if the head is incomplete.
pub fn site(head: &[u8], secure: bool) -> Option<CookieRequest<'_>> {
    let (mut host, mut own) = (&b""[..], None);
    let first = memchr::memchr(b'\n', head)?;
    let path = path_of(&head[..first]);
    let mut at = first + 1;
    loop {
        let line = &head[at..at + memchr::memchr(b'\n', &head[at..])?];
        if line == b"\r" {
            break;
        }
        if let Some(value) = value_of(line, b"host") {
            host = value.trim_ascii();
        } else if let Some(value) = value_of(line, b"cookie") {
            let end = at + line.len() - usize::from(line.ends_with(b"\r"));
            own = Some((at + line.len() - value.trim_ascii_start().len()).min(end)..end);
        }
        at += line.len() + 1;
    }
    let host = without_port(host);
    let secure = secure || matches!(host, b"localhost" | b"127.0.0.1" | b"::1");
    let host = String::from_utf8_lossy(host);
    let host = if host.bytes().any(|b| b.is_ascii_uppercase()) { host.to_ascii_lowercase().into() } else { host };
    Some(CookieRequest { site: CookieSite { host, path, secure }, own, end: at })
}

/// Returns the value of a field line with this name.
fn value_of<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (own, rest) = line.split_at_checked(name.len())?;
    rest.strip_prefix(b":").filter(|_| own.eq_ignore_ascii_case(name))
}

/// Returns the path of a request line, whose target may be a whole URL.
fn path_of(line: &[u8]) -> &[u8] {
    let target = line.split(|&b| b == b' ').nth(1).unwrap_or_default();
    let behind = memchr::memmem::find(target, b"://").filter(|_| !target.starts_with(b"/")).map(|at| &target[at + 3..]);
    let path = match behind {
        Some(place) => memchr::memchr(b'/', place).map_or(&b"/"[..], |at| &place[at..]),
        None => target,
    };
    path.split(|&b| b == b'?').next().unwrap_or_default()
}

fn without_port(host: &[u8]) -> &[u8] {
    match host.strip_prefix(b"[") {
        Some(rest) => rest.split(|&b| b == b']').next().unwrap_or_default(),
        None => host.split(|&b| b == b':').next().unwrap_or_default(),
    }
}
