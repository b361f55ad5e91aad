//! How often something dear may be done, by what it took the last time.

use measure::Nanos;

/// The share of a core that it may take in the long run: one part in so many.
const SHARE: u64 = 2000;

/// When to do something again.
#[derive(Debug)]
pub(crate) struct Pace {
    least: Nanos,
    next: Nanos,
}

impl Pace {
    /// At once, and then at most this often.
    pub fn at_most_every(least: Nanos) -> Pace {
        Pace { least, next: Nanos::ZERO }
    }

    /// It may be done now.
    pub fn is_due(&self, now: Nanos) -> bool {
        now >= self.next
    }

    /// It was done, for so much processor time.
    pub fn took(&mut self, now: Nanos, cpu: Nanos) {
        self.next = Nanos(now.0.saturating_add(self.least.0.max(cpu.0.saturating_mul(SHARE))));
    }
}

/// Processor time of this thread.
pub(crate) fn thread_cpu() -> Nanos {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Nanos(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_long_is_done_seldom() {
        let mut pace = Pace::at_most_every(Nanos::from_secs(1));
        assert!(pace.is_due(Nanos::ZERO));
        // 0.1 ms: each second. 6 ms: every twelve.
        for (cpu, next) in [(100_000, 1_000), (6_000_000, 12_000)] {
            pace.took(Nanos::from_secs(5), Nanos(cpu));
            assert!(!pace.is_due(Nanos::from_millis(5_000 + next - 1)));
            assert!(pace.is_due(Nanos::from_millis(5_000 + next)));
        }
    }
}
