//! Users who fetch the resources of pages, as browsers do: several at once, and the flow goes on once the last is over.
//!
//! The flow is not aware of it: it is told the end of a page's request when the whole page is over. Parsing a page may
//! take long. It happens after the end of its response was stamped and after all due bytes were written, so that it
//! counts as our lateness and not as service time. Runs without pages only check whether two lists are empty.

use std::collections::{HashMap, VecDeque};

use measure::Nanos;
use scenario::News;
use wire::{Follow, Found, Network, Page};

use crate::connections::Connections;
use crate::ids::UserId;
use crate::want::{Made, Want, Wanted};

use super::Users;

/// The pages of one worker's users.
#[derive(Default)]
pub(super) struct Pages {
    /// Responses that were read, but not yet parsed for resources.
    heard: VecDeque<Heard>,
    /// The page whose resources each user fetches.
    open: HashMap<UserId, Visit>,
}

struct Heard {
    user: UserId,
    at: Nanos,
    /// Timeout of each of its resources.
    within: Nanos,
    news: News,
    found: Found,
}

/// A page that is not over.
struct Visit {
    page: Page,
    /// Time when the page itself ended: all its resources were due then.
    ended: Nanos,
    /// Set once the concurrency limit was reached: the next resources wait for others.
    full: bool,
    flying: u32,
    within: Nanos,
    /// The event reported to its user in the end: of the page, or of the first resource that failed.
    news: News,
    /// Set if a server could not be reached.
    back_off: bool,
}

impl Pages {
    /// Queues a response for parsing.
    pub fn hears(&mut self, (user, at): (UserId, Nanos), within: Nanos, news: News, found: Found) {
        self.heard.push_back(Heard { user, at, within, news, found });
    }

    /// Returns `true` if responses are to be parsed.
    #[inline]
    pub fn are_heard(&self) -> bool {
        !self.heard.is_empty()
    }

    /// Returns `true` if a user is fetching the resources of a page.
    #[inline]
    pub fn has(&self, user: UserId) -> bool {
        !self.open.is_empty() && self.open.contains_key(&user)
    }

    /// Removes a user that is gone: resources not sent were not due.
    #[inline]
    pub fn leave(&mut self, user: UserId) {
        if !self.open.is_empty() {
            self.open.remove(&user);
        }
    }
}

fn failed(news: News) -> bool {
    matches!(news, News::Ended { fault: Some(_), .. })
}

impl Users {
    /// Returns `true` if a user fetches resources: users of a flow do, one page at a time, but not for requests of a
    /// batch.
    pub(crate) fn loads_pages(&mut self, user: UserId) -> bool {
        let source = self.source.of(user);
        source.iterates() && !source.is_in_batch(user)
    }

    /// Parses the queued pages one after the other, and begins to fetch their resources.
    #[cold]
    pub(crate) fn read_pages<N: Network>(&mut self, c: &mut Connections<N>) {
        while let Some(Heard { user, at, within, news, found }) = self.pages.heard.pop_front() {
            let page = found();
            // Later events are late by the time of parsing, and due as if it had taken none.
            c.mark();
            c.traffic().was_heard(at);
            let window = c.limits().window;
            c.traffic().books().left_out(at < window, u64::from(page.elsewhere), u64::from(page.beyond), page.cut);
            if self.pages.has(user) {
                self.resource_is_over(c, user, news, false);
            } else if page.found == 0 {
                self.ask(c, user, at, news);
            } else {
                let visit = Visit { page, ended: at, full: false, flying: 0, within, news, back_off: false };
                self.pages.open.insert(user, visit);
                self.fetch_on(c, user);
            }
            self.go_on_all(c);
            c.flush();
        }
    }

    /// Handles the end of a page resource.
    #[cold]
    pub(crate) fn resource_is_over<N: Network>(
        &mut self,
        c: &mut Connections<N>,
        user: UserId,
        news: News,
        back_off: bool,
    ) {
        let Some(visit) = self.pages.open.get_mut(&user) else { return };
        visit.flying = visit.flying.saturating_sub(1);
        if failed(news) && !visit.page.may_fail {
            visit.back_off |= back_off;
            if !failed(visit.news) {
                visit.news = news;
            }
        }
        self.fetch_on(c, user);
    }

    /// Sends resources up to the concurrency limit; after the last one, the user goes on.
    pub(crate) fn fetch_on<N: Network>(&mut self, c: &mut Connections<N>, user: UserId) {
        while let Some(visit) = self.pages.open.get_mut(&user) {
            if visit.flying >= visit.page.at_once {
                visit.full = true;
                return;
            }
            if let Some(follow) = (visit.page.next)() {
                let (ended, name, held_back, within) = (visit.ended, visit.page.name, visit.full, visit.within);
                if c.traffic().recalls() && c.recalled_made((user, name), ended, &follow.request).is_some() {
                    continue;
                }
                if let Some(visit) = self.pages.open.get_mut(&user) {
                    visit.flying += 1;
                    if visit.news == News::Recalled {
                        // The page itself was in the cache; its user sends a request all the same, and waits for that.
                        visit.news = News::PASSED;
                    }
                }
                self.sends_resource(c, user, ended);
                self.fetch(c, (user, name), (ended, held_back), (within, follow));
                continue;
            }
            if visit.flying > 0 {
                return;
            }
            let (news, back_off) = (visit.news, visit.back_off);
            self.pages.open.remove(&user);
            return if back_off { self.user_backs_off(c, user, news) } else { self.ask(c, user, c.heard(), news) };
        }
    }

    /// Sends a resource: due with its page, and held back if others had to end first.
    pub(crate) fn fetch<N: Network>(
        &mut self,
        c: &mut Connections<N>,
        (user, name): (UserId, u16),
        (due, held_back): (Nanos, bool),
        (within, follow): (Nanos, Follow),
    ) {
        let request = Wanted::Made(Made { follow, name, hops: 0, within, of_page: true });
        c.want(Want { user, due, request, on_failure: None, held_back });
    }
}
