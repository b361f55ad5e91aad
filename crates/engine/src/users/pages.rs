//! Users who fetch what pages name, as browsers do: several resources at once, and the flow goes on once the last is over.
//!
//! The flow knows nothing of it: of the request of a page it is told when the whole page is over. Reading a page may take long. It
//! comes after the end of its response was stamped and after all that was to leave has left, so that it is our lateness and no service
//! time. Runs without pages ask whether two lists are empty, and no more.

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
    /// Responses that have been heard, and not been looked into.
    heard: VecDeque<Heard>,
    /// By user: the page whose resources it fetches.
    open: HashMap<UserId, Visit>,
}

struct Heard {
    user: UserId,
    at: Nanos,
    /// What each of its resources may take.
    within: Nanos,
    news: News,
    found: Found,
}

/// A page that is not over.
struct Visit {
    page: Page,
    /// When it ended itself: all that it names was due then.
    ended: Nanos,
    /// As many are under way as may be: the next ones wait for them.
    full: bool,
    flying: u32,
    within: Nanos,
    /// What its user is told in the end: of the page, or of the first resource that failed.
    news: News,
    /// Somebody could not be reached.
    back_off: bool,
}

impl Pages {
    /// A response may name more for its user.
    pub fn hears(&mut self, (user, at): (UserId, Nanos), within: Nanos, news: News, found: Found) {
        self.heard.push_back(Heard { user, at, within, news, found });
    }

    /// True where some are to be looked into.
    #[inline]
    pub fn are_heard(&self) -> bool {
        !self.heard.is_empty()
    }

    /// True of a user who fetches what a page names.
    #[inline]
    pub fn has(&self, user: UserId) -> bool {
        !self.open.is_empty() && self.open.contains_key(&user)
    }

    /// A user is gone: what its page names was not due where it was not sent.
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
    /// Users of a flow load one page at a time, and none of those that a batch fetches.
    pub(crate) fn loads_pages(&mut self, user: UserId) -> bool {
        let source = self.source.of(user);
        source.iterates() && !source.is_in_batch(user)
    }

    /// Looks into the pages that were heard, one after the other, and begins to fetch what they name.
    #[cold]
    pub(crate) fn read_pages<N: Network>(&mut self, c: &mut Connections<N>) {
        while let Some(Heard { user, at, within, news, found }) = self.pages.heard.pop_front() {
            let page = found();
            // What follows is late by what that took, and due as if it had taken nothing.
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

    /// A resource of a user's page ended.
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

    /// As many are sent as may be under way; after the last the user goes on.
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
                        // The page itself was there; its user sends something all the same, and waits for that.
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

    /// A resource is due: with its page, and held back where others had to end first.
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
