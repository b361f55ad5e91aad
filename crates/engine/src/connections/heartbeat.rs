//! Heartbeats (`--ping`): a sign of life on every standing connection, apart from the requests.
//!
//! No connection has a timer of its own: the worker walks over its connections, a few each turn, so that a million of them
//! cost no memory and no peak. It visits each several times an interval, and greets those whose interval is over by the next
//! visit. One that has not answered by its next heartbeat is dead, and is treated so.

use measure::Nanos;
use wire::{FaultKind, Network};

use super::Connections;
use crate::ids::ConnId;
use crate::pool::{BEATING, PROVED, Stage};

/// Rounds an interval.
const ROUNDS: u64 = 8;
/// The walk goes on no sooner than this: a few connections more at a time cost less than a turn for each.
const STEP: Nanos = Nanos::from_millis(1);

/// The walk over the connections.
#[derive(Debug)]
pub(crate) struct Heartbeats {
    interval: Nanos,
    /// The next connection to visit.
    cursor: usize,
    /// When this round began.
    since: Nanos,
}

impl Heartbeats {
    pub fn new(interval: Nanos, start: Nanos) -> Heartbeats {
        Heartbeats { interval, cursor: 0, since: start }
    }

    fn round(&self) -> Nanos {
        Nanos((self.interval.0 / ROUNDS).max(1))
    }

    /// Up to which of `connections` visits are due at `now`; the round is over where that is all of them. Whatever number
    /// comes meanwhile, a round takes no longer.
    fn reaches(&self, connections: usize, now: Nanos) -> usize {
        let part = u128::from((now - self.since).0) * connections as u128 / u128::from(self.round().0);
        part.min(connections as u128) as usize
    }

    /// When the next visit is due.
    pub fn next(&self, connections: usize, now: Nanos) -> Nanos {
        let each = self.round().0 / connections.max(1) as u64;
        (now + STEP).max(self.since + Nanos(each * (self.cursor as u64 + 1)))
    }

    /// How long the connection in this slot waits for its first heartbeat, less than an interval: they are spread over the
    /// rounds, so that those that were opened together are not greeted together for ever.
    pub(super) fn ahead(&self, conn: ConnId) -> Nanos {
        Nanos(self.interval.0 / (2 * ROUNDS) + self.round().0 * (u64::from(conn.0) % ROUNDS))
    }

    /// A heartbeat is due so long after the one before: half a round is for the walk not being exact.
    fn due_after(&self) -> Nanos {
        Nanos(self.interval.0 - self.interval.0 / (2 * ROUNDS))
    }
}

impl<N: Network> Connections<N> {
    /// Visits the connections whose turn has come.
    pub(crate) fn send_heartbeats(&mut self) {
        let Some(mut beat) = self.heartbeats.take() else { return };
        let reaches = beat.reaches(self.links.slots(), self.traffic.stamp);
        while beat.cursor < reaches {
            self.visit(ConnId::of(beat.cursor), &beat);
            beat.cursor += 1;
        }
        if self.traffic.stamp >= beat.since + beat.round() {
            // A thread that did not run for long does not walk several rounds at once.
            beat.since = self.traffic.stamp.min(beat.since + beat.round()).max(self.traffic.stamp - beat.round());
            beat.cursor = 0;
        }
        self.heartbeats = Some(beat);
    }

    fn visit(&mut self, conn: ConnId, beat: &Heartbeats) {
        let c = self.links.conn(conn);
        if c.stage != Stage::Open || self.traffic.stamp < c.since + beat.due_after() {
            return;
        }
        let interval = beat.interval;
        if c.is(BEATING) {
            let why = cause::response::no_heartbeat(measure::format_duration(interval));
            self.break_off(conn, FaultKind::Timeout, None, Some(&why));
            return;
        }
        if self.links.heartbeat(conn) {
            let c = self.links.conn_mut(conn);
            c.mark(BEATING, true);
            c.since = self.traffic.stamp;
            // The warm-up's heartbeats are in no figure, and neither are those before a common start.
            let counts = self.traffic.stamp >= self.traffic.limits.window && !self.before_start;
            self.traffic.books.counts().heartbeats.sent += u64::from(counts);
            self.mark();
        }
    }

    /// The peer answered.
    pub(crate) fn heartbeat_answered(&mut self, conn: ConnId) {
        if !self.links.conn(conn).is(PROVED) {
            self.proved(conn);
        }
        if self.take_heartbeat(conn) {
            self.traffic.books.counts().heartbeats.answered += 1;
            self.traffic.books.times().heartbeat.record(self.traffic.stamp - self.links.conn(conn).since);
        }
    }

    /// Nobody answers a connection's heartbeat any more: how many it was (one, or none that counts). All that is known of
    /// its time is that it took at least so long.
    pub(crate) fn heartbeat_unanswered(&mut self, conn: ConnId) -> u64 {
        let counts = self.take_heartbeat(conn);
        if counts {
            let waited = self.traffic.stamp - self.links.conn(conn).since;
            self.traffic.books.times().heartbeat_at_least.record(waited);
        }
        u64::from(counts)
    }

    /// A connection's heartbeat is over, however it ended: true where there was one and it counts.
    fn take_heartbeat(&mut self, conn: ConnId) -> bool {
        let c = self.links.conn_mut(conn);
        c.mark(BEATING, false) && c.since >= self.traffic.limits.window && !self.before_start
    }
}
