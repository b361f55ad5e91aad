//! What a request says that decides about its cookies: read in its head, whatever options, slots and redirects made it.

use std::borrow::Cow;
use std::ops::Range;

/// Where a request goes.
#[derive(Debug)]
pub struct Site<'a> {
    /// In small letters, without a port.
    pub host: Cow<'a, str>,
    /// Without a query.
    pub path: &'a [u8],
    /// Nobody on the way can read it: TLS, or this machine.
    pub secure: bool,
}

/// What a head says.
#[derive(Debug)]
pub struct Asked<'a> {
    /// Where it goes.
    pub site: Site<'a>,
    /// Where the value of its own `Cookie` stands.
    pub own: Option<Range<usize>>,
    /// Where its last line ends.
    pub end: usize,
}

/// Reads a head as HTTP/1 writes it; `secure`: over TLS. None: there is no whole one.
pub fn site(head: &[u8], secure: bool) -> Option<Asked<'_>> {
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
    Some(Asked { site: Site { host, path, secure }, own, end: at })
}

/// What stands behind the colon of a line of this name.
fn value_of<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (own, rest) = line.split_at_checked(name.len())?;
    rest.strip_prefix(b":").filter(|_| own.eq_ignore_ascii_case(name))
}

/// The path of a request line, whose target may name the whole URL.
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
