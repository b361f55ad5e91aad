//! Backoff: the pause before the next attempt to connect to a server that refuses connections, or drops them before
//! serving anything (docs/decisions/0006).

use std::collections::BTreeMap;

use brunt_measure::Nanos;
use brunt_measure::random::Rng;

use crate::ids::UserId;

/// The pause after the first failed attempt. Each further consecutive failure doubles it.
const MIN_PAUSE: Nanos = Nanos::from_millis(10);
/// The longest pause. A connection that was open for this long does not count as a failed attempt, even if it carried
/// nothing.
pub(crate) const MAX_PAUSE: Nanos = Nanos::from_millis(500);
/// The longest pause in open load, where arrivals continue during the pause and their waits are attributed to the
/// target.
pub(crate) const MAX_ARRIVAL_PAUSE: Nanos = Nanos::from_millis(100);

/// Consecutive failed attempts by one opener of connections: a user, or the pool of an origin.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Backoff {
    failures: u8,
    /// Earliest time of the next attempt.
    pub until: Nanos,
    /// Time of the last failed attempt.
    last: Nanos,
    /// Set if there has been another attempt since the last failure.
    retried: bool,
}

impl Backoff {
    /// Returns `true` if the last attempt failed.
    pub fn any(&self) -> bool {
        self.failures > 0
    }

    /// Records a failed attempt, and returns when the pause ends. Several attempts that fail in the same round count as
    /// one failure.
    pub fn record_failure(&mut self, now: Nanos, longest: Nanos, rng: &mut Rng) -> Nanos {
        if now >= self.until || self.retried {
            self.failures = self.failures.saturating_add(1);
            (self.last, self.retried) = (now, false);
            self.pause(now, longest, rng);
        }
        self.until
    }

    /// Starts a pause of between half and all of its nominal length, so that openers that failed together do not retry
    /// together. The longest pause of arrivals has no jitter: all arrivals of a worker share one pause, which allows
    /// ten attempts per second.
    pub fn pause(&mut self, now: Nanos, longest: Nanos, rng: &mut Rng) -> Nanos {
        let doublings = u32::from(self.failures.saturating_sub(1)).min(16);
        let whole = Nanos(MIN_PAUSE.0 << doublings).min(longest);
        let least = if whole == MAX_ARRIVAL_PAUSE { whole } else { Nanos(whole.0 / 2) };
        self.until = now + rng.between(least, whole);
        self.until
    }

    /// Records another attempt. Returns `true` if another one has been made since the last failure: its connection must
    /// still be open, so one failure is taken back.
    pub fn record_attempt(&mut self) -> bool {
        let lives = std::mem::replace(&mut self.retried, true);
        self.failures -= u8::from(lives);
        lives
    }

    /// Returns `true` if no attempt has failed at or after `since`.
    pub fn all_before(&self, since: Nanos) -> bool {
        since > self.last
    }
}

/// The backoff of the users whose last attempt failed, which are rare.
#[derive(Debug, Default)]
pub(crate) struct UserBackoffs(BTreeMap<UserId, Backoff>);

impl UserBackoffs {
    /// Returns when a user may open its next connection; zero if it may now.
    #[inline]
    pub fn until(&self, user: UserId) -> Nanos {
        if self.0.is_empty() {
            return Nanos::ZERO;
        }
        self.0.get(&user).map_or(Nanos::ZERO, |setbacks| setbacks.until)
    }

    /// Records a failed attempt of a user, and returns when its pause ends.
    pub fn record_failure(&mut self, user: UserId, now: Nanos, rng: &mut Rng) -> Nanos {
        self.0.entry(user).or_default().record_failure(now, MAX_PAUSE, rng)
    }

    /// Records that a connection of this user ([`UserId::NONE`] for a shared one) was useful: the user is no longer
    /// held back.
    #[inline]
    pub fn clear(&mut self, user: UserId) {
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
        for longest in [MAX_PAUSE, MAX_ARRIVAL_PAUSE] {
            let (mut rng, mut setbacks, mut now) = (Rng::new(1), Backoff::default(), Nanos::from_secs(1));
            assert!(!setbacks.any());
            for n in 0..300 {
                let whole = Nanos(MIN_PAUSE.0 << n.min(10)).min(longest);
                let until = setbacks.record_failure(now, longest, &mut rng);
                assert!(until >= now + Nanos(whole.0 / 2) && until <= now + whole, "{n}: {until} after {now}");
                assert_eq!(
                    setbacks.record_failure(now, longest, &mut rng),
                    until,
                    "those under way already are the same setback"
                );
                now = until;
            }
            assert_eq!(
                longest == MAX_ARRIVAL_PAUSE,
                setbacks.record_failure(now, longest, &mut rng) == now + MAX_ARRIVAL_PAUSE
            );
            let mut firsts: Vec<u64> =
                (0..20).map(|_| Backoff::default().record_failure(now, longest, &mut rng).0).collect();
            firsts.sort_unstable();
            firsts.dedup();
            assert!(firsts.len() > 15, "{firsts:?}");
        }
    }
}
