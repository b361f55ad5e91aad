//! Users with iterations: their begin, the counts of iterations and groups, and their cut.

use measure::Nanos;
use scenario::{Told, What};
use wire::Network;

use crate::connections::Connections;
use crate::ids::{ScenarioId, UserId};

use super::Users;

impl Users {
    /// Returns `true` if a user is in the middle of an iteration; pauses beyond the end of the drain do not count.
    pub(crate) fn is_within_iterations<N: Network>(&self, c: &Connections<N>) -> bool {
        self.source.is_within_iterations() && (c.has_requests() || self.source.next_awake() < c.next_end())
    }

    /// Begins an iteration: its requests share a number, and the values of the previous iteration are cleared. Steps
    /// before a user's first iteration share its number.
    pub(crate) fn iteration_begins<N: Network>(&mut self, c: &mut Connections<N>, user: UserId, iterates: bool) {
        let has_number = c.traffic().has_number(user);
        c.traffic().takes_number(user, !iterates);
        let source = self.source.of(user);
        let counts = !source.users().arrive();
        if !iterates {
            if counts {
                source.takes_ahead();
            }
            return;
        }
        if counts {
            if has_number {
                source.taken_ahead(true);
            }
            source.begins_another(user, c.limits(), c.now());
            source.start_request(c.limits(), c.now());
        }
        c.traffic().iteration_begins(user);
    }

    /// Counts the begin or end of an iteration or group.
    pub(super) fn tell<N: Network>(&mut self, c: &mut Connections<N>, scenario: ScenarioId, told: &Told) {
        let row = self.row_of_span(c, scenario, told.span);
        c.traffic().tell(row, told);
        if told.span == 0 && told.what != What::Began {
            let user = UserId::within(scenario, told.user);
            c.lets_go_of_own(user, matches!(told.what, What::Ended { passed: true, .. }));
        }
    }

    /// Records the sending of a page resource: a request of its user that was due at `due`.
    pub(super) fn sends_resource<N: Network>(&mut self, c: &mut Connections<N>, user: UserId, due: Nanos) {
        let mut acts = std::mem::take(&mut self.acts);
        self.source.of(user).sends(user, due, &mut acts);
        for act in acts.drain(..) {
            self.notes(c, user, act);
        }
        self.acts = acts;
    }

    /// Returns the row of an iteration or group: each has two behind the names, with pauses and without.
    pub(crate) fn row_of_span<N: Network>(&self, c: &Connections<N>, scenario: ScenarioId, span: u16) -> u16 {
        c.names() as u16 + 2 * (self.source.spans_before(scenario) + span)
    }

    /// Removes a user, in the middle of its iteration or not.
    #[inline]
    pub(crate) fn leaves<N: Network>(&mut self, c: &mut Connections<N>, user: UserId) {
        let mut acts = std::mem::take(&mut self.acts);
        let source = self.source.of(user);
        source.leaves(user, c.now(), &mut acts);
        let arrives = source.users().arrive();
        for act in acts.drain(..) {
            self.notes(c, user, act);
        }
        self.acts = acts;
        if c.traffic().has_number(user) {
            c.traffic().drops_number(user);
            if !arrives {
                self.source.of(user).taken_ahead(false);
            }
        }
    }

    /// Ends the run: users in the middle of an iteration are cut.
    pub(crate) fn all_leave<N: Network>(&mut self, c: &mut Connections<N>) {
        for scenario in self.source.numbers() {
            for user in self.source.get(scenario).users().running() {
                self.leaves(c, user);
            }
        }
    }

    /// Counts an iteration of a scenario that was due and that no user could begin.
    #[cold]
    pub(crate) fn dropped<N: Network>(&mut self, c: &mut Connections<N>, scenario: ScenarioId, due: Nanos) {
        let row = self.row_of_span(c, scenario, 0);
        c.traffic().iteration_dropped(row, due);
    }

    /// Cuts scenarios that ended and whose time to finish is over.
    pub(crate) fn cut_scenarios<N: Network>(&mut self, c: &mut Connections<N>) {
        for scenario in self.source.numbers() {
            if self.source.get(scenario).is_cut(c.now()) {
                self.cut(c, scenario);
            }
        }
    }

    #[cold]
    pub(crate) fn cut<N: Network>(&mut self, c: &mut Connections<N>, scenario: ScenarioId) {
        for id in c.traffic().of_scenario(scenario) {
            c.cut_request(id);
        }
        self.source.get(scenario).pauses().clear();
        self.source.get(scenario).users().begin_no_more();
        for user in self.source.get(scenario).users().running() {
            self.user_ends(c, user);
        }
        self.go_on(c);
    }
}
