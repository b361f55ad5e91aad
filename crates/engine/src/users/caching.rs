//! Users with a cache like that of a browser, which is consulted before a request is due.
//!
//! A cache hit is not a request. It is counted under the name of the request, and updates state as a response does.
//! Runs without caches only check whether they have any.

use brunt_contract::Network;
use brunt_measure::Nanos;
use brunt_scenario::UserEvent;

use crate::connections::WorkerConnections;
use crate::ids::{RequestId, UserId};
use crate::outcome::NextHop;

use super::WorkerUsers;
use super::waking::SendResult;

impl WorkerUsers {
    /// Looks a prepared request up in its user's cache; a cached page is queued for parsing. Returns `None` on a miss.
    #[cold]
    pub(super) fn cached<N: Network>(
        &mut self,
        c: &mut WorkerConnections<N>,
        user: UserId,
        request: RequestId,
        due: Nanos,
    ) -> Option<SendResult> {
        let found = c.cached_prepared(user, request, due)?;
        let name = c.traffic().names().index_of(request.at());
        c.traffic().count_checks_passed(request, name, due);
        match found.filter(|_| self.loads_pages(user)) {
            Some(page) => {
                let within = c.traffic().timeout_of(request);
                self.pages.push((user, due), within, UserEvent::Cached, page);
                Some(SendResult::CachedPage)
            }
            None => Some(SendResult::Cached),
        }
    }

    /// Like [`WorkerUsers::cached`], for the target of a redirect; on a hit, the user continues.
    #[cold]
    pub(crate) fn hop_cached<N: Network>(&mut self, c: &mut WorkerConnections<N>, next: &NextHop) -> bool {
        let NextHop { follow, visit, timeout } = next;
        let (user, due) = (visit.user, c.event_time());
        let Some(found) = c.cached_derived((user, visit.name), due, &follow.request) else { return false };
        c.traffic().ended_in_cache(visit);
        if self.pages.has(user) {
            self.resource_ended(c, user, UserEvent::Cached, false);
            return true;
        }
        c.traffic().count_checks_passed(RequestId::NONE, visit.name, due);
        match found.filter(|_| self.loads_pages(user)) {
            // The redirected request itself had been sent.
            Some(page) => self.pages.push((user, due), *timeout, UserEvent::PASSED, page),
            None => self.advance(c, user, due, UserEvent::PASSED),
        }
        true
    }
}
