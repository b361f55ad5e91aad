//! Decoding of `Content-Encoding` (RFC 9110 8.4): gzip, deflate, br, zstd, and sequences of these.
//!
//! Only bodies kept for a check are decoded, and only up to a limit, because a small body may decode to a huge one.

use std::io::Read;
use std::ops::Deref;

use brunt_cause::{Cause, checks};

use crate::budget::{BudgetedBuffer, MemoryBudget, NO_ROOM};

/// Maximum size of a decoded body, in bytes.
pub const DECODED_BOUND: u64 = 16 * 1024 * 1024;

/// Largest zstd window that a receiver must support, as a power of two: 8 MiB (RFC 8878 3.1.1.1.2, RFC 9659).
const ZSTD_WINDOW: u32 = 23;

/// The content coding of a body.
#[derive(Debug, PartialEq, Eq)]
pub enum ContentCoding {
    /// No coding.
    None,
    /// A sequence of codings; the last one was applied last.
    By(Vec<CodingLayer>),
    /// An unknown coding.
    Unknown,
}

/// One content coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodingLayer {
    /// RFC 1952.
    Gzip,
    /// RFC 1950; some servers send raw RFC 1951 data without this wrapper.
    Deflate,
    /// RFC 7932.
    Brotli,
    /// RFC 8878.
    Zstd,
}

impl ContentCoding {
    /// Parses the values of `Content-Encoding`.
    pub fn of<'a>(values: impl Iterator<Item = &'a [u8]>) -> ContentCoding {
        let mut layers = Vec::new();
        for word in values.flat_map(|value| value.split(|b| *b == b',')).map(<[u8]>::trim_ascii) {
            match word.to_ascii_lowercase().as_slice() {
                b"" | b"identity" => {}
                b"gzip" | b"x-gzip" => layers.push(CodingLayer::Gzip),
                b"deflate" => layers.push(CodingLayer::Deflate),
                b"br" => layers.push(CodingLayer::Brotli),
                b"zstd" => layers.push(CodingLayer::Zstd),
                _ => return ContentCoding::Unknown,
            }
        }
        if layers.is_empty() { ContentCoding::None } else { ContentCoding::By(layers) }
    }

    /// Decodes a body.
    ///
    /// # Errors
    /// The body is malformed, has an unknown coding, is too long, or exceeds the budget.
    pub fn decode<'a>(&self, body: &'a [u8], budget: &MemoryBudget) -> Result<DecodedBody<'a>, DecodeFailure> {
        let layers = match self {
            ContentCoding::None => return Ok(DecodedBody::Uncoded(body)),
            ContentCoding::Unknown => return Err(DecodeFailure::Malformed),
            ContentCoding::By(layers) => layers,
        };
        // More than a few stacked codings are an attack on the receiver's CPU time.
        if layers.len() > 4 {
            return Err(DecodeFailure::Malformed);
        }
        let mut plain = DecodedBody::Uncoded(body);
        for layer in layers.iter().rev() {
            plain = DecodedBody::Decoded(decode_layer(*layer, &plain, budget)?);
        }
        Ok(plain)
    }
}

/// A body after removal of its content coding.
#[derive(Debug)]
pub enum DecodedBody<'a> {
    /// The body as received, which has no coding.
    Uncoded(&'a [u8]),
    /// The decoded body.
    Decoded(BudgetedBuffer),
}

impl Deref for DecodedBody<'_> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            DecodedBody::Uncoded(bytes) => bytes,
            DecodedBody::Decoded(kept) => kept,
        }
    }
}

/// The reason why a body could not be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeFailure {
    /// The body is malformed, or its coding is unknown.
    Malformed,
    /// The decoded body exceeds [`DECODED_BOUND`].
    TooLong,
    /// The budget is exhausted.
    OverBudget,
}

impl DecodeFailure {
    /// Returns the cause for a body of `size` bytes.
    pub fn cause(self, size: usize) -> Cause {
        let bytes = brunt_measure::format_bytes(size as u64);
        match self {
            DecodeFailure::Malformed => checks::undecodable(bytes),
            DecodeFailure::TooLong => checks::decoded_too_long(bytes, brunt_measure::format_bytes(DECODED_BOUND)),
            DecodeFailure::OverBudget => checks::undecoded(bytes, NO_ROOM),
        }
    }
}

fn decode_layer(layer: CodingLayer, body: &[u8], budget: &MemoryBudget) -> Result<BudgetedBuffer, DecodeFailure> {
    match layer {
        CodingLayer::Gzip => read_all(flate2::read::MultiGzDecoder::new(body), budget),
        CodingLayer::Deflate => match read_all(flate2::read::ZlibDecoder::new(body), budget) {
            Err(DecodeFailure::Malformed) => read_all(flate2::read::DeflateDecoder::new(body), budget),
            made => made,
        },
        CodingLayer::Brotli => read_all(brotli_decompressor::Decompressor::new(body, 4096), budget),
        CodingLayer::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::new(body).map_err(|_| DecodeFailure::Malformed)?;
            decoder.window_log_max(ZSTD_WINDOW).map_err(|_| DecodeFailure::Malformed)?;
            read_all(decoder, budget)
        }
    }
}

fn read_all(mut reader: impl Read, budget: &MemoryBudget) -> Result<BudgetedBuffer, DecodeFailure> {
    let (mut plain, mut piece) = (BudgetedBuffer::default(), [0; 8192]);
    loop {
        match reader.read(&mut piece) {
            Ok(0) => return Ok(plain),
            Ok(n) if (plain.len() + n) as u64 > DECODED_BOUND => return Err(DecodeFailure::TooLong),
            Ok(n) if !plain.extend(&piece[..n], budget) => return Err(DecodeFailure::OverBudget),
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return Err(DecodeFailure::Malformed),
        }
    }
}
