//! Response heads and trailers: the rules of RFC 9113 8.2 and 8.3 for their fields.
//!
//! White space around a value is accepted, as in browsers, although 8.2.1 forbids it.

use brunt_cause::StaticCause;

use super::hpack::{HeaderFields, HpackError};
use crate::http1::codec::is_token;

/// The body length if none is announced.
pub const UNKNOWN: u64 = u64::MAX;

/// The reason why a response is malformed (8.1.1).
#[derive(Clone, Copy, Debug)]
pub struct MalformedHead(pub StaticCause);

const NO_STATUS: MalformedHead = MalformedHead(brunt_cause::http2::no_status());
const BAD_STATUS: MalformedHead = MalformedHead(brunt_cause::http2::wrong_status());
const BAD_FIELD: MalformedHead = MalformedHead(brunt_cause::http2::wrong_field());
const BAD_LENGTH: MalformedHead = MalformedHead(brunt_cause::http2::wrong_length());

/// The result of reading a head: status and announced length. It can be encoded as one number.
#[derive(Clone, Copy)]
pub struct HeadSummary {
    /// Status code.
    pub status: u16,
    /// The announced length of the body, or [`UNKNOWN`].
    pub announced: u64,
}

impl HeadSummary {
    /// Encodes the head as one number; `None` if the announced length is 2^53 or more.
    pub fn digest(self) -> Option<u64> {
        match self.announced {
            UNKNOWN => Some(u64::from(self.status)),
            length => (length < 1 << 53).then(|| (length + 1) << 10 | u64::from(self.status)),
        }
    }

    /// Decodes a number returned by [`Self::digest`].
    #[inline]
    pub fn from_digest(digest: u64) -> HeadSummary {
        let announced = (digest >> 10).wrapping_sub(1);
        HeadSummary { status: (digest & 1023) as u16, announced }
    }
}

/// Reads a head. If `closely` returns `true` for the status, also writes the head to `text` in HTTP/1 syntax.
///
/// # Errors
/// The outer error means that the block cannot be decoded and the connection cannot continue; the inner error means
/// that the response is malformed.
pub fn read(
    fields: &mut HeaderFields<'_>,
    closely: &impl Fn(u16) -> bool,
    text: &mut Vec<u8>,
) -> Result<Result<HeadSummary, MalformedHead>, HpackError> {
    let mut said = HeadSummary { status: 0, announced: UNKNOWN };
    let mut writes = false;
    while let Some((name, value)) = fields.next()? {
        if name == b":status" && said.status == 0 {
            let Some(status) = status(value) else { return Ok(Err(BAD_STATUS)) };
            said.status = status;
            writes = status >= 200 && closely(status);
            if writes {
                text.extend_from_slice(format!("HTTP/2 {status}\r\n").as_bytes());
            }
            continue;
        }
        if said.status == 0 {
            return Ok(Err(NO_STATUS));
        }
        if !is_field(name, value) {
            return Ok(Err(BAD_FIELD));
        }
        if name == b"content-length" {
            match length(value) {
                Some(length) if said.announced == UNKNOWN || said.announced == length => said.announced = length,
                _ => return Ok(Err(BAD_LENGTH)),
            }
        }
        if writes {
            for part in [name, b": ", value, b"\r\n"] {
                text.extend_from_slice(part);
            }
        }
    }
    if writes {
        text.extend_from_slice(b"\r\n");
    }
    Ok(if said.status == 0 { Err(NO_STATUS) } else { Ok(said) })
}

/// Reads a trailer and passes its fields to `hear`. Returns `false` if the trailer is malformed.
///
/// # Errors
/// Fails if the block cannot be decoded.
pub fn is_trailer(fields: &mut HeaderFields<'_>, mut hear: impl FnMut(&[u8], &[u8])) -> Result<bool, HpackError> {
    while let Some((name, value)) = fields.next()? {
        if !is_field(name, value) {
            return Ok(false);
        }
        hear(name, value);
    }
    Ok(true)
}

fn status(value: &[u8]) -> Option<u16> {
    let [a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] = *value else { return None };
    Some(u16::from(a - b'0') * 100 + u16::from(b - b'0') * 10 + u16::from(c - b'0'))
}

fn length(value: &[u8]) -> Option<u64> {
    let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(value).ok().filter(|_| digits)?.parse().ok().filter(|n| *n != UNKNOWN)
}

/// Returns `true` for a field that is allowed in a response: lowercase name, value on one line, not connection-specific
/// (HTTP/1.1).
pub(super) fn is_field(name: &[u8], value: &[u8]) -> bool {
    let of_connections =
        matches!(name, b"connection" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding" | b"upgrade");
    let small = !name.is_empty() && name.iter().all(|&b| is_token(b) && !b.is_ascii_uppercase());
    small && !of_connections && !value.iter().any(|b| matches!(b, 0 | b'\r' | b'\n'))
}
