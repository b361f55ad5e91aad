//! How often something dear may be done, by what it has taken so far.

use measure::Nanos;

/// The share of a core that it may take in the long run: one part in so many.
const SHARE: u64 = 2000;
/// So much of it ahead of that: a short run is read each second too, also where a reading takes a millisecond.
const AHEAD: Nanos = Nanos::from_millis(5);

/// When to do something again.
#[derive(Debug)]
pub(crate) struct Pace {
    least: Nanos,
    next: Nanos,
    /// Processor time that it took beyond its share, at the moment it took some last.
    owed: Nanos,
    last: Nanos,
}

impl Pace {
    /// At once, and then at most this often.
    pub fn at_most_every(least: Nanos) -> Pace {
        Pace { least, next: Nanos::ZERO, owed: Nanos::ZERO, last: Nanos::ZERO }
    }

    /// It may be done now.
    pub fn is_due(&self, now: Nanos) -> bool {
        now >= self.next
    }

    /// It was done, for so much processor time.
    pub fn took(&mut self, now: Nanos, cpu: Nanos) {
        let paid = Nanos((now - self.last).0 / SHARE);
        (self.owed, self.last) = ((self.owed - paid).saturating_add(cpu), now);
        let rests = (self.owed - AHEAD).0.saturating_mul(SHARE);
        self.next = Nanos(now.0.saturating_add(self.least.0.max(rests)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_long_is_done_seldom_in_the_long_run() {
        let mut pace = Pace::at_most_every(Nanos::from_secs(1));
        assert!(pace.is_due(Nanos::ZERO));
        // 0.1 ms: each second. 6 ms, of which 5 are lent: after two seconds more. Again, with that paid back: after twelve.
        for (at, cpu, next) in [(5, 100_000, 1_000), (6, 6_000_000, 2_000), (8, 6_000_000, 12_000)] {
            pace.took(Nanos::from_secs(at), Nanos(cpu));
            assert!(!pace.is_due(Nanos::from_millis(at * 1000 + next - 1)), "{at}");
            assert!(pace.is_due(Nanos::from_millis(at * 1000 + next)), "{at}");
        }
    }
}
