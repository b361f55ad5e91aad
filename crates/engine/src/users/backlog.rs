//! Arrivals that are due and cannot be sent. Their number grows if the rate exceeds what the server (or brunt itself)
//! can handle.
//!
//! A limited number waits for a connection, in reserved memory; the others wait in the schedule, which needs no memory.
//! They are taken in order, and their latency counts from when they were due. Those left at the end of the run are
//! counted, one by one if they are few, otherwise in lumps of the schedule.

use brunt_contract::{Network, UserValues};
use brunt_measure::Nanos;
use brunt_scenario::{Action, Actions, UserEvent, Wakeup};

use crate::connections::WorkerConnections;
use crate::ids::{RequestId, ScenarioId};

use super::WorkerUsers;

/// Maximum number of unsent arrivals that are taken one by one at the end.
const MAX_DRAWN: u32 = 1 << 20;

impl WorkerUsers {
    /// Returns when the next arrival can be taken.
    pub(crate) fn next_arrival<N: Network>(&self, c: &WorkerConnections<N>) -> Nanos {
        if c.queue_is_full() { Nanos::MAX } else { self.sources.next_due() }
    }

    /// Counts arrivals due by `until` that were never sent, as due and unfinished.
    pub(crate) fn censor_unsent<N: Network>(&mut self, c: &mut WorkerConnections<N>, until: Nanos) {
        for _ in 0..MAX_DRAWN {
            if self.sources.next_due() > until {
                return;
            }
            let scenario = self.sources.next_scenario();
            let due = self.sources.get(scenario).take_arrival(c.limits());
            if due >= c.limits().window {
                self.count_unsent(c, scenario, due, 1);
            }
        }
        for scenario in self.sources.ids() {
            let mut lumps = Vec::new();
            let source = self.sources.get(scenario);
            source.take_rest(c.limits(), until, |due, many| lumps.push((due, many)));
            lumps.into_iter().for_each(|(due, many)| self.count_unsent(c, scenario, due, many));
        }
    }

    /// Counts `many` arrivals that were never sent, the last of them due at `due`. All of them count under the name
    /// that the scenario chooses for one.
    pub(crate) fn count_unsent<N: Network>(
        &mut self,
        c: &mut WorkerConnections<N>,
        scenario: ScenarioId,
        due: Nanos,
        many: u64,
    ) {
        let user = self.sources.get(scenario).users().add_arrival();
        // A visit begins with a request. To determine which, the scenario is woken for a user without values, and the
        // result is not counted.
        let (source, mut acts) = (self.sources.of(user), Actions::new());
        source.wake(Wakeup::new(user.index(), UserEvent::Begin, due), &mut UserValues::default(), &mut acts);
        let request = acts.iter().find_map(|act| match act {
            Action::Send(request) | Action::SendInBatch(request, _) => Some(*request),
            _ => None,
        });
        source.leaves(user, c.now(), &mut acts);
        source.users().end(user);
        let name = c.traffic().names().index_of(request.unwrap_or(RequestId(0)).at());
        c.traffic().unsent((name, user), due, many);
        if self.sources.of(user).iterates() {
            let (row, since) = (self.row_of_span(c, scenario, 0), c.now() - due);
            c.traffic().recorder().iterations_unsent(row, since, many);
        }
    }
}
