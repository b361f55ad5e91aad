//! Compressed messages (gRPC over HTTP/2, "Message-Encoding"; `doc/compression.md` of the grpc project).
//!
//! Under load they are counted as received. Only messages that are examined (reflection, `--debug`) are decompressed,
//! up to a limit: a small message may decompress to a huge one.

use super::framing::{self, PREFIX};
use brunt_values::budget::MemoryBudget;
use brunt_values::verify::coding::{CodingLayer, ContentCoding};

/// Maximum size of all messages of a response once decompressed.
const BOUND: usize = 64 << 20;

/// The compression of a response's messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MessageEncoding {
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

impl MessageEncoding {
    /// All encodings, by number.
    pub const ALL: [MessageEncoding; 4] =
        [MessageEncoding::Identity, MessageEncoding::Gzip, MessageEncoding::Deflate, MessageEncoding::Other];

    /// Parses the value of `grpc-encoding`.
    pub fn of(value: &[u8]) -> MessageEncoding {
        match value {
            b"" | b"identity" => MessageEncoding::Identity,
            b"gzip" => MessageEncoding::Gzip,
            b"deflate" => MessageEncoding::Deflate,
            _ => MessageEncoding::Other,
        }
    }

    /// Decompresses a message; `None` if it is corrupt, too long or in an unknown encoding.
    pub fn decompress(self, message: &[u8]) -> Option<Vec<u8>> {
        let layer = match self {
            MessageEncoding::Gzip => CodingLayer::Gzip,
            MessageEncoding::Deflate => CodingLayer::Deflate,
            MessageEncoding::Identity | MessageEncoding::Other => return None,
        };
        ContentCoding::By(vec![layer]).decode(message, &MemoryBudget::default()).ok().map(|plain| plain.to_vec())
    }
}

/// Decompresses messages with their prefixes. An incomplete message at the end is left out.
///
/// # Errors
/// Fails if a message cannot be decompressed.
pub fn decompress_all(body: &[u8], encoding: MessageEncoding) -> Result<Vec<u8>, brunt_cause::StaticCause> {
    let (mut plain, mut rest) = (Vec::new(), body);
    while let Some((&[flag, a, b, c, d], behind)) = rest.split_first_chunk::<PREFIX>() {
        let Some((message, more)) = behind.split_at_checked(u32::from_be_bytes([a, b, c, d]) as usize) else { break };
        if flag == 0 {
            framing::put(message, &mut plain);
        } else {
            let message = encoding.decompress(message).ok_or(brunt_cause::grpc::broken_compression())?;
            framing::put(&message, &mut plain);
        }
        if plain.len() > BOUND {
            return Err(brunt_cause::grpc::long_decompressed());
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
        assert_eq!(decompress_all(&body, MessageEncoding::Gzip), Ok(plain));
        let huge = framed(1, &gzip(&vec![0; 17 << 20]));
        assert!(huge.len() < 1 << 20 && decompress_all(&huge, MessageEncoding::Gzip).is_err());
        let many = framed(1, &gzip(&vec![0; 16 << 20])).repeat(5);
        assert!(decompress_all(&many, MessageEncoding::Gzip).is_err_and(|why| why.en().contains("64 MiB")));
        for encoding in [MessageEncoding::Identity, MessageEncoding::Deflate, MessageEncoding::Other] {
            assert!(decompress_all(&body, encoding).is_err(), "{encoding:?}");
        }
    }
}
