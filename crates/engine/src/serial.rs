//! What fills the slots of a request: numbers that no two requests of a run share, whatever the number of workers.

use std::time::{SystemTime, UNIX_EPOCH};

use measure::random::Rng;
use measure::{Clock, Nanos};
use plan::Share;
use wire::Fill;

use crate::exchange::NONE;

/// The slots of one worker: of T workers, worker k counts k, k + T, k + 2T …
#[derive(Debug)]
pub(crate) struct Serial {
    next: u64,
    share: Share,
    /// Requests that each user keeps in flight: the engine drives each as a user of its own.
    per_user: u32,
    random: Rng,
    /// From the clock of the run to 1970.
    unix: i128,
}

impl Serial {
    pub fn new(share: Share, per_user: u32, seed: u64) -> Serial {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as i128;
        let unix = since_1970 - i128::from(Clock.now().0);
        // 0 is the probe's.
        Serial { next: u64::from(share.index) + 1, share, per_user, random: Rng::new(seed).fork(2), unix }
    }

    #[inline]
    pub fn fill(&mut self, user: u32, now: Nanos) -> Fill {
        let number = self.next;
        let of = u64::from(self.share.of);
        self.next += of;
        let user = match user {
            NONE => 0,
            user => u64::from(user / self.per_user) * of + u64::from(self.share.index),
        };
        Fill { number, user, random: self.random.next_u64(), unix_ns: (i128::from(now.0) + self.unix) as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_numbered_from_0_however_many_requests_each_keeps_in_flight() {
        for per_user in [1, 3] {
            let mut numbers = Vec::new();
            // Five users: three of the first worker, two of the second.
            for (index, users) in [(0, 3), (1, 2)] {
                let mut serial = Serial::new(Share { index, of: 2 }, per_user, 1);
                numbers.extend((0..users * per_user).map(|user| serial.fill(user, Nanos::ZERO).user));
                assert_eq!(serial.fill(NONE, Nanos::ZERO).user, 0, "nobody's");
            }
            numbers.sort_unstable();
            let expected: Vec<u64> = (0..5).flat_map(|user| (0..per_user).map(move |_| user)).collect();
            assert_eq!(numbers, expected, "{per_user} in flight");
        }
    }
}
