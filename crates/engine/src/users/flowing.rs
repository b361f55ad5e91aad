//! Users who go through a flow: what each does next, and what is told of its iterations and groups.

use measure::Nanos;
use scenario::{Act, ENDLESS, News, What};
use wire::{Network, Values};

use crate::connections::Connections;
use crate::exchange::NONE;
use crate::sources::{first_user, scenario_of, within};
use crate::want::Want;

use super::Users;

/// So long whoever is in a loop that sends nothing rests after each thousand steps.
const ENDLESS_PAUSE: Nanos = Nanos::from_millis(10);

impl Users {
    /// 2. As `ask`, of a user in a flow. An iteration that began goes on though its user is retired, all were started that were
    ///    asked for, or the window is over; the end of the drain cuts it.
    pub(crate) fn ask_in_flow<N: Network>(&mut self, c: &mut Connections<N>, user: u32, due: Nanos, news: News) {
        let over = c.window_over();
        let source = self.source.of(user);
        let arrives = source.users().arrive();
        let mut ends = false;
        if news == News::Begin && !arrives {
            let no_more = over || !source.users().may_go_on(user);
            let spent = source.quota_spent(&c.limits, c.stamp) && !c.flights.has_number(user);
            if no_more || spent || !source.has_another(user) {
                // Who has something left to do at its end does that, in the drain too.
                ends = source.flow().is_some_and(|flow| flow.ends(within(user), due));
                if !ends {
                    return self.user_ends(c, user);
                }
            }
        }
        if !ends {
            let Some(flow) = self.source.of(user).flow() else { return };
            flow.hear(within(user), news, due);
            let (stops, iterates) = (flow.stops(), flow.iterates(within(user)));
            c.books.steps_stop(stops, arrives);
            if news == News::Begin {
                self.iteration_begins(c, user, iterates);
            }
        }
        let source = self.source.of(user);
        let waits = c.waits(user);
        let alone = source.flow().is_some_and(|flow| flow.flying(within(user)) == 0);
        if !arrives && alone && waits > c.stamp && c.conn_of(user) == NONE {
            return self.source.pause(user, waits);
        }
        self.steps(c, user, due);
    }

    /// A user does what comes next: of a batch all that it may send at once.
    pub(crate) fn steps<N: Network>(&mut self, c: &mut Connections<N>, user: u32, due: Nanos) {
        loop {
            let mut none = Values::default();
            let values = c.memories.as_mut().map_or(&mut none, |memories| &mut memories.of(user).values);
            let Some(flow) = self.source.of(user).flow() else { return };
            let act = flow.next(within(user), due, values);
            let batch = flow.batch(within(user));
            if c.anew.is_some() {
                self.goes_away_from_all(c, user);
            }
            if let Act::Send(request) = act {
                if c.recalls && self.is_there(c, user, request, due) {
                    self.hear_flow(c, scenario_of(user));
                    match self.pages.are_heard_of(user) {
                        true => return,
                        false => continue,
                    }
                }
                self.sends_in_flow(user, due);
            }
            self.hear_flow(c, scenario_of(user));
            let source = self.source.of(user);
            match (act, batch) {
                (Act::Send(request), None) => return c.want(Want::prepared(user, due, request)),
                (Act::Send(request), Some(batch)) => {
                    let want = Want::prepared(user, batch.began, request);
                    let held_back = batch.began < due;
                    c.want(Want { on_failure: Some(batch.on_failure), held_back, ..want });
                }
                (Act::Wait, _) => return,
                (Act::Busy(turns), _) => return self.goes_on_later(c, user, due, turns),
                (Act::Pause(pause), _) => return self.source.pause(user, due.saturating_add(pause)),
                (Act::Done, _) if !source.users().arrive() => {
                    // The next begins when this one was over, however late we are.
                    return self.ask_in_flow(c, user, due, News::Begin);
                }
                (Act::Leave, _) if source.flow().is_some_and(|flow| flow.ends(within(user), due)) => {}
                (Act::Done | Act::Leave | Act::Hold, _) => return self.user_ends(c, user),
            }
        }
    }

    /// What the user came to that closes connections, before what it does next.
    #[cold]
    pub(crate) fn goes_away_from_all<N: Network>(&mut self, c: &mut Connections<N>, user: u32) {
        while let Some(which) = self.source.of(user).flow().and_then(|flow| flow.closing()) {
            let ending = self.is_ending(c);
            c.goes_away(user, which, ending);
        }
    }

    /// A request that was due then leaves, and is in no cache of its user.
    #[inline]
    pub(crate) fn sends_in_flow(&mut self, user: u32, due: Nanos) {
        if let Some(flow) = self.source.of(user).flow() {
            flow.sends(within(user), due);
        }
    }

    /// A user has gone through many steps that send nothing: others have their turn. What it sends next is due when it would have been
    /// without. One that seems never to send anything takes little of the processor from then on.
    #[cold]
    pub(crate) fn goes_on_later<N: Network>(&mut self, c: &mut Connections<N>, user: u32, due: Nanos, turns: u32) {
        c.books.counts().endless += u64::from(turns == ENDLESS);
        let until = if turns < ENDLESS { due } else { c.stamp + ENDLESS_PAUSE };
        self.source.pause(user, until);
    }

    /// True where somebody goes through its iteration: not where all that is left are pauses beyond the end of the drain.
    pub(crate) fn is_within_iterations<N: Network>(&self, c: &Connections<N>) -> bool {
        self.source.is_within_iterations() && (c.flights.alive() > 0 || self.source.next_awake() < c.next_end())
    }

    /// Its requests have one number, and it knows nothing of the iteration before. What a user does before its first shares that one's.
    pub(crate) fn iteration_begins<N: Network>(&mut self, c: &mut Connections<N>, user: u32, iterates: bool) {
        let has_number = c.flights.has_number(user);
        if !iterates || !has_number {
            c.flights.iteration_begins(user);
        }
        c.flights.number_is_fresh(user, !iterates);
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
            source.begins_another(user, &c.limits, c.stamp);
            source.start_request(&c.limits, c.stamp);
        }
        if let Some(memories) = &mut c.memories {
            memories.iteration_begins(user);
        }
    }

    /// Counts what the flow of a scenario tells.
    pub(crate) fn hear_flow<N: Network>(&mut self, c: &mut Connections<N>, scenario: usize) {
        let Some(flow) = self.source.all_mut()[scenario].flow() else { return };
        let told = flow.told();
        for one in &told {
            c.books.span(self.row_of_span(c, scenario, one.span), one, &c.limits);
            if one.span == 0 && one.what != What::Began && c.belongings.is_some() {
                let user = first_user(scenario) | one.user;
                c.lets_go_of_own(user, matches!(one.what, What::Ended { passed: true, .. }));
            }
        }
        if let Some(flow) = self.source.all_mut()[scenario].flow() {
            flow.give_back(told);
        }
    }

    /// Iterations and groups have two rows each behind the names: with pauses, and without.
    pub(crate) fn row_of_span<N: Network>(&self, c: &Connections<N>, scenario: usize, span: u16) -> u16 {
        c.dialogue.names().list().len() as u16 + 2 * (self.source.all()[scenario].spans_before() + span)
    }

    /// A user leaves, in the middle of its iteration or not.
    #[inline]
    pub(crate) fn leaves_flow<N: Network>(&mut self, c: &mut Connections<N>, user: u32) {
        let source = self.source.of(user);
        let arrives = source.users().arrive();
        if let Some(flow) = source.flow() {
            flow.left(within(user), c.stamp, arrives);
            self.hear_flow(c, scenario_of(user));
        }
        if c.flights.has_number(user) {
            c.flights.number_is_fresh(user, false);
            if !arrives {
                self.source.of(user).taken_ahead(false);
            }
        }
    }

    /// The run is over: whoever is in the middle of an iteration is cut.
    pub(crate) fn all_leave_flow<N: Network>(&mut self, c: &mut Connections<N>) {
        for scenario in 0..self.source.all().len() {
            if let Some(flow) = self.source.all_mut()[scenario].flow() {
                flow.all_left(c.stamp);
                self.hear_flow(c, scenario);
            }
        }
    }

    /// An iteration of a scenario is due, and nobody may begin it.
    #[cold]
    pub(crate) fn dropped<N: Network>(&mut self, c: &mut Connections<N>, scenario: usize, due: Nanos) {
        c.books.iteration_dropped(self.row_of_span(c, scenario, 0), due, &c.limits);
    }

    /// Scenarios that ended and whose time to finish is over: what is under way of them is cut.
    pub(crate) fn cut_scenarios<N: Network>(&mut self, c: &mut Connections<N>) {
        for scenario in 0..self.source.all().len() {
            if self.source.all_mut()[scenario].is_cut(c.stamp) {
                self.cut(c, scenario);
            }
        }
    }

    #[cold]
    pub(crate) fn cut<N: Network>(&mut self, c: &mut Connections<N>, scenario: usize) {
        for id in c.flights.all() {
            let x = *c.flights.get(id);
            if scenario_of(x.user) == scenario {
                c.cut_request(id);
            }
        }
        self.source.all_mut()[scenario].pauses().clear();
        self.source.all_mut()[scenario].users().begin_no_more();
        for user in self.source.all_mut()[scenario].users().running() {
            self.user_ends(c, user);
        }
        self.go_on(c);
    }

    /// So many iterations were due that we never came to begin, the last of them so long ago; one of them was begun to see with which
    /// request.
    pub(crate) fn iterations_unsent<N: Network>(&mut self, c: &mut Connections<N>, user: u32, since: Nanos, many: u64) {
        let Some(flow) = self.source.of(user).flow() else { return };
        flow.left(within(user), c.stamp, true);
        let told = flow.told();
        flow.give_back(told);
        c.books.iterations_unsent(self.row_of_span(c, scenario_of(user), 0), since, many);
    }
}
