//! Bodies as they were before `Content-Encoding` (RFC 9110 8.4): gzip, deflate, br, zstd, and several of them in turn.
//!
//! Only bodies that were kept for a check are decoded, and no further than a bound: a small body may stand for a huge one.

use std::borrow::Cow;
use std::io::Read;

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

    /// The body as it was; None where it is broken, too long or coded otherwise.
    pub fn decode<'a>(&self, body: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        let layers = match self {
            Coding::None => return Some(Cow::Borrowed(body)),
            Coding::Unknown => return None,
            Coding::By(layers) => layers,
        };
        let mut plain = Cow::Borrowed(body);
        // More than a few codings over each other are meant to keep somebody busy.
        for layer in layers.iter().rev().take(4) {
            plain = Cow::Owned(decoded(*layer, &plain)?);
        }
        (layers.len() <= 4).then_some(plain)
    }
}

fn decoded(layer: Layer, body: &[u8]) -> Option<Vec<u8>> {
    match layer {
        Layer::Gzip => all(flate2::read::MultiGzDecoder::new(body)),
        Layer::Deflate => {
            all(flate2::read::ZlibDecoder::new(body)).or_else(|| all(flate2::read::DeflateDecoder::new(body)))
        }
        Layer::Brotli => all(brotli_decompressor::Decompressor::new(body, 4096)),
        Layer::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::new(body).ok()?;
            decoder.window_log_max(ZSTD_WINDOW).ok()?;
            all(decoder)
        }
    }
}

fn all(reader: impl Read) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    reader.take(DECODED_BOUND + 1).read_to_end(&mut plain).ok()?;
    (plain.len() as u64 <= DECODED_BOUND).then_some(plain)
}
