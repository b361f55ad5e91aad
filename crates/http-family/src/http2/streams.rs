//! The streams in flight on a connection, found by their id without hashing.
//!
//! A stream lies in the slot that the low bits of its id name. Where that one is taken by an older stream, the id is
//! left out (ids need only grow, RFC 9113 5.1.1): so finding one is one look, and nothing is allocated but to grow.

use std::collections::VecDeque;
use std::sync::Arc;

/// The largest id (RFC 9113 5.1.1).
const LAST_ID: u32 = (1 << 31) - 1;
/// The most slots for streams of a peer, who may choose ids that share one.
const MOST_SLOTS: usize = 1 << 14;

/// One stream in flight.
#[derive(Debug)]
pub struct Stream<T> {
    /// Its id.
    pub id: u32,
    /// Bytes the peer takes now; a change of SETTINGS may make it negative (6.9.2).
    pub window: i32,
    /// Bytes received since the peer's window was last topped up.
    pub received: u32,
    /// A head arrived.
    pub answered: bool,
    /// We have said all we had to.
    pub said: bool,
    /// What waits for the peer's window.
    pub waiting: Option<Box<Waiting>>,
    /// What the owner of the connection keeps of it.
    pub own: T,
}

/// What is to be sent as soon as the windows allow.
#[derive(Debug, Default)]
pub struct Waiting {
    /// What is to be sent, in order.
    pub blocks: VecDeque<Block>,
    /// The stream ends with the last of them.
    pub end: bool,
}

/// Bytes to be sent, perhaps again and again.
#[derive(Clone, Debug)]
pub struct Block {
    /// The bytes.
    pub bytes: Arc<[u8]>,
    /// How many of them were sent this time.
    pub sent: usize,
    /// How often they are to be sent yet, this time included.
    pub times: u64,
    /// What it holds of memory that nobody else does.
    pub own: usize,
}

/// The streams of a connection that a client opened.
#[derive(Debug)]
pub struct Streams<T> {
    slots: Vec<Option<Stream<T>>>,
    live: u32,
    next: u32,
}

impl<T> Default for Streams<T> {
    fn default() -> Self {
        Streams { slots: Vec::new(), live: 0, next: 1 }
    }
}

impl<T> Streams<T> {
    /// How many there are.
    #[inline]
    pub fn live(&self) -> usize {
        self.live as usize
    }

    /// True where no id is left.
    #[inline]
    pub fn exhausted(&self) -> bool {
        self.next > LAST_ID - 2 * self.slots.len() as u32
    }

    /// True for ids that no stream has had yet.
    #[inline]
    pub fn is_idle(&self, id: u32) -> bool {
        id.is_multiple_of(2) || id >= self.next
    }

    #[inline]
    fn slot(&self, id: u32) -> usize {
        (id >> 1) as usize & self.slots.len().wrapping_sub(1)
    }

    /// A stream in flight.
    #[inline]
    pub fn get(&mut self, id: u32) -> Option<&mut Stream<T>> {
        let slot = self.slot(id);
        self.slots.get_mut(slot)?.as_mut().filter(|s| s.id == id)
    }

    /// Opens a stream; not to be called where [`Self::exhausted`].
    #[inline]
    pub fn open(&mut self, window: i32, said: bool, own: T) -> &mut Stream<T> {
        if self.slots.len() < 2 * (self.live as usize + 1) {
            self.grow();
        }
        // At most half of the slots are taken, so that this ends.
        while self.slots[self.slot(self.next)].is_some() {
            self.next += 2;
        }
        let id = self.next;
        let slot = self.slot(id);
        self.next += 2;
        self.live += 1;
        self.slots[slot].insert(Stream { id, window, received: 0, answered: false, said, waiting: None, own })
    }

    /// Adds a stream that the peer opened; None where its slot is taken and there are too many slots for another.
    #[inline]
    pub fn insert(&mut self, id: u32, window: i32, own: T) -> Option<&mut Stream<T>> {
        while self.slots.len() < 2 * (self.live as usize + 1) || self.slots[self.slot(id)].is_some() {
            if self.slots.len() >= MOST_SLOTS {
                return None;
            }
            self.grow();
        }
        let slot = self.slot(id);
        self.live += 1;
        let stream = Stream { id, window, received: 0, answered: false, said: false, waiting: None, own };
        Some(self.slots[slot].insert(stream))
    }

    #[cold]
    fn grow(&mut self) {
        let size = (2 * self.slots.len()).max(2);
        let before = std::mem::take(&mut self.slots);
        self.slots.resize_with(size, || None);
        for stream in before.into_iter().flatten() {
            // Ids that differed in fewer bits differ in more of them.
            let slot = self.slot(stream.id);
            self.slots[slot] = Some(stream);
        }
    }

    /// Forgets a stream.
    #[inline]
    pub fn remove(&mut self, id: u32) -> Option<Stream<T>> {
        let slot = self.slot(id);
        let stream = self.slots.get_mut(slot)?.take_if(|s| s.id == id)?;
        self.live -= 1;
        Some(stream)
    }

    /// All of them, in no order.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Stream<T>> {
        self.slots.iter_mut().flatten()
    }
}
