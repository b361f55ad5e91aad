//! Heartbeats (`--ping`): a sign of life on every standing connection, apart from the requests.
//!
//! No connection has a timer of its own: the worker walks over its connections once an interval, a few each turn, so that a
//! million of them cost no memory and no peak. One that has not answered by the next visit is dead, and is treated so.

use measure::Nanos;
use wire::{Dialogue, FaultKind, Network, Session};

use crate::pool::Stage;
use crate::worker::Worker;

/// The walk over the connections.
#[derive(Debug)]
pub(crate) struct Beat {
    interval: Nanos,
    /// The next connection to visit.
    cursor: usize,
    /// Until when visits are done.
    done: Nanos,
}

impl Beat {
    pub fn new(interval: Nanos, start: Nanos) -> Beat {
        Beat { interval, cursor: 0, done: start }
    }

    /// How many of `connections` are to be visited at `now`.
    fn visits(&mut self, connections: usize, now: Nanos) -> usize {
        let step = (self.interval.0 / connections.max(1) as u64).max(1);
        let visits = (now.0.saturating_sub(self.done.0) / step).min(connections as u64);
        if visits == connections as u64 {
            self.done = now;
        } else {
            self.done = Nanos(self.done.0 + visits * step);
        }
        visits as usize
    }
}

impl<N: Network, D: Dialogue> Worker<N, D> {
    /// Visits the connections whose turn has come.
    pub fn beat(&mut self) {
        let Some(mut beat) = self.heartbeat.take() else { return };
        for _ in 0..beat.visits(self.conns.len(), self.stamp) {
            beat.cursor = if beat.cursor >= self.conns.len() { 0 } else { beat.cursor };
            self.visit(beat.cursor as u32, beat.interval);
            beat.cursor += 1;
        }
        self.heartbeat = Some(beat);
    }

    fn visit(&mut self, conn: u32, interval: Nanos) {
        let c = &self.conns[conn as usize];
        if c.stage != Stage::Open || self.stamp < c.free_since.max(c.since) + Nanos(interval.0 / 2) {
            return;
        }
        if c.beating {
            let detail = format!("no answer to a heartbeat within {}", measure::format_duration(interval));
            self.break_off(conn, FaultKind::Timeout, None, &detail);
            return;
        }
        self.aim(conn);
        let c = &mut self.conns[conn as usize];
        if c.session.as_mut().is_some_and(|session| session.heartbeat(&mut self.out)) {
            (c.beating, c.since) = (true, self.stamp);
            self.tally.counts.beats_sent += u64::from(self.beats_count());
            self.flush();
            self.mark();
        }
    }

    /// The peer answered.
    pub fn heart_heard(&mut self, conn: u32) {
        if self.take_beat(conn) {
            self.tally.counts.beats_answered += 1;
            self.tally.latency.heartbeat.record(self.stamp - self.conns[conn as usize].since);
        }
    }

    /// The warm-up's heartbeats are in no figure, and neither are those before a common start.
    fn beats_count(&self) -> bool {
        self.stamp >= self.terms.window && self.gathering.is_none()
    }

    /// Nobody answers a connection's heartbeat any more: how many it was (one, or none that counts). All that is known of
    /// its time is that it took at least so long.
    pub fn beat_unanswered(&mut self, conn: u32) -> u64 {
        let counts = self.take_beat(conn);
        if counts {
            let waited = self.stamp - self.conns[conn as usize].since;
            self.tally.latency.heartbeat_at_least.record(waited);
        }
        u64::from(counts)
    }

    /// A connection's heartbeat is over, however it ended: true where there was one and it counts.
    fn take_beat(&mut self, conn: u32) -> bool {
        let c = &mut self.conns[conn as usize];
        std::mem::take(&mut c.beating) && c.since >= self.terms.window && self.gathering.is_none()
    }
}
