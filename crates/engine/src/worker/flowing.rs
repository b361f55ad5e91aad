//! Users who go through a flow: what each does next, and what is told of its iterations and groups.

use measure::Nanos;
use scenario::{Act, ENDLESS, News, What};
use wire::{ExchangeId, Network, Values};

use crate::exchange::{NONE, Standing};
use crate::sources::{first_user, scenario_of, within};

use super::Worker;

/// So long whoever is in a loop that sends nothing rests after each thousand steps.
const ENDLESS_PAUSE: Nanos = Nanos::from_millis(10);

impl<N: Network> Worker<N> {
    /// 2. As `ask`, of a user in a flow. An iteration that began goes on though its user is retired, all were started that were
    ///    asked for, or the window is over; the end of the drain cuts it.
    pub(super) fn ask_in_flow(&mut self, user: u32, due: Nanos, news: News) {
        let over = self.window_over();
        let source = self.source.of(user);
        let arrives = source.users().arrive();
        let mut ends = false;
        if news == News::Begin && !arrives {
            let no_more = over || !source.users().may_go_on(user);
            let spent = source.quota_spent(&self.limits, self.stamp) && !self.flights.has_number(user);
            if no_more || spent || !source.has_another(user) {
                // Who has something left to do at its end does that, in the drain too.
                ends = source.flow().is_some_and(|flow| flow.ends(within(user), due));
                if !ends {
                    return self.user_ends(user);
                }
            }
        }
        if !ends {
            let Some(flow) = self.source.of(user).flow() else { return };
            flow.hear(within(user), news, due);
            let (stops, iterates) = (flow.stops(), flow.iterates(within(user)));
            self.books.steps_stop(stops, arrives);
            if news == News::Begin {
                self.iteration_begins(user, iterates);
            }
        }
        let source = self.source.of(user);
        let waits = source.users().troubled().waits(user);
        let alone = source.flow().is_some_and(|flow| flow.flying(within(user)) == 0);
        if !arrives && alone && waits > self.stamp && source.users().conn(user) == NONE {
            return self.source.pause(user, waits);
        }
        self.steps(user, due);
    }

    /// A user does what comes next: of a batch all that it may send at once.
    fn steps(&mut self, user: u32, due: Nanos) {
        loop {
            let mut none = Values::default();
            let values = self.memories.as_mut().map_or(&mut none, |memories| &mut memories.of(user).values);
            let Some(flow) = self.source.of(user).flow() else { return };
            let act = flow.next(within(user), due, values);
            let batch = flow.batch(within(user));
            if self.anew.is_some() {
                self.goes_away_from_all(user);
            }
            if let Act::Send(request) = act {
                if self.recalls && self.is_there(user, request, due) {
                    self.hear_flow(scenario_of(user));
                    match self.pages.are_heard_of(user) {
                        true => return,
                        false => continue,
                    }
                }
                self.sends_in_flow(user, due);
            }
            self.hear_flow(scenario_of(user));
            let source = self.source.of(user);
            match (act, batch) {
                (Act::Send(request), None) => return self.arrive(due, request, user),
                (Act::Send(request), Some(batch)) => self.arrive_of_batch((batch, due), request, user),
                (Act::Wait, _) => return,
                (Act::Busy(turns), _) => return self.goes_on_later(user, due, turns),
                (Act::Pause(pause), _) => return self.source.pause(user, due.saturating_add(pause)),
                (Act::Done, _) if !source.users().arrive() => {
                    // The next begins when this one was over, however late we are.
                    return self.ask_in_flow(user, due, News::Begin);
                }
                (Act::Leave, _) if source.flow().is_some_and(|flow| flow.ends(within(user), due)) => {}
                (Act::Done | Act::Leave | Act::Hold, _) => return self.user_ends(user),
            }
        }
    }

    /// What the user came to that closes connections, before what it does next.
    #[cold]
    fn goes_away_from_all(&mut self, user: u32) {
        while let Some(which) = self.source.of(user).flow().and_then(|flow| flow.closing()) {
            self.goes_away(user, which);
        }
    }

    /// A request that was due then leaves, and is in no cache of its user.
    #[inline]
    pub(super) fn sends_in_flow(&mut self, user: u32, due: Nanos) {
        if let Some(flow) = self.source.of(user).flow() {
            flow.sends(within(user), due);
        }
    }

    /// A user has gone through many steps that send nothing: others have their turn. What it sends next is due when it would have been
    /// without. One that seems never to send anything takes little of the processor from then on.
    #[cold]
    fn goes_on_later(&mut self, user: u32, due: Nanos, turns: u32) {
        self.books.counts().endless += u64::from(turns == ENDLESS);
        let until = if turns < ENDLESS { due } else { self.stamp + ENDLESS_PAUSE };
        self.source.pause(user, until);
    }

    /// True where somebody goes through its iteration: not where all that is left are pauses beyond the end of the drain.
    pub(super) fn is_within_iterations(&mut self) -> bool {
        self.source.is_within_iterations() && (self.flights.alive() > 0 || self.source.next_awake() < self.next_end())
    }

    /// Its requests have one number, and it knows nothing of the iteration before. What a user does before its first shares that one's.
    fn iteration_begins(&mut self, user: u32, iterates: bool) {
        let has_number = self.flights.has_number(user);
        if !iterates || !has_number {
            self.flights.iteration_begins(user);
        }
        self.flights.number_is_fresh(user, !iterates);
        let source = self.source.of(user);
        let counts = !source.users().arrive();
        if !iterates {
            if counts {
                source.takes_ahead();
            }
            return;
        }
        if counts {
            if has_number {
                source.taken_ahead(true);
            }
            source.begins_another(user, &self.limits, self.stamp);
            source.start_request(&self.limits, self.stamp);
        }
        if let Some(memories) = &mut self.memories {
            memories.iteration_begins(user);
        }
    }

    /// Counts what the flow of a scenario tells.
    fn hear_flow(&mut self, scenario: usize) {
        let Some(flow) = self.source.all_mut()[scenario].flow() else { return };
        let told = flow.told();
        for one in &told {
            self.books.span(self.row_of_span(scenario, one.span), one, &self.limits);
            if one.span == 0 && one.what != What::Began && self.belongings.is_some() {
                let user = first_user(scenario) | one.user;
                self.lets_go_of_own(user, matches!(one.what, What::Ended { passed: true, .. }));
            }
        }
        if let Some(flow) = self.source.all_mut()[scenario].flow() {
            flow.give_back(told);
        }
    }

    /// Iterations and groups have two rows each behind the names: with pauses, and without.
    fn row_of_span(&self, scenario: usize, span: u16) -> u16 {
        self.dialogue.names().list().len() as u16 + 2 * (self.source.all()[scenario].spans_before() + span)
    }

    /// A user leaves, in the middle of its iteration or not.
    #[inline]
    pub(super) fn leaves_flow(&mut self, user: u32) {
        let source = self.source.of(user);
        let arrives = source.users().arrive();
        if let Some(flow) = source.flow() {
            flow.left(within(user), self.stamp, arrives);
            self.hear_flow(scenario_of(user));
        }
        if self.flights.has_number(user) {
            self.flights.number_is_fresh(user, false);
            if !arrives {
                self.source.of(user).taken_ahead(false);
            }
        }
    }

    /// The run is over: whoever is in the middle of an iteration is cut.
    pub(super) fn all_leave_flow(&mut self) {
        for scenario in 0..self.source.all().len() {
            if let Some(flow) = self.source.all_mut()[scenario].flow() {
                flow.all_left(self.stamp);
                self.hear_flow(scenario);
            }
        }
    }

    /// An iteration of a scenario is due, and nobody may begin it.
    #[cold]
    pub(super) fn dropped(&mut self, scenario: usize, due: Nanos) {
        self.books.iteration_dropped(self.row_of_span(scenario, 0), due, &self.limits);
    }

    /// Scenarios that ended and whose time to finish is over: what is under way of them is cut.
    pub(super) fn cut_scenarios(&mut self) {
        for scenario in 0..self.source.all().len() {
            if self.source.all_mut()[scenario].is_cut(self.stamp) {
                self.cut(scenario);
            }
        }
    }

    #[cold]
    fn cut(&mut self, scenario: usize) {
        for id in self.flights.all() {
            let x = *self.flights.get(id);
            if scenario_of(x.user) == scenario {
                self.cut_request(id);
            }
        }
        self.source.all_mut()[scenario].pauses().clear();
        self.source.all_mut()[scenario].users().begin_no_more();
        for user in self.source.all_mut()[scenario].users().running() {
            self.user_ends(user);
        }
        self.go_on_without();
    }

    /// A request is unfinished; nothing more can be said on a connection that others do not share.
    fn cut_request(&mut self, id: ExchangeId) {
        let x = self.flights.take(id);
        self.books.unfinished(&x, &self.limits, self.stamp);
        self.flights.forget(&x, id);
        match x.state {
            _ if x.conn == NONE => self.wait_no_more(id),
            Standing::InFlight if self.links.cancel(x.conn, id) => {
                self.links.conn_mut(x.conn).in_flight -= 1;
                self.offer(x.conn);
            }
            _ => self.abandon(x.conn),
        }
    }

    /// So many iterations were due that we never came to begin, the last of them so long ago; one of them was begun to see with which
    /// request.
    pub(super) fn iterations_unsent(&mut self, user: u32, since: Nanos, many: u64) {
        let Some(flow) = self.source.of(user).flow() else { return };
        flow.left(within(user), self.stamp, true);
        let told = flow.told();
        flow.give_back(told);
        self.books.iterations_unsent(self.row_of_span(scenario_of(user), 0), since, many);
    }
}
