//! Users that fetch the resources of pages, as browsers do: several at once, and the flow continues after the last one.
//!
//! The flow is not aware of this: for the flow, the request for the page ends when the whole page is complete. Parsing
//! a page may take long. It happens after the end of its response was timestamped and after all due bytes were written,
//! so that it counts as our lateness and not as service time. Runs without pages only check whether two lists are
//! empty.

use std::collections::{HashMap, VecDeque};

use brunt_contract::{FollowUp, Network, PageResources, ResourceSearch};
use brunt_measure::Nanos;
use brunt_scenario::UserEvent;

use crate::connections::WorkerConnections;
use crate::due_request::{DerivedRequest, DueRequest, RequestRef};
use crate::ids::UserId;

use super::WorkerUsers;

/// The pages of one worker's users.
#[derive(Default)]
pub(super) struct PageVisits {
    /// Responses that were read but not yet searched for resources.
    unparsed: VecDeque<UnparsedPage>,
    /// The page whose resources each user fetches.
    open: HashMap<UserId, PageVisit>,
}

struct UnparsedPage {
    user: UserId,
    at: Nanos,
    /// Timeout of each resource.
    timeout: Nanos,
    event: UserEvent,
    finder: ResourceSearch,
}

/// A page whose resources are being fetched.
struct PageVisit {
    page: PageResources,
    /// Time at which the response with the page itself ended, when all its resources were due.
    ended: Nanos,
    /// Set once the concurrency limit was reached, so that the next resources wait for others.
    full: bool,
    in_flight: u32,
    timeout: Nanos,
    /// The event reported to the user at the end: that of the page, or of the first resource that failed.
    event: UserEvent,
    /// Set if a server could not be reached.
    back_off: bool,
}

impl PageVisits {
    /// Queues a response for parsing.
    pub fn push(&mut self, (user, at): (UserId, Nanos), within: Nanos, event: UserEvent, found: ResourceSearch) {
        self.unparsed.push_back(UnparsedPage { user, at, timeout: within, event, finder: found });
    }

    /// Returns `true` if responses are waiting to be parsed.
    #[inline]
    pub fn any_unparsed(&self) -> bool {
        !self.unparsed.is_empty()
    }

    /// Returns `true` if a user is fetching the resources of a page.
    #[inline]
    pub fn has(&self, user: UserId) -> bool {
        !self.open.is_empty() && self.open.contains_key(&user)
    }

    /// Removes a user that has left; resources not requested yet do not count as due.
    #[inline]
    pub fn remove(&mut self, user: UserId) {
        if !self.open.is_empty() {
            self.open.remove(&user);
        }
    }
}

fn failed(event: UserEvent) -> bool {
    matches!(event, UserEvent::Ended { fault: Some(_), .. })
}

impl WorkerUsers {
    /// Returns `true` if a user fetches resources now: users of a flow do, one page at a time, but not for requests of
    /// a batch.
    pub(crate) fn loads_pages(&mut self, user: UserId) -> bool {
        let source = self.sources.of(user);
        source.iterates() && !source.is_in_batch(user)
    }

    /// Parses the queued pages one after another, and begins to fetch their resources.
    #[cold]
    pub(crate) fn parse_pages<N: Network>(&mut self, c: &mut WorkerConnections<N>) {
        while let Some(UnparsedPage { user, at, timeout: within, event: news, finder: found }) =
            self.pages.unparsed.pop_front()
        {
            let page = found();
            // Parsing delays the resources, which are due as if it had taken no time.
            c.read_clock();
            c.traffic().set_event_time(at);
            let window = c.limits().window;
            c.traffic().recorder().skipped_resources(
                at < window,
                u64::from(page.on_other_hosts),
                u64::from(page.over_limit),
                page.truncated,
            );
            if self.pages.has(user) {
                self.resource_ended(c, user, news, false);
            } else if page.resources == 0 {
                self.advance(c, user, at, news);
            } else {
                let visit = PageVisit {
                    page,
                    ended: at,
                    full: false,
                    in_flight: 0,
                    timeout: within,
                    event: news,
                    back_off: false,
                };
                self.pages.open.insert(user, visit);
                self.fetch_more(c, user);
            }
            self.process_outcomes(c);
            c.flush();
        }
    }

    /// Handles the end of a page resource.
    #[cold]
    pub(crate) fn resource_ended<N: Network>(
        &mut self,
        c: &mut WorkerConnections<N>,
        user: UserId,
        event: UserEvent,
        back_off: bool,
    ) {
        let Some(visit) = self.pages.open.get_mut(&user) else { return };
        visit.in_flight = visit.in_flight.saturating_sub(1);
        if failed(event) && !visit.page.may_fail {
            visit.back_off |= back_off;
            if !failed(visit.event) {
                visit.event = event;
            }
        }
        self.fetch_more(c, user);
    }

    /// Sends resources up to the concurrency limit; the user continues after the last one.
    pub(crate) fn fetch_more<N: Network>(&mut self, c: &mut WorkerConnections<N>, user: UserId) {
        while let Some(visit) = self.pages.open.get_mut(&user) {
            if visit.in_flight >= visit.page.max_in_flight {
                visit.full = true;
                return;
            }
            if let Some(follow) = (visit.page.next)() {
                let (ended, name, held_back, within) = (visit.ended, visit.page.name, visit.full, visit.timeout);
                if c.traffic().caches() && c.cached_derived((user, name), ended, &follow.request).is_some() {
                    continue;
                }
                if let Some(visit) = self.pages.open.get_mut(&user) {
                    visit.in_flight += 1;
                    if visit.event == UserEvent::Cached {
                        // The page itself was cached, but its user sends a request for a resource and waits for its
                        // end.
                        visit.event = UserEvent::PASSED;
                    }
                }
                self.record_resource(c, user, ended);
                self.fetch_resource(c, (user, name), (ended, held_back), (within, follow));
                continue;
            }
            if visit.in_flight > 0 {
                return;
            }
            let (news, back_off) = (visit.event, visit.back_off);
            self.pages.open.remove(&user);
            return if back_off {
                self.user_backs_off(c, user, news)
            } else {
                self.advance(c, user, c.event_time(), news)
            };
        }
    }

    /// Sends the request for a resource: it was due with its page, and counts as held back if others had to end first.
    pub(crate) fn fetch_resource<N: Network>(
        &mut self,
        c: &mut WorkerConnections<N>,
        (user, name): (UserId, u16),
        (due, held_back): (Nanos, bool),
        (within, follow): (Nanos, FollowUp),
    ) {
        let request = RequestRef::Derived(DerivedRequest { follow, name, timeout: within, of_page: true });
        c.add_request(DueRequest { user, due, request, on_failure: None, held_back });
    }
}
