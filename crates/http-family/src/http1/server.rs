//! Server side of a connection: requests are reported as they complete, and replies are sent in the order of the
//! requests.
//!
//! A request that arrives whole is parsed in place. Flags of up to 16 requests in flight fit in one word; replies given
//! out of order are encoded and held back. Bodies are counted, and their beginning is reported. `Date` and `Server`
//! lines are not sent: no client needs them, and they cost bytes.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use brunt_contract::{
    BodyFraming, OutputBuffer, ProtocolError, RequestPart, ServerRequest, ServerResponse, ServerSession,
};

use super::body::BodyDecoder;
use super::codec::{
    CHUNKED, CODED, EXPECTS, HEAD_BOUND, HTTP10, HttpHead, SIZED, UPGRADES, method_and_target, request_head,
};

/// Flag of a request in flight: the reply has no body.
const HEAD_ONLY: u8 = 1;
/// Flag of a request in flight: the connection ends with the reply.
const LAST: u8 = 2;
/// Flag of a request in flight: it is HTTP/1.0.
const OLD: u8 = 4;

/// An HTTP/1.1 connection, server side.
#[derive(Debug, Default)]
pub struct Http1Server {
    /// Id of the next request to be reported.
    next_request: u32,
    /// Id of the next reply to be sent.
    next_reply: u32,
    /// Flags of the requests in flight, four bits each, the oldest lowest.
    recent_flags: u64,
    /// Set if no further requests are read.
    done_reading: bool,
    over: bool,
    extras: Option<Box<Http1ServerExtras>>,
    /// Decides from the head and path of a request with `Upgrade` whether another protocol takes over.
    upgrades_when: Option<fn(&[u8], &str) -> bool>,
}

/// A request after which the connection changes its protocol.
#[derive(Debug)]
pub struct UpgradeRequest {
    /// Head of the request.
    pub head: Box<[u8]>,
    /// Path and query.
    pub path: Box<str>,
    /// Bytes received after the request.
    pub rest: Vec<u8>,
}

#[derive(Debug, Default)]
struct Http1ServerExtras {
    /// Flags of requests in flight beyond the sixteenth.
    older_flags: VecDeque<u8>,
    /// An incomplete head, or a head whose body is incomplete.
    kept: Vec<u8>,
    head: HttpHead,
    /// The body being received; `body_bytes` counts its bytes so far.
    body: Option<BodyDecoder>,
    body_bytes: u64,
    /// The beginning of that body.
    body_prefix: Vec<u8>,
    /// Set if the client waits for `100 Continue`.
    awaits_continue: bool,
    /// Encoded replies that wait for their turn.
    held: BTreeMap<u32, Vec<u8>>,
    upgrade: Option<UpgradeRequest>,
}

/// A received body: its length and its beginning.
#[derive(Clone, Copy, Default)]
struct ReceivedBody<'a> {
    bytes: u64,
    start: &'a [u8],
}

impl Http1Server {
    /// Creates the state of a new connection.
    pub fn new() -> Http1Server {
        Http1Server::default()
    }

    /// Creates a connection that stops at a request with `Upgrade` for whose head and path `when` returns `true`: the
    /// request is not reported but kept for [`Http1Server::upgrade`], and nothing more is read.
    pub fn with_upgrades(when: fn(&[u8], &str) -> bool) -> Http1Server {
        Http1Server { upgrades_when: Some(when), ..Http1Server::default() }
    }

    /// Returns the number of buffered bytes of incomplete requests.
    pub fn buffered(&self) -> usize {
        self.extras.as_ref().map_or(0, |rare| rare.kept.len() + rare.body_prefix.len())
    }

    /// Takes the request after which the protocol changes, if it has arrived.
    #[inline]
    pub fn upgrade(&mut self) -> Option<UpgradeRequest> {
        self.extras.as_mut().and_then(|rare| rare.upgrade.take())
    }

    fn extras(&mut self) -> &mut Http1ServerExtras {
        self.extras.get_or_insert_default()
    }

    /// Reads one request from the start of `bytes`. Returns its length, or `None` if it is incomplete.
    fn read(&mut self, bytes: &[u8], hear: &mut dyn FnMut(ServerRequest<'_>)) -> Result<Option<usize>, ProtocolError> {
        let mut head = HttpHead::default();
        if !request_head(bytes, &mut head)? {
            if bytes.len() > HEAD_BOUND {
                return Err(ENDLESS);
            }
            let rare = self.extras();
            rare.kept.extend_from_slice(bytes);
            rare.head = head;
            return Ok(None);
        }
        let text = &bytes[..head.at];
        let Some(mut body) = body_of(&head)? else {
            self.report(text, &head, ReceivedBody::default(), hear)?;
            return Ok(Some(head.at));
        };
        if !head.has(CHUNKED)
            && let Some(whole) = usize::try_from(head.length).ok().and_then(|n| bytes[head.at..].get(..n))
        {
            self.report(text, &head, ReceivedBody { bytes: head.length, start: whole }, hear)?;
            return Ok(Some(head.at + whole.len()));
        }
        let (mut body_bytes, mut shown) = (0, Vec::new());
        let (used, whole) = body.feed(&bytes[head.at..], |data| count(data, &mut body_bytes, &mut shown))?;
        if whole {
            self.report(text, &head, ReceivedBody { bytes: body_bytes, start: &shown }, hear)?;
            return Ok(Some(head.at + used));
        }
        let leave = head.has(EXPECTS) && !head.has(HTTP10) && used == 0;
        let rare = self.extras();
        rare.kept.extend_from_slice(text);
        (rare.head, rare.body, rare.body_bytes, rare.body_prefix, rare.awaits_continue) =
            (head, Some(body), body_bytes, shown, leave);
        Ok(None)
    }

    /// Continues an incomplete request.
    #[cold]
    fn resume(
        &mut self,
        bytes: &[u8],
        hear: &mut dyn FnMut(ServerRequest<'_>),
    ) -> Result<Option<usize>, ProtocolError> {
        let rare = self.extras();
        let mut at = 0;
        if rare.body.is_none() {
            let before = rare.kept.len();
            rare.kept.extend_from_slice(&bytes[..bytes.len().min(HEAD_BOUND + 1 - before)]);
            if !request_head(&rare.kept, &mut rare.head)? {
                return if rare.kept.len() > HEAD_BOUND { Err(ENDLESS) } else { Ok(None) };
            }
            at = rare.head.at - before;
            rare.kept.truncate(rare.head.at);
            rare.body = body_of(&rare.head)?;
            rare.body_bytes = 0;
            rare.awaits_continue =
                rare.body.is_some() && rare.head.has(EXPECTS) && !rare.head.has(HTTP10) && at == bytes.len();
        }
        if let Some(body) = &mut rare.body {
            let (body_bytes, shown) = (&mut rare.body_bytes, &mut rare.body_prefix);
            let (used, whole) = body.feed(&bytes[at..], |data| count(data, body_bytes, shown))?;
            if used > 0 {
                rare.awaits_continue = false;
            }
            at += used;
            if !whole {
                return Ok(None);
            }
        }
        rare.body = None;
        let (text, head, bytes) = (std::mem::take(&mut rare.kept), rare.head, rare.body_bytes);
        let shown = std::mem::take(&mut rare.body_prefix);
        self.report(&text, &head, ReceivedBody { bytes, start: &shown }, hear)?;
        Ok(Some(at))
    }

    /// Reports a complete request and remembers the flags for its reply.
    #[inline]
    fn report(
        &mut self,
        text: &[u8],
        head: &HttpHead,
        body: ReceivedBody<'_>,
        hear: &mut dyn FnMut(ServerRequest<'_>),
    ) -> Result<(), ProtocolError> {
        if text.len() > HEAD_BOUND {
            return Err(ENDLESS);
        }
        let (method, target) = method_and_target(text, head)?;
        if head.has(UPGRADES)
            && self.next_request == self.next_reply
            && let Some(when) = self.upgrades_when
            && when(text, &target[path(target)])
        {
            self.done_reading = true;
            let (head, path) = (text.into(), target[path(target)].into());
            self.extras().upgrade = Some(UpgradeRequest { head, path, rest: Vec::new() });
            return Ok(());
        }
        let mut marks = 0;
        if method == "HEAD" {
            marks |= HEAD_ONLY;
        }
        if head.has(HTTP10) {
            marks |= OLD;
        }
        if !head.keeps_alive() {
            marks |= LAST;
            self.done_reading = true;
        }
        let id = self.next_request;
        self.remember(id, marks);
        self.next_request = id.wrapping_add(1);
        let (body_bytes, body, extent) = (body.bytes, body.start, RequestPart::Whole);
        hear(ServerRequest { id, method, path: &target[path(target)], head: text, body_bytes, body, part: extent });
        Ok(())
    }

    #[inline]
    fn remember(&mut self, id: u32, marks: u8) {
        let place = id.wrapping_sub(self.next_reply);
        if place < 16 {
            self.recent_flags |= u64::from(marks) << (place * 4);
        } else {
            self.extras().older_flags.push_back(marks);
        }
    }

    #[inline]
    fn flags(&self, id: u32) -> Option<u8> {
        let place = id.wrapping_sub(self.next_reply);
        if place >= self.next_request.wrapping_sub(self.next_reply) {
            return None;
        }
        if place < 16 {
            return Some((self.recent_flags >> (place * 4) & 15) as u8);
        }
        self.extras.as_ref()?.older_flags.get(place as usize - 16).copied()
    }

    /// Advances to the next reply.
    #[inline]
    fn advance(&mut self) {
        self.next_reply = self.next_reply.wrapping_add(1);
        self.recent_flags >>= 4;
        if let Some(next) = self.extras.as_mut().and_then(|r| r.older_flags.pop_front()) {
            self.recent_flags |= u64::from(next) << 60;
        }
    }

    /// Sends held replies whose turn has come.
    #[cold]
    fn flush_held(&mut self, out: &mut OutputBuffer) {
        while let Some(bytes) = self.extras.as_mut().and_then(|r| r.held.remove(&self.next_reply)) {
            let (closes, answer) = bytes.split_last().map_or((false, &bytes[..]), |(&c, rest)| (c == 1, rest));
            if self.over {
                return;
            }
            out.put(answer);
            self.over |= closes;
            self.done_reading |= closes;
            self.advance();
        }
    }
}

impl ServerSession for Http1Server {
    #[inline]
    fn receive(&mut self, bytes: &[u8], hear: &mut dyn FnMut(ServerRequest<'_>)) -> Result<(), ProtocolError> {
        let mut rest = bytes;
        while !rest.is_empty() && !self.done_reading {
            let taken = if self.extras.as_ref().is_some_and(|r| !r.kept.is_empty()) {
                self.resume(rest, hear)?
            } else {
                // Empty lines before a request are skipped (RFC 9112 2.2).
                if rest[0] == b'\r' || rest[0] == b'\n' {
                    rest = &rest[1..];
                    continue;
                }
                self.read(rest, hear)?
            };
            let Some(taken) = taken else { return Ok(()) };
            rest = &rest[taken..];
        }
        if self.done_reading
            && let Some(upgrade) = self.extras.as_mut().and_then(|rare| rare.upgrade.as_mut())
        {
            upgrade.rest.extend_from_slice(rest);
        }
        Ok(())
    }

    #[inline]
    fn respond(&mut self, id: u32, reply: &ServerResponse<'_>, out: &mut OutputBuffer) {
        let Some(marks) = self.flags(id) else { return };
        if self.over {
            return;
        }
        if id == self.next_reply {
            let closes = encode(marks, reply, out.buffer());
            self.over = closes;
            self.done_reading |= closes;
            self.advance();
            if self.extras.as_ref().is_some_and(|r| !r.held.is_empty()) {
                self.flush_held(out);
            }
        } else {
            let mut bytes = Vec::new();
            let closes = encode(marks, reply, &mut bytes);
            bytes.push(u8::from(closes));
            self.extras().held.insert(id, bytes);
        }
    }

    fn write_due(&mut self, out: &mut OutputBuffer) {
        if let Some(rare) = &mut self.extras
            && std::mem::take(&mut rare.awaits_continue)
        {
            out.put(b"HTTP/1.1 100 Continue\r\n\r\n");
        }
    }

    #[inline]
    fn is_finished(&self) -> bool {
        self.over
    }
}

/// Maximum number of bytes reported of a body received in pieces.
const SHOWN_BOUND: usize = 64 * 1024;

fn count(data: &[u8], bytes: &mut u64, shown: &mut Vec<u8>) {
    *bytes += data.len() as u64;
    shown.extend_from_slice(&data[..data.len().min(SHOWN_BOUND - shown.len())]);
}

const ENDLESS: ProtocolError = ProtocolError(brunt_cause::http1::endless_request_headers());

/// Returns the decoder for the body of a request (RFC 9112 6.3).
#[inline]
fn body_of(head: &HttpHead) -> Result<Option<BodyDecoder>, ProtocolError> {
    if head.has(CHUNKED) {
        return Ok(Some(BodyDecoder::chunked()));
    }
    if head.has(CODED) {
        return Err(ProtocolError(brunt_cause::http1::request_not_chunked()));
    }
    Ok((head.has(SIZED) && head.length > 0).then(|| BodyDecoder::of_length(head.length)))
}

/// Returns the range of path and query in a target, which may be a whole URL (RFC 9112 3.2.2).
fn path(target: &str) -> Range<usize> {
    if target.starts_with('/') {
        return 0..target.len();
    }
    let start = target.find("://").and_then(|at| target[at + 3..].find('/').map(|slash| at + 3 + slash));
    start.unwrap_or(0)..target.len()
}

/// Encodes a reply. Returns `true` if the connection ends with it.
#[inline]
fn encode(marks: u8, reply: &ServerResponse<'_>, out: &mut Vec<u8>) -> bool {
    let old = marks & OLD != 0;
    // HTTP/1.0 has no chunks.
    let shape =
        if old && matches!(reply.framing, BodyFraming::Chunked(_)) { BodyFraming::UntilClose } else { reply.framing };
    let bodiless = reply.status < 200 || reply.status == 204 || reply.status == 304;
    let until_close = shape == BodyFraming::UntilClose && !bodiless && marks & HEAD_ONLY == 0;
    let closes = reply.close || until_close || marks & LAST != 0;
    status_line(reply.status, out);
    out.extend_from_slice(reply.headers);
    if closes {
        out.extend_from_slice(b"Connection: close\r\n");
    } else if old {
        out.extend_from_slice(b"Connection: keep-alive\r\n");
    }
    match shape {
        _ if bodiless => {}
        BodyFraming::Length => {
            out.extend_from_slice(b"Content-Length: ");
            decimal(reply.body.len(), out);
            out.extend_from_slice(b"\r\n");
        }
        BodyFraming::Chunked(_) => out.extend_from_slice(b"Transfer-Encoding: chunked\r\n"),
        BodyFraming::UntilClose => {}
    }
    out.extend_from_slice(b"\r\n");
    if bodiless || marks & HEAD_ONLY != 0 {
        return closes;
    }
    match shape {
        BodyFraming::Chunked(size) => chunks(reply.body, size, out),
        _ => out.extend_from_slice(reply.body),
    }
    closes
}

fn chunks(body: &[u8], size: usize, out: &mut Vec<u8>) {
    for chunk in body.chunks(size.max(1)) {
        out.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        out.extend_from_slice(chunk);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"0\r\n\r\n");
}

#[inline]
fn status_line(status: u16, out: &mut Vec<u8>) {
    if status == 200 {
        out.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
        return;
    }
    out.extend_from_slice(b"HTTP/1.1 ");
    decimal(usize::from(status), out);
    out.push(b' ');
    out.extend_from_slice(reason(status).as_bytes());
    out.extend_from_slice(b"\r\n");
}

fn reason(status: u16) -> &'static str {
    match status {
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        206 => "Partial Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Status",
    }
}

#[inline]
fn decimal(mut number: usize, out: &mut Vec<u8>) {
    if number < 10 {
        out.push(b'0' + number as u8);
        return;
    }
    let mut digits = [0; 20];
    let mut at = digits.len();
    while number > 0 {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    out.extend_from_slice(&digits[at..]);
}
