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
    random: Rng,
    /// From the clock of the run to 1970.
    unix: i128,
}

impl Serial {
    pub fn new(share: Share, seed: u64) -> Serial {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as i128;
        let unix = since_1970 - i128::from(Clock.now().0);
        // 0 is the probe's.
        Serial { next: u64::from(share.index) + 1, share, random: Rng::new(seed).fork(2), unix }
    }

    #[inline]
    pub fn fill(&mut self, user: u32, now: Nanos) -> Fill {
        let number = self.next;
        let of = u64::from(self.share.of);
        self.next += of;
        let user = if user == NONE { 0 } else { u64::from(user) * of + u64::from(self.share.index) };
        Fill { number, user, random: self.random.next_u64(), unix_ns: (i128::from(now.0) + self.unix) as u64 }
    }
}
