//! Users: started and retired (closed load), woken by events, and asked what they do next.

mod backlog;
mod caching;
mod held;
mod iterations;
mod pages;
mod waking;

use measure::Nanos;
use scenario::{Acts, News};
use wire::{Follow, Network};

use crate::connections::Connections;
use crate::held::Holders;
use crate::ids::{ScenarioId, UserId};
use crate::outcome::{Outcome, Over};
use crate::sources::Sources;
use crate::want::{Made, Want, Wanted};

use self::pages::Pages;

/// Maximum number of arrivals sent before the next answer is read: about 20 µs of system calls, by which a read may be
/// late.
const SENDS_BETWEEN_READS: usize = 4;
/// Time after which waking users is interrupted for other work.
const LONG: Nanos = Nanos::from_millis(1);
/// Maximum number of users started in one turn of the loop, so that responses are read while many still connect.
const STARTS: usize = 32;

/// The users of a worker: what each does, and when.
pub(crate) struct Users {
    /// One source per scenario.
    pub source: Sources,
    /// Pages whose resources users fetch.
    pages: Pages,
    /// Set if the number of connections is part of the plan.
    held: Option<Holders>,
    /// Buffer for a user's next actions, reused.
    acts: Acts,
}

impl Users {
    /// Creates the users of these sources; none has begun.
    pub fn new(source: Sources, held: Option<Holders>) -> Users {
        Users { source, held, pages: Pages::default(), acts: Acts::new() }
    }

    /// Step 1: sends the arrivals that are due (open load); each is the visit of a user. Users of a closed load are
    /// started and woken by [`Users::keep_time`].
    #[inline]
    pub(crate) fn send_due<N: Network>(&mut self, c: &mut Connections<N>) {
        for _ in 0..SENDS_BETWEEN_READS {
            if self.source.next_due() > c.now() {
                return;
            }
            if c.traffic().queue_is_full() {
                return c.traffic().hold_back();
            }
            let scenario = self.source.next_to_arrive();
            let source = self.source.get(scenario);
            let due = source.take_arrival(c.limits());
            match source.come() {
                Some(user) => {
                    let now = c.now();
                    c.traffic().books().users_are(scenario, source.users().alive(), now);
                    self.ask(c, user, due, News::Begin);
                }
                None => self.dropped(c, scenario, due),
            }
            self.go_on(c);
            c.sent_what_was_due();
        }
    }

    /// Sends the next hop of a redirect: a request of its own, due when the redirect was read.
    fn arrive_by<N: Network>(&mut self, c: &mut Connections<N>, over: Over, follow: Follow) {
        if c.traffic().recalls() && self.hop_is_there(c, &over, &follow) {
            return;
        }
        let Over { user, name, within, .. } = over;
        let on_failure = if let News::Ended { on_failure, .. } = over.news { Some(on_failure) } else { None };
        let (hops, of_page) = (over.hops.saturating_add(1), self.pages.has(user));
        let request = Wanted::Made(Made { follow, name, hops, within, of_page });
        c.want(Want { user, due: c.heard(), request, on_failure, held_back: false });
    }

    /// Processes queued outcomes: each user goes on, bytes are written, and pages are parsed.
    #[inline]
    pub fn go_on<N: Network>(&mut self, c: &mut Connections<N>) {
        self.go_on_all(c);
        c.flush();
        if self.pages.are_heard() {
            self.read_pages(c);
        }
    }

    /// Processes all messages and outcomes: each user sends, pauses or leaves.
    #[inline]
    fn go_on_all<N: Network>(&mut self, c: &mut Connections<N>) {
        while let Some(outcome) = c.traffic().next_outcome() {
            match outcome {
                Outcome::Heard { user, message } => self.hears(c, user, &message),
                Outcome::Over(over) => self.request_over(c, over),
                Outcome::Connected { user } => self.user_goes_on_connected(c, user),
                Outcome::Lost { user, stood, in_vain } => self.user_lost_connection(c, user, stood, in_vain),
                Outcome::Unspoken { user, why } => self.could_not_be_said(c, user, &why),
            }
        }
    }

    /// Handles the end of a request: redirects are followed, pages queued for parsing, users woken.
    #[inline]
    fn request_over<N: Network>(&mut self, c: &mut Connections<N>, mut over: Over) {
        let user = over.user;
        if let Some(page) = over.page.take().filter(|_| self.loads_pages(user)) {
            return self.pages.hears((user, c.heard()), over.within, over.news, page);
        }
        match over.follow.take() {
            Some(_) if c.window_over() && !self.source.iterate() => self.user_ends(c, user),
            Some(follow) => self.arrive_by(c, over, *follow),
            None if self.pages.has(user) => self.resource_is_over(c, user, over.news, over.back_off),
            None if over.back_off => self.user_backs_off(c, user, over.news),
            None => self.ask(c, user, c.heard(), over.news),
        }
    }

    /// Returns `true` if all requests of the run were started.
    fn is_ending<N: Network>(&self, c: &Connections<N>) -> bool {
        self.source.quotas_spent(c.limits(), c.now())
    }

    /// Ends the users that wait to send their next request.
    pub(crate) fn stop_users<N: Network>(&mut self, c: &mut Connections<N>) {
        // Users in the middle of an iteration go on as long as the drain lasts.
        while !self.source.iterate()
            && let Some((_, user)) = self.source.awake(Nanos(u64::MAX - 1))
        {
            self.user_ends(c, user);
        }
        self.let_holders_go(c);
        self.source.all_mut().iter_mut().for_each(|source| source.users().begin_no_more());
    }

    /// Does what is due by time: users start, wake and leave.
    #[inline]
    pub fn keep_time<N: Network>(&mut self, c: &mut Connections<N>) {
        self.change_users(c);
        self.wake_users(c);
        self.wake_those_without_more(c);
        if c.now() >= self.source.next_end() {
            self.cut_scenarios(c);
        }
    }

    /// Wakes users whose think time no longer matters because all requests were sent: the run does not wait for them.
    #[inline]
    fn wake_those_without_more<N: Network>(&mut self, c: &mut Connections<N>) {
        for scenario in self.source.numbers() {
            let source = self.source.get(scenario);
            let thinks = !source.iterates() && !source.users().arrive() && source.next_awake() < Nanos::MAX;
            while thinks
                && self.source.get(scenario).quota_spent(c.limits(), c.now())
                && let Some((_, user)) = self.source.get(scenario).awake(Nanos(u64::MAX - 1))
            {
                self.ask(c, user, c.now(), News::Awake);
            }
        }
    }

    /// Starts and retires users according to the profile.
    pub(crate) fn change_users<N: Network>(&mut self, c: &mut Connections<N>) {
        for scenario in self.source.numbers() {
            let source = self.source.get(scenario);
            if c.now() >= source.users().next_change() && !c.is_closing() {
                source.change_users(c.limits(), c.now());
            }
            self.start_users(c, scenario);
        }
    }

    pub(crate) fn start_users<N: Network>(&mut self, c: &mut Connections<N>, scenario: ScenarioId) {
        for _ in 0..STARTS {
            let source = self.source.get(scenario);
            if !source.has_to_start() || !c.may_come() || !source.pace_is_due(c.now()) {
                break;
            }
            let source = self.source.get(scenario);
            let Some(user) = source.users().start() else { break };
            let now = c.now();
            c.traffic().books().users_are(scenario, source.users().alive(), now);
            // A user with its own connection uses up its start permit when that is opened.
            let _ = c.are_fixed() || source.pace_allows(c.now());
            self.ask(c, user, c.now(), News::Begin);
            self.go_on(c);
            c.mark();
        }
    }

    /// Wakes users whose pause is over.
    pub(crate) fn wake_users<N: Network>(&mut self, c: &mut Connections<N>) {
        let (iterate, began) = (self.source.iterate(), c.now());
        while let Some((until, user)) = self.source.awake(c.now()) {
            if iterate && !self.source.of(user).users().arrive() {
                c.traffic().woken_late(until);
            }
            // The next step of an iteration is due when its pause was over, however late we are.
            self.ask(c, user, if iterate { until } else { c.now() }, News::Awake);
            self.go_on(c);
            c.mark();
            if c.now() > began + LONG {
                break;
            }
        }
    }

    /// Ends a user that has no further request: its connection is closed.
    #[inline]
    pub(crate) fn user_ends<N: Network>(&mut self, c: &mut Connections<N>, user: UserId) {
        self.leaves(c, user);
        self.pages.leave(user);
        let users = self.source.of(user).users();
        if !users.end(user) {
            return;
        }
        let now = c.now();
        c.traffic().books().users_are(user.scenario(), users.alive(), now);
        let ending = self.is_ending(c);
        c.user_leaves(user, ending);
    }
}
