//! Compressed messages (gRPC over HTTP/2, «Message-Encoding»; `doc/compression.md` of the grpc project).
//!
//! Load counts them as they came. Only what is looked into (reflection, `--debug`) is decompressed, and no further than a
//! bound: a small message may stand for a huge one.

use super::framing::{self, PREFIX};
use values::kept::Budget;
use values::verify::coding::{Coding, Layer};

/// The most that all messages of one answer may come to once decompressed.
const BOUND: usize = 64 << 20;

/// How the messages of an answer may be compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// Not at all.
    #[default]
    Identity,
    /// RFC 1952.
    Gzip,
    /// RFC 1950.
    Deflate,
    /// In a way that is not known here.
    Other,
}

impl Encoding {
    /// By their numbers.
    pub const ALL: [Encoding; 4] = [Encoding::Identity, Encoding::Gzip, Encoding::Deflate, Encoding::Other];

    /// What the value of `grpc-encoding` names.
    pub fn of(value: &[u8]) -> Encoding {
        match value {
            b"" | b"identity" => Encoding::Identity,
            b"gzip" => Encoding::Gzip,
            b"deflate" => Encoding::Deflate,
            _ => Encoding::Other,
        }
    }

    /// A message as it was; None where it is broken, too long or compressed otherwise.
    pub fn undo(self, message: &[u8]) -> Option<Vec<u8>> {
        let layer = match self {
            Encoding::Gzip => Layer::Gzip,
            Encoding::Deflate => Layer::Deflate,
            Encoding::Identity | Encoding::Other => return None,
        };
        Coding::By(vec![layer]).decode(message, &Budget::default()).ok().map(|plain| plain.to_vec())
    }
}

/// Messages with their prefixes, each as it was before it was compressed. What is not whole at the end is left out.
///
/// # Errors
/// A message that cannot be had as it was.
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
