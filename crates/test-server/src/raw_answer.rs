//! Raw answers: bytes prepared once, with a block in the middle that is sent repeatedly.
//!
//! They allow sending a gibibyte without holding it in memory, and giving answers that no correct session would give:
//! garbage, endless headers, bodies of the wrong length, truncated answers. The bytes are HTTP/1.1.

use std::sync::{Arc, LazyLock};

use brunt_contract::OutputBuffer;

/// Size of a block in bytes, and of the largest body that is sent in one piece.
pub const BLOCK: usize = 64 * 1024;

/// The content of bodies: the alphabet, repeated, each time followed by a line feed.
pub static FILLER: [u8; BLOCK] = {
    let mut bytes = [0; BLOCK];
    let mut i = 0;
    while i < BLOCK {
        bytes[i] = if i % 27 == 26 { b'\n' } else { b'a' + (i % 27) as u8 };
        i += 1;
    }
    bytes
};
static FILLER_BLOCK: LazyLock<Arc<[u8]>> = LazyLock::new(|| Arc::from(FILLER.as_slice()));

/// Returns a block of filler that can be sent repeatedly.
pub fn filler_block() -> &'static Arc<[u8]> {
    &FILLER_BLOCK
}

/// Returns the number of whole blocks in a size.
pub fn blocks(size: usize) -> u64 {
    (size / BLOCK) as u64
}

/// A raw answer: the head, the block repeated `blocks` times, the tail.
#[derive(Clone, Debug)]
pub struct RawAnswer {
    /// First bytes, which are also the whole answer to HEAD.
    pub head: Vec<u8>,
    block: Arc<[u8]>,
    blocks: u64,
    tail: Vec<u8>,
}

impl RawAnswer {
    /// Creates an answer of exactly these bytes.
    pub fn bytes(head: Vec<u8>) -> RawAnswer {
        RawAnswer { head, block: Arc::from([].as_slice()), blocks: 0, tail: Vec::new() }
    }

    /// Creates an answer of a head and `size` bytes of filler.
    pub fn filler(head: Vec<u8>, size: u64) -> RawAnswer {
        let tail = FILLER[..(size % BLOCK as u64) as usize].to_vec();
        RawAnswer { head, block: Arc::clone(&FILLER_BLOCK), blocks: size / BLOCK as u64, tail }
    }

    /// Creates an answer of a head and a chunked body of `size` bytes in chunks of `chunk` (at least 1), ended
    /// by the empty chunk.
    pub fn chunked(head: Vec<u8>, size: u64, chunk: usize) -> RawAnswer {
        let one = |size: usize, into: &mut Vec<u8>| {
            into.extend_from_slice(format!("{size:x}\r\n").as_bytes());
            into.extend(FILLER.iter().cycle().take(size));
            into.extend_from_slice(b"\r\n");
        };
        // As many chunks per block as fit, so that tiny chunks do not mean tiny sends.
        let together = (BLOCK / (chunk + 8)).max(1) as u64;
        let chunks = size / chunk as u64;
        let mut block = Vec::new();
        (0..together.min(chunks)).for_each(|_| one(chunk, &mut block));
        let mut tail = Vec::new();
        (0..chunks % together).for_each(|_| one(chunk, &mut tail));
        match (size % chunk as u64) as usize {
            0 => {}
            rest => one(rest, &mut tail),
        }
        tail.extend_from_slice(b"0\r\n\r\n");
        RawAnswer { head, block: block.into(), blocks: chunks / together, tail }
    }

    /// Creates an answer of a head and header lines that never end.
    pub fn endless_headers(head: Vec<u8>) -> RawAnswer {
        let line = b"x-endless: and another header line that nobody asked for\r\n";
        let block: Vec<u8> = line.iter().copied().cycle().take(line.len() * (BLOCK / line.len())).collect();
        RawAnswer { head, block: block.into(), blocks: u64::MAX, tail: Vec::new() }
    }

    /// Keeps only the first `keep` bytes.
    pub fn cut(mut self, keep: u64) -> RawAnswer {
        let in_head = keep.min(self.head.len() as u64);
        self.head.truncate(in_head as usize);
        let rest = keep - in_head;
        let block = self.block.len() as u64;
        if block == 0 || rest / block >= self.blocks {
            self.tail.truncate((rest - self.blocks * block).min(usize::MAX as u64) as usize);
        } else {
            self.blocks = rest / block;
            self.tail = self.block[..(rest % block) as usize].to_vec();
        }
        self
    }

    /// Appends the head and the first block, so that they leave together, and the tail if it follows directly;
    /// returns the number of blocks left.
    pub fn begin(&self, head_only: bool, out: &mut OutputBuffer) -> u64 {
        out.put(&self.head);
        match self.blocks {
            _ if head_only => return 0,
            0 => out.put(&self.tail),
            blocks => self.put_block(blocks, out),
        }
        self.blocks.saturating_sub(1)
    }

    /// Appends a block, and the tail after the last one; `left` counts down to 1.
    pub fn put_block(&self, left: u64, out: &mut OutputBuffer) {
        out.put_shared(&self.block);
        if left == 1 && !self.tail.is_empty() {
            out.put(&self.tail);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(flood: &RawAnswer) -> Vec<u8> {
        let mut out = OutputBuffer::default();
        let left = flood.begin(false, &mut out);
        (1..=left).rev().for_each(|left| flood.put_block(left, &mut out));
        out.buffer().clone()
    }

    #[test]
    fn filler_has_its_size_and_reads_like_one_text() {
        for size in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK] {
            let all = whole(&RawAnswer::filler(b"H".to_vec(), size as u64));
            assert_eq!(all.len(), 1 + size, "{size}");
            assert!(all[1..].iter().enumerate().all(|(i, &b)| b == FILLER[i % BLOCK]), "{size}");
        }
    }

    proptest! {
        #[test]
        fn chunks_carry_exactly_the_body(size in 0u64..300_000, chunk in 1usize..100_000) {
            let all = whole(&RawAnswer::chunked(Vec::new(), size, chunk));
            let (mut rest, mut body) = (all.as_slice(), 0);
            loop {
                let end = rest.windows(2).position(|w| w == b"\r\n").unwrap();
                let n = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
                prop_assert_eq!(&rest[end + 2 + n..end + 4 + n], b"\r\n");
                rest = &rest[end + 4 + n..];
                body += n;
                if n == 0 {
                    break;
                }
                prop_assert!(n == chunk || body as u64 == size);
            }
            prop_assert_eq!(body as u64, size);
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn a_cut_keeps_the_first_bytes(size in 0u64..200_000, keep in 0u64..220_000, chunked: bool) {
            let flood = match chunked {
                true => RawAnswer::chunked(b"head".to_vec(), size, 1000),
                false => RawAnswer::filler(b"head".to_vec(), size),
            };
            let all = whole(&flood);
            let kept = whole(&flood.cut(keep));
            prop_assert_eq!(kept.as_slice(), &all[..all.len().min(keep as usize)]);
        }
    }
}
