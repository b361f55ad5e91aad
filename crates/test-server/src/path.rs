//! The language of paths: parses `/bytes/100?delay=exponential:2ms&status=503` into options.
//!
//! The path names the kind of answer; query parameters add to it and win if both set the same thing. Unknown
//! parameters are ignored, because load tests add them to bypass caches.

use brunt_cause::Complaint;
use std::borrow::Cow;

use brunt_contract::BodyFraming;

use crate::DelayDistribution;
use crate::path_spec::{PathKind, WithheldAnswer};
use crate::queue_model::QueueModel;

/// Maximum size of a body in bytes: 1 GiB.
pub(crate) const LARGEST: u64 = 1 << 30;
/// Maximum size of a chunk in bytes.
const LARGEST_CHUNK: u64 = 1 << 20;

/// The options of a path and its query, before they are checked against each other.
#[derive(Debug)]
pub(crate) struct PathOptions {
    pub status: Option<u16>,
    pub size: Option<u64>,
    pub headers: Vec<u8>,
    pub shape: BodyFraming,
    pub close: bool,
    pub cut: Option<u64>,
    pub withheld: Option<WithheldAnswer>,
    pub delay: Option<DelayDistribution>,
    pub station: Option<u32>,
    pub service: Option<DelayDistribution>,
    pub grpc_status: Option<u32>,
}

impl Default for PathOptions {
    fn default() -> PathOptions {
        PathOptions {
            status: None,
            size: None,
            headers: Vec::new(),
            shape: BodyFraming::Length,
            close: false,
            cut: None,
            withheld: None,
            delay: None,
            station: None,
            service: None,
            grpc_status: None,
        }
    }
}

/// The status and message of an error answer.
pub(crate) type ErrorAnswer = (u16, String);

/// Parses a path and query into `wish`; the kind is known even if the rest is invalid.
pub(crate) fn read(text: &str, wish: &mut PathOptions) -> (PathKind, Result<(), ErrorAnswer>) {
    let (path, query) = text.split_once('?').unwrap_or((text, ""));
    let segments: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let Some(kind) = kind_of(&segments) else {
        let refusal = (404, format!("{path} is not a path of this target: see `brunt target --help`"));
        return (PathKind::Unknown, Err(refusal));
    };
    (kind, by_path(kind, &segments[1..], query, wish).and_then(|()| by_query(query, wish)))
}

fn kind_of(segments: &[&str]) -> Option<PathKind> {
    let wanted = match segments {
        [""] => return Some(PathKind::Root),
        ["-", rest] => format!("/-/{rest}"),
        [first, ..] => format!("/{first}"),
        [] => return None,
    };
    PathKind::ALL.iter().find(|(kind, prefix)| *kind != PathKind::Root && *prefix == wanted).map(|(kind, _)| *kind)
}

fn by_path(kind: PathKind, rest: &[&str], query: &str, wish: &mut PathOptions) -> Result<(), ErrorAnswer> {
    match (kind, rest) {
        (PathKind::Status, [code]) => set("status", code, wish),
        (PathKind::Bytes | PathKind::Short | PathKind::Long, [size]) => set("size", size, wish),
        (PathKind::Chunked, [size]) => {
            wish.shape = BodyFraming::Chunked(8192);
            set("size", size, wish)
        }
        (PathKind::Chunked, [size, chunk]) => {
            set("size", size, wish)?;
            let chunk = number(chunk, 1, LARGEST_CHUNK).map_err(|trouble| wrong("chunked", &trouble))?;
            wish.shape = BodyFraming::Chunked(chunk as usize);
            Ok(())
        }
        (PathKind::Close, [size]) => {
            wish.shape = BodyFraming::UntilClose;
            set("size", size, wish)
        }
        (PathKind::Header, [name, value @ ..]) if !value.is_empty() => {
            set("header", &format!("{name}:{}", value.join("/")), wish)
        }
        (PathKind::Delay, [delay]) => set("delay", delay, wish),
        (PathKind::Redirect, [hops]) => redirect(hops, query, wish),
        (PathKind::Cut, [keep]) => {
            wish.size = Some(1000);
            set("cut", keep, wish)
        }
        (PathKind::Hang, []) => withhold(WithheldAnswer::Hang, wish),
        (PathKind::Reset, []) => withhold(WithheldAnswer::Reset, wish),
        (PathKind::Root | PathKind::Echo | PathKind::Garbage | PathKind::EndlessHeaders, _) => Ok(()),
        (PathKind::Stats | PathKind::ResetStats, _) => Ok(()),
        _ => Err((400, usage(kind).to_owned())),
    }?;
    match (kind, wish.size) {
        (PathKind::Short, Some(0)) => Err(wrong("short", "nothing is shorter than 0 bytes: write at least /short/1")),
        _ => Ok(()),
    }
}

/// Returns the usage of a path whose value is missing.
fn usage(kind: PathKind) -> &'static str {
    match kind {
        PathKind::Status => "status: write the code, as in /status/503",
        PathKind::Bytes => "bytes: write the size, as in /bytes/1000",
        PathKind::Chunked => "chunked: write the size and perhaps the size of a chunk, as in /chunked/1000/100",
        PathKind::Close => "close: write the size, as in /close/1000",
        PathKind::Header => "header: write name and value, as in /header/x-cache/hit",
        PathKind::Delay => "delay: write a distribution, as in /delay/exponential:2ms",
        PathKind::Redirect => "redirect: write the number of hops, as in /redirect/3",
        PathKind::Cut => "cut: write after how many bytes, as in /cut/20",
        PathKind::Short => "short: write the announced size, as in /short/1000",
        PathKind::Long => "long: write the announced size, as in /long/1000",
        PathKind::Hang => "hang: takes nothing more, as in /hang",
        _ => "this path takes nothing more",
    }
}

fn by_query(query: &str, wish: &mut PathOptions) -> Result<(), ErrorAnswer> {
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        set(name, value, wish)?;
    }
    Ok(())
}

/// Sets one parameter by its name.
fn set(name: &str, value: &str, wish: &mut PathOptions) -> Result<(), ErrorAnswer> {
    let value = &*unescape(value);
    let trouble = match name {
        "status" => number(value, 200, 999).map(|n| wish.status = Some(n as u16)),
        "size" => number(value, 0, LARGEST).map(|n| wish.size = Some(n)),
        "cut" => number(value, 0, LARGEST).map(|n| wish.cut = Some(n)),
        "station" => number(value, 1, QueueModel::MOST_SERVERS.into()).map(|n| wish.station = Some(n as u32)),
        "delay" => value.parse().map(|delay| wish.delay = Some(delay)).map_err(Complaint::into),
        "service" => value.parse().map(|delay| wish.service = Some(delay)).map_err(Complaint::into),
        "grpc-status" => number(value, 0, 16).map(|n| wish.grpc_status = Some(n as u32)),
        "header" => header(value, wish),
        "close" => number(if value.is_empty() { "1" } else { value }, 0, 1).map(|n| wish.close = n == 1),
        _ => Ok(()),
    };
    trouble.map_err(|trouble| wrong(name, &trouble))
}

fn wrong(name: &str, trouble: &str) -> ErrorAnswer {
    (400, format!("{name}: {trouble}"))
}

fn withhold(how: WithheldAnswer, wish: &mut PathOptions) -> Result<(), ErrorAnswer> {
    wish.withheld = Some(how);
    Ok(())
}

fn redirect(hops: &str, query: &str, wish: &mut PathOptions) -> Result<(), ErrorAnswer> {
    let hops = number(hops, 0, 1_000_000).map_err(|trouble| wrong("redirect", &trouble))?;
    if hops > 0 {
        wish.status = Some(302);
        let mark = if query.is_empty() { "" } else { "?" };
        let line = format!("location: /redirect/{}{mark}{query}\r\n", hops - 1);
        wish.headers.extend_from_slice(line.as_bytes());
    }
    Ok(())
}

fn number(text: &str, low: u64, high: u64) -> Result<u64, String> {
    let read = text.parse().ok().filter(|n| (low..=high).contains(n));
    read.ok_or_else(|| format!("\"{text}\" is not a number from {low} to {high}"))
}

fn header(text: &str, wish: &mut PathOptions) -> Result<(), String> {
    let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    let (name, value) = text.split_once(':').unwrap_or((text, ""));
    if name.is_empty() || !name.bytes().all(is_token) || value.bytes().any(|b| b < b' ' && b != b'\t' || b == 0x7f) {
        return Err(format!("{text:?} is not a header: write NAME:VALUE"));
    }
    wish.headers.extend_from_slice(format!("{name}: {}\r\n", value.trim()).as_bytes());
    Ok(())
}

/// Decodes percent escapes such as `%41`. A text that would not be UTF-8 afterwards stays
/// unchanged, and so do percent signs without two hexadecimal digits.
fn unescape(text: &str) -> Cow<'_, str> {
    percent_encoding::percent_decode_str(text).decode_utf8().unwrap_or(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_signs_are_undone() {
        for (text, plain) in
            [("a", "a"), ("%41b", "Ab"), ("100%", "100%"), ("%zz", "%zz"), ("%ff", "%ff"), ("%C3%A9", "é")]
        {
            assert_eq!(unescape(text), plain);
        }
    }

    #[test]
    fn headers_cannot_smuggle_lines() {
        for text in ["x:%0d%0ay: 1", "a b:1", ":1", "x%0a:1"] {
            assert!(set("header", text, &mut PathOptions::default()).is_err(), "{text}");
        }
        let mut wish = PathOptions::default();
        set("header", "x-cache:a%20b", &mut wish).unwrap();
        assert_eq!(wish.headers, b"x-cache: a b\r\n");
    }
}
