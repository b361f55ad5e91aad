//! The scenarios of a run side by side in one worker: a source each, in one loop.
//!
//! A user carries the number of its scenario in the upper bits of its own, so that whatever holds a user knows whose it is
//! without a table. A run of one load has one source, of the number 0, and its users the numbers they always had.

use measure::Nanos;
use plan::Change;

use crate::exchange::NONE;
use crate::limits::Limits;
use crate::source::Source;

/// Where the number of its scenario begins in a user's own.
const SHIFT: u32 = 26;
/// The rest of it.
const WITHIN: u32 = (1 << SHIFT) - 1;

const _: () = assert!(
    plan::scenarios::SCENARIOS < 1 << (u32::BITS - SHIFT),
    "all of them have a number, and nobody has none of theirs"
);

/// The scenario of a user, by its number in the run.
#[inline]
pub(crate) fn scenario_of(user: u32) -> usize {
    if user == NONE { 0 } else { (user >> SHIFT) as usize }
}

/// The number of a user within its scenario.
#[inline]
pub(crate) fn within(user: u32) -> u32 {
    user & WITHIN
}

/// The number of the first user of a scenario.
pub(crate) fn first_user(scenario: usize) -> u32 {
    (scenario as u32) << SHIFT
}

/// The load of one worker: all of its sources.
pub(crate) struct Sources {
    all: Vec<Source>,
}

impl Sources {
    /// One at least.
    pub fn new(all: Vec<Source>) -> Sources {
        Sources { all }
    }

    /// The source of a user.
    #[inline]
    pub fn of(&mut self, user: u32) -> &mut Source {
        let at = scenario_of(user);
        &mut self.all[at]
    }

    /// That of a run which has but one.
    #[inline]
    pub fn only(&mut self) -> &mut Source {
        &mut self.all[0]
    }

    pub fn all(&self) -> &[Source] {
        &self.all
    }

    pub fn all_mut(&mut self) -> &mut [Source] {
        &mut self.all
    }

    /// When the next arrival of any is due.
    #[inline]
    pub fn next_due(&self) -> Nanos {
        match &self.all[..] {
            [only] => only.next_due(),
            all => all.iter().map(Source::next_due).min().unwrap_or(Nanos::MAX),
        }
    }

    /// Which of them has the arrival that is due next.
    #[inline]
    pub fn next_to_arrive(&self) -> usize {
        match &self.all[..] {
            [_] => 0,
            all => (0..all.len()).min_by_key(|at| all[*at].next_due()).unwrap_or(0),
        }
    }

    /// True where users go through iterations.
    #[inline]
    pub fn iterate(&self) -> bool {
        self.all[0].iterates()
    }

    /// When the next pause of anybody is over.
    #[inline]
    pub fn next_awake(&self) -> Nanos {
        match &self.all[..] {
            [only] => only.next_awake(),
            all => all.iter().map(Source::next_awake).min().unwrap_or(Nanos::MAX),
        }
    }

    /// The next user whose pause is over, and when it was.
    #[inline]
    pub fn awake(&mut self, now: Nanos) -> Option<(Nanos, u32)> {
        self.all.iter_mut().find_map(|source| source.awake(now))
    }

    /// A user does nothing until then.
    pub fn pause(&mut self, user: u32, until: Nanos) {
        self.of(user).pause(user, until);
    }

    /// From `at` on another load, of all of them.
    pub fn change(&mut self, limits: &Limits, at: Nanos, change: Change, now: Nanos) {
        self.all.iter_mut().for_each(|source| source.change(limits, at, change, now));
    }

    /// When the number of users of any changes next.
    pub fn next_change(&mut self) -> Nanos {
        self.all.iter_mut().map(|source| source.users().next_change()).min().unwrap_or(Nanos::MAX)
    }

    /// When the next user may start, where any is to.
    pub fn next_start(&self) -> Nanos {
        let waits = self.all.iter().filter(|source| source.has_to_start());
        waits.map(Source::next_start).min().unwrap_or(Nanos::MAX)
    }

    /// When a scenario ends next that has not, or what is left of it is cut.
    pub fn next_end(&self) -> Nanos {
        self.all.iter().map(Source::next_end).min().unwrap_or(Nanos::MAX)
    }

    /// True where no further request comes of any.
    pub fn are_over(&self, limits: &Limits, now: Nanos) -> bool {
        self.all.iter().all(|source| source.is_over(limits, now))
    }

    /// Somebody has further steps to go.
    pub fn is_within_iterations(&self) -> bool {
        self.all.iter().any(Source::is_within_iterations)
    }

    /// True where all that was asked for was started.
    #[inline]
    pub fn quotas_spent(&self, limits: &Limits, now: Nanos) -> bool {
        self.all.iter().all(|source| source.quota_spent(limits, now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_carries_the_number_of_its_scenario() {
        for (scenario, user) in [(0, 0), (0, 77), (1, 0), (31, 65_000_000)] {
            let number = first_user(scenario) | user;
            assert_eq!((scenario_of(number), within(number)), (scenario, user));
            assert_ne!(number, NONE);
        }
        assert_eq!(scenario_of(NONE), 0, "nobody's");
    }
}
