//! Checks by name: how many passed and failed.

use super::Books;
use crate::checked::CheckCounts;

impl Books {
    /// Sets the number of checks.
    pub fn checking(mut self, checks: usize) -> Books {
        self.tally.checks = CheckCounts::of(checks);
        self
    }

    /// Counts the checks of a response: those of `set` whose bit is set in `failed` failed.
    #[inline]
    pub fn checked(&mut self, warmup: bool, set: &[u16], failed: u32) {
        if !warmup {
            self.tally.checks.count(set, failed);
        }
    }
}
