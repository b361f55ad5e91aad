//! Output buffer of a session.

use std::sync::Arc;

/// Bytes to send: a reusable buffer, optionally followed by one shared block (a large body that is not copied for
/// every request). Everything appended between two sends leaves in one write if the network supports it.
#[derive(Debug, Default)]
pub struct OutputBuffer {
    bytes: Vec<u8>,
    tail: Option<Arc<[u8]>>,
    boundaries: Vec<u32>,
}

impl OutputBuffer {
    /// Appends bytes; a shared block appended earlier is first copied into the buffer.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) {
        if self.tail.is_some() {
            self.fold();
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends a shared block; it is not copied if nothing follows it in this send.
    pub fn put_shared(&mut self, block: &Arc<[u8]>) {
        if self.tail.is_some() {
            self.fold();
        }
        self.tail = Some(Arc::clone(block));
    }

    /// Marks the end of a datagram; stream networks ignore it.
    pub fn end_datagram(&mut self) {
        self.fold();
        self.boundaries.push(self.bytes.len() as u32);
    }

    fn fold(&mut self) {
        if let Some(block) = self.tail.take() {
            self.bytes.extend_from_slice(&block);
        }
    }

    /// Returns the bytes before the shared block.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
    /// Returns the buffer itself, for encoders that append in place; a shared block appended earlier is copied into it.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        self.fold();
        &mut self.bytes
    }
    /// Returns the bytes before the shared block, to be modified in place.
    pub fn bytes_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }
    /// Returns the shared block, if the content ends with one.
    #[inline]
    pub fn tail(&self) -> Option<&Arc<[u8]>> {
        self.tail.as_ref()
    }
    /// Returns the ends of datagrams as offsets into [`OutputBuffer::bytes`].
    pub fn boundaries(&self) -> &[u32] {
        &self.boundaries
    }
    /// Returns the total number of bytes to send.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes.len() + self.tail.as_ref().map_or(0, |t| t.len())
    }
    /// Returns `true` if there is nothing to send, not even an empty datagram.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.tail.is_none() && self.boundaries.is_empty()
    }
    /// Frees the buffer if it is empty and its capacity exceeds `most` bytes.
    #[inline]
    pub fn shrink_to(&mut self, most: usize) {
        if self.bytes.capacity() > most && self.is_empty() {
            self.bytes = Vec::new();
        }
    }
    /// Clears the content and keeps the allocation.
    #[inline]
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.tail = None;
        self.boundaries.clear();
    }
}
