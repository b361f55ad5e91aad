//! Timers without system calls: a wheel for timeouts, which hardly ever fire, and a heap for pauses, which always do.
//!
//! Timeouts are watched lazily: the wheel holds at most one entry per slot of the slab, which is checked when it fires.
//! A request answered in time costs nothing, and its successor in the slot is watched by the same entry.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use brunt_measure::Nanos;

use crate::ids::UserId;

const BUCKETS: usize = 256;
/// Maximum number of buckets of a wheel.
const MAX_BUCKETS: usize = 1 << 16;

/// A hashed wheel; entries fire late by at most one tick, a 200th of the longest timeout.
#[derive(Debug)]
pub(crate) struct Wheel {
    buckets: Vec<Vec<u32>>,
    tick: u64,
    /// The next tick to process.
    cursor: u64,
    entries: usize,
}

impl Wheel {
    pub fn new(longest: Nanos, now: Nanos) -> Wheel {
        Wheel::for_timeouts((longest, longest), now)
    }

    /// Creates a wheel for different timeouts. Entries fire late by at most a 200th of the shortest, if the maximum
    /// number of ticks permits.
    pub fn for_timeouts((shortest, longest): (Nanos, Nanos), now: Nanos) -> Wheel {
        let tick = (shortest.0 / 200).max(longest.0 / MAX_BUCKETS as u64).max(100_000);
        let buckets = BUCKETS.max((longest.0 / tick) as usize + 2);
        Wheel { buckets: vec![Vec::new(); buckets], tick, cursor: now.0 / tick + 1, entries: 0 }
    }

    /// Watches an entry until `deadline`, and returns when it fires; one beyond the range of the wheel fires early and
    /// must be watched again.
    pub fn watch(&mut self, entry: u32, deadline: Nanos) -> Nanos {
        let buckets = self.buckets.len();
        let at = (deadline.0 / self.tick + 1).clamp(self.cursor, self.cursor + buckets as u64 - 1);
        self.buckets[at as usize % buckets].push(entry);
        self.entries += 1;
        Nanos(at * self.tick)
    }

    /// Returns when to call [`Wheel::due`] next.
    pub fn next(&self) -> Nanos {
        if self.entries == 0 { Nanos::MAX } else { Nanos(self.cursor * self.tick) }
    }

    /// Moves the entries that have fired to `into`.
    pub fn due(&mut self, now: Nanos, into: &mut Vec<u32>) {
        let end = now.0 / self.tick;
        if self.entries == 0 {
            self.cursor = self.cursor.max(end + 1);
        }
        while self.cursor <= end {
            let buckets = self.buckets.len();
            let bucket = &mut self.buckets[self.cursor as usize % buckets];
            self.entries -= bucket.len();
            into.append(bucket);
            self.cursor += 1;
        }
    }
}

/// Pausing users, ordered by the time at which they wake.
#[derive(Debug, Default)]
pub(crate) struct Pauses(BinaryHeap<Reverse<(Nanos, UserId)>>);

impl Pauses {
    pub fn add(&mut self, until: Nanos, user: UserId) {
        self.0.push(Reverse((until, user)));
    }
    #[inline]
    pub fn next(&self) -> Nanos {
        self.0.peek().map_or(Nanos::MAX, |Reverse((until, _))| *until)
    }
    /// Removes all pauses.
    pub fn clear(&mut self) {
        self.0.clear();
    }
    /// Returns the next user whose pause is over, and when it was.
    pub fn due(&mut self, now: Nanos) -> Option<(Nanos, UserId)> {
        if self.next() > now {
            return None;
        }
        self.0.pop().map(|Reverse(entry)| entry)
    }
}
