//! What users know, ask and tell of themselves.

use measure::Nanos;
use scenario::Told;
use wire::{Names, Request, Values};

use crate::books::Books;
use crate::failing::Cause;
use crate::ids::{ExchangeId, RequestId, ScenarioId, UserId};

use super::Traffic;

impl Traffic {
    /// What is dealt with from now on came to be known then.
    pub fn was_heard(&mut self, at: Nanos) {
        self.heard = at;
    }

    /// What is counted.
    #[inline]
    pub fn books(&mut self) -> &mut Books {
        &mut self.books
    }

    /// What requests are called.
    pub fn names(&self) -> &Names {
        self.dialogue.names()
    }

    /// What a prepared request may take.
    pub fn timeout_of(&self, request: RequestId) -> Nanos {
        self.flights.timeout_of(request)
    }

    /// Those of a scenario that are not over.
    pub fn of_scenario(&mut self, scenario: ScenarioId) -> Vec<ExchangeId> {
        let mut all = self.flights.all();
        all.retain(|id| self.flights.get(*id).user.scenario() == scenario);
        all
    }

    /// True where users keep answers, and do not ask again as long as those are good.
    #[inline]
    pub fn recalls(&self) -> bool {
        self.recalls
    }

    /// What a user has of the answer to a prepared request.
    pub fn recalled_prepared(&mut self, user: UserId, request: RequestId, due: Nanos) -> Option<Option<wire::Found>> {
        let (dialogue, fill) = (std::sync::Arc::clone(&self.dialogue), self.flights.would_fill(user, true, self.stamp));
        let of = (user, dialogue.names().of(request.at()));
        self.recalled(of, due, (&dialogue.requests()[request.at()].request, &fill))
    }

    /// The same of one that an answer asked for.
    pub fn recalled_made(&mut self, of: (UserId, u16), due: Nanos, request: &Request) -> Option<Option<wire::Found>> {
        let fill = self.flights.would_fill(of.0, false, self.stamp);
        self.recalled(of, due, (request, &fill))
    }

    /// What a user has and its step takes holds all that is checked of it: one that does not is asked about.
    pub fn checks_passed(&mut self, request: RequestId, name: u16, due: Nanos) {
        if let Some(checks) = &self.checks {
            self.books.checked(due < self.limits.window, checks.set_of(request, name), 0);
        }
    }

    /// What a user knows by name; `none` where users know nothing.
    #[inline]
    pub fn values<'a>(&'a mut self, user: UserId, none: &'a mut Values) -> &'a mut Values {
        self.memories.as_mut().map_or(none, |memories| &mut memories.of(user).values)
    }

    /// True where a user has the number of an iteration that it has not begun.
    pub fn has_number(&self, user: UserId) -> bool {
        self.flights.has_number(user)
    }

    /// A user takes a number, unless it has one: of an iteration, or (`ahead`) for the first one, before it does what comes before that.
    pub fn takes_number(&mut self, user: UserId, ahead: bool) {
        if ahead || !self.flights.has_number(user) {
            self.flights.iteration_begins(user);
        }
        self.flights.number_is_fresh(user, ahead);
    }

    /// A user who has a number will not begin its iteration.
    pub fn drops_number(&mut self, user: UserId) {
        self.flights.number_is_fresh(user, false);
    }

    /// A user begins an iteration: it knows nothing of the one before.
    pub fn iteration_begins(&mut self, user: UserId) {
        if let Some(memories) = &mut self.memories {
            memories.iteration_begins(user);
        }
    }

    /// An iteration or a group began or is over, whose figures are in this row.
    pub fn tell(&mut self, row: u16, told: &Told) {
        self.books.span(row, told, &self.limits);
    }

    /// An iteration was due, and nobody may begin it.
    pub fn iteration_dropped(&mut self, row: u16, due: Nanos) {
        self.books.iteration_dropped(row, due, &self.limits);
    }

    /// So many arrivals were never sent, the last of them due then.
    pub fn unsent(&mut self, of: (u16, UserId), due: Nanos, many: u64) {
        self.books.unsent(of, self.stamp - due, many, due <= self.held_back);
    }

    /// A pause was over then, and its user is woken now.
    pub fn woken_late(&mut self, until: Nanos) {
        self.books.counts().woken_late_ns += self.limits.in_window(until, self.stamp).0;
    }

    /// What a user would have said on a connection that did not come to stand has failed.
    pub fn fail_unsaid(&mut self, user: UserId, cause: &Cause<'_>) {
        let id = self.add(self.stamp, RequestId(0), self.dialogue.names().of(0), user, 0);
        self.fail(id, cause, true);
    }
}
