//! Digests and message authentication codes, selected by name, for signatures that protocols require. The program's own
//! secrets do not depend on them.

use aws_lc_rs::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY, SHA256};
use md5::Digest as _;

/// A digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DigestAlgorithm {
    /// RFC 1321.
    Md5,
    /// RFC 3174.
    Sha1,
    /// FIPS 180-4.
    Sha256,
}

/// Block size of all these digests, in bytes.
const BLOCK: usize = 64;

impl DigestAlgorithm {
    /// Names of the digests; the prefix `hmac-` selects the keyed variant.
    pub const NAMES: [(&'static str, DigestAlgorithm); 3] =
        [("md5", DigestAlgorithm::Md5), ("sha1", DigestAlgorithm::Sha1), ("sha256", DigestAlgorithm::Sha256)];

    /// Returns the size of the digest in bytes.
    pub fn size(self) -> usize {
        match self {
            DigestAlgorithm::Md5 => 16,
            DigestAlgorithm::Sha1 => 20,
            DigestAlgorithm::Sha256 => 32,
        }
    }

    /// Returns the digest of bytes given in two pieces; only the first [`DigestAlgorithm::size`] bytes are used.
    pub fn of(self, first: &[u8], second: &[u8]) -> [u8; 32] {
        let algorithm = match self {
            DigestAlgorithm::Md5 => {
                let sum = md5::Md5::new().chain_update(first).chain_update(second).finalize();
                return padded(&sum);
            }
            DigestAlgorithm::Sha1 => &SHA1_FOR_LEGACY_USE_ONLY,
            DigestAlgorithm::Sha256 => &SHA256,
        };
        let mut context = Context::new(algorithm);
        context.update(first);
        context.update(second);
        padded(context.finish().as_ref())
    }

    /// Returns the HMAC (RFC 2104); only the first [`DigestAlgorithm::size`] bytes are used.
    pub fn hmac(self, key: &[u8], bytes: &[u8]) -> [u8; 32] {
        let mut block = [0; BLOCK];
        if key.len() > BLOCK {
            block[..self.size()].copy_from_slice(&self.of(key, &[])[..self.size()]);
        } else {
            block[..key.len()].copy_from_slice(key);
        }
        let inner = self.of(&block.map(|byte| byte ^ 0x36), bytes);
        self.of(&block.map(|byte| byte ^ 0x5c), &inner[..self.size()])
    }
}

fn padded(sum: &[u8]) -> [u8; 32] {
    let mut all = [0; 32];
    all[..sum.len()].copy_from_slice(sum);
    all
}

#[cfg(test)]
mod tests {
    use super::DigestAlgorithm;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// RFC 1321 A.5, FIPS 180-4 (examples), RFC 2202 and RFC 4231 (cases 2 and 6).
    #[test]
    fn published_values() {
        let of = |digest: DigestAlgorithm, text: &[u8]| hex(&digest.of(&text[..1], &text[1..])[..digest.size()]);
        assert_eq!(of(DigestAlgorithm::Md5, b"abc"), "900150983cd24fb0d6963f7d28e17f72");
        assert_eq!(of(DigestAlgorithm::Sha1, b"abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
        let wanted = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(of(DigestAlgorithm::Sha256, b"abc"), wanted);
        let keyed = |digest: DigestAlgorithm, key: &[u8], text: &[u8]| hex(&digest.hmac(key, text)[..digest.size()]);
        let (jefe, long) = (&b"Jefe"[..], &b"Test Using Larger Than Block-Size Key - Hash Key First"[..]);
        let what = b"what do ya want for nothing?";
        assert_eq!(keyed(DigestAlgorithm::Md5, jefe, what), "750c783e6ab0b503eaa86e310a5db738");
        assert_eq!(keyed(DigestAlgorithm::Sha1, jefe, what), "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
        assert_eq!(keyed(DigestAlgorithm::Md5, &[0xaa; 80], long), "6b1ab7fe4bd7bf8f0b62e6ce61b9d0cd");
        let wanted = "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54";
        assert_eq!(keyed(DigestAlgorithm::Sha256, &[0xaa; 131], long), wanted);
    }
}
