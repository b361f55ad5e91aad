//! Parser of well-formed heads that reads 64 bytes at a time, with x86-64 vector instructions (AVX2).
//!
//! Each block becomes three bit masks (line ends, characters not allowed in names, characters not allowed in lines),
//! and lines are found by counting zeros, at about a quarter of the cost of looking at every byte. This is a fast path
//! that never rejects: a head that is incomplete, or not exactly as most servers write it, is left to [`super::codec`],
//! which parses it again from the start. The two therefore cannot disagree about what is rejected; a property test
//! checks that they agree about what is accepted.

use super::codec::HttpHead;

/// Longest head read this way, in blocks of 64 bytes.
const BLOCKS: usize = 16;

/// Parses a complete head; `start` parses the start line, without its line end. Returns `false` if it was not parsed;
/// `head` is then unspecified.
#[inline]
pub fn read(bytes: &[u8], head: &mut HttpHead, start: impl FnOnce(&[u8], &mut HttpHead) -> bool) -> bool {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1") {
        // SAFETY: the processor has both features, as was just checked.
        return unsafe { x86::read(bytes, head, start) };
    }
    let _ = (bytes, head, start);
    false
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m256i, _mm_loadu_si128, _mm256_and_si256, _mm256_broadcastsi128_si256, _mm256_cmpeq_epi8, _mm256_loadu_si256,
        _mm256_movemask_epi8, _mm256_set1_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_srli_epi16,
    };

    use super::super::codec::{self, HttpHead};
    use super::BLOCKS;

    /// A character class: bit `h` of entry `l` is set if character `h << 4 | l` belongs to the class. Only 7-bit
    /// characters can belong to one.
    type CharacterClass = [u8; 16];

    const TOKEN: CharacterClass = class(true);
    /// Control characters except tab and line feed; a CR is allowed only before a line feed.
    const ODD: CharacterClass = class(false);
    /// High half of a character as one bit.
    const HIGH: CharacterClass = [1, 2, 4, 8, 16, 32, 64, 128, 0, 0, 0, 0, 0, 0, 0, 0];

    const fn class(token: bool) -> CharacterClass {
        let mut table = [0; 16];
        let mut b = 0;
        while b < 128u8 {
            let odd = (b < b' ' && b != b'\t' && b != b'\n') || b == 0x7f;
            if (token && codec::is_token(b)) || (!token && odd) {
                table[(b & 15) as usize] |= 1 << (b >> 4);
            }
            b += 1;
        }
        table
    }

    /// Bit masks of 64 bytes, the first byte in the lowest bit.
    #[derive(Clone, Copy, Default)]
    struct BlockMasks {
        ends: u64,
        odd: u64,
        no_token: u64,
    }

    #[target_feature(enable = "avx2,bmi1")]
    pub fn read(bytes: &[u8], head: &mut HttpHead, start: impl FnOnce(&[u8], &mut HttpHead) -> bool) -> bool {
        let mut start = Some(start);
        let mut no_token = [0u64; BLOCKS];
        let mut line_at = 0;
        for block in 0..BLOCKS.min(bytes.len().div_ceil(64)) {
            let base = block * 64;
            let BlockMasks { mut ends, mut odd, no_token: mask } = masks(bytes, base);
            no_token[block] = mask;
            // A CR right before a line end is allowed, also across a block boundary.
            odd &= !(ends >> 1);
            if bytes.get(base + 64) == Some(&b'\n') {
                odd &= u64::MAX >> 1;
            }
            while ends != 0 {
                let bit = ends.trailing_zeros();
                let end = base + bit as usize;
                ends &= ends - 1;
                if end == line_at || bytes[end - 1] != b'\r' {
                    return false;
                }
                let line = &bytes[line_at..end - 1];
                if line.is_empty() {
                    head.at = end + 1;
                    head.started = true;
                    return start.is_none() && odd & ((1 << bit) - 1) == 0;
                }
                let good = match start.take() {
                    Some(start) => start(line, head),
                    None => field(line, line_at, &no_token, head),
                };
                if !good {
                    return false;
                }
                line_at = end + 1;
            }
            if odd != 0 {
                return false;
            }
        }
        false
    }

    /// Parses the field line that begins at `at`.
    #[inline]
    #[target_feature(enable = "avx2,bmi1")]
    fn field(line: &[u8], at: usize, no_token: &[u64; BLOCKS], head: &mut HttpHead) -> bool {
        let (block, bit) = (at / 64 % BLOCKS, at % 64);
        let mask = no_token[block] >> bit;
        let name = if mask != 0 {
            mask.trailing_zeros() as usize
        } else {
            // The name continues in the next block, or the line is invalid.
            let mask = no_token[(block + 1) % BLOCKS];
            64 - bit + mask.trailing_zeros() as usize
        };
        if name == 0 || line.get(name) != Some(&b':') {
            return false;
        }
        match name {
            6 | 7 | 10 | 14 | 17 => codec::framing_field(&line[..name], &line[name + 1..], head).is_ok(),
            _ => true,
        }
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1")]
    fn masks(bytes: &[u8], base: usize) -> BlockMasks {
        if let Some(block) = bytes.get(base..).and_then(<[u8]>::first_chunk::<64>) {
            return of_block(block);
        }
        let left = bytes.len() - base;
        if let Some(last) = bytes.last_chunk::<64>() {
            let BlockMasks { ends, odd, no_token } = of_block(last);
            let shift = (64 - left) as u32;
            return BlockMasks { ends: ends >> shift, odd: odd >> shift, no_token: no_token >> shift };
        }
        let mut block = [0; 64];
        block[..left].copy_from_slice(&bytes[base..]);
        let BlockMasks { ends, odd, no_token } = of_block(&block);
        BlockMasks { ends, odd: odd & ((1 << left) - 1), no_token }
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1")]
    fn of_block(block: &[u8; 64]) -> BlockMasks {
        let (low, high) = block.split_at(32);
        let (low, high) = (of_half(low), of_half(high));
        let join = |a: u32, b: u32| u64::from(a) | u64::from(b) << 32;
        BlockMasks { ends: join(low.0, high.0), odd: join(low.1, high.1), no_token: join(low.2, high.2) }
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1")]
    fn of_half(half: &[u8]) -> (u32, u32, u32) {
        debug_assert!(half.len() >= 32);
        // SAFETY: `half` is one of the two halves of 64 bytes; the load requires no alignment.
        let text = unsafe { _mm256_loadu_si256(half.as_ptr().cast()) };
        let nibble = _mm256_set1_epi8(15);
        let high = _mm256_shuffle_epi8(table(&HIGH), _mm256_and_si256(_mm256_srli_epi16::<4>(text), nibble));
        let outside = |class: &CharacterClass| {
            let members = _mm256_and_si256(_mm256_shuffle_epi8(table(class), text), high);
            mask(_mm256_cmpeq_epi8(members, _mm256_setzero_si256()))
        };
        let ends = mask(_mm256_cmpeq_epi8(text, _mm256_set1_epi8(b'\n' as i8)));
        (ends, !outside(&ODD), outside(&TOKEN))
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1")]
    fn mask(bytes: __m256i) -> u32 {
        _mm256_movemask_epi8(bytes) as u32
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1")]
    fn table(class: &CharacterClass) -> __m256i {
        // SAFETY: a class has the 16 bytes that are read; the load requires no alignment.
        _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(class.as_ptr().cast()) })
    }
}
