//! The clock of a worker, and the events it triggers: ends of seconds, timeouts of exchanges and of openings.

use brunt_contract::{FaultKind, Network};
use brunt_measure::Nanos;

use crate::Stop;
use crate::exchange::{Exchange, ExchangeState};
use crate::ids::{ConnId, ExchangeId};
use crate::pool::ConnStage;
use crate::recorder::Gauges;

use super::{HeartbeatRounds, WorkerConnections};
use crate::own_delay::ReadGaps;
use crate::worker_message::WorkerMessage;

/// Maximum interval between checks for a stop request.
pub(crate) const STOP_CHECK_INTERVAL: Nanos = Nanos::from_millis(50);

impl<N: Network> WorkerConnections<N> {
    /// Returns the longest wait while responses are expected.
    #[inline]
    pub fn longest_wait(&self) -> Nanos {
        self.gaps.longest_wait()
    }

    /// Begins the run.
    pub fn begin(&mut self) {
        self.traffic.stamp = self.links.net().now();
        self.traffic.event_time = self.traffic.stamp;
        self.begin_second(self.traffic.limits.start);
    }

    /// Suspends recording until the common start.
    pub fn wait_for_start(&mut self) {
        self.traffic.recorder.hold();
        self.before_start = true;
    }

    /// Begins the run at the common start, which shifts it by `by`. The first second reports how many connections were
    /// opened before it, and the time that took (`took`).
    pub fn start_together(&mut self, by: Nanos, took: Nanos) {
        self.traffic.limits.shift(by);
        let counts = self.traffic.recorder.counts();
        (counts.connections.ahead, counts.apart.ahead_ns) = (counts.connections.opened, took.0);
        self.before_start = false;
        self.begin_second(self.traffic.limits.start);
    }

    /// Returns `true` if the loop must poll frequently for a condition that no event announces.
    pub fn needs_frequent_checks(&self) -> bool {
        self.before_start || self.lookups.pending()
    }

    /// Returns `true` if no more requests are started.
    #[inline]
    pub fn is_closing(&self) -> bool {
        self.closing
    }

    /// Stops the start of new requests.
    pub fn close(&mut self) {
        self.closing = true;
    }

    /// Returns the next time at which an action is due.
    pub fn next_time(&mut self) -> Nanos {
        let (slots, now) = (self.links.slots(), self.traffic.stamp);
        let beats = |beats: &HeartbeatRounds| beats.next(slots, now);
        let one_way = if self.one_way.is_due() { self.traffic.stamp } else { Nanos::MAX };
        one_way
            .min(self.traffic.recorder.second_ends())
            .min(self.traffic.in_flight.next_timeout())
            .min(self.links.openings().next())
            .min(self.continue_timers.next())
            .min(self.pools.retry_at())
            .min(self.refresh_at)
            .min(self.heartbeats.as_ref().map_or(Nanos::MAX, beats))
            .min(self.next_end())
    }

    /// Does everything that is due at the current time.
    #[inline]
    pub fn keep_time(&mut self) {
        if self.one_way.is_due() {
            self.end_one_way();
        }
        if self.heartbeats.is_some() {
            self.send_heartbeats();
        }
        self.traffic.report_early(false);
        if self.traffic.stamp >= self.pools.retry_at() {
            // Pools whose pause is over retry if requests wait.
            for pool_id in self.pools.take_ready(self.traffic.stamp) {
                self.grow(pool_id);
            }
        }
        if self.traffic.stamp >= self.refresh_at {
            self.refresh_addresses();
        }
        let connections = self.links.count();
        self.batching.evaluate_if_due(self.traffic.stamp, self.links.net(), &mut self.traffic.recorder, connections);
        self.time_out();
        if self.lookups.pending() {
            self.looked_up();
        }
    }

    /// Returns `true` if outcomes are queued for users, or bytes are waiting to be written.
    #[inline]
    pub fn has_events(&self) -> bool {
        self.traffic.has_outcomes() || self.links.has_unsent()
    }

    /// Begins the first second of a run (or of its common start).
    fn begin_second(&mut self, at: Nanos) {
        self.traffic.recorder.begin(&self.traffic.limits, at, self.traffic.stamp);
        self.gaps = ReadGaps::new(self.traffic.stamp);
        self.health.begin(self.links.net().thread_stats(), self.traffic.stamp);
        self.batching.begin_second(self.traffic.stamp, self.links.net());
    }

    /// Returns `true` if no more requests are started.
    #[inline]
    pub(crate) fn window_over(&self) -> bool {
        self.closing || self.traffic.stamp >= self.next_end()
    }

    /// Returns the end of the window or, once that is over, of the drain; `MAX` if the quota ends the run, or before a
    /// common start.
    pub(crate) fn next_end(&self) -> Nanos {
        match self.traffic.limits.end {
            Some(end) if self.closing => end.saturating_add(self.traffic.limits.drain),
            Some(end) if !self.before_start => end,
            _ => Nanos::MAX,
        }
    }

    /// Returns `true` if an exchange that has just ended had timed out before its end arrived. Our own delay in reading
    /// that end does not count.
    #[inline]
    pub(crate) fn too_late(&self, id: ExchangeId, x: &Exchange) -> bool {
        self.traffic.in_flight.is_late((id, x), self.turn.data_since)
    }

    /// Times out exchanges whose deadline had passed when the sockets were last fully read: a response that is still in
    /// its socket because we are late has not timed out.
    pub fn time_out(&mut self) {
        let caught_up = self.turn.caught_up;
        if self.traffic.in_flight.next_timeout() <= caught_up {
            let came_up = self.traffic.in_flight.take_expired(caught_up);
            for slot in &came_up {
                if self.traffic.in_flight.times_out(*slot, caught_up).is_some() {
                    self.time_out_exchange(ExchangeId(*slot));
                }
            }
            self.traffic.in_flight.recycle(came_up);
        }
        if self.continue_timers.next() <= caught_up {
            self.release_held_bodies();
        }
        if self.links.openings().next() <= caught_up {
            for conn in self.links.openings().take_expired(caught_up) {
                if self.links.times_out(conn, caught_up) {
                    self.drop_connection(conn, FaultKind::Timeout, None, None);
                }
            }
        }
    }

    /// Sends withheld bodies whose maximum wait is over, although the peer has not asked for them.
    #[cold]
    fn release_held_bodies(&mut self) {
        for id in self.continue_timers.take_expired(self.turn.caught_up) {
            let x = *self.traffic.in_flight.get(id);
            if x.state == ExchangeState::InFlight
                && x.conn != ConnId::NONE
                && self.links.release(x.conn, id)
                && !x.is_warmup()
            {
                self.traffic.recorder.counts().released += 1;
            }
        }
    }

    /// Reads the clock after a long operation, which delays the events that follow even if they were read before it.
    pub(super) fn advance_clock(&mut self) {
        let now = self.links.net().now();
        self.gaps.read_clock(self.traffic.stamp, now);
        self.set_now(now);
    }

    /// Reads the clock; subsequent events count in the second of that reading.
    #[inline]
    pub(crate) fn read_clock(&mut self) {
        let now = self.links.net().now();
        self.gaps.read_clock(self.traffic.stamp, now);
        self.set_now(now);
        self.traffic.event_time = now;
    }

    /// Reads the clock after a wait.
    #[inline]
    pub(super) fn read_clock_after_wait(&mut self) {
        let now = self.links.net().now();
        self.set_now(now);
        self.traffic.event_time = now;
    }

    /// Like [`WorkerConnections::read_clock`], for bytes just read, which are timestamped with the time of the read,
    /// however long parsing took.
    #[inline]
    pub(crate) fn use_read_time(&mut self) {
        let read = self.links.net().last_read_at();
        self.gaps.read_clock(self.traffic.stamp, read);
        self.set_now(read);
        self.traffic.event_time = read;
    }

    /// Sets the current time; subsequent events count in the second of that time.
    #[inline]
    pub(crate) fn set_now(&mut self, now: Nanos) {
        self.traffic.stamp = now;
        if now >= self.traffic.recorder.second_ends() {
            self.roll_seconds();
        }
    }

    /// Passes on the completed seconds.
    fn roll_seconds(&mut self) {
        while self.traffic.stamp >= self.traffic.recorder.second_ends() {
            let to = self.traffic.recorder.second_ends();
            self.roll(to);
        }
    }

    /// Returns the gauges of a second, i.e. the values that are not event counts.
    fn gauges(&mut self) -> Gauges {
        let (bytes_sent, refused) = self.links.sent_and_refused();
        let (waiting, connections) = (self.pools.waiting(), u64::from(self.links.count()));
        Gauges { waiting, connections, bytes_sent, refused }
    }

    fn roll(&mut self, to: Nanos) {
        if self.traffic.limits.part(self.traffic.recorder.second_began()) != self.traffic.limits.part(to) {
            let gap = self.health.split_gap(to, self.traffic.recorder.times());
            if self.has_requests() {
                self.traffic.recorder.counts().away_ns += (gap - self.gaps.resolution()).0;
            }
        }
        let running = self.links.net().thread_stats();
        let busy_since = self.traffic.recorder.busy_since();
        let polled = self.health.poll_time(running, self.spin.take_spun());
        self.traffic.recorder.counts().spun_ns = polled.0;
        self.traffic.recorder.counts().apart.resolution_ns = self.gaps.resolution().0;
        self.health.count(running, polled, busy_since, to, &mut self.traffic.recorder.counts().apart);
        let gauges = self.gauges();
        self.traffic.recorder.roll(to, &self.traffic.limits, &gauges);
        self.batching.begin_second(self.traffic.stamp, self.links.net());
    }

    /// Ends the run at `now`: everything counted is passed on, and all connections are closed.
    pub fn finish(&mut self, now: Nanos, interrupted: bool, stop: &Stop) {
        self.roll_seconds();
        if self.fixed.is_some() && now > self.traffic.recorder.second_began() {
            // The gauges of the last second still include the connections that are closed below.
            self.roll(now);
        }
        self.close_all_gracefully();
        let gauges = self.gauges();
        if now > self.traffic.recorder.second_began() || !self.traffic.recorder.is_idle(&gauges) {
            self.roll(now.max(self.traffic.recorder.second_began()));
        }
        let limits = &self.traffic.limits;
        let window = limits.end.map_or(now, |end| end.min(now)) - limits.window;
        self.traffic.recorder.report(WorkerMessage::Over { window, interrupted });
        self.take_leave(stop);
        self.links.close_all();
    }

    /// Gracefully closes connections that are part of the plan, and datagram sockets kept for the final read.
    fn close_all_gracefully(&mut self) {
        for conn in (0..self.links.slots()).map(ConnId::of) {
            let c = self.links.conn(conn);
            let in_order = self.fixed.is_some() || self.pools.get(c.pool).origin.datagrams;
            if c.stage == ConnStage::Open && in_order {
                self.close_gracefully(conn);
            }
        }
        for conn in (0..self.links.slots()).map(ConnId::of) {
            self.traffic.recorder.counts().heartbeats.open += self.heartbeat_unanswered(conn);
        }
    }
}
