//! The part of [`Traffic`] that concerns users: values, caches, iterations and their counts.

use brunt_contract::{Request, RequestNames, UserValues};
use brunt_measure::Nanos;
use brunt_scenario::SpanEvent;

use crate::failure_cause::FailureCause;
use crate::ids::{ExchangeId, RequestId, ScenarioId, UserId};
use crate::recorder::Recorder;

use super::Traffic;

impl Traffic {
    /// Sets the time at which the event being processed was read.
    pub fn set_event_time(&mut self, at: Nanos) {
        self.event_time = at;
    }

    /// Returns the recorder.
    #[inline]
    pub fn recorder(&mut self) -> &mut Recorder {
        &mut self.recorder
    }

    /// Returns the names of requests used in the figures.
    pub fn names(&self) -> &RequestNames {
        self.workload.names()
    }

    /// Returns the timeout of a prepared request.
    pub fn timeout_of(&self, request: RequestId) -> Nanos {
        self.in_flight.timeout_of(request)
    }

    /// Returns the exchanges of a scenario that are in progress.
    pub fn of_scenario(&mut self, scenario: ScenarioId) -> Vec<ExchangeId> {
        let mut all = self.in_flight.all();
        all.retain(|id| self.in_flight.get(*id).user.scenario() == scenario);
        all
    }

    /// Returns `true` if users cache answers and do not send a request while its answer is fresh.
    #[inline]
    pub fn caches(&self) -> bool {
        self.caches
    }

    /// Looks a prepared request up in a user's cache.
    pub fn cached_prepared(
        &mut self,
        user: UserId,
        request: RequestId,
        due: Nanos,
    ) -> Option<Option<brunt_contract::ResourceSearch>> {
        let (dialogue, fill) =
            (std::sync::Arc::clone(&self.workload), self.in_flight.preview_fill(user, true, self.stamp));
        let of = (user, dialogue.names().index_of(request.at()));
        self.cached(of, due, (&dialogue.requests()[request.at()].request, &fill))
    }

    /// Like [`Traffic::cached_prepared`], for a request derived from an answer.
    pub fn cached_derived(
        &mut self,
        of: (UserId, u16),
        due: Nanos,
        request: &Request,
    ) -> Option<Option<brunt_contract::ResourceSearch>> {
        let fill = self.in_flight.preview_fill(of.0, false, self.stamp);
        self.cached(of, due, (request, &fill))
    }

    /// Counts all checks of a request answered from the cache as passed, because an answer that fails a check is not
    /// cached.
    pub fn count_checks_passed(&mut self, request: RequestId, name: u16, due: Nanos) {
        if let Some(checks) = &self.checks {
            self.recorder.checked(due < self.limits.window, checks.checks_of_request(request, name), 0);
        }
    }

    /// Returns a user's values; `none` if users have none.
    #[inline]
    pub fn values<'a>(&'a mut self, user: UserId, none: &'a mut UserValues) -> &'a mut UserValues {
        self.user_states.as_mut().map_or(none, |memories| &mut memories.of(user).values)
    }

    /// Returns `true` if a user has the number of an iteration that it has not begun.
    pub fn has_number(&self, user: UserId) -> bool {
        self.in_flight.has_number(user)
    }

    /// Assigns an iteration number to a user, unless it has one; with `ahead`, the number of its first iteration, for
    /// the steps before it.
    pub fn assign_number(&mut self, user: UserId, ahead: bool) {
        if ahead || !self.in_flight.has_number(user) {
            self.in_flight.iteration_begins(user);
        }
        self.in_flight.set_number_fresh(user, ahead);
    }

    /// Drops the number of an iteration that a user will not begin.
    pub fn drop_number(&mut self, user: UserId) {
        self.in_flight.set_number_fresh(user, false);
    }

    /// Begins an iteration of a user: the values of its previous one are cleared.
    pub fn iteration_begins(&mut self, user: UserId) {
        if let Some(memories) = &mut self.user_states {
            memories.iteration_begins(user);
        }
    }

    /// Counts the beginning or end of an iteration or group with figures in row `row`.
    pub fn record_span(&mut self, row: u16, span_event: &SpanEvent) {
        self.recorder.span(row, span_event, &self.limits);
    }

    /// Counts an iteration that was due but that no user could begin.
    pub fn iteration_dropped(&mut self, row: u16, due: Nanos) {
        self.recorder.iteration_dropped(row, due, &self.limits);
    }

    /// Counts `many` arrivals that were never sent, the last of them due at `due`.
    pub fn unsent(&mut self, of: (u16, UserId), due: Nanos, many: u64) {
        self.recorder.unsent(of, self.stamp - due, many, due <= self.held_back);
    }

    /// Records how late a user is woken after a pause that ended at `until`.
    pub fn woken_late(&mut self, until: Nanos) {
        self.recorder.counts().woken_late_ns += self.limits.in_window(until, self.stamp).0;
    }

    /// Counts the failure of a request that was not sent because its user's connection failed to open.
    pub fn fail_unsent(&mut self, user: UserId, cause: &FailureCause<'_>) {
        let id = self.add(self.stamp, RequestId(0), self.workload.names().index_of(0), user);
        self.fail(id, cause, true);
    }
}
