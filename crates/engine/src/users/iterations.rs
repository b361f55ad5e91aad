//! Users with iterations: begins, counts and cuts iterations and groups.

use brunt_contract::Network;
use brunt_measure::Nanos;
use brunt_scenario::{SpanEvent, SpanEventKind};

use crate::connections::WorkerConnections;
use crate::ids::{ScenarioId, UserId};

use super::WorkerUsers;

impl WorkerUsers {
    /// Returns `true` if a user is in the middle of an iteration; pauses beyond the end of the drain do not count.
    pub(crate) fn is_within_iterations<N: Network>(&self, c: &WorkerConnections<N>) -> bool {
        self.sources.is_within_iterations() && (c.has_requests() || self.sources.next_wake() < c.next_end())
    }

    /// Begins an iteration: its requests share a number, and the values of the previous iteration are cleared. Steps
    /// before a user's first iteration share the number of that iteration.
    pub(crate) fn iteration_begins<N: Network>(&mut self, c: &mut WorkerConnections<N>, user: UserId, iterates: bool) {
        let has_number = c.traffic().has_number(user);
        c.traffic().assign_number(user, !iterates);
        let source = self.sources.of(user);
        let counts = !source.users().by_arrivals();
        if !iterates {
            if counts {
                source.reserve_iteration();
            }
            return;
        }
        if counts {
            if has_number {
                source.release_reserved(true);
            }
            source.count_iteration(user, c.limits(), c.now());
            source.start_request(c.limits(), c.now());
        }
        c.traffic().iteration_begins(user);
    }

    /// Counts the beginning or end of an iteration or group.
    pub(super) fn record_span<N: Network>(
        &mut self,
        c: &mut WorkerConnections<N>,
        scenario: ScenarioId,
        span_event: &SpanEvent,
    ) {
        let row = self.row_of_span(c, scenario, span_event.span);
        c.traffic().record_span(row, span_event);
        if span_event.span == 0 && span_event.kind != SpanEventKind::Began {
            let user = UserId::within(scenario, span_event.user);
            c.release_owned(user, matches!(span_event.kind, SpanEventKind::Ended { passed: true, .. }));
        }
    }

    /// Records the sending of a page resource: a request of its user that was due at `due`.
    pub(super) fn record_resource<N: Network>(&mut self, c: &mut WorkerConnections<N>, user: UserId, due: Nanos) {
        let mut acts = std::mem::take(&mut self.actions);
        self.sources.of(user).sends(user, due, &mut acts);
        for act in acts.drain(..) {
            self.record_action(c, user, act);
        }
        self.actions = acts;
    }

    /// Returns the first row of an iteration or group. Each has two rows, with and without pauses, which follow those
    /// of the names.
    pub(crate) fn row_of_span<N: Network>(&self, c: &WorkerConnections<N>, scenario: ScenarioId, span: u16) -> u16 {
        c.names() as u16 + 2 * (self.sources.spans_before(scenario) + span)
    }

    /// Removes a user, which may be in the middle of an iteration.
    #[inline]
    pub(crate) fn leave_iteration<N: Network>(&mut self, c: &mut WorkerConnections<N>, user: UserId) {
        let mut acts = std::mem::take(&mut self.actions);
        let source = self.sources.of(user);
        source.leaves(user, c.now(), &mut acts);
        let arrives = source.users().by_arrivals();
        for act in acts.drain(..) {
            self.record_action(c, user, act);
        }
        self.actions = acts;
        if c.traffic().has_number(user) {
            c.traffic().drop_number(user);
            if !arrives {
                self.sources.of(user).release_reserved(false);
            }
        }
    }

    /// Ends the run: users in the middle of an iteration are cut.
    pub(crate) fn end_all_iterations<N: Network>(&mut self, c: &mut WorkerConnections<N>) {
        for scenario in self.sources.ids() {
            for user in self.sources.get(scenario).users().running() {
                self.leave_iteration(c, user);
            }
        }
    }

    /// Counts an iteration of a scenario that was due and that no user could begin.
    #[cold]
    pub(crate) fn drop_iteration<N: Network>(
        &mut self,
        c: &mut WorkerConnections<N>,
        scenario: ScenarioId,
        due: Nanos,
    ) {
        let row = self.row_of_span(c, scenario, 0);
        c.traffic().iteration_dropped(row, due);
    }

    /// Cuts scenarios that have ended and whose time to finish is over.
    pub(crate) fn cut_scenarios<N: Network>(&mut self, c: &mut WorkerConnections<N>) {
        for scenario in self.sources.ids() {
            if self.sources.get(scenario).is_cut(c.now()) {
                self.cut_scenario(c, scenario);
            }
        }
    }

    #[cold]
    pub(crate) fn cut_scenario<N: Network>(&mut self, c: &mut WorkerConnections<N>, scenario: ScenarioId) {
        for id in c.traffic().of_scenario(scenario) {
            c.abandon_request(id);
        }
        self.sources.get(scenario).pauses().clear();
        self.sources.get(scenario).users().stop_starting();
        for user in self.sources.get(scenario).users().running() {
            self.user_ends(c, user);
        }
        self.process_and_flush(c);
    }
}
