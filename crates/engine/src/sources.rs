//! The scenarios of a run in one worker, each with its own source.

use brunt_measure::Nanos;
use brunt_plan::Change;

use crate::ids::{ScenarioId, UserId};
use crate::limits::Limits;
use crate::source::LoadSource;

/// The load of one worker, as a set of sources.
pub(crate) struct LoadSources {
    all: Vec<LoadSource>,
}

impl LoadSources {
    /// Creates the set of sources; there is at least one.
    pub fn new(all: Vec<LoadSource>) -> LoadSources {
        LoadSources { all }
    }

    /// Returns the source of a user.
    #[inline]
    pub fn of(&mut self, user: UserId) -> &mut LoadSource {
        &mut self.all[user.scenario().at()]
    }

    /// Returns the only source of a run without several scenarios.
    #[inline]
    pub fn only(&mut self) -> &mut LoadSource {
        &mut self.all[0]
    }

    /// Returns the source of a scenario.
    #[inline]
    pub fn get(&mut self, scenario: ScenarioId) -> &mut LoadSource {
        &mut self.all[scenario.at()]
    }

    /// Returns the ids of all scenarios.
    pub fn ids(&self) -> impl Iterator<Item = ScenarioId> + use<> {
        (0..self.all.len()).map(ScenarioId::of)
    }

    /// Returns the number of iterations and groups of the scenarios before this one.
    pub fn spans_before(&self, scenario: ScenarioId) -> u16 {
        self.all[scenario.at()].spans_before()
    }

    pub fn all_mut(&mut self) -> &mut [LoadSource] {
        &mut self.all
    }

    /// Returns when the next arrival is due.
    #[inline]
    pub fn next_due(&self) -> Nanos {
        match &self.all[..] {
            [only] => only.next_due(),
            all => all.iter().map(LoadSource::next_due).min().unwrap_or(Nanos::MAX),
        }
    }

    /// Returns the scenario whose arrival is due next.
    #[inline]
    pub fn next_scenario(&self) -> ScenarioId {
        match &self.all[..] {
            [_] => ScenarioId(0),
            all => ScenarioId::of((0..all.len()).min_by_key(|at| all[*at].next_due()).unwrap_or(0)),
        }
    }

    /// Returns `true` if users run iterations.
    #[inline]
    pub fn have_iterations(&self) -> bool {
        self.all[0].iterates()
    }

    /// Returns when the next pause is over.
    #[inline]
    pub fn next_wake(&self) -> Nanos {
        match &self.all[..] {
            [only] => only.next_wake(),
            all => all.iter().map(LoadSource::next_wake).min().unwrap_or(Nanos::MAX),
        }
    }

    /// Returns the next user whose pause is over, and when it was.
    #[inline]
    pub fn take_woken(&mut self, now: Nanos) -> Option<(Nanos, UserId)> {
        self.all.iter_mut().find_map(|source| source.take_woken(now))
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

    /// Returns when the next user may start; `MAX` if none is waiting to start.
    pub fn next_start(&self) -> Nanos {
        let waits = self.all.iter().filter(|source| source.any_to_start());
        waits.map(LoadSource::next_start).min().unwrap_or(Nanos::MAX)
    }

    /// Returns when the next scenario ends or is cut.
    pub fn next_end(&self) -> Nanos {
        self.all.iter().map(LoadSource::next_end).min().unwrap_or(Nanos::MAX)
    }

    /// Returns `true` if no source has further requests.
    pub fn are_over(&self, limits: &Limits, now: Nanos) -> bool {
        self.all.iter().all(|source| source.is_over(limits, now))
    }

    /// Returns `true` if a user is in the middle of an iteration.
    pub fn is_within_iterations(&self) -> bool {
        self.all.iter().any(LoadSource::is_within_iterations)
    }

    /// Returns `true` if all requests of the run were started.
    #[inline]
    pub fn quotas_spent(&self, limits: &Limits, now: Nanos) -> bool {
        self.all.iter().all(|source| source.quota_spent(limits, now))
    }
}
