//! Rate limits of steps, shared by all users of a run (`at-most`): each request waits for its turn.
//!
//! The times of turns are fixed in advance: of T workers, worker k has the turns k, k + T, k + 2T …, so workers need no
//! coordination. A turn that is not taken is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use brunt_measure::Nanos;

/// One worker's turns for the steps of one name. Clones share the sequence, so that several scenarios of a worker can
/// use it.
#[derive(Clone, Debug)]
pub struct RateLimit {
    /// Time of the first turn.
    first: Nanos,
    /// Interval between two turns, in nanoseconds.
    every: f64,
    /// Index of the next free turn. It is not accessed concurrently; it is atomic so that the flows that share it can
    /// move to another thread together.
    next: Arc<AtomicU64>,
}

impl RateLimit {
    /// Creates the turns of share `index` of `of`, at a total of `rate` turns per second from `start` on.
    pub fn of(rate: f64, (index, of): (u32, u32), start: Nanos) -> RateLimit {
        let between = 1e9 / rate;
        let first = start.saturating_add(Nanos((between * f64::from(index)) as u64));
        RateLimit { first, every: between * f64::from(of.max(1)), next: Arc::default() }
    }

    /// Takes the next turn at or after `at` and returns how long to wait for it.
    pub fn next_delay(&self, at: Nanos) -> Nanos {
        let since = at - self.first;
        let turn = self.next.load(Ordering::Relaxed).max((since.0 as f64 / self.every).ceil() as u64);
        self.next.store(turn + 1, Ordering::Relaxed);
        self.first.saturating_add(Nanos((turn as f64 * self.every) as u64)) - at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_of_all_shares_are_those_of_the_whole_and_none_is_made_up_for() {
        let start = Nanos::from_secs(5);
        let ms = |ms| start + Nanos::from_millis(ms);
        let mut all: Vec<Nanos> = Vec::new();
        for index in 0..4 {
            let turns = RateLimit::of(50.0, (index, 4), start);
            all.extend((0..10).map(|_| start + turns.next_delay(start)));
        }
        all.sort_unstable();
        assert_eq!(all, (0..40).map(|n| ms(20 * n)).collect::<Vec<_>>());
        let turns = RateLimit::of(50.0, (0, 1), start);
        let take = |at| ms(at) + turns.next_delay(ms(at));
        assert_eq!([take(0), take(0), take(0)], [ms(0), ms(20), ms(40)]);
        assert_eq!([take(1000), take(1000), take(1001)], [ms(1000), ms(1020), ms(1040)], "those between are lost");
        assert_eq!(take(1050), ms(1060));
        assert_eq!(
            (ms(1060) + turns.clone().next_delay(ms(1060)), take(1060)),
            (ms(1080), ms(1100)),
            "a clone deals the same"
        );
    }
}
