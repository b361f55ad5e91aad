//! Buffers for response bytes that captures and checks need, under one memory budget shared by all connections of a
//! run.
//!
//! A whole response may be kept so that it can be searched. The size of each is limited, but thousands at once would
//! still take gigabytes. A buffer is therefore charged to a [`MemoryBudget`] before it grows beyond a small free size,
//! and the charge is released when the buffer is dropped. If the budget is exhausted, the response is not kept, and
//! this is reported. The free size lets ordinary responses avoid memory shared with other cores.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Base size of the budget for all connections, in bytes.
const IN_ALL: usize = 32 << 20;
/// Size added to the budget for each core, in bytes, because each may be processing a response.
const OF_A_CORE: usize = 8 << 20;
/// Number of bytes of each buffer that are not charged, so that small responses cost nothing.
const FREE: usize = 16 << 10;
/// The cause reported if a response head exceeds the budget.
pub const NO_ROOM_FOR_HEADS: brunt_cause::StaticCause = brunt_cause::http1::no_room_for_heads();
/// The cause reported if a body or header exceeds the budget.
pub const NO_ROOM: brunt_cause::StaticCause = brunt_cause::checks::no_room();

/// A budget for kept bytes; clones share it.
#[derive(Clone, Debug)]
pub struct MemoryBudget(Arc<BudgetCounter>);

#[derive(Debug)]
struct BudgetCounter {
    most: usize,
    taken: AtomicUsize,
}

impl Default for MemoryBudget {
    fn default() -> MemoryBudget {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        MemoryBudget::of(IN_ALL + cores * OF_A_CORE)
    }
}

impl MemoryBudget {
    /// Returns the size of the budget in bytes.
    pub fn limit(&self) -> usize {
        self.0.most
    }

    /// Creates a budget of `most` bytes.
    pub fn of(most: usize) -> MemoryBudget {
        MemoryBudget(Arc::new(BudgetCounter { most, taken: AtomicUsize::new(0) }))
    }

    /// Reserves `bytes` until the returned value is dropped; `None` if the budget has less than that left.
    pub fn reserve(&self, bytes: usize) -> Option<Reservation> {
        let mut taken = Reservation { budget: self.clone(), bytes: 0 };
        taken.grow(bytes).then_some(taken)
    }

    /// Returns the number of bytes currently reserved.
    pub fn reserved(&self) -> usize {
        self.0.taken.load(Ordering::Relaxed)
    }
}

/// A reservation from a [`MemoryBudget`], released when dropped.
#[derive(Debug)]
pub struct Reservation {
    budget: MemoryBudget,
    bytes: usize,
}

impl Reservation {
    /// Returns the size of the reservation in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Grows the reservation to `bytes`; returns `false` if the budget has less than that left.
    fn grow(&mut self, bytes: usize) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        let BudgetCounter { most, taken } = &*self.budget.0;
        let within = |taken: usize| taken.checked_add(more).filter(|taken| taken <= most);
        let took = taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within).is_ok();
        self.bytes += if took { more } else { 0 };
        took
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.0.taken.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// A buffer that is charged to a [`MemoryBudget`].
#[derive(Debug, Default)]
pub struct BudgetedBuffer {
    bytes: Vec<u8>,
    taken: Option<Reservation>,
}

impl BudgetedBuffer {
    /// Creates a buffer with the beginning of `bytes`, limited to the size that is free of charge.
    pub fn from_beginning(bytes: &[u8]) -> BudgetedBuffer {
        BudgetedBuffer { bytes: bytes[..bytes.len().min(FREE)].to_vec(), taken: None }
    }

    /// Shortens the buffer to `size` bytes; the capacity is unchanged.
    pub fn truncate(&mut self, size: usize) {
        self.bytes.truncate(size);
    }

    /// Appends bytes, or returns `false` without appending anything if the budget is exhausted.
    #[inline]
    pub fn extend(&mut self, more: &[u8], budget: &MemoryBudget) -> bool {
        let there = self.bytes.capacity() - self.bytes.len() >= more.len() || self.grow(more.len(), budget);
        if there {
            self.bytes.extend_from_slice(more);
        }
        there
    }

    /// Makes space for `more` bytes: doubles the capacity if the budget allows it, otherwise grows to the required
    /// size.
    #[cold]
    fn grow(&mut self, more: usize, budget: &MemoryBudget) -> bool {
        let needed = self.bytes.len() + more;
        let wished = needed.max(2 * self.bytes.capacity());
        let size = [wished, needed].into_iter().find(|size| *size <= FREE || self.reserve(*size, budget));
        if let Some(size) = size {
            self.bytes.reserve_exact(size - self.bytes.len());
        }
        size.is_some()
    }

    fn reserve(&mut self, size: usize, budget: &MemoryBudget) -> bool {
        match &mut self.taken {
            Some(taken) => taken.grow(size),
            None => {
                self.taken = budget.reserve(size);
                self.taken.is_some()
            }
        }
    }
}

impl Deref for BudgetedBuffer {
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
        let budget = MemoryBudget::of(most);
        let piece = vec![b'x'; 1 << 20];
        let mut all: Vec<BudgetedBuffer> = (0..100).map(|_| BudgetedBuffer::default()).collect();
        let fill = |all: &mut [BudgetedBuffer]| {
            (0..16).for_each(|_| all.iter_mut().for_each(|kept| _ = kept.extend(&piece, &budget)));
            all.iter().map(|kept| kept.len()).sum::<usize>()
        };
        let held = fill(&mut all);
        assert!(held <= most && held >= most - (2 << 20), "{held}");
        assert!(budget.reserved() >= held && budget.reserved() <= most);
        // The memory of the dropped buffers is available to the last one.
        all.drain(1..);
        assert!(fill(&mut all) > 15 << 20);
        drop(all);
        assert_eq!(budget.reserved(), 0);
        assert!(budget.reserve(most + 1).is_none() && budget.reserve(usize::MAX).is_none());
        assert_eq!(budget.reserved(), 0);
    }

    #[test]
    fn a_little_costs_nothing() {
        let (budget, mut kept) = (MemoryBudget::default(), BudgetedBuffer::default());
        (0..FREE).for_each(|n| assert!(kept.extend(&[n as u8], &budget)));
        assert_eq!((kept.len(), budget.reserved()), (FREE, 0));
        assert!(kept.extend(b"x", &budget));
        assert_eq!(budget.reserved(), 2 * FREE);
    }
}
