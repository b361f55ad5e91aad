//! Users: they are started and retired (closed load), woken by events, and asked for their next action.

mod backlog;
mod caching;
mod holding;
mod iterations;
mod pages;
mod waking;

use brunt_contract::Network;
use brunt_measure::Nanos;
use brunt_scenario::{Actions, UserEvent};

use crate::connections::WorkerConnections;
use crate::due_request::{DueRequest, RequestRef};
use crate::holding_users::HoldingUsers;
use crate::ids::{ScenarioId, UserId};
use crate::outcome::{FinishedRequest, NextHop, UserOutcome};
use crate::sources::LoadSources;

use self::pages::PageVisits;

/// Maximum number of arrivals sent before the next answer is read. They take about 20 µs of system calls, by which a
/// read may be late.
const SENDS_BETWEEN_READS: usize = 4;
/// Time after which waking users is interrupted for other work.
const MAX_WAKING: Nanos = Nanos::from_millis(1);
/// Maximum number of users started in one turn of the loop, so that responses are read while many users connect.
const MAX_STARTS: usize = 32;

/// The users of a worker: what each does, and when.
pub(crate) struct WorkerUsers {
    /// One source per scenario.
    pub sources: LoadSources,
    /// Pages whose resources users fetch.
    pages: PageVisits,
    /// The holding users, if the number of connections is part of the plan.
    holding: Option<HoldingUsers>,
    /// Reused buffer for the next actions of a user.
    actions: Actions,
}

impl WorkerUsers {
    /// Creates the users of these sources; none has begun.
    pub fn new(source: LoadSources, held: Option<HoldingUsers>) -> WorkerUsers {
        WorkerUsers { sources: source, holding: held, pages: PageVisits::default(), actions: Actions::new() }
    }

    /// Step 1: sends the arrivals that are due (open load), each of which is the visit of a user. Users of a closed
    /// load are started and woken by [`WorkerUsers::keep_time`].
    #[inline]
    pub(crate) fn send_due<N: Network>(&mut self, c: &mut WorkerConnections<N>) {
        for _ in 0..SENDS_BETWEEN_READS {
            if self.sources.next_due() > c.now() {
                return;
            }
            if c.traffic().queue_is_full() {
                return c.traffic().hold_back();
            }
            let scenario = self.sources.next_scenario();
            let source = self.sources.get(scenario);
            let due = source.take_arrival(c.limits());
            match source.add_arrival() {
                Some(user) => {
                    let now = c.now();
                    c.traffic().recorder().set_users(scenario, source.users().alive(), now);
                    self.advance(c, user, due, UserEvent::Begin);
                }
                None => self.drop_iteration(c, scenario, due),
            }
            self.process_and_flush(c);
            c.mark_due_sent();
        }
    }

    /// Sends the next hop of a visit, due when the redirect was read.
    fn follow_redirect<N: Network>(&mut self, c: &mut WorkerConnections<N>, next: Box<NextHop>) {
        if c.traffic().caches() && self.hop_cached(c, &next) {
            return;
        }
        let (user, due) = (next.visit.user, c.event_time());
        c.add_request(DueRequest { user, due, request: RequestRef::Hop(next), on_failure: None, held_back: false });
    }

    /// Processes queued outcomes: users continue, bytes are written, and pages are parsed.
    #[inline]
    pub fn process_and_flush<N: Network>(&mut self, c: &mut WorkerConnections<N>) {
        self.process_outcomes(c);
        c.flush();
        if self.pages.any_unparsed() {
            self.parse_pages(c);
        }
    }

    /// Processes all messages and outcomes, after which each user sends, pauses or leaves.
    #[inline]
    fn process_outcomes<N: Network>(&mut self, c: &mut WorkerConnections<N>) {
        while let Some(outcome) = c.traffic().next_outcome() {
            match outcome {
                UserOutcome::Message { user, message } => self.receive_message(c, user, &message),
                UserOutcome::Finished(over) => self.request_over(c, over),
                UserOutcome::Connected { user } => self.user_connected(c, user),
                UserOutcome::Lost { user, stood, in_vain } => self.user_lost_connection(c, user, stood, in_vain),
                UserOutcome::NotSent { user, why } => self.opening_failed(c, user, &why),
            }
        }
    }

    /// Handles the end of a request: follows redirects, queues pages for parsing, and wakes users.
    #[inline]
    fn request_over<N: Network>(&mut self, c: &mut WorkerConnections<N>, mut over: FinishedRequest) {
        let user = over.user;
        if over.own > Nanos::ZERO {
            self.sources.of(user).delayed(user, over.own, c.event_time());
        }
        if let Some(page) = over.page_finder.take().filter(|_| self.loads_pages(user)) {
            return self.pages.push((user, c.event_time()), over.timeout, over.event, page);
        }
        match over.follow.take() {
            Some(next) => self.follow_redirect(c, next),
            None if self.pages.has(user) => self.resource_ended(c, user, over.event, over.back_off),
            None if over.back_off => self.user_backs_off(c, user, over.event),
            None => self.advance(c, user, c.event_time(), over.event),
        }
    }

    /// Returns `true` if all requests of the run were started.
    fn is_ending<N: Network>(&self, c: &WorkerConnections<N>) -> bool {
        self.sources.quotas_spent(c.limits(), c.now())
    }

    /// Ends the users that wait to send their next request.
    pub(crate) fn stop_users<N: Network>(&mut self, c: &mut WorkerConnections<N>) {
        // Users in the middle of an iteration continue during the drain.
        while !self.sources.have_iterations()
            && let Some((_, user)) = self.sources.take_woken(Nanos(u64::MAX - 1))
        {
            self.user_ends(c, user);
        }
        self.end_holding_users(c);
        self.sources.all_mut().iter_mut().for_each(|source| source.users().stop_starting());
    }

    /// Starts, wakes and retires the users for whom that is due at the current time.
    #[inline]
    pub fn keep_time<N: Network>(&mut self, c: &mut WorkerConnections<N>) {
        self.change_users(c);
        self.wake_users(c);
        self.wake_finished_users(c);
        if c.now() >= self.sources.next_end() {
            self.cut_scenarios(c);
        }
    }

    /// Wakes users whose think time no longer matters because all requests were sent, so that the run does not wait for
    /// them.
    #[inline]
    fn wake_finished_users<N: Network>(&mut self, c: &mut WorkerConnections<N>) {
        for scenario in self.sources.ids() {
            let source = self.sources.get(scenario);
            let thinks = !source.iterates() && !source.users().by_arrivals() && source.next_wake() < Nanos::MAX;
            while thinks
                && self.sources.get(scenario).quota_spent(c.limits(), c.now())
                && let Some((_, user)) = self.sources.get(scenario).take_woken(Nanos(u64::MAX - 1))
            {
                self.advance(c, user, c.now(), UserEvent::Resumed);
            }
        }
    }

    /// Starts and retires users according to the profile.
    pub(crate) fn change_users<N: Network>(&mut self, c: &mut WorkerConnections<N>) {
        for scenario in self.sources.ids() {
            let source = self.sources.get(scenario);
            if c.now() >= source.users().next_change() && !c.is_closing() {
                source.change_users(c.limits(), c.now());
            }
            self.start_users(c, scenario);
        }
    }

    pub(crate) fn start_users<N: Network>(&mut self, c: &mut WorkerConnections<N>, scenario: ScenarioId) {
        for _ in 0..MAX_STARTS {
            let source = self.sources.get(scenario);
            if !source.any_to_start() || !c.may_open() || !source.start_is_due(c.now()) {
                break;
            }
            let source = self.sources.get(scenario);
            let Some(user) = source.users().start() else { break };
            let now = c.now();
            c.traffic().recorder().set_users(scenario, source.users().alive(), now);
            // A user with its own connection consumes its start permit when that connection is opened.
            let _ = c.are_fixed() || source.take_start_permit(c.now());
            self.advance(c, user, c.now(), UserEvent::Begin);
            self.process_and_flush(c);
            c.read_clock();
        }
    }

    /// Wakes users whose pause is over.
    pub(crate) fn wake_users<N: Network>(&mut self, c: &mut WorkerConnections<N>) {
        let (iterate, began) = (self.sources.have_iterations(), c.now());
        while let Some((until, user)) = self.sources.take_woken(c.now()) {
            if !self.sources.of(user).users().by_arrivals() {
                c.traffic().woken_late(until);
            }
            // The next step of an iteration is due when the pause ended, however late we are.
            self.advance(c, user, if iterate { until } else { c.now() }, UserEvent::Resumed);
            self.process_and_flush(c);
            c.read_clock();
            if c.now() > began + MAX_WAKING {
                break;
            }
        }
    }

    /// Ends a user that has no further requests, and closes its connection.
    #[inline]
    pub(crate) fn user_ends<N: Network>(&mut self, c: &mut WorkerConnections<N>, user: UserId) {
        self.leave_iteration(c, user);
        self.pages.remove(user);
        let users = self.sources.of(user).users();
        if !users.end(user) {
            return;
        }
        let now = c.now();
        c.traffic().recorder().set_users(user.scenario(), users.alive(), now);
        let ending = self.is_ending(c);
        c.user_leaves(user, ending);
    }
}
