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
    let end = memchr::memmem::find(head, b"\r\n\r\n")? + 2;
    let (mut host, mut own, mut at) = (&b""[..], None, 0);
    let mut path = &b"/"[..];
    for line in head[..end].split_inclusive(|&b| b == b'\n') {
        let text = line.strip_suffix(b"\r\n").unwrap_or(line);
        let colon = memchr::memchr(b':', text).unwrap_or(text.len());
        match &text[..colon] {
            _ if at == 0 => path = path_of(text),
            name if name.eq_ignore_ascii_case(b"host") => host = text[colon + 1..].trim_ascii(),
            name if name.eq_ignore_ascii_case(b"cookie") => {
                let from = text.len() - text[colon + 1..].trim_ascii_start().len();
                own = Some(at + from..at + text.len());
            }
            _ => {}
        }
        at += line.len();
    }
    let host = without_port(host);
    let secure = secure || matches!(host, b"localhost" | b"127.0.0.1" | b"::1");
    let host = String::from_utf8_lossy(host);
    let host = if host.bytes().any(|b| b.is_ascii_uppercase()) { host.to_ascii_lowercase().into() } else { host };
    Some(Asked { site: Site { host, path, secure }, own, end })
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
