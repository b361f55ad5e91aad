//! Heartbeats (`--ping`): keep-alive probes on every open connection, independent of the requests.
//!
//! Connections have no individual timers: the worker iterates over its connections, a few per turn, so that a million
//! of them cause neither memory use nor load peaks. It visits each several times per interval, and sends a heartbeat if
//! the interval is (almost) over. A connection that has not answered by its next heartbeat is considered dead and is
//! dropped.

use brunt_contract::{FaultKind, Network};
use brunt_measure::Nanos;

use super::WorkerConnections;
use crate::ids::ConnId;
use crate::pool::{ConnStage, HEARTBEAT_PENDING, USEFUL};

/// Rounds per interval.
const ROUNDS: u64 = 8;
/// Minimum time between two steps of a round: visiting a few connections at a time is cheaper than a turn for each.
const MIN_STEP: Nanos = Nanos::from_millis(1);

/// The iteration over the connections.
#[derive(Debug)]
pub(crate) struct HeartbeatRounds {
    interval: Nanos,
    /// The next connection to visit.
    cursor: usize,
    /// Time at which this round began.
    since: Nanos,
}

impl HeartbeatRounds {
    pub fn new(interval: Nanos, start: Nanos) -> HeartbeatRounds {
        HeartbeatRounds { interval, cursor: 0, since: start }
    }

    fn round(&self) -> Nanos {
        Nanos((self.interval.0 / ROUNDS).max(1))
    }

    /// Returns the index up to which visits are due at `now`, of `connections`; the round ends once all are due.
    /// Connections added during a round do not prolong it.
    fn due_up_to(&self, connections: usize, now: Nanos) -> usize {
        let part = u128::from((now - self.since).0) * connections as u128 / u128::from(self.round().0);
        part.min(connections as u128) as usize
    }

    /// Returns when the next visit is due.
    pub fn next(&self, connections: usize, now: Nanos) -> Nanos {
        let each = self.round().0 / connections.max(1) as u64;
        (now + MIN_STEP).max(self.since + Nanos(each * (self.cursor as u64 + 1)))
    }

    /// Returns how much of an interval counts as elapsed when the connection in this slot opens. This spreads the first
    /// heartbeats over the rounds, so that connections opened together do not send heartbeats together.
    pub(super) fn initial_lead(&self, conn: ConnId) -> Nanos {
        Nanos(self.interval.0 / (2 * ROUNDS) + self.round().0 * (u64::from(conn.0) % ROUNDS))
    }

    /// Returns the time after which the next heartbeat is due: the interval minus half a round, because visits are not
    /// exact.
    fn due_after(&self) -> Nanos {
        Nanos(self.interval.0 - self.interval.0 / (2 * ROUNDS))
    }
}

impl<N: Network> WorkerConnections<N> {
    /// Visits the connections that are due.
    pub(crate) fn send_heartbeats(&mut self) {
        let Some(mut beat) = self.heartbeats.take() else { return };
        let reaches = beat.due_up_to(self.links.slots(), self.traffic.stamp);
        while beat.cursor < reaches {
            self.visit_heartbeat(ConnId::of(beat.cursor), &beat);
            beat.cursor += 1;
        }
        if self.traffic.stamp >= beat.since + beat.round() {
            // A thread that did not run for a while does not catch up on missed rounds.
            beat.since = self.traffic.stamp.min(beat.since + beat.round()).max(self.traffic.stamp - beat.round());
            beat.cursor = 0;
        }
        self.heartbeats = Some(beat);
    }

    fn visit_heartbeat(&mut self, conn: ConnId, beat: &HeartbeatRounds) {
        let c = self.links.conn(conn);
        if c.stage != ConnStage::Open || self.traffic.stamp < c.since + beat.due_after() {
            return;
        }
        let interval = beat.interval;
        if c.is_set(HEARTBEAT_PENDING) {
            let why = brunt_cause::response::no_heartbeat(brunt_measure::format_duration(interval));
            self.drop_connection(conn, FaultKind::Timeout, None, Some(&why));
            return;
        }
        if self.links.heartbeat(conn) {
            let c = self.links.conn_mut(conn);
            c.set_flag(HEARTBEAT_PENDING, true);
            c.since = self.traffic.stamp;
            // Heartbeats of the warm-up and of the time before a common start are not counted.
            let counts = self.traffic.stamp >= self.traffic.limits.window && !self.before_start;
            self.traffic.recorder.counts().heartbeats.sent += u64::from(counts);
            self.read_clock();
        }
    }

    /// Records an answered heartbeat.
    pub(crate) fn heartbeat_answered(&mut self, conn: ConnId) {
        if !self.links.conn(conn).is_set(USEFUL) {
            self.mark_useful(conn);
        }
        if self.take_heartbeat(conn) {
            self.traffic.recorder.counts().heartbeats.answered += 1;
            self.traffic.recorder.times().heartbeat.record(self.traffic.stamp - self.links.conn(conn).since);
        }
    }

    /// Ends a heartbeat that can no longer be answered, and records its time so far as a lower bound. Returns 1 if it
    /// counts, otherwise 0.
    pub(crate) fn heartbeat_unanswered(&mut self, conn: ConnId) -> u64 {
        let counts = self.take_heartbeat(conn);
        if counts {
            let waited = self.traffic.stamp - self.links.conn(conn).since;
            self.traffic.recorder.times().heartbeat_at_least.record(waited);
        }
        u64::from(counts)
    }

    /// Clears a connection's pending heartbeat, however it ended; returns `true` if there was one and it counts.
    fn take_heartbeat(&mut self, conn: ConnId) -> bool {
        let c = self.links.conn_mut(conn);
        c.set_flag(HEARTBEAT_PENDING, false) && c.since >= self.traffic.limits.window && !self.before_start
    }
}
