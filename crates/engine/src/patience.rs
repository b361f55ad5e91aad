//! How long a server that refuses connections, or drops them before they served anything, is left alone before it is
//! asked for another one (docs/decisions/0006).

use std::collections::BTreeMap;

use measure::Nanos;
use measure::random::Rng;
use wire::{Dialogue, FaultKind, Network};

use crate::exchange::NONE;
use crate::worker::Worker;

/// The pause after the first attempt that came to nothing. Each one in a row doubles it.
const SHORTEST: Nanos = Nanos::from_millis(10);
/// No pause is longer. A connection that stood so long was no attempt in vain, whether it carried anything or not.
const LONGEST: Nanos = Nanos::from_millis(500);
/// No pause of open load is longer: arrivals come meanwhile, and the wait of each is told as the target's.
const LONGEST_OF_ARRIVALS: Nanos = Nanos::from_millis(100);

/// The attempts in vain of whoever opens connections: a user, or the pool of an origin.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Setbacks {
    in_a_row: u8,
    /// No attempt before.
    pub until: Nanos,
    /// The last one.
    last: Nanos,
    /// There has been an attempt since.
    tried: bool,
}

impl Setbacks {
    /// True where the last attempt came to nothing.
    pub fn any(&self) -> bool {
        self.in_a_row > 0
    }

    /// An attempt came to nothing. Several that were under way at the same time are one setback.
    fn add(&mut self, now: Nanos, longest: Nanos, rng: &mut Rng) -> Nanos {
        if now >= self.until || self.tried {
            self.in_a_row = self.in_a_row.saturating_add(1);
            (self.last, self.tried) = (now, false);
            self.pause(now, longest, rng);
        }
        self.until
    }

    /// The pause, drawn between its half and its whole, so that those who failed together do not come back together. The
    /// longest of arrivals is whole: a worker has one for all of them, and with it ten attempts a second.
    fn pause(&mut self, now: Nanos, longest: Nanos, rng: &mut Rng) {
        let doublings = u32::from(self.in_a_row.saturating_sub(1)).min(16);
        let whole = Nanos(SHORTEST.0 << doublings).min(longest);
        let least = if whole == LONGEST_OF_ARRIVALS { whole } else { Nanos(whole.0 / 2) };
        self.until = now + rng.between(least, whole);
    }
}

/// The users whose last attempt came to nothing; hardly ever there are any.
#[derive(Debug, Default)]
pub(crate) struct Troubled(BTreeMap<u32, Setbacks>);

impl Troubled {
    /// Until when a user has to wait before it may open a connection; zero where it may now.
    #[inline]
    pub fn waits(&self, user: u32) -> Nanos {
        if self.0.is_empty() {
            return Nanos::ZERO;
        }
        self.0.get(&user).map_or(Nanos::ZERO, |setbacks| setbacks.until)
    }
}

impl<N: Network, D: Dialogue> Worker<N, D> {
    /// True where connections are opened for whoever comes first, and not by a user or for one request.
    pub fn is_pooled(&self) -> bool {
        self.limits.shared > 1 || (self.limits.open && !self.limits.one_shot)
    }

    /// True of a connection that ends, by the peer's doing, before it was of any use.
    pub fn is_in_vain(&self, conn: u32, kind: FaultKind) -> bool {
        let c = &self.conns[conn as usize];
        kind != FaultKind::Timeout && !c.proved && self.stamp < c.free_since + LONGEST
    }

    /// A user's attempt came to nothing: until when it has to wait.
    pub fn user_set_back(&mut self, user: u32) -> Nanos {
        let Some(crowd) = &mut self.crowd else { return self.stamp };
        let until = crowd.troubled.0.entry(user).or_default().add(self.stamp, LONGEST, &mut self.rng);
        let last = self.limits.end.map_or(until, |end| until.min(end));
        self.tally.counts.kept_out_ns += (last - self.stamp.max(self.limits.window)).0;
        until
    }

    fn longest_of_pools(&self) -> Nanos {
        if self.limits.open { LONGEST_OF_ARRIVALS } else { LONGEST }
    }

    /// A pool's attempt came to nothing: it makes one at a time from now on, and not before a pause.
    pub fn pool_set_back(&mut self, origin: u32) {
        if self.is_pooled() {
            let longest = self.longest_of_pools();
            let pool = &mut self.pools[origin as usize];
            pool.at_once = 1;
            self.retry_at = self.retry_at.min(pool.setbacks.add(self.stamp, longest, &mut self.rng));
        }
    }

    /// A pool opens a connection. After a setback the next one has to wait until this one has shown what it is worth; where
    /// the one before is still there, that halves the pause.
    pub fn pool_tries(&mut self, origin: u32) {
        let longest = self.longest_of_pools();
        let pool = &mut self.pools[origin as usize];
        pool.opening += 1;
        if pool.setbacks.any() {
            if std::mem::replace(&mut pool.setbacks.tried, true) {
                pool.setbacks.in_a_row -= 1;
                pool.at_once = pool.at_once.saturating_mul(2);
            }
            pool.setbacks.pause(self.stamp, longest, &mut self.rng);
            self.retry_at = self.retry_at.min(pool.setbacks.until);
        }
    }

    /// A connection was of use: who opened it is not held back any more. A pool that was grows again, twice as many at a
    /// time with each that was begun since.
    pub fn proved(&mut self, conn: u32) {
        let c = &mut self.conns[conn as usize];
        c.proved = true;
        let (origin, user, since) = (c.origin as usize, c.user, c.since);
        let pool = &mut self.pools[origin];
        if pool.at_once < u32::MAX && since > pool.setbacks.last {
            pool.at_once = pool.at_once.saturating_mul(2);
            pool.setbacks = Setbacks::default();
            self.retry_at = self.stamp;
        }
        if let Some(crowd) = self.crowd.as_mut().filter(|crowd| !crowd.troubled.0.is_empty()) {
            match user {
                NONE => crowd.troubled.0.clear(),
                user => drop(crowd.troubled.0.remove(&user)),
            }
        }
    }

    /// Pools whose pause is over try again, where somebody waits.
    #[cold]
    pub fn retry(&mut self) {
        self.retry_at = Nanos::MAX;
        for origin in 0..self.pools.len() {
            let pool = &self.pools[origin];
            if pool.setbacks.until > self.stamp {
                self.retry_at = self.retry_at.min(pool.setbacks.until);
            } else if !pool.waiting.is_empty() {
                self.grow(origin as u32);
            }
        }
        self.go_on_without();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_bound_and_no_two_users_keep_step() {
        for longest in [LONGEST, LONGEST_OF_ARRIVALS] {
            let (mut rng, mut setbacks, mut now) = (Rng::new(1), Setbacks::default(), Nanos::from_secs(1));
            assert!(!setbacks.any());
            for n in 0..300 {
                let whole = Nanos(SHORTEST.0 << n.min(10)).min(longest);
                let until = setbacks.add(now, longest, &mut rng);
                assert!(until >= now + Nanos(whole.0 / 2) && until <= now + whole, "{n}: {until} after {now}");
                assert_eq!(setbacks.add(now, longest, &mut rng), until, "those under way already are the same setback");
                now = until;
            }
            assert_eq!(
                longest == LONGEST_OF_ARRIVALS,
                setbacks.add(now, longest, &mut rng) == now + LONGEST_OF_ARRIVALS
            );
            let mut firsts: Vec<u64> = (0..20).map(|_| Setbacks::default().add(now, longest, &mut rng).0).collect();
            firsts.sort_unstable();
            firsts.dedup();
            assert!(firsts.len() > 15, "{firsts:?}");
        }
    }
}
