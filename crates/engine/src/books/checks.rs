//! Checks by name: what passed and failed of those that a request has.

use super::Books;
use crate::checked::CheckCounts;

impl Books {
    /// There are so many checks.
    pub fn checking(mut self, checks: usize) -> Books {
        self.tally.checks = CheckCounts::of(checks);
        self
    }

    /// The response to it was looked at: of these checks those failed whose bit is set.
    #[inline]
    pub fn checked(&mut self, warmup: bool, set: &[u16], failed: u32) {
        if !warmup {
            self.tally.checks.count(set, failed);
        }
    }
}
