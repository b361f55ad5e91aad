//! Response bytes kept for captures and checks, under one memory budget shared by all connections of a run.
//!
//! An answer may be kept whole so that it can be searched. Each answer has its own bound, but thousands of them at once
//! would still be gigabytes. A buffer larger than a small free size is therefore charged to a [`Budget`] before it
//! grows, and the memory is returned when the buffer is dropped. An answer that finds the budget exhausted is not kept,
//! and reports so. The free size keeps answers of ordinary size from touching memory shared with other cores.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Base size of the budget of all connections together, in bytes.
const IN_ALL: usize = 32 << 20;
/// Size added to the budget for each core, since each may be busy with an answer, in bytes.
const OF_A_CORE: usize = 8 << 20;
/// Number of bytes of each buffer that are not charged, so that small answers cost nothing.
const FREE: usize = 16 << 10;
/// The reason for giving up on a head that does not end.
pub const NO_ROOM_FOR_HEADS: cause::Plain = cause::http1::no_room_for_heads();
/// The reason for not keeping a body or header.
pub const NO_ROOM: cause::Plain = cause::checks::no_room();

/// A budget for kept bytes; clones share it.
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
    /// Returns the size of the budget in bytes.
    pub fn most(&self) -> usize {
        self.0.most
    }

    /// Creates a budget of `most` bytes.
    pub fn of(most: usize) -> Budget {
        Budget(Arc::new(Purse { most, taken: AtomicUsize::new(0) }))
    }

    /// Reserves `bytes` until the returned value is dropped; `None` if the budget does not have that much left.
    pub fn take(&self, bytes: usize) -> Option<Taken> {
        let mut taken = Taken { budget: self.clone(), bytes: 0 };
        taken.grow(bytes).then_some(taken)
    }

    /// Returns the number of bytes reserved now.
    pub fn taken(&self) -> usize {
        self.0.taken.load(Ordering::Relaxed)
    }
}

/// A reservation from a [`Budget`], returned when it is dropped.
#[derive(Debug)]
pub struct Taken {
    budget: Budget,
    bytes: usize,
}

impl Taken {
    /// Returns the size of the reservation in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Grows the reservation to `bytes`; returns `false` if the budget does not have that much left.
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

/// A buffer that is charged to a [`Budget`].
#[derive(Debug, Default)]
pub struct Kept {
    bytes: Vec<u8>,
    taken: Option<Taken>,
}

impl Kept {
    /// Creates a buffer with the beginning of `bytes`, as much of it as is free of charge.
    pub fn beginning(bytes: &[u8]) -> Kept {
        Kept { bytes: bytes[..bytes.len().min(FREE)].to_vec(), taken: None }
    }

    /// Shortens the buffer to `size` bytes; the capacity stays.
    pub fn truncate(&mut self, size: usize) {
        self.bytes.truncate(size);
    }

    /// Appends bytes; returns `false`, with nothing appended, if the budget is exhausted.
    #[inline]
    pub fn add(&mut self, more: &[u8], budget: &Budget) -> bool {
        let there = self.bytes.capacity() - self.bytes.len() >= more.len() || self.grow(more.len(), budget);
        if there {
            self.bytes.extend_from_slice(more);
        }
        there
    }

    /// Grows the capacity by at least `more`: doubles it if the budget allows, otherwise grows to what is needed.
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
        // The memory of the others is available to the last one.
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
