//! Users who go through a flow: what each does next, and what is told of its iterations and groups.

use measure::Nanos;
use scenario::{Act, News, What};
use wire::{Dialogue, Network, Values};

use crate::exchange::NONE;

use super::Worker;

impl<N: Network, D: Dialogue> Worker<N, D> {
    /// 2. As `ask`, of a user in a flow. An iteration that began goes on though its user is retired, all were started that were
    ///    asked for, or the window is over; the end of the drain cuts it.
    pub(super) fn ask_in_flow(&mut self, user: u32, due: Nanos, news: News) {
        let arrives = self.source.users().arrive();
        let mut ends = false;
        if news == News::Begin && !arrives {
            let no_more = !self.source.users().may_go_on(user) || self.window_over();
            if no_more || self.source.quota_spent(&self.limits, self.stamp) {
                // Who has something left to do at its end does that, in the drain too.
                ends = self.source.flow().is_some_and(|flow| flow.ends(user, due));
                if !ends {
                    return self.user_ends(user);
                }
            }
        }
        if !ends {
            let Some(flow) = self.source.flow() else { return };
            flow.hear(user, news, due);
            let (stops, iterates) = (flow.stops_run(), flow.iterates(user));
            self.books.counts().run_stops += u64::from(stops);
            if news == News::Begin {
                self.iteration_begins(user, iterates);
            }
        }
        let waits = self.source.users().troubled().waits(user);
        let alone = self.source.flow().is_some_and(|flow| flow.flying(user) == 0);
        if !arrives && alone && waits > self.stamp && self.source.users().conn(user) == NONE {
            return self.source.pause(user, waits);
        }
        self.steps(user, due);
    }

    /// A user does what comes next: of a batch all that it may send at once.
    fn steps(&mut self, user: u32, due: Nanos) {
        loop {
            let mut none = Values::default();
            let values = self.memories.as_mut().map_or(&mut none, |memories| &mut memories.of(user).values);
            let Some(flow) = self.source.flow() else { return };
            let act = flow.next(user, due, values);
            let batch = flow.batch_began(user);
            self.hear_flow();
            match (act, batch) {
                (Act::Send(request), None) => return self.arrive(due, request, user),
                (Act::Send(request), Some(began)) => self.arrive_of_batch((began, due), request, user),
                (Act::Wait, _) => return,
                (Act::Pause(pause), _) => return self.source.pause(user, due.saturating_add(pause)),
                (Act::Done, _) if !self.source.users().arrive() => {
                    return self.ask_in_flow(user, self.stamp, News::Begin);
                }
                (Act::Leave, _) if self.source.flow().is_some_and(|flow| flow.ends(user, due)) => {}
                (Act::Done | Act::Leave | Act::Hold, _) => return self.user_ends(user),
            }
        }
    }

    /// True where somebody goes through its iteration: not where all that is left are pauses beyond the end of the drain.
    pub(super) fn is_within_iterations(&mut self) -> bool {
        self.source.is_within_iterations() && (self.flights.alive() > 0 || self.source.next_awake() < self.next_end())
    }

    /// Its requests have one number, and it knows nothing of the iteration before. What a user does before its first shares that one's.
    fn iteration_begins(&mut self, user: u32, iterates: bool) {
        if !iterates || !self.flights.has_number(user) {
            self.flights.iteration_begins(user);
        }
        self.flights.number_is_fresh(user, !iterates);
        if !iterates {
            return;
        }
        if !self.source.users().arrive() {
            self.source.start_request(&self.limits, self.stamp);
        }
        if let Some(memories) = &mut self.memories {
            memories.iteration_begins(user);
        }
    }

    /// Counts what the flow tells.
    fn hear_flow(&mut self) {
        let Some(flow) = self.source.flow() else { return };
        let told = flow.told();
        for one in &told {
            self.books.span(self.row_of_span(one.span), one, &self.limits);
            if one.span == 0 && one.what != What::Began && self.belongings.is_some() {
                self.lets_go_of_own(one.user, matches!(one.what, What::Ended { passed: true, .. }));
            }
        }
        if let Some(flow) = self.source.flow() {
            flow.give_back(told);
        }
    }

    /// Iterations and groups have two rows each behind the names: with pauses, and without.
    fn row_of_span(&self, span: u16) -> u16 {
        self.dialogue.names().list().len() as u16 + 2 * span
    }

    /// A user leaves, in the middle of its iteration or not.
    #[inline]
    pub(super) fn leaves_flow(&mut self, user: u32) {
        let arrives = self.source.users().arrive();
        if let Some(flow) = self.source.flow() {
            flow.left(user, self.stamp, arrives);
            self.hear_flow();
        }
    }

    /// The run is over: whoever is in the middle of an iteration is cut.
    pub(super) fn all_leave_flow(&mut self) {
        if let Some(flow) = self.source.flow() {
            flow.all_left(self.stamp);
            self.hear_flow();
        }
    }

    /// So many iterations were due that we never came to begin, the last of them so long ago; one of them was begun to see with which
    /// request.
    pub(super) fn iterations_unsent(&mut self, user: u32, since: Nanos, many: u64) {
        let Some(flow) = self.source.flow() else { return };
        flow.left(user, self.stamp, true);
        let told = flow.told();
        flow.give_back(told);
        self.books.iterations_unsent(self.row_of_span(0), since, many);
    }
}
