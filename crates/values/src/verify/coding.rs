//! Decoding of `Content-Encoding` (RFC 9110 8.4): gzip, deflate, br, zstd, and several of them in sequence.
//!
//! Only bodies that are kept for a check are decoded, and only up to a bound: a small body may decode to a huge one.

use std::io::Read;
use std::ops::Deref;

use cause::{Cause, checks};

use crate::kept::{Budget, Kept, NO_ROOM};

/// Maximum size of a decoded body, in bytes.
pub const DECODED_BOUND: u64 = 16 * 1024 * 1024;

/// Largest zstd window that a receiver must support (RFC 8878 3.1.1.1.2 and 9659: 8 MiB), as a power of two.
const ZSTD_WINDOW: u32 = 23;

/// The content coding of a body.
#[derive(Debug, PartialEq, Eq)]
pub enum Coding {
    /// No coding.
    None,
    /// A sequence of codings; the last one was applied last.
    By(Vec<Layer>),
    /// An unknown coding.
    Unknown,
}

/// One content coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// RFC 1952.
    Gzip,
    /// RFC 1950; some servers send RFC 1951 without its envelope.
    Deflate,
    /// RFC 7932.
    Brotli,
    /// RFC 8878.
    Zstd,
}

impl Coding {
    /// Parses the values of `Content-Encoding`.
    pub fn of<'a>(values: impl Iterator<Item = &'a [u8]>) -> Coding {
        let mut layers = Vec::new();
        for word in values.flat_map(|value| value.split(|b| *b == b',')).map(<[u8]>::trim_ascii) {
            match word.to_ascii_lowercase().as_slice() {
                b"" | b"identity" => {}
                b"gzip" | b"x-gzip" => layers.push(Layer::Gzip),
                b"deflate" => layers.push(Layer::Deflate),
                b"br" => layers.push(Layer::Brotli),
                b"zstd" => layers.push(Layer::Zstd),
                _ => return Coding::Unknown,
            }
        }
        if layers.is_empty() { Coding::None } else { Coding::By(layers) }
    }

    /// Decodes a body.
    ///
    /// # Errors
    /// The body is malformed, has an unknown coding, is too long, or exceeds the budget.
    pub fn decode<'a>(&self, body: &'a [u8], budget: &Budget) -> Result<Plain<'a>, Undecoded> {
        let layers = match self {
            Coding::None => return Ok(Plain::AsItCame(body)),
            Coding::Unknown => return Err(Undecoded::Broken),
            Coding::By(layers) => layers,
        };
        // More than a few stacked codings are an attack on the receiver's CPU time.
        if layers.len() > 4 {
            return Err(Undecoded::Broken);
        }
        let mut plain = Plain::AsItCame(body);
        for layer in layers.iter().rev() {
            plain = Plain::Made(decoded(*layer, &plain, budget)?);
        }
        Ok(plain)
    }
}

/// A body without its content coding.
#[derive(Debug)]
pub enum Plain<'a> {
    /// The body as received; it had no coding.
    AsItCame(&'a [u8]),
    /// The decoded body.
    Made(Kept),
}

impl Deref for Plain<'_> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Plain::AsItCame(bytes) => bytes,
            Plain::Made(kept) => kept,
        }
    }
}

/// The reason for which a body could not be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undecoded {
    /// The body is malformed, or its coding is unknown.
    Broken,
    /// The decoded body exceeds [`DECODED_BOUND`].
    TooLong,
    /// The budget is exhausted.
    NoRoom,
}

impl Undecoded {
    /// Returns the cause for a body of `size` bytes.
    pub fn why(self, size: usize) -> Cause {
        let bytes = measure::format_bytes(size as u64);
        match self {
            Undecoded::Broken => checks::undecodable(bytes),
            Undecoded::TooLong => checks::decoded_too_long(bytes, measure::format_bytes(DECODED_BOUND)),
            Undecoded::NoRoom => checks::undecoded(bytes, NO_ROOM),
        }
    }
}

fn decoded(layer: Layer, body: &[u8], budget: &Budget) -> Result<Kept, Undecoded> {
    match layer {
        Layer::Gzip => all(flate2::read::MultiGzDecoder::new(body), budget),
        Layer::Deflate => match all(flate2::read::ZlibDecoder::new(body), budget) {
            Err(Undecoded::Broken) => all(flate2::read::DeflateDecoder::new(body), budget),
            made => made,
        },
        Layer::Brotli => all(brotli_decompressor::Decompressor::new(body, 4096), budget),
        Layer::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::new(body).map_err(|_| Undecoded::Broken)?;
            decoder.window_log_max(ZSTD_WINDOW).map_err(|_| Undecoded::Broken)?;
            all(decoder, budget)
        }
    }
}

fn all(mut reader: impl Read, budget: &Budget) -> Result<Kept, Undecoded> {
    let (mut plain, mut piece) = (Kept::default(), [0; 8192]);
    loop {
        match reader.read(&mut piece) {
            Ok(0) => return Ok(plain),
            Ok(n) if (plain.len() + n) as u64 > DECODED_BOUND => return Err(Undecoded::TooLong),
            Ok(n) if !plain.add(&piece[..n], budget) => return Err(Undecoded::NoRoom),
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return Err(Undecoded::Broken),
        }
    }
}
