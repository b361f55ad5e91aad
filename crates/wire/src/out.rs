//! What a session wants to send.

use std::sync::Arc;

/// Bytes to send: a reusable buffer, optionally followed by one shared block (a large body that is not copied for every
/// request). Everything appended between two hand-overs leaves in one write where the network can.
#[derive(Debug, Default)]
pub struct Out {
    bytes: Vec<u8>,
    tail: Option<Arc<[u8]>>,
    boundaries: Vec<u32>,
}

impl Out {
    /// Appends bytes (after any shared block, which is then copied in).
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) {
        if self.tail.is_some() {
            self.fold();
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends a shared block without copying it, where it is the last thing of this hand-over.
    pub fn put_shared(&mut self, block: &Arc<[u8]>) {
        if self.tail.is_some() {
            self.fold();
        }
        self.tail = Some(Arc::clone(block));
    }

    /// Ends a datagram here; only networks of datagrams look at it.
    pub fn end_datagram(&mut self) {
        self.fold();
        self.boundaries.push(self.bytes.len() as u32);
    }

    fn fold(&mut self) {
        if let Some(block) = self.tail.take() {
            self.bytes.extend_from_slice(&block);
        }
    }

    /// The bytes before the shared block.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
    /// The buffer itself, for encoders that append in place (no shared block may have been put).
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        self.fold();
        &mut self.bytes
    }
    /// The bytes before the shared block, for what is put into them afterwards.
    pub fn bytes_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }
    /// The shared block, if one ends this hand-over.
    #[inline]
    pub fn tail(&self) -> Option<&Arc<[u8]>> {
        self.tail.as_ref()
    }
    /// Ends of datagrams as offsets into [`Out::bytes`].
    pub fn boundaries(&self) -> &[u32] {
        &self.boundaries
    }
    /// All bytes there are to send.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes.len() + self.tail.as_ref().map_or(0, |t| t.len())
    }
    /// True where there is nothing to send, not even a datagram without bytes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.tail.is_none() && self.boundaries.is_empty()
    }
    /// Lets go of memory for more than so many bytes, where it holds nothing.
    #[inline]
    pub fn shrink_to(&mut self, most: usize) {
        if self.bytes.capacity() > most && self.is_empty() {
            self.bytes = Vec::new();
        }
    }
    /// Forgets the content and keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.tail = None;
        self.boundaries.clear();
    }
}
