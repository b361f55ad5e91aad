//! The common start (`--together`): all users of all workers start at the same time, once every connection is open or
//! has failed.

use std::sync::Arc;

use brunt_contract::Network;
use brunt_measure::Nanos;

use crate::barrier::Barrier;

use super::Worker;

/// Maximum number of connections started in one turn of the loop.
const OPENED_A_TURN: u32 = 32;

/// The state of one worker before a common start.
#[derive(Debug)]
pub(crate) struct CommonStart {
    barrier: Arc<Barrier>,
    /// Number of connections not yet started.
    to_open: u32,
    reported: bool,
    /// Time at which it began to open connections, and how long opening them took.
    since: Nanos,
    took: Nanos,
    /// Due time of the first arrival if the run had begun as planned.
    first_due: Nanos,
}

impl CommonStart {
    /// Creates the state with this number of connections to open.
    pub fn new(barrier: Arc<Barrier>, to_open: u32) -> CommonStart {
        let never = Nanos::MAX;
        CommonStart { barrier, to_open, reported: false, since: never, took: Nanos::ZERO, first_due: never }
    }

    /// Begins at `now`; `first_due` is the time at which the first arrival would be due.
    pub fn begin(&mut self, now: Nanos, first_due: Nanos) {
        (self.since, self.first_due) = (now, first_due);
    }

    /// Returns `true` if connections are still to be started.
    pub fn opens(&self) -> bool {
        self.to_open > 0
    }

    /// Reports, once, that all connections are open; `ahead` is the number of pending connections.
    fn report(&mut self, ahead: u32, now: Nanos) {
        if self.to_open == 0 && ahead == 0 && !std::mem::replace(&mut self.reported, true) {
            self.took = now - self.since;
            self.barrier.ready(now);
        }
    }
}

impl<N: Network> Worker<N> {
    /// Opens the connections, waits for the common start, and shifts the whole run to it.
    pub(super) fn await_common_start(&mut self) {
        let Worker { users, connections: c, common_start, .. } = self;
        let Some(mut start) = common_start.take() else { return };
        let source = users.sources.only();
        for _ in 0..start.to_open.min(OPENED_A_TURN) {
            if !c.may_open() || !source.take_start_permit(c.now()) {
                break;
            }
            start.to_open -= 1;
            c.preopen(source.origin(start.to_open));
        }
        start.report(c.opening(), c.now());
        // Not before the planned beginning of the run, because requests sent before it would count as a warm-up.
        match start.barrier.starts_at().map(|go| go.max(c.limits().start)) {
            Some(go) if go <= c.now() => self.start_together(go, &start),
            _ => self.common_start = Some(start),
        }
    }

    fn start_together(&mut self, go: Nanos, start: &CommonStart) {
        let Worker { users, connections: c, .. } = self;
        let by = go - c.limits().start;
        users.sources.only().users().begin_at(go);
        users.sources.only().resume(start.first_due.saturating_add(by));
        c.start_together(by, start.took);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_ready_once_all_its_connections_stand_or_failed() {
        let mut start = CommonStart::new(Barrier::for_workers(1), 2);
        start.begin(Nanos(10), Nanos(50));
        assert!(start.opens());
        start.to_open = 0;
        start.report(1, Nanos(20));
        assert_eq!((start.reported, start.barrier.starts_at()), (false, None));
        start.report(0, Nanos(30));
        assert_eq!((start.took, start.barrier.starts_at().is_some()), (Nanos(20), true));
    }
}
