//! Rate limiting of expensive operations, by the CPU time they have used so far.

use brunt_measure::Nanos;

/// Inverse of the share of a core that an operation may use in the long run.
const SHARE: u64 = 2000;
/// Budget granted in advance, so that even a short run is read every second, although a reading may take a millisecond.
const AHEAD: Nanos = Nanos::from_millis(5);

/// A rate limiter that determines when an operation may be repeated.
#[derive(Debug)]
pub(crate) struct CpuBudget {
    least: Nanos,
    next: Nanos,
    /// CPU time used beyond the share, as of the last use.
    debt: Nanos,
    last: Nanos,
}

impl CpuBudget {
    /// Creates a rate limiter that is due at once, and then at most this often.
    pub fn at_most_every(least: Nanos) -> CpuBudget {
        CpuBudget { least, next: Nanos::ZERO, debt: Nanos::ZERO, last: Nanos::ZERO }
    }

    /// Returns `true` if the operation may be done now.
    pub fn is_due(&self, now: Nanos) -> bool {
        now >= self.next
    }

    /// Records that the operation used this much CPU time.
    pub fn spend(&mut self, now: Nanos, cpu: Nanos) {
        let paid = Nanos((now - self.last).0 / SHARE);
        (self.debt, self.last) = ((self.debt - paid).saturating_add(cpu), now);
        let rests = (self.debt - AHEAD).0.saturating_mul(SHARE);
        self.next = Nanos(now.0.saturating_add(self.least.0.max(rests)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_long_is_done_seldom_in_the_long_run() {
        let mut pace = CpuBudget::at_most_every(Nanos::from_secs(1));
        assert!(pace.is_due(Nanos::ZERO));
        // 0.1 ms: each second. 6 ms, 5 of them from the advance: after two more seconds. Again, with the advance
        // restored: after twelve.
        for (at, cpu, next) in [(5, 100_000, 1_000), (6, 6_000_000, 2_000), (8, 6_000_000, 12_000)] {
            pace.spend(Nanos::from_secs(at), Nanos(cpu));
            assert!(!pace.is_due(Nanos::from_millis(at * 1000 + next - 1)), "{at}");
            assert!(pace.is_due(Nanos::from_millis(at * 1000 + next)), "{at}");
        }
    }
}
