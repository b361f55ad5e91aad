//! Masking keys and masking (RFC 6455 5.3).
//!
//! The keys of a connection are derived from its seed with splitmix64, so a run can be repeated. A connection with seed
//! 0, as shown by `--debug`, masks with zero, so its bytes are readable. Masking is a plain loop over eight bytes at a
//! time, which the compiler vectorizes.

/// A generator of masking keys.
#[derive(Clone, Copy, Debug)]
pub struct MaskKeys(u64);

impl MaskKeys {
    /// Creates the generator of a connection with this seed.
    pub fn new(seed: u64) -> MaskKeys {
        MaskKeys(seed)
    }

    /// Returns the seed; valid only before the first key is taken.
    pub fn seed(self) -> u64 {
        self.0
    }

    /// Returns 64 random bits (splitmix64; Steele, Lea and Flood 2014).
    #[inline]
    pub fn bits(&mut self) -> u64 {
        brunt_measure::random::splitmix64(&mut self.0)
    }

    /// Returns the next key.
    #[inline]
    pub fn key(&mut self) -> [u8; 4] {
        if self.0 == 0 {
            return [0; 4];
        }
        ((self.bits() >> 32) as u32).to_le_bytes()
    }
}

/// Masks or unmasks `bytes`, which follow `before` bytes masked with the same key.
#[inline]
pub fn mask(bytes: &mut [u8], key: [u8; 4], before: u64) {
    let key = u32::from_le_bytes(key).rotate_right(8 * (before % 4) as u32);
    let wide = u64::from(key) << 32 | u64::from(key);
    let (words, rest) = bytes.as_chunks_mut::<8>();
    for word in words {
        *word = (u64::from_le_bytes(*word) ^ wide).to_le_bytes();
    }
    for (byte, key) in rest.iter_mut().zip(wide.to_le_bytes()) {
        *byte ^= key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_and_every_start() {
        let key = [1, 20, 130, 255];
        for length in 0..70 {
            for cut in 0..=length {
                let plain: Vec<u8> = (0..length as u8).map(|n| n.wrapping_mul(37)).collect();
                let mut masked = plain.clone();
                mask(&mut masked[..cut], key, 0);
                mask(&mut masked[cut..], key, cut as u64);
                let expected: Vec<u8> = plain.iter().enumerate().map(|(i, b)| b ^ key[i % 4]).collect();
                assert_eq!(masked, expected, "{length} cut at {cut}");
            }
        }
    }

    #[test]
    fn keys_differ_and_repeat_with_the_seed() {
        let keys = |seed| {
            let mut masks = MaskKeys::new(seed);
            [masks.key(), masks.key(), masks.key()]
        };
        assert_eq!(keys(5), keys(5));
        assert_ne!(keys(5), keys(6));
        assert_ne!(keys(5)[0], keys(5)[1]);
        assert_eq!(keys(0), [[0; 4]; 3]);
    }
}
