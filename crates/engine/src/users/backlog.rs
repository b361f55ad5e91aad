//! Arrivals that are due and cannot be sent: at a rate beyond all that the server (or brunt itself) can do they become more and more.
//!
//! So many wait for a connection as memory is taken for; the others wait in the schedule, which is arithmetic. They are taken in their
//! order, and their latency counts from when they were due. What the end of the run finds there is counted: one by one where it is
//! little, else as the schedule says, in lumps.

use measure::Nanos;
use scenario::{Act, Acts, News, Woken};
use wire::{Network, Values};

use crate::connections::Connections;
use crate::ids::{RequestId, ScenarioId};

use super::Users;

/// So many arrivals that were never sent are drawn one by one at the end.
const ONE_BY_ONE: u32 = 1 << 20;

impl Users {
    /// When the next arrival can be taken.
    pub(crate) fn next_arrival<N: Network>(&self, c: &Connections<N>) -> Nanos {
        if c.queue_is_full() { Nanos::MAX } else { self.source.next_due() }
    }

    /// Arrivals that were due at a moment and that we never came to send are due all the same, and unfinished.
    pub(crate) fn censor_unsent<N: Network>(&mut self, c: &mut Connections<N>, until: Nanos) {
        for _ in 0..ONE_BY_ONE {
            if self.source.next_due() > until {
                return;
            }
            let scenario = self.source.next_to_arrive();
            let due = self.source.get(scenario).take_arrival(c.limits());
            if due >= c.limits().window {
                self.unsent(c, scenario, due, 1);
            }
        }
        for scenario in self.source.numbers() {
            let mut lumps = Vec::new();
            let source = self.source.get(scenario);
            source.take_rest(c.limits(), until, |due, many| lumps.push((due, many)));
            lumps.into_iter().for_each(|(due, many)| self.unsent(c, scenario, due, many));
        }
    }

    /// So many were never sent, the last of them due then. All of them have the name that the choice gives one.
    pub(crate) fn unsent<N: Network>(&mut self, c: &mut Connections<N>, scenario: ScenarioId, due: Nanos, many: u64) {
        let user = self.source.get(scenario).users().come();
        // A visit begins with a request. It is begun to see with which, by somebody who knows nothing, and nothing of it is counted.
        let (source, mut acts) = (self.source.of(user), Acts::new());
        source.wake(Woken::new(user.index(), News::Begin, due), &mut Values::default(), &mut acts);
        let request = acts.iter().find_map(|act| match act {
            Act::Send(request) | Act::SendTogether(request, _) => Some(*request),
            _ => None,
        });
        source.leaves(user, c.now(), &mut acts);
        source.users().end(user);
        let name = c.traffic().names().of(request.unwrap_or(RequestId(0)).at());
        c.traffic().unsent((name, user), due, many);
        if self.source.of(user).iterates() {
            let (row, since) = (self.row_of_span(c, scenario, 0), c.now() - due);
            c.traffic().books().iterations_unsent(row, since, many);
        }
    }
}
