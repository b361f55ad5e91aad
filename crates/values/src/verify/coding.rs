//! Bodies as they were before `Content-Encoding` (RFC 9110 8.4): gzip, deflate, br, zstd, and several of them in turn.
//!
//! Only bodies that were kept for a check are decoded, and no further than a bound: a small body may stand for a huge one.

use std::io::Read;
use std::ops::Deref;

use cause::{Cause, checks};

use crate::kept::{Budget, Kept, NO_ROOM};

/// The most bytes a body may have once decoded.
pub const DECODED_BOUND: u64 = 16 * 1024 * 1024;

/// The largest window of zstd that a receiver must take (RFC 8878 3.1.1.1.2 and 9659: 8 MiB), as a power of two.
const ZSTD_WINDOW: u32 = 23;

/// How a body is coded.
#[derive(Debug, PartialEq, Eq)]
pub enum Coding {
    /// Not at all.
    None,
    /// By these, the last one applied last.
    By(Vec<Layer>),
    /// In a way that is not known here.
    Unknown,
}

/// One coding.
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
    /// The coding that these values of `Content-Encoding` tell.
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

    /// The body as it was.
    ///
    /// # Errors
    /// It is broken, coded otherwise, too long, or there is no room for it.
    pub fn decode<'a>(&self, body: &'a [u8], budget: &Budget) -> Result<Plain<'a>, Undecoded> {
        let layers = match self {
            Coding::None => return Ok(Plain::AsItCame(body)),
            Coding::Unknown => return Err(Undecoded::Broken),
            Coding::By(layers) => layers,
        };
        // More than a few codings over each other are meant to keep somebody busy.
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

/// A body as it was before its coding.
#[derive(Debug)]
pub enum Plain<'a> {
    /// It had none.
    AsItCame(&'a [u8]),
    /// Decoded.
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

/// Why a body could not be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undecoded {
    /// It is not coded as it says, or in a way that is not known here.
    Broken,
    /// It is longer than [`DECODED_BOUND`].
    TooLong,
    /// Too much is kept already.
    NoRoom,
}

impl Undecoded {
    /// What there is to say of it about a body of so many bytes.
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
