//! Checks by name: how many passed and failed.

use super::Recorder;
use crate::named_checks::CheckCounts;

impl Recorder {
    /// Sets the number of checks.
    pub fn with_checks(mut self, checks: usize) -> Recorder {
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
