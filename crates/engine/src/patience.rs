//! How long a server that refuses connections, or drops them before they served anything, is left alone before it is
//! asked for another one (docs/decisions/0006).

use std::collections::BTreeMap;

use measure::Nanos;
use measure::random::Rng;

use crate::ids::UserId;

/// The pause after the first attempt that came to nothing. Each one in a row doubles it.
const SHORTEST: Nanos = Nanos::from_millis(10);
/// No pause is longer. A connection that stood so long was no attempt in vain, whether it carried anything or not.
pub(crate) const LONGEST: Nanos = Nanos::from_millis(500);
/// No pause of open load is longer: arrivals come meanwhile, and the wait of each is told as the target's.
pub(crate) const LONGEST_OF_ARRIVALS: Nanos = Nanos::from_millis(100);

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
    pub fn add(&mut self, now: Nanos, longest: Nanos, rng: &mut Rng) -> Nanos {
        if now >= self.until || self.tried {
            self.in_a_row = self.in_a_row.saturating_add(1);
            (self.last, self.tried) = (now, false);
            self.pause(now, longest, rng);
        }
        self.until
    }

    /// The pause, drawn between its half and its whole, so that those who failed together do not come back together. The
    /// longest of arrivals is whole: a worker has one for all of them, and with it ten attempts a second.
    pub fn pause(&mut self, now: Nanos, longest: Nanos, rng: &mut Rng) -> Nanos {
        let doublings = u32::from(self.in_a_row.saturating_sub(1)).min(16);
        let whole = Nanos(SHORTEST.0 << doublings).min(longest);
        let least = if whole == LONGEST_OF_ARRIVALS { whole } else { Nanos(whole.0 / 2) };
        self.until = now + rng.between(least, whole);
        self.until
    }

    /// Another attempt is made. True where the one before it is still there, which counts for it.
    pub fn tries_again(&mut self) -> bool {
        let lives = std::mem::replace(&mut self.tried, true);
        self.in_a_row -= u8::from(lives);
        lives
    }

    /// True where all of them were before an attempt that was begun at `since`.
    pub fn are_before(&self, since: Nanos) -> bool {
        since > self.last
    }
}

/// The users whose last attempt came to nothing; hardly ever there are any.
#[derive(Debug, Default)]
pub(crate) struct Troubled(BTreeMap<UserId, Setbacks>);

impl Troubled {
    /// Until when a user has to wait before it may open a connection; zero where it may now.
    #[inline]
    pub fn waits(&self, user: UserId) -> Nanos {
        if self.0.is_empty() {
            return Nanos::ZERO;
        }
        self.0.get(&user).map_or(Nanos::ZERO, |setbacks| setbacks.until)
    }

    /// A user's attempt came to nothing: until when it has to wait.
    pub fn set_back(&mut self, user: UserId, now: Nanos, rng: &mut Rng) -> Nanos {
        self.0.entry(user).or_default().add(now, LONGEST, rng)
    }

    /// A connection of this user ([`UserId::NONE`]: of nobody's) was of use: it is not held back any more.
    #[inline]
    pub fn proved(&mut self, user: UserId) {
        match user {
            _ if self.0.is_empty() => {}
            UserId::NONE => self.0.clear(),
            user => drop(self.0.remove(&user)),
        }
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
