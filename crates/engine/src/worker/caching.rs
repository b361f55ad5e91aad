//! Users who keep answers as browsers do: before a request is due, whether its user has the answer is asked.
//!
//! An answer that is there is no request: it is counted under its name, and what it holds is learnt as if it had come. Runs without caches
//! ask whether they have some, and no more.

use measure::Nanos;
use scenario::News;
use wire::{Fill, Follow, Found, Network, Request};

use crate::exchange::NONE;
use crate::sources::within;

use super::{Next, Worker};

impl<N: Network> Worker<N> {
    /// True where a user has the answer to a prepared request, and was told so: unless the answer is a page, which is to be looked into first.
    #[cold]
    pub(super) fn is_there(&mut self, user: u32, request: u32, due: Nanos) -> bool {
        let dialogue = std::sync::Arc::clone(&self.dialogue);
        let (name, prepared) = (dialogue.names().of(request as usize), &dialogue.requests()[request as usize].request);
        let fill = self.flights.would_fill(user, true, self.stamp);
        let Some(found) = self.recalled((user, name), due, (prepared, &fill)) else { return false };
        self.checks_passed(request, name, due);
        match found.filter(|_| self.loads_pages(user)) {
            Some(page) => {
                let within = self.flights.timeout_of(request);
                self.pages.hears((user, due), within, News::Recalled, page);
            }
            None => {
                let flow = self.source.of(user).flow();
                flow.into_iter().for_each(|flow| flow.hear(within(user), News::Recalled, due));
            }
        }
        true
    }

    /// The same of what a redirect asks for; its user goes on.
    #[cold]
    pub(super) fn hop_is_there(&mut self, next: &Next, follow: &Follow) -> bool {
        let (user, due) = (next.user, self.heard);
        let fill = self.flights.would_fill(user, false, self.stamp);
        let Some(found) = self.recalled((user, next.name), due, (&follow.request, &fill)) else { return false };
        if self.pages.has(user) {
            self.resource_is_over(user, News::Recalled, false);
            return true;
        }
        self.checks_passed(NONE, next.name, due);
        match found.filter(|_| self.loads_pages(user)) {
            // What led there was sent.
            Some(page) => self.pages.hears((user, due), next.within, News::PASSED, page),
            None => self.ask(user, due, News::PASSED),
        }
        true
    }

    /// The same of what a page names, which was due when the page ended.
    #[cold]
    pub(super) fn resource_is_there(&mut self, (user, name): (u32, u16), due: Nanos, request: &Request) -> bool {
        let fill = self.flights.would_fill(user, false, self.stamp);
        self.recalled((user, name), due, (request, &fill)).is_some()
    }

    /// What a user has and its step takes holds all that is checked of it: one that does not is asked about.
    fn checks_passed(&mut self, request: u32, name: u16, due: Nanos) {
        if let Some(checks) = &self.checks {
            self.books.checked(due < self.limits.window, checks.set_of(request, name), 0);
        }
    }

    /// A user has the answer: it is counted, and what it holds is learnt. What comes back finds what it names beside, where it is a page.
    fn recalled(
        &mut self,
        (user, name): (u32, u16),
        due: Nanos,
        (request, fill): (&Request, &Fill<'_>),
    ) -> Option<Option<Found>> {
        let memory = self.memories.as_mut()?.of(user);
        let recalled = self.dialogue.recall(request, fill, memory)?;
        let found = recalled.lesson.and_then(|lesson| self.dialogue.learn(request, fill, lesson, memory));
        self.books.recalled((name, user), recalled.bytes, due < self.limits.window);
        // What follows is late by what that took.
        let now = self.links.net().now();
        self.is_now(now);
        Some(found)
    }
}
