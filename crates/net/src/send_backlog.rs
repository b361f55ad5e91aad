//! Bytes that wait until a socket accepts more, in sending order.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use brunt_contract::OutputBuffer;
use rustix::net::{SendAncillaryBuffer, SendFlags};

/// Bytes that a socket has not accepted yet.
#[derive(Debug, Default)]
pub(crate) struct SendBacklog {
    bytes: Vec<u8>,
    at: usize,
    tail: Option<(Arc<[u8]>, usize)>,
    /// Bytes sent after the tail.
    queued: Vec<u8>,
}

impl SendBacklog {
    /// Returns the rest of `out` after `taken` bytes.
    pub fn rest_of(out: &OutputBuffer, taken: usize) -> SendBacklog {
        let head = out.bytes();
        let tail = out.tail().map(|t| (Arc::clone(t), taken.saturating_sub(head.len())));
        SendBacklog { bytes: head[taken.min(head.len())..].to_vec(), tail, ..SendBacklog::default() }
    }

    pub fn pieces(&self) -> (&[u8], &[u8]) {
        let head = &self.bytes[self.at..];
        match &self.tail {
            Some((block, at)) => (head, &block[*at..]),
            None => (head, &self.queued),
        }
    }

    pub fn advance(&mut self, n: usize) {
        let of_head = n.min(self.bytes.len() - self.at);
        self.at += of_head;
        let rest = n - of_head;
        if let Some((block, at)) = &mut self.tail {
            *at += rest;
            if *at == block.len() && self.at == self.bytes.len() {
                self.tail = None;
                (self.bytes, self.at) = (std::mem::take(&mut self.queued), 0);
            }
        } else {
            self.queued.drain(..rest);
        }
    }

    pub fn append(&mut self, out: &OutputBuffer) {
        let into = if self.tail.is_some() { &mut self.queued } else { &mut self.bytes };
        into.extend_from_slice(out.bytes());
        if let Some(block) = out.tail() {
            into.extend_from_slice(block);
        }
    }

    pub fn len(&self) -> usize {
        let (head, tail) = self.pieces();
        head.len() + tail.len() + if self.tail.is_some() { self.queued.len() } else { 0 }
    }
}

/// Writes both pieces with one call.
#[inline]
pub(crate) fn write_two(fd: BorrowedFd<'_>, head: &[u8], tail: &[u8]) -> rustix::io::Result<usize> {
    if tail.is_empty() {
        return rustix::net::send(fd, head, SendFlags::NOSIGNAL);
    }
    let pieces = [std::io::IoSlice::new(head), std::io::IoSlice::new(tail)];
    rustix::net::sendmsg(fd, &pieces, &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL)
}
