//! The streams in flight on a connection, found by their identifiers without hashing.
//!
//! A stream is stored in the slot given by the low bits of its identifier. If an older stream occupies that slot, the
//! identifier is skipped (identifiers only have to grow, RFC 9113 5.1.1). So a lookup is a single access, and only
//! growing allocates.

use std::collections::VecDeque;
use std::sync::Arc;

/// The largest identifier (RFC 9113 5.1.1).
const LAST_ID: u32 = (1 << 31) - 1;
/// The maximum number of slots for streams opened by a peer, which may choose identifiers that collide.
const MOST_SLOTS: usize = 1 << 14;

/// A stream in flight.
#[derive(Debug)]
pub struct Http2Stream<T> {
    /// Stream identifier.
    pub id: u32,
    /// Send window in bytes; a change of SETTINGS may make it negative (6.9.2).
    pub window: i32,
    /// Bytes received since the last WINDOW_UPDATE for the stream.
    pub received: u32,
    /// Set once a response head has arrived.
    pub answered: bool,
    /// Set once our side of the stream has ended.
    pub closed_locally: bool,
    /// Blocks queued for the peer's window.
    pub queue: Option<Box<SendQueue>>,
    /// The state kept by the owner of the connection.
    pub state: T,
}

/// The send queue of a stream.
#[derive(Debug, Default)]
pub struct SendQueue {
    /// Queued blocks, in order.
    pub blocks: VecDeque<QueuedBlock>,
    /// Set if the stream ends with the last block.
    pub end: bool,
}

/// Bytes to be sent, possibly several times over.
#[derive(Clone, Debug)]
pub struct QueuedBlock {
    /// The bytes.
    pub bytes: Arc<[u8]>,
    /// Number of bytes already sent of the current repetition.
    pub sent: usize,
    /// Number of repetitions left, the current one included.
    pub times: u64,
    /// Memory in bytes that is not shared with other blocks.
    pub owned_bytes: usize,
}

/// The streams of a connection, all opened by the client.
#[derive(Debug)]
pub struct StreamTable<T> {
    slots: Vec<Option<Http2Stream<T>>>,
    live: u32,
    next: u32,
}

impl<T> Default for StreamTable<T> {
    fn default() -> Self {
        StreamTable { slots: Vec::new(), live: 0, next: 1 }
    }
}

impl<T> StreamTable<T> {
    /// Returns the number of streams.
    #[inline]
    pub fn live(&self) -> usize {
        self.live as usize
    }

    /// Returns `true` if no identifier is left.
    #[inline]
    pub fn exhausted(&self) -> bool {
        self.next > LAST_ID - 2 * self.slots.len() as u32
    }

    /// Returns `true` for an identifier that no stream has used yet.
    #[inline]
    pub fn is_idle(&self, id: u32) -> bool {
        id.is_multiple_of(2) || id >= self.next
    }

    #[inline]
    fn slot(&self, id: u32) -> usize {
        (id >> 1) as usize & self.slots.len().wrapping_sub(1)
    }

    /// Returns the stream with this identifier, if it is in flight.
    #[inline]
    pub fn get(&mut self, id: u32) -> Option<&mut Http2Stream<T>> {
        let slot = self.slot(id);
        self.slots.get_mut(slot)?.as_mut().filter(|s| s.id == id)
    }

    /// Opens a stream; must not be called if [`Self::exhausted`].
    #[inline]
    pub fn open(&mut self, window: i32, said: bool, own: T) -> &mut Http2Stream<T> {
        if self.slots.len() < 2 * (self.live as usize + 1) {
            self.grow();
        }
        // At most half of the slots are taken, so this loop ends.
        while self.slots[self.slot(self.next)].is_some() {
            self.next += 2;
        }
        let id = self.next;
        let slot = self.slot(id);
        self.next += 2;
        self.live += 1;
        self.slots[slot].insert(Http2Stream {
            id,
            window,
            received: 0,
            answered: false,
            closed_locally: said,
            queue: None,
            state: own,
        })
    }

    /// Adds a stream opened by the peer; returns `None` if its slot is taken and the table may not grow.
    #[inline]
    pub fn insert(&mut self, id: u32, window: i32, own: T) -> Option<&mut Http2Stream<T>> {
        while self.slots.len() < 2 * (self.live as usize + 1) || self.slots[self.slot(id)].is_some() {
            if self.slots.len() >= MOST_SLOTS {
                return None;
            }
            self.grow();
        }
        let slot = self.slot(id);
        self.live += 1;
        let stream =
            Http2Stream { id, window, received: 0, answered: false, closed_locally: false, queue: None, state: own };
        Some(self.slots[slot].insert(stream))
    }

    #[cold]
    fn grow(&mut self) {
        let size = (2 * self.slots.len()).max(2);
        let before = std::mem::take(&mut self.slots);
        self.slots.resize_with(size, || None);
        for stream in before.into_iter().flatten() {
            // The additional bits distinguish identifiers that collided.
            let slot = self.slot(stream.id);
            self.slots[slot] = Some(stream);
        }
    }

    /// Removes a stream.
    #[inline]
    pub fn remove(&mut self, id: u32) -> Option<Http2Stream<T>> {
        let slot = self.slot(id);
        let stream = self.slots.get_mut(slot)?.take_if(|s| s.id == id)?;
        self.live -= 1;
        Some(stream)
    }

    /// Iterates over all streams, in no particular order.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Http2Stream<T>> {
        self.slots.iter_mut().flatten()
    }
}
