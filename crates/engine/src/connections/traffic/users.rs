//! User-facing side of the requests: values, caches, iterations and their counts.

use measure::Nanos;
use scenario::Told;
use wire::{Names, Request, Values};

use crate::books::Books;
use crate::failing::Cause;
use crate::ids::{ExchangeId, RequestId, ScenarioId, UserId};

use super::Traffic;

impl Traffic {
    /// Sets the time at which the event being processed was read.
    pub fn was_heard(&mut self, at: Nanos) {
        self.heard = at;
    }

    /// Returns the recorder.
    #[inline]
    pub fn books(&mut self) -> &mut Books {
        &mut self.books
    }

    /// Returns the names of requests in figures.
    pub fn names(&self) -> &Names {
        self.dialogue.names()
    }

    /// Returns the timeout of a prepared request.
    pub fn timeout_of(&self, request: RequestId) -> Nanos {
        self.flights.timeout_of(request)
    }

    /// Returns the exchanges of a scenario that are not over.
    pub fn of_scenario(&mut self, scenario: ScenarioId) -> Vec<ExchangeId> {
        let mut all = self.flights.all();
        all.retain(|id| self.flights.get(*id).user.scenario() == scenario);
        all
    }

    /// Returns `true` if users cache answers and do not send a request while its answer is fresh.
    #[inline]
    pub fn recalls(&self) -> bool {
        self.recalls
    }

    /// Looks a prepared request up in a user's cache.
    pub fn recalled_prepared(&mut self, user: UserId, request: RequestId, due: Nanos) -> Option<Option<wire::Found>> {
        let (dialogue, fill) = (std::sync::Arc::clone(&self.dialogue), self.flights.would_fill(user, true, self.stamp));
        let of = (user, dialogue.names().of(request.at()));
        self.recalled(of, due, (&dialogue.requests()[request.at()].request, &fill))
    }

    /// Like [`Traffic::recalled_prepared`], for a request derived from an answer.
    pub fn recalled_made(&mut self, of: (UserId, u16), due: Nanos, request: &Request) -> Option<Option<wire::Found>> {
        let fill = self.flights.would_fill(of.0, false, self.stamp);
        self.recalled(of, due, (request, &fill))
    }

    /// Counts all checks of a request answered from the cache as passed: an answer that does not pass them is not
    /// cached.
    pub fn checks_passed(&mut self, request: RequestId, name: u16, due: Nanos) {
        if let Some(checks) = &self.checks {
            self.books.checked(due < self.limits.window, checks.set_of(request, name), 0);
        }
    }

    /// Returns a user's values; `none` if users have none.
    #[inline]
    pub fn values<'a>(&'a mut self, user: UserId, none: &'a mut Values) -> &'a mut Values {
        self.memories.as_mut().map_or(none, |memories| &mut memories.of(user).values)
    }

    /// Returns `true` if a user has the number of an iteration that it has not begun.
    pub fn has_number(&self, user: UserId) -> bool {
        self.flights.has_number(user)
    }

    /// Assigns an iteration number to a user, unless it has one; with `ahead`, that of its first iteration, for the
    /// steps before it.
    pub fn takes_number(&mut self, user: UserId, ahead: bool) {
        if ahead || !self.flights.has_number(user) {
            self.flights.iteration_begins(user);
        }
        self.flights.number_is_fresh(user, ahead);
    }

    /// Drops the number of an iteration that a user will not begin.
    pub fn drops_number(&mut self, user: UserId) {
        self.flights.number_is_fresh(user, false);
    }

    /// Begins an iteration of a user: its values of the previous one are cleared.
    pub fn iteration_begins(&mut self, user: UserId) {
        if let Some(memories) = &mut self.memories {
            memories.iteration_begins(user);
        }
    }

    /// Counts the begin or end of an iteration or group whose figures are in row `row`.
    pub fn tell(&mut self, row: u16, told: &Told) {
        self.books.span(row, told, &self.limits);
    }

    /// Counts an iteration that was due and that no user could begin.
    pub fn iteration_dropped(&mut self, row: u16, due: Nanos) {
        self.books.iteration_dropped(row, due, &self.limits);
    }

    /// Counts `many` arrivals that were never sent, the last of them due at `due`.
    pub fn unsent(&mut self, of: (u16, UserId), due: Nanos, many: u64) {
        self.books.unsent(of, self.stamp - due, many, due <= self.held_back);
    }

    /// Counts how late a user is woken whose pause ended at `until`.
    pub fn woken_late(&mut self, until: Nanos) {
        self.books.counts().woken_late_ns += self.limits.in_window(until, self.stamp).0;
    }

    /// Counts the failure of a request that a user would have sent on a connection that failed to open.
    pub fn fail_unsaid(&mut self, user: UserId, cause: &Cause<'_>) {
        let id = self.add(self.stamp, RequestId(0), self.dialogue.names().of(0), user, 0);
        self.fail(id, cause, true);
    }
}
