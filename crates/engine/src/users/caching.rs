//! Users who keep answers as browsers do: before a request is due, whether its user has the answer is asked.
//!
//! An answer that is there is no request: it is counted under its name, and what it holds is learnt as if it had come. Runs without caches
//! ask whether they have some, and no more.

use measure::Nanos;
use scenario::News;
use wire::{Follow, Network};

use crate::connections::Connections;
use crate::ids::{RequestId, UserId};
use crate::outcome::Over;

use super::Users;
use super::waking::Sent;

impl Users {
    /// Whether a user has the answer to a prepared request: a page is to be looked into first. None: it has none.
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

    /// The same of what a redirect asks for; its user goes on.
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
            // What led there was sent.
            Some(page) => self.pages.hears((user, due), over.within, News::PASSED, page),
            None => self.ask(c, user, due, News::PASSED),
        }
        true
    }
}
