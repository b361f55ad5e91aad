//! Compressed messages (gRPC over HTTP/2, "Message-Encoding"; `doc/compression.md` of the grpc project).
//!
//! Under load they are counted as they came. Only messages that are examined (reflection, `--debug`) are decompressed,
//! up to a limit: a small message may stand for a huge one.

use super::framing::{self, PREFIX};
use values::kept::Budget;
use values::verify::coding::{Coding, Layer};

/// Maximum size of all messages of a response once decompressed.
const BOUND: usize = 64 << 20;

/// The compression of a response's messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// No compression.
    #[default]
    Identity,
    /// RFC 1952.
    Gzip,
    /// RFC 1950.
    Deflate,
    /// An unknown compression.
    Other,
}

impl Encoding {
    /// All encodings, by number.
    pub const ALL: [Encoding; 4] = [Encoding::Identity, Encoding::Gzip, Encoding::Deflate, Encoding::Other];

    /// Parses the value of `grpc-encoding`.
    pub fn of(value: &[u8]) -> Encoding {
        match value {
            b"" | b"identity" => Encoding::Identity,
            b"gzip" => Encoding::Gzip,
            b"deflate" => Encoding::Deflate,
            _ => Encoding::Other,
        }
    }

    /// Decompresses a message; `None` if it is corrupt, too long or in an unknown encoding.
    pub fn undo(self, message: &[u8]) -> Option<Vec<u8>> {
        let layer = match self {
            Encoding::Gzip => Layer::Gzip,
            Encoding::Deflate => Layer::Deflate,
            Encoding::Identity | Encoding::Other => return None,
        };
        Coding::By(vec![layer]).decode(message, &Budget::default()).ok().map(|plain| plain.to_vec())
    }
}

/// Decompresses messages with their prefixes. An incomplete message at the end is left out.
///
/// # Errors
/// Fails if a message cannot be decompressed.
pub fn undone(body: &[u8], encoding: Encoding) -> Result<Vec<u8>, cause::Plain> {
    let (mut plain, mut rest) = (Vec::new(), body);
    while let Some((&[flag, a, b, c, d], behind)) = rest.split_first_chunk::<PREFIX>() {
        let Some((message, more)) = behind.split_at_checked(u32::from_be_bytes([a, b, c, d]) as usize) else { break };
        if flag == 0 {
            framing::put(message, &mut plain);
        } else {
            let message = encoding.undo(message).ok_or(cause::grpc::broken_compression())?;
            framing::put(&message, &mut plain);
        }
        if plain.len() > BOUND {
            return Err(cause::grpc::long_decompressed());
        }
        rest = more;
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).expect("written");
        encoder.finish().expect("finished")
    }

    fn framed(flag: u8, message: &[u8]) -> Vec<u8> {
        [&[flag][..], &(message.len() as u32).to_be_bytes(), message].concat()
    }

    #[test]
    fn messages_come_out_as_they_were_and_no_further_than_a_bound() {
        let body = [framed(1, &gzip(b"one")), framed(0, b"two"), framed(1, &gzip(b"three"))].concat();
        let plain = [framed(0, b"one"), framed(0, b"two"), framed(0, b"three")].concat();
        assert_eq!(undone(&body, Encoding::Gzip), Ok(plain));
        let huge = framed(1, &gzip(&vec![0; 17 << 20]));
        assert!(huge.len() < 1 << 20 && undone(&huge, Encoding::Gzip).is_err());
        let many = framed(1, &gzip(&vec![0; 16 << 20])).repeat(5);
        assert!(undone(&many, Encoding::Gzip).is_err_and(|why| why.en().contains("64 MiB")));
        for encoding in [Encoding::Identity, Encoding::Deflate, Encoding::Other] {
            assert!(undone(&body, encoding).is_err(), "{encoding:?}");
        }
    }
}
