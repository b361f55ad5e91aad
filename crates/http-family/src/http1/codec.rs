//! Stateless parser of HTTP/1 heads: finds the end of a head, its status or request line, and the fields that frame the
//! message.
//!
//! A head is parsed in place, in one pass, line by line; nothing is copied or kept but [`HttpHead`]. A line is checked
//! once it is complete, so a head that arrives in pieces is treated exactly like a whole one. Both CR LF and a bare LF
//! end a line (RFC 9112 2.2). A bare CR, NUL and other control characters, folded lines of requests, white space before
//! the colon and names that are not tokens are rejected; folded lines of responses mean one line (5.2, [`unfolded`]).
//! Fields that do not frame the message are not examined here; see [`field`].

use brunt_contract::ProtocolError;

use super::vector;
use crate::detect::{DetectedProtocol, detect, may_match_later};

/// Maximum length of a head in bytes, including interim responses.
pub const HEAD_BOUND: usize = 256 * 1024;

/// Flag: the message is HTTP/1.0.
pub const HTTP10: u8 = 1;
/// Flag: `Connection: close`.
pub const CLOSE: u8 = 2;
/// Flag: `Connection: keep-alive`.
pub const KEEP_ALIVE: u8 = 4;
/// Flag: there is a `Transfer-Encoding` field.
pub const CODED: u8 = 8;
/// Flag: `chunked` is the last transfer coding.
pub const CHUNKED: u8 = 16;
/// Flag: there is a `Content-Length` field.
pub const SIZED: u8 = 32;
/// Flag: `Expect: 100-continue`.
pub const EXPECTS: u8 = 64;
/// Flag: there is an `Upgrade` field.
pub const UPGRADES: u8 = 128;

/// Parsed framing of a head; also the parser's state if the head is not complete yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HttpHead {
    /// Number of bytes parsed: the start of the first incomplete line, or the end of the head.
    pub at: usize,
    /// Content length, if [`SIZED`].
    pub length: u64,
    /// Status of a response.
    pub status: u16,
    /// Flags: [`HTTP10`] and so on.
    pub flags: u8,
    /// Set once the start line was parsed.
    pub started: bool,
    /// Set if a field goes on in further lines.
    pub folded: bool,
    /// Start of the target of a request.
    pub target_at: u32,
    /// End of the target of a request.
    pub target_end: u32,
}

impl HttpHead {
    /// Returns `true` if a flag is set.
    #[inline]
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Returns `true` if the connection persists (RFC 9112 9.3), as far as the head alone determines this.
    #[inline]
    pub fn keeps_alive(&self) -> bool {
        // With both framings, or with a coding in HTTP/1.0, the two ends may disagree about the end of the body (6.1).
        let doubtful = self.has(CODED) && (self.has(SIZED) || self.has(HTTP10));
        !self.has(CLOSE) && !doubtful && (!self.has(HTTP10) || self.has(KEEP_ALIVE))
    }
}

/// Parses the head of a response as far as it has arrived. Returns `true` if it is complete; `head.at` is then its
/// length.
///
/// # Errors
/// Returns an error if the bytes are not HTTP/1.
#[inline]
pub fn response_head(bytes: &[u8], head: &mut HttpHead) -> Result<bool, ProtocolError> {
    if !head.started {
        if vector::read(bytes, head, |line, head| status_line(line, head).is_ok()) {
            return Ok(true);
        }
        *head = HttpHead::default();
    }
    response_lines(bytes, head)
}

/// Like [`response_head`], line by line.
pub(super) fn response_lines(bytes: &[u8], head: &mut HttpHead) -> Result<bool, ProtocolError> {
    if !head.started {
        let Some(end) = memchr::memchr(b'\n', bytes) else {
            return check_prefix(bytes);
        };
        let read = status_line(without_cr(&bytes[..end]), head);
        read.map_err(|broken| if broken == NOT_HTTP { not_http(bytes) } else { broken })?;
        head.at = end + 1;
        head.started = true;
    }
    fields(bytes, head, true)
}

/// Parses the head of a request as far as it has arrived, like [`response_head`]. [`method_and_target`] returns its
/// method and target.
///
/// # Errors
/// Returns an error if the bytes are not HTTP/1.
#[inline]
pub fn request_head(bytes: &[u8], head: &mut HttpHead) -> Result<bool, ProtocolError> {
    if !head.started {
        if vector::read(bytes, head, |line, head| request_line(line, head).is_ok()) {
            return Ok(true);
        }
        *head = HttpHead::default();
    }
    request_lines(bytes, head)
}

/// Like [`request_head`], line by line.
pub(super) fn request_lines(bytes: &[u8], head: &mut HttpHead) -> Result<bool, ProtocolError> {
    if !head.started {
        let Some(end) = memchr::memchr(b'\n', bytes) else {
            return Ok(false);
        };
        request_line(without_cr(&bytes[..end]), head)?;
        head.at = end + 1;
        head.started = true;
    }
    fields(bytes, head, false)
}

/// Parses `METHOD TARGET HTTP/1.x` and records the position of the target.
#[inline]
fn request_line(line: &[u8], head: &mut HttpHead) -> Result<(), ProtocolError> {
    const WRONG: ProtocolError = ProtocolError(brunt_cause::http1::wrong_request_line());
    let method_end = line.iter().position(|&b| !is_token(b)).ok_or(WRONG)?;
    let (rest, version) = line.split_last_chunk::<9>().ok_or(WRONG)?;
    match version {
        b" HTTP/1.1" => {}
        b" HTTP/1.0" => head.flags |= HTTP10,
        _ => return Err(WRONG),
    }
    let (target_at, target_end) = (method_end + 1, rest.len());
    let Some(target) = rest.get(target_at..).filter(|t| !t.is_empty()) else { return Err(WRONG) };
    let unclean = target.iter().fold(false, |found, &b| found | (b <= b' ') | (b == 0x7f));
    if method_end == 0 || line[method_end] != b' ' || unclean || target_end > HEAD_BOUND {
        return Err(WRONG);
    }
    (head.target_at, head.target_end) = (target_at as u32, target_end as u32);
    Ok(())
}

/// Returns the method and the target of a request whose head was parsed.
///
/// # Errors
/// Returns an error if the target is not UTF-8.
#[inline]
pub fn method_and_target<'a>(text: &'a [u8], head: &HttpHead) -> Result<(&'a str, &'a str), ProtocolError> {
    const NO_TEXT: ProtocolError = ProtocolError(brunt_cause::http1::target_not_text());
    let (at, end) = (head.target_at as usize, head.target_end as usize);
    let method = std::str::from_utf8(&text[..at - 1]).map_err(|_| NO_TEXT)?;
    let target = std::str::from_utf8(&text[at..end]).map_err(|_| NO_TEXT)?;
    Ok((method, target))
}

/// Returns the first value of a field in a complete head, without surrounding white space.
pub fn field<'a>(head: &'a [u8], name: &str) -> Option<&'a [u8]> {
    head.split(|&b| b == b'\n').skip(1).find_map(|line| {
        let line = without_cr(line);
        let colon = memchr::memchr(b':', line)?;
        line[..colon].eq_ignore_ascii_case(name.as_bytes()).then(|| line[colon + 1..].trim_ascii())
    })
}

/// Returns `true` for the characters of a token, such as a method or a field name (RFC 9110 5.6.2).
#[inline]
pub const fn is_token(byte: u8) -> bool {
    TOKEN[byte as usize]
}

const TOKEN: [bool; 256] = {
    let mut table = [false; 256];
    let mut b = 0;
    while b < 256 {
        let c = b as u8;
        table[b] = c.is_ascii_alphanumeric()
            || matches!(c, b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'-' | b'.' | b'^' | b'_' | b'`')
            || matches!(c, b'|' | b'~');
        b += 1;
    }
    table
};

/// Rejects bytes that cannot begin a response before the first line is complete.
fn check_prefix(bytes: &[u8]) -> Result<bool, ProtocolError> {
    let n = bytes.len().min(7);
    if bytes[..n] == b"HTTP/1."[..n] || may_match_later(bytes) { Ok(false) } else { Err(not_http(bytes)) }
}

/// Returns the error for bytes that are not an HTTP/1 response, naming the actual protocol if it is recognized.
fn not_http(bytes: &[u8]) -> ProtocolError {
    match detect(bytes) {
        Some(DetectedProtocol::Tls) => ProtocolError(brunt_cause::http1::uses_tls()),
        Some(DetectedProtocol::Http2) => ProtocolError(brunt_cause::http1::uses_http2()),
        _ => NOT_HTTP,
    }
}

const NOT_HTTP: ProtocolError = ProtocolError(brunt_cause::http1::no_http1());
const NO_FIELD: ProtocolError = ProtocolError(brunt_cause::http1::no_field());
const CONTROL: ProtocolError = ProtocolError(brunt_cause::http1::control_character());

#[inline]
fn status_line(line: &[u8], head: &mut HttpHead) -> Result<(), ProtocolError> {
    let Some((start, reason)) = line.split_first_chunk::<12>() else { return Err(NOT_HTTP) };
    match &start[..9] {
        b"HTTP/1.1 " => {}
        b"HTTP/1.0 " => head.flags |= HTTP10,
        _ => return Err(NOT_HTTP),
    }
    let digit = |b: u8| if b.is_ascii_digit() { Ok(u16::from(b - b'0')) } else { Err(NOT_HTTP) };
    head.status = digit(start[9])? * 100 + digit(start[10])? * 10 + digit(start[11])?;
    if head.status < 100 || reason.first().is_some_and(|&b| b != b' ') {
        return Err(NOT_HTTP);
    }
    if has_control(reason) { Err(CONTROL) } else { Ok(()) }
}

/// Parses field lines. If `folds` is set, a line that begins with white space continues the one before it, so that a
/// line is complete once the next one has begun.
#[inline]
fn fields(bytes: &[u8], head: &mut HttpHead, folds: bool) -> Result<bool, ProtocolError> {
    loop {
        let rest = &bytes[head.at..];
        let Some(end) = memchr::memchr(b'\n', rest) else { return Ok(false) };
        let line = without_cr(&rest[..end]);
        if line.is_empty() {
            head.at += end + 1;
            return Ok(true);
        }
        let mut colon = 0;
        while colon < line.len() && is_token(line[colon]) {
            colon += 1;
        }
        if colon == 0 || line.get(colon) != Some(&b':') {
            return Err(if line[0] == b' ' || line[0] == b'\t' {
                ProtocolError(brunt_cause::http1::folded())
            } else {
                NO_FIELD
            });
        }
        let value = &line[colon + 1..];
        if has_control(value) {
            return Err(CONTROL);
        }
        match rest.get(end + 1) {
            None if folds => return Ok(false),
            Some(b' ' | b'\t') if folds => match folded_field(rest, colon, head)? {
                Some(length) => head.at += length,
                None => return Ok(false),
            },
            _ => {
                framing_field(&line[..colon], value, head)?;
                head.at += end + 1;
            }
        }
    }
}

/// Parses a field that goes on in further lines; returns their length, or `None` if it may go on further.
#[cold]
fn folded_field(rest: &[u8], colon: usize, head: &mut HttpHead) -> Result<Option<usize>, ProtocolError> {
    let mut end = 0;
    loop {
        let Some(line) = memchr::memchr(b'\n', &rest[end..]) else { return Ok(None) };
        if has_control(without_cr(&rest[end..end + line])) {
            return Err(CONTROL);
        }
        end += line + 1;
        match rest.get(end) {
            None => return Ok(None),
            Some(b' ' | b'\t') => {}
            Some(_) => break,
        }
    }
    let whole = unfolded(&rest[..end]);
    framing_field(&whole[..colon], whole[colon + 1..].trim_ascii_end(), head)?;
    head.folded = true;
    Ok(Some(end))
}

/// Returns a head with spaces instead of the line ends within fields (RFC 9112 5.2); its length is the same.
#[cold]
pub fn unfolded(head: &[u8]) -> Vec<u8> {
    let mut text = head.to_vec();
    for end in memchr::memchr_iter(b'\n', head) {
        if matches!(head.get(end + 1), Some(b' ' | b'\t')) {
            text[end] = b' ';
            if end > 0 && head[end - 1] == b'\r' {
                text[end - 1] = b' ';
            }
        }
    }
    text
}

/// Records the fields that frame a message; they are distinguished by length first.
#[inline]
pub(super) fn framing_field(name: &[u8], value: &[u8], head: &mut HttpHead) -> Result<(), ProtocolError> {
    match name.len() {
        10 if same(name, b"connection") => connection(value, head),
        14 if same(name, b"content-length") => content_length(value, head)?,
        17 if same(name, b"transfer-encoding") => transfer_encoding(value, head)?,
        7 if same(name, b"upgrade") => head.flags |= UPGRADES,
        6 if same(name, b"expect") && value.trim_ascii().eq_ignore_ascii_case(b"100-continue") => head.flags |= EXPECTS,
        _ => {}
    }
    Ok(())
}

/// Compares a token with a lower-case name, ignoring case: among token characters, bit 5 only affects case.
#[inline]
fn same<const N: usize>(name: &[u8], lower: &[u8; N]) -> bool {
    name.first_chunk::<N>().is_some_and(|name| name.map(|b| b | 0x20) == *lower)
}

#[inline]
fn connection(value: &[u8], head: &mut HttpHead) {
    match value {
        b" keep-alive" => head.flags |= KEEP_ALIVE,
        b" close" => head.flags |= CLOSE,
        _ => connection_options(value, head),
    }
}

#[cold]
fn connection_options(value: &[u8], head: &mut HttpHead) {
    for option in value.split(|&b| b == b',').map(<[u8]>::trim_ascii) {
        if option.eq_ignore_ascii_case(b"close") {
            head.flags |= CLOSE;
        } else if option.eq_ignore_ascii_case(b"keep-alive") {
            head.flags |= KEEP_ALIVE;
        }
    }
}

/// Parses one number, or the same number repeated (RFC 9110 8.6).
#[inline]
fn content_length(value: &[u8], head: &mut HttpHead) -> Result<(), ProtocolError> {
    // Fast path for the usual form: one space, and a number too short to overflow.
    if let [b' ', digits @ ..] = value
        && (1..=19).contains(&digits.len())
        && !head.has(SIZED)
    {
        let mut length: u64 = 0;
        let mut good = true;
        for &b in digits {
            good &= b.is_ascii_digit();
            length = length.wrapping_mul(10).wrapping_add(u64::from(b.wrapping_sub(b'0')));
        }
        if good {
            head.length = length;
            head.flags |= SIZED;
            return Ok(());
        }
    }
    lengths(value, head)
}

#[cold]
fn lengths(value: &[u8], head: &mut HttpHead) -> Result<(), ProtocolError> {
    const WRONG: ProtocolError = ProtocolError(brunt_cause::http1::length_not_a_number());
    for item in value.split(|&b| b == b',').map(<[u8]>::trim_ascii) {
        let digits = std::str::from_utf8(item).ok().filter(|t| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit()));
        let length = digits.and_then(|t| t.parse().ok()).ok_or(WRONG)?;
        if head.has(SIZED) && head.length != length {
            return Err(ProtocolError(brunt_cause::http1::length_twice()));
        }
        head.length = length;
        head.flags |= SIZED;
    }
    Ok(())
}

/// Parses the transfer codings. Only `chunked` as the last coding delimits the body; applying it twice is an error (RFC
/// 9112 6.1).
fn transfer_encoding(value: &[u8], head: &mut HttpHead) -> Result<(), ProtocolError> {
    for coding in value.split(|&b| b == b',').map(<[u8]>::trim_ascii).filter(|c| !c.is_empty()) {
        let chunked = coding.eq_ignore_ascii_case(b"chunked");
        if chunked && head.has(CHUNKED) {
            return Err(ProtocolError(brunt_cause::http1::chunked_twice()));
        }
        head.flags = if chunked { head.flags | CHUNKED } else { head.flags & !CHUNKED } | CODED;
    }
    Ok(())
}

#[inline]
fn without_cr(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[inline]
fn has_control(text: &[u8]) -> bool {
    text.iter().fold(false, |found, &b| found | ((b < 0x20) & (b != b'\t')) | (b == 0x7f))
}
