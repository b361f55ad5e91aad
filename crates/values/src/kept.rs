//! Bytes kept of what peers say, within a bound that all connections of a run share.
//!
//! An answer may be kept whole to be looked into. Each has a bound of its own, and thousands of them at a time would still
//! be gigabytes: what is more than a little is therefore taken from a [`Budget`] before a buffer grows, and given back when
//! the buffer goes. An answer that finds nothing left is not kept, and says so. The little is free, so that answers of the
//! usual size touch nothing that other cores touch.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most bytes that are kept at a time, of all connections together …
const IN_ALL: usize = 32 << 20;
/// … and for each core beside, as each may be busy with an answer.
const OF_A_CORE: usize = 8 << 20;
/// So many bytes of each buffer are not counted.
const FREE: usize = 16 << 10;
/// Why a head that does not end could not be kept any longer.
pub const NO_ROOM_FOR_HEADS: cause::Plain = cause::http1::no_room_for_heads();
/// Why something could not be kept.
pub const NO_ROOM: cause::Plain = cause::checks::no_room();

/// The bound on what is kept; its copies are one and the same.
#[derive(Clone, Debug)]
pub struct Budget(Arc<Purse>);

#[derive(Debug)]
struct Purse {
    most: usize,
    taken: AtomicUsize,
}

impl Default for Budget {
    fn default() -> Budget {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Budget::of(IN_ALL + cores * OF_A_CORE)
    }
}

impl Budget {
    /// The most bytes that all together may hold.
    pub fn most(&self) -> usize {
        self.0.most
    }

    /// So many bytes in all.
    pub fn of(most: usize) -> Budget {
        Budget(Arc::new(Purse { most, taken: AtomicUsize::new(0) }))
    }

    /// Takes so many bytes until what comes back is dropped. None: there are not so many left.
    pub fn take(&self, bytes: usize) -> Option<Taken> {
        let mut taken = Taken { budget: self.clone(), bytes: 0 };
        taken.grow(bytes).then_some(taken)
    }

    /// Bytes taken now.
    pub fn taken(&self) -> usize {
        self.0.taken.load(Ordering::Relaxed)
    }
}

/// A part of a [`Budget`], given back when it is dropped.
#[derive(Debug)]
pub struct Taken {
    budget: Budget,
    bytes: usize,
}

impl Taken {
    /// How many bytes it is.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes as much more as makes it `bytes`; false where there is not so much left.
    fn grow(&mut self, bytes: usize) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        let Purse { most, taken } = &*self.budget.0;
        let within = |taken: usize| taken.checked_add(more).filter(|taken| taken <= most);
        let took = taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within).is_ok();
        self.bytes += if took { more } else { 0 };
        took
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.budget.0.taken.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// A buffer that grows within a [`Budget`].
#[derive(Debug, Default)]
pub struct Kept {
    bytes: Vec<u8>,
    taken: Option<Taken>,
}

impl Kept {
    /// The beginning of bytes, as much of it as is free.
    pub fn beginning(bytes: &[u8]) -> Kept {
        Kept { bytes: bytes[..bytes.len().min(FREE)].to_vec(), taken: None }
    }

    /// Forgets what lies behind so many bytes; the room stays.
    pub fn truncate(&mut self, size: usize) {
        self.bytes.truncate(size);
    }

    /// Appends bytes; false where there is no room for them, and nothing was appended.
    #[inline]
    pub fn add(&mut self, more: &[u8], budget: &Budget) -> bool {
        let there = self.bytes.capacity() - self.bytes.len() >= more.len() || self.grow(more.len(), budget);
        if there {
            self.bytes.extend_from_slice(more);
        }
        there
    }

    /// Makes room for so many more: twice as much as before where there is so much left, else what is needed.
    #[cold]
    fn grow(&mut self, more: usize, budget: &Budget) -> bool {
        let needed = self.bytes.len() + more;
        let wished = needed.max(2 * self.bytes.capacity());
        let size = [wished, needed].into_iter().find(|size| *size <= FREE || self.takes(*size, budget));
        if let Some(size) = size {
            self.bytes.reserve_exact(size - self.bytes.len());
        }
        size.is_some()
    }

    fn takes(&mut self, size: usize, budget: &Budget) -> bool {
        match &mut self.taken {
            Some(taken) => taken.grow(size),
            None => {
                self.taken = budget.take(size);
                self.taken.is_some()
            }
        }
    }
}

impl Deref for Kept {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_buffers_together_have_one_bound_and_give_back_what_they_had() {
        let most = 48 << 20;
        let budget = Budget::of(most);
        let piece = vec![b'x'; 1 << 20];
        let mut all: Vec<Kept> = (0..100).map(|_| Kept::default()).collect();
        let fill = |all: &mut [Kept]| {
            (0..16).for_each(|_| all.iter_mut().for_each(|kept| _ = kept.add(&piece, &budget)));
            all.iter().map(|kept| kept.len()).sum::<usize>()
        };
        let held = fill(&mut all);
        assert!(held <= most && held >= most - (2 << 20), "{held}");
        assert!(budget.taken() >= held && budget.taken() <= most);
        // What the others had is there for the last one.
        all.drain(1..);
        assert!(fill(&mut all) > 15 << 20);
        drop(all);
        assert_eq!(budget.taken(), 0);
        assert!(budget.take(most + 1).is_none() && budget.take(usize::MAX).is_none());
        assert_eq!(budget.taken(), 0);
    }

    #[test]
    fn a_little_costs_nothing() {
        let (budget, mut kept) = (Budget::default(), Kept::default());
        (0..FREE).for_each(|n| assert!(kept.add(&[n as u8], &budget)));
        assert_eq!((kept.len(), budget.taken()), (FREE, 0));
        assert!(kept.add(b"x", &budget));
        assert_eq!(budget.taken(), 2 * FREE);
    }
}
