//! Users who keep answers as browsers do: before a request is due, whether its user has the answer is asked.
//!
//! An answer that is there is no request: it is counted under its name, and what it holds is learnt as if it had come. Runs without caches
//! ask whether they have some, and no more.

use measure::Nanos;
use scenario::News;
use wire::{Follow, Network, Request};

use crate::connections::Connections;
use crate::exchange::NONE;
use crate::outcome::Over;

use super::Users;
use super::waking::Sent;

impl Users {
    /// Whether a user has the answer to a prepared request: a page is to be looked into first. None: it has none.
    #[cold]
    pub(super) fn is_there<N: Network>(
        &mut self,
        c: &mut Connections<N>,
        user: u32,
        request: u32,
        due: Nanos,
    ) -> Option<Sent> {
        let dialogue = std::sync::Arc::clone(&c.dialogue);
        let (name, prepared) = (dialogue.names().of(request as usize), &dialogue.requests()[request as usize].request);
        let fill = c.flights.would_fill(user, true, c.stamp);
        let found = c.recalled((user, name), due, (prepared, &fill))?;
        self.checks_passed(c, request, name, due);
        match found.filter(|_| self.loads_pages(user)) {
            Some(page) => {
                let within = c.flights.timeout_of(request);
                self.pages.hears((user, due), within, News::Recalled, page);
                Some(Sent::Looked)
            }
            None => Some(Sent::Recalled),
        }
    }

    /// The same of what a redirect asks for; its user goes on.
    #[cold]
    pub(crate) fn hop_is_there<N: Network>(&mut self, c: &mut Connections<N>, over: &Over, follow: &Follow) -> bool {
        let (user, due) = (over.user, c.heard);
        let fill = c.flights.would_fill(user, false, c.stamp);
        let Some(found) = c.recalled((user, over.name), due, (&follow.request, &fill)) else { return false };
        if self.pages.has(user) {
            self.resource_is_over(c, user, News::Recalled, false);
            return true;
        }
        self.checks_passed(c, NONE, over.name, due);
        match found.filter(|_| self.loads_pages(user)) {
            // What led there was sent.
            Some(page) => self.pages.hears((user, due), over.within, News::PASSED, page),
            None => self.ask(c, user, due, News::PASSED),
        }
        true
    }

    /// The same of what a page names, which was due when the page ended.
    #[cold]
    pub(crate) fn resource_is_there<N: Network>(
        &mut self,
        c: &mut Connections<N>,
        (user, name): (u32, u16),
        due: Nanos,
        request: &Request,
    ) -> bool {
        let fill = c.flights.would_fill(user, false, c.stamp);
        c.recalled((user, name), due, (request, &fill)).is_some()
    }

    /// What a user has and its step takes holds all that is checked of it: one that does not is asked about.
    pub(crate) fn checks_passed<N: Network>(&mut self, c: &mut Connections<N>, request: u32, name: u16, due: Nanos) {
        if let Some(checks) = &c.checks {
            c.books.checked(due < c.limits.window, checks.set_of(request, name), 0);
        }
    }
}
