//! Users: started and retired (closed load), woken when something happened to them, and asked what they do next.

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

/// Arrivals sent before the next answer is read: about 20 µs of system calls, the most that a read may be late for them.
const SENDS_BETWEEN_READS: usize = 4;
/// Where waking users takes longer, what else there is to do is done before the rest of them.
const LONG: Nanos = Nanos::from_millis(1);
/// Users started in one turn of the loop, so that responses are read while many still connect.
const STARTS: usize = 32;

/// The users of a worker: who does what, and when.
pub(crate) struct Users {
    /// One for each scenario.
    pub source: Sources,
    /// Where users fetch what pages name.
    pages: Pages,
    /// Where the number of connections is part of the plan.
    held: Option<Holders>,
    /// What somebody does next; memory that is used again.
    acts: Acts,
}

impl Users {
    /// Users of these sources, none of whom has begun.
    pub fn new(source: Sources, held: Option<Holders>) -> Users {
        Users { source, held, pages: Pages::default(), acts: Acts::new() }
    }

    /// 1. Arrivals whose time has come (open load): each is the visit of a user. Users of a closed load are started and woken by
    ///    `users`.
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

    /// A hop of a redirect: a request of its own, due when that was heard.
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

    /// What users wanted has come to something: each goes on, bytes leave, and pages are read.
    #[inline]
    pub fn go_on<N: Network>(&mut self, c: &mut Connections<N>) {
        self.go_on_all(c);
        c.flush();
        if self.pages.are_heard() {
            self.read_pages(c);
        }
    }

    /// Hears of all messages and outcomes: each user sends, pauses or leaves.
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

    /// A request is over: redirects are followed, pages looked into, users asked.
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

    /// True where all that was asked for was started.
    fn is_ending<N: Network>(&self, c: &Connections<N>) -> bool {
        self.source.quotas_spent(c.limits(), c.now())
    }

    /// Users that wait for their next request have none.
    pub(crate) fn stop_users<N: Network>(&mut self, c: &mut Connections<N>) {
        // Who is in the middle of an iteration goes on as long as the drain lasts.
        while !self.source.iterate()
            && let Some((_, user)) = self.source.awake(Nanos(u64::MAX - 1))
        {
            self.user_ends(c, user);
        }
        self.let_holders_go(c);
        self.source.all_mut().iter_mut().for_each(|source| source.users().begin_no_more());
    }

    /// What time brings about by itself: users start, wake and leave.
    #[inline]
    pub fn keep_time<N: Network>(&mut self, c: &mut Connections<N>) {
        self.change_users(c);
        self.wake_users(c);
        self.wake_those_without_more(c);
        if c.now() >= self.source.next_end() {
            self.cut_scenarios(c);
        }
    }

    /// Users who think although all that was asked for was sent have nothing to think for: the run does not wait for them.
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

    /// Starts and retires users as the profile says.
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
            // Who has a connection of its own spends it when that is begun.
            let _ = c.are_fixed() || source.pace_allows(c.now());
            self.ask(c, user, c.now(), News::Begin);
            self.go_on(c);
            c.mark();
        }
    }

    /// Users whose pause is over.
    pub(crate) fn wake_users<N: Network>(&mut self, c: &mut Connections<N>) {
        let (iterate, began) = (self.source.iterate(), c.now());
        while let Some((until, user)) = self.source.awake(c.now()) {
            if iterate && !self.source.of(user).users().arrive() {
                c.traffic().woken_late(until);
            }
            // The next step of an iteration is due when its pause is over, however late we are.
            self.ask(c, user, if iterate { until } else { c.now() }, News::Awake);
            self.go_on(c);
            c.mark();
            if c.now() > began + LONG {
                break;
            }
        }
    }

    /// The user has no further request: its connection is closed.
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
