//! `--together`: all users of all workers start at one moment, once every connection stands or has failed.

use std::sync::Arc;

use measure::Nanos;
use wire::Network;

use crate::barrier::Barrier;

use super::Worker;

/// Connections begun in one turn of the loop.
const OPENED_A_TURN: u32 = 32;

/// One worker on its way to the start.
#[derive(Debug)]
pub(crate) struct CommonStart {
    barrier: Arc<Barrier>,
    /// Connections not yet begun.
    to_open: u32,
    /// Connections begun and neither standing nor failed.
    pending: u32,
    reported: bool,
    /// When it began to open them, and how long that took.
    since: Nanos,
    took: Nanos,
    /// When the first arrival was due, had the run begun when it was meant to.
    first_due: Nanos,
}

impl CommonStart {
    /// With so many connections to open before.
    pub fn new(barrier: Arc<Barrier>, to_open: u32) -> CommonStart {
        let never = Nanos::MAX;
        CommonStart { barrier, to_open, pending: 0, reported: false, since: never, took: Nanos::ZERO, first_due: never }
    }

    /// It begins; the first arrival would be due then.
    pub fn begin(&mut self, now: Nanos, first_due: Nanos) {
        (self.since, self.first_due) = (now, first_due);
    }

    /// True where connections are still to be begun.
    pub fn opens(&self) -> bool {
        self.to_open > 0
    }

    /// Reports once that all that was to be opened is.
    fn report(&mut self, now: Nanos) {
        if self.to_open == 0 && self.pending == 0 && !std::mem::replace(&mut self.reported, true) {
            self.took = now - self.since;
            self.barrier.ready(now);
        }
    }
}

impl<N: Network> Worker<N> {
    /// A connection opened ahead stands or has failed.
    pub(super) fn opened_ahead_or_failed(&mut self) {
        if let Some(start) = &mut self.common_start {
            start.pending = start.pending.saturating_sub(1);
        }
    }

    /// Opens the connections, then waits for the start; the whole run is shifted to it.
    pub(super) fn await_common_start(&mut self) {
        let Some(mut start) = self.common_start.take() else { return };
        for _ in 0..start.to_open.min(OPENED_A_TURN) {
            if !self.may_come() || !self.source.only().pace_allows(self.stamp) {
                break;
            }
            start.to_open -= 1;
            let origin = self.source.only().leads_to(start.to_open);
            start.pending += u32::from(self.open_ahead(origin));
        }
        start.report(self.stamp);
        // Never before the run was meant to begin: everything until then would be sent as a warm-up nobody asked for.
        match start.barrier.starts_at().map(|go| go.max(self.limits.start)) {
            Some(go) if go <= self.stamp => self.start_together(go, &start),
            _ => self.common_start = Some(start),
        }
    }

    fn start_together(&mut self, go: Nanos, start: &CommonStart) {
        let by = go - self.limits.start;
        self.limits.shift(by);
        self.source.only().users().begin_at(go);
        self.source.only().resume(start.first_due.saturating_add(by));
        // They are told of with the first second, and were not opened in it.
        let counts = self.books.counts();
        (counts.connections.ahead, counts.apart.ahead_ns) = (counts.connections.opened, start.took.0);
        self.begin_second(go);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_ready_once_all_its_connections_stand_or_failed() {
        let mut start = CommonStart::new(Barrier::of(1), 2);
        start.begin(Nanos(10), Nanos(50));
        assert!(start.opens());
        (start.to_open, start.pending) = (0, 1);
        start.report(Nanos(20));
        assert_eq!((start.reported, start.barrier.starts_at()), (false, None));
        start.pending = 0;
        start.report(Nanos(30));
        assert_eq!((start.took, start.barrier.starts_at().is_some()), (Nanos(20), true));
    }
}
