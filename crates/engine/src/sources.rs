//! The scenarios of a run in one worker: a source each, in one loop.

use measure::Nanos;
use plan::Change;

use crate::ids::{ScenarioId, UserId};
use crate::limits::Limits;
use crate::source::Source;

/// The load of one worker: all of its sources.
pub(crate) struct Sources {
    all: Vec<Source>,
}

impl Sources {
    /// Creates the set of sources; there is at least one.
    pub fn new(all: Vec<Source>) -> Sources {
        Sources { all }
    }

    /// Returns the source of a user.
    #[inline]
    pub fn of(&mut self, user: UserId) -> &mut Source {
        &mut self.all[user.scenario().at()]
    }

    /// Returns the source of a run with only one.
    #[inline]
    pub fn only(&mut self) -> &mut Source {
        &mut self.all[0]
    }

    /// Returns the source of a scenario.
    #[inline]
    pub fn get(&mut self, scenario: ScenarioId) -> &mut Source {
        &mut self.all[scenario.at()]
    }

    /// Returns the ids of all scenarios.
    pub fn numbers(&self) -> impl Iterator<Item = ScenarioId> + use<> {
        (0..self.all.len()).map(ScenarioId::of)
    }

    /// Returns the number of iterations and groups of the scenarios before one.
    pub fn spans_before(&self, scenario: ScenarioId) -> u16 {
        self.all[scenario.at()].spans_before()
    }

    pub fn all_mut(&mut self) -> &mut [Source] {
        &mut self.all
    }

    /// Returns when the next arrival is due.
    #[inline]
    pub fn next_due(&self) -> Nanos {
        match &self.all[..] {
            [only] => only.next_due(),
            all => all.iter().map(Source::next_due).min().unwrap_or(Nanos::MAX),
        }
    }

    /// Returns the scenario whose arrival is due next.
    #[inline]
    pub fn next_to_arrive(&self) -> ScenarioId {
        match &self.all[..] {
            [_] => ScenarioId(0),
            all => ScenarioId::of((0..all.len()).min_by_key(|at| all[*at].next_due()).unwrap_or(0)),
        }
    }

    /// Returns `true` if users go through iterations.
    #[inline]
    pub fn iterate(&self) -> bool {
        self.all[0].iterates()
    }

    /// Returns when the next pause is over.
    #[inline]
    pub fn next_awake(&self) -> Nanos {
        match &self.all[..] {
            [only] => only.next_awake(),
            all => all.iter().map(Source::next_awake).min().unwrap_or(Nanos::MAX),
        }
    }

    /// Returns the next user whose pause is over, and when it was.
    #[inline]
    pub fn awake(&mut self, now: Nanos) -> Option<(Nanos, UserId)> {
        self.all.iter_mut().find_map(|source| source.awake(now))
    }

    /// Pauses a user until `until`.
    pub fn pause(&mut self, user: UserId, until: Nanos) {
        self.of(user).pause(user, until);
    }

    /// Changes the load of all sources from `at` on.
    pub fn change(&mut self, limits: &Limits, at: Nanos, change: Change, now: Nanos) {
        self.all.iter_mut().for_each(|source| source.change(limits, at, change, now));
    }

    /// Returns when the number of users changes next.
    pub fn next_change(&mut self) -> Nanos {
        self.all.iter_mut().map(|source| source.users().next_change()).min().unwrap_or(Nanos::MAX)
    }

    /// Returns when the next user may start, if any is to.
    pub fn next_start(&self) -> Nanos {
        let waits = self.all.iter().filter(|source| source.has_to_start());
        waits.map(Source::next_start).min().unwrap_or(Nanos::MAX)
    }

    /// Returns when a scenario that has not ended does, or the rest of it is cut.
    pub fn next_end(&self) -> Nanos {
        self.all.iter().map(Source::next_end).min().unwrap_or(Nanos::MAX)
    }

    /// Returns `true` if no source has further requests.
    pub fn are_over(&self, limits: &Limits, now: Nanos) -> bool {
        self.all.iter().all(|source| source.is_over(limits, now))
    }

    /// Returns `true` if a user is in the middle of an iteration.
    pub fn is_within_iterations(&self) -> bool {
        self.all.iter().any(Source::is_within_iterations)
    }

    /// Returns `true` if all requests of the run were started.
    #[inline]
    pub fn quotas_spent(&self, limits: &Limits, now: Nanos) -> bool {
        self.all.iter().all(|source| source.quota_spent(limits, now))
    }
}
