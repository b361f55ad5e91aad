//! Bytes that wait until a socket accepts more, in sending order, and writes of one piece each.

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use brunt_contract::OutputBuffer;
use rustix::net::{SendAncillaryBuffer, SendFlags};

/// Maximum size of one write in bytes, and so of what a connection sends in one turn: the same as of one read.
pub const PIECE: usize = 64 * 1024;

/// Bytes that have not been sent yet. Shared blocks are kept as they are, without a copy.
#[derive(Debug, Default)]
pub struct SendBacklog {
    parts: VecDeque<BacklogPart>,
    /// Number of bytes of the first part that were sent.
    at: usize,
    len: usize,
}

/// What one or several sends left: bytes, and the shared block behind them.
#[derive(Debug)]
struct BacklogPart {
    bytes: Vec<u8>,
    block: Option<Arc<[u8]>>,
}

impl BacklogPart {
    fn len(&self) -> usize {
        self.bytes.len() + self.block.as_ref().map_or(0, |block| block.len())
    }
}

impl SendBacklog {
    /// Moves the content of `out` behind what waits already.
    pub fn append(&mut self, out: &mut OutputBuffer) {
        self.len += out.len();
        let block = out.tail().cloned();
        match self.parts.back_mut() {
            Some(last) if last.block.is_none() => {
                last.bytes.extend_from_slice(out.bytes());
                last.block = block;
            }
            _ => self.parts.push_back(BacklogPart { bytes: std::mem::take(out.bytes_mut()), block }),
        }
        out.clear();
    }

    /// Returns the first bytes that wait, in two slices; both are empty if nothing waits.
    pub fn pieces(&self) -> (&[u8], &[u8]) {
        let Some(BacklogPart { bytes, block }) = self.parts.front() else { return (&[], &[]) };
        let block = block.as_deref().unwrap_or_default();
        (&bytes[self.at.min(bytes.len())..], &block[self.at.saturating_sub(bytes.len())..])
    }

    /// Removes the first `n` bytes.
    pub fn advance(&mut self, n: usize) {
        self.len -= n;
        self.at += n;
        while let Some(whole) = self.parts.front().map(BacklogPart::len) {
            if self.at < whole {
                return;
            }
            self.at -= whole;
            self.parts.pop_front();
        }
    }

    /// Moves the first bytes that wait to `out`, at most this many.
    pub fn take(&mut self, most: usize, out: &mut OutputBuffer) {
        let (head, tail) = up_to(most, self.pieces());
        out.put(head);
        out.put(tail);
        self.advance(head.len() + tail.len());
    }

    /// Returns the number of bytes that wait.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns `true` if nothing waits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// Returns the first bytes of two slices, at most this many.
#[inline]
fn up_to<'a>(most: usize, (head, tail): (&'a [u8], &'a [u8])) -> (&'a [u8], &'a [u8]) {
    let head = &head[..head.len().min(most)];
    (head, &tail[..tail.len().min(most - head.len())])
}

/// Writes up to one piece of both slices with one call.
#[inline]
pub(crate) fn write_piece(fd: BorrowedFd<'_>, head: &[u8], tail: &[u8]) -> rustix::io::Result<usize> {
    let (head, tail) = up_to(PIECE, (head, tail));
    if tail.is_empty() {
        return rustix::net::send(fd, head, SendFlags::NOSIGNAL);
    }
    let pieces = [std::io::IoSlice::new(head), std::io::IoSlice::new(tail)];
    rustix::net::sendmsg(fd, &pieces, &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_leaves_in_order_and_in_pieces() {
        let mut waiting = SendBacklog::default();
        let mut expected = Vec::new();
        for (head, block) in [(10, 3 * PIECE), (PIECE + 7, 0), (5, 0), (1, PIECE), (0, 2 * PIECE)] {
            let mut out = OutputBuffer::default();
            let bytes = |n: usize| (expected.len()..expected.len() + n).map(|i| (i % 251) as u8).collect::<Vec<_>>();
            let all = bytes(head + block);
            out.put(&all[..head]);
            if block > 0 {
                out.put_shared(&all[head..].into());
            }
            waiting.append(&mut out);
            assert!(out.is_empty());
            expected.extend_from_slice(&all);
        }
        assert_eq!(waiting.len(), expected.len());
        let mut sent = OutputBuffer::default();
        while !waiting.is_empty() {
            let before = sent.len();
            waiting.take(PIECE, &mut sent);
            assert!((1..=PIECE).contains(&(sent.len() - before)));
            assert_eq!(waiting.len(), expected.len() - sent.len());
        }
        assert_eq!(sent.bytes(), expected);
        assert_eq!(waiting.pieces(), (&[][..], &[][..]));
    }
}
