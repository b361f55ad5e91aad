//! Arrivals that are due and cannot be sent: at a rate beyond all that the server (or brunt itself) can do they become more and more.
//!
//! So many wait for a connection as memory is taken for; the others wait in the schedule, which is arithmetic. They are taken in their
//! order, and their latency counts from when they were due. What the end of the run finds there is counted: one by one where it is
//! little, else as the schedule says, in lumps.

use measure::Nanos;
use scenario::{Act, News};
use wire::Network;

use super::Worker;

/// So many arrivals that were never sent are drawn one by one at the end.
const ONE_BY_ONE: u32 = 1 << 20;

impl<N: Network> Worker<N> {
    /// True where no further arrival may wait for a connection. Those who wait are found out by difference: nothing is counted for it.
    #[inline]
    pub(super) fn queue_is_full(&self) -> bool {
        u64::from(self.flights.alive()) > self.books.in_flight() + self.limits.queue
    }

    /// An arrival is due and stays in the schedule.
    #[cold]
    pub(super) fn hold_back(&mut self) {
        self.held_back = self.stamp;
    }

    /// When an arrival was taken up that is taken from the schedule now: it is not our lateness where the queue was full.
    #[inline]
    pub(super) fn taken_up(&self, due: Nanos) -> Nanos {
        if due <= self.held_back { due } else { self.stamp }
    }

    /// When the next arrival can be taken.
    pub(super) fn next_arrival(&self) -> Nanos {
        if self.queue_is_full() { Nanos::MAX } else { self.source.next_due() }
    }

    /// Arrivals that were due at a moment and that we never came to send are due all the same, and unfinished.
    pub(super) fn censor_unsent(&mut self, until: Nanos) {
        for _ in 0..ONE_BY_ONE {
            if self.source.next_due() > until {
                return;
            }
            let scenario = self.source.next_to_arrive();
            let due = self.source.all_mut()[scenario].take_arrival(&self.limits);
            if due >= self.limits.window {
                self.unsent(scenario, due, 1);
            }
        }
        for scenario in 0..self.source.all().len() {
            let mut lumps = Vec::new();
            let source = &mut self.source.all_mut()[scenario];
            source.take_rest(&self.limits, until, |due, many| lumps.push((due, many)));
            lumps.into_iter().for_each(|(due, many)| self.unsent(scenario, due, many));
        }
    }

    /// So many were never sent, the last of them due then. All of them have the name that the choice gives one.
    fn unsent(&mut self, scenario: usize, due: Nanos, many: u64) {
        let user = self.source.all_mut()[scenario].users().come(self.stamp);
        // A visit begins with a request.
        let request = match self.source.wake(user, None, News::Begin, due) {
            Act::Send(request) => request as usize,
            Act::Pause(_) | Act::Wait | Act::Busy(_) | Act::Hold | Act::Done | Act::Leave => 0,
        };
        let name = self.dialogue.names().of(request);
        self.books.unsent((name, user), self.stamp - due, many, due <= self.held_back);
        self.iterations_unsent(user, self.stamp - due, many);
        self.source.of(user).users().end(user, self.stamp);
    }
}
