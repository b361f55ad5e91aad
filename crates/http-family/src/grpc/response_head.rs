//! Parses header blocks of responses: the HTTP status, the gRPC status and the compression of messages.

use super::compressed::MessageEncoding;
use crate::http2::hpack::{HeaderFields, HpackError};
use brunt_values::budget::MemoryBudget;
use brunt_values::verify::header::KeptHeaderLines;

/// Maximum length of a status message kept as an example, in bytes.
pub const EXCERPT_BOUND: usize = 4096;

/// The content of a header block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResponseHead {
    pub http: u16,
    /// Set if the content type is that of gRPC.
    pub grpc: bool,
    pub encoding: MessageEncoding,
    pub status: Option<u32>,
}

impl ResponseHead {
    /// Encodes the head as one number: 10 bits of HTTP status, 1 of content type, 2 of encoding, then the gRPC status
    /// plus one.
    pub fn digest(self) -> u64 {
        let status = self.status.map_or(0, |status| u64::from(status) + 1);
        status << 13 | (self.encoding as u64) << 11 | u64::from(self.grpc) << 10 | u64::from(self.http & 1023)
    }
    /// Decodes a number returned by [`Self::digest`].
    #[inline]
    pub fn from_digest(digest: u64) -> ResponseHead {
        let status = (digest >> 13).checked_sub(1).map(|status| status as u32);
        let encoding = MessageEncoding::ALL[(digest >> 11 & 3) as usize];
        ResponseHead { http: (digest & 1023) as u16, grpc: digest >> 10 & 1 != 0, encoding, status }
    }
}

/// Reads a header block. Returns its content and the status message, if there is one; `keep` receives the fields.
pub fn read(
    fields: &mut HeaderFields<'_>,
    mut keep: Option<(&mut KeptHeaderLines, &MemoryBudget)>,
) -> Result<(ResponseHead, Option<String>), HpackError> {
    let (mut said, mut message) = (ResponseHead::default(), None);
    while let Some((name, value)) = fields.next()? {
        if let Some((lines, budget)) = &mut keep {
            match name {
                [b':', ..] => {}
                b"grpc-message" => lines.push_field(name, unescaped(value).as_bytes(), budget),
                _ => lines.push_field(name, value, budget),
            }
        }
        match name {
            b":status" => said.http = number(value).map_or(0, |n| n.min(1023) as u16),
            b"content-type" => said.grpc = value.starts_with(b"application/grpc"),
            b"grpc-encoding" => said.encoding = MessageEncoding::of(value),
            // A status that is not a number is UNKNOWN, as in other clients.
            b"grpc-status" => said.status = Some(number(value).unwrap_or(2)),
            b"grpc-message" if !value.is_empty() => message = Some(unescaped(value)),
            _ => {}
        }
    }
    Ok((said, message))
}

fn number(digits: &[u8]) -> Option<u32> {
    let plain = !digits.is_empty() && digits.len() <= 9 && digits.iter().all(u8::is_ascii_digit);
    plain.then(|| digits.iter().fold(0, |n, digit| n * 10 + u32::from(digit - b'0')))
}

/// Decodes the percent-encoding of a status message; invalid escapes are kept unchanged.
fn unescaped(text: &[u8]) -> String {
    let plain: Vec<u8> = percent_encoding::percent_decode(text).take(EXCERPT_BOUND).collect();
    String::from_utf8_lossy(&plain).into_owned()
}
