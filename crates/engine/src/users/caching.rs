//! Users with a cache like that of a browser: before a request is due, the cache is consulted.
//!
//! A cache hit is no request: it is counted under its name, and state is updated from it as from a response. Runs
//! without caches only check whether they have any.

use measure::Nanos;
use scenario::News;
use wire::{Follow, Network};

use crate::connections::Connections;
use crate::ids::{RequestId, UserId};
use crate::outcome::Over;

use super::Users;
use super::waking::Sent;

impl Users {
    /// Looks a prepared request up in its user's cache; a page is parsed first. Returns `None` on a miss.
    #[cold]
    pub(super) fn is_there<N: Network>(
        &mut self,
        c: &mut Connections<N>,
        user: UserId,
        request: RequestId,
        due: Nanos,
    ) -> Option<Sent> {
        let found = c.recalled_prepared(user, request, due)?;
        let name = c.traffic().names().of(request.at());
        c.traffic().checks_passed(request, name, due);
        match found.filter(|_| self.loads_pages(user)) {
            Some(page) => {
                let within = c.traffic().timeout_of(request);
                self.pages.hears((user, due), within, News::Recalled, page);
                Some(Sent::Looked)
            }
            None => Some(Sent::Recalled),
        }
    }

    /// Like [`Users::is_there`], for the target of a redirect; its user goes on.
    #[cold]
    pub(crate) fn hop_is_there<N: Network>(&mut self, c: &mut Connections<N>, over: &Over, follow: &Follow) -> bool {
        let (user, due) = (over.user, c.heard());
        let Some(found) = c.recalled_made((user, over.name), due, &follow.request) else { return false };
        if self.pages.has(user) {
            self.resource_is_over(c, user, News::Recalled, false);
            return true;
        }
        c.traffic().checks_passed(RequestId::NONE, over.name, due);
        match found.filter(|_| self.loads_pages(user)) {
            // The request that was redirected there was sent.
            Some(page) => self.pages.hears((user, due), over.within, News::PASSED, page),
            None => self.ask(c, user, due, News::PASSED),
        }
        true
    }
}
