//! The clock of a worker, and what time brings about for its connections: seconds that end, exchanges and openings that time out.

use measure::Nanos;
use wire::{ExchangeId, FaultKind, Network};

use crate::books::Gauges;
use crate::exchange::{Exchange, NONE, Standing};
use crate::pool::Stage;

use super::{Connections, Heartbeats};

/// A stop asked for from outside is seen at least so often.
pub(crate) const ATTENTION: Nanos = Nanos::from_millis(50);

impl<N: Network> Connections<N> {
    /// The run begins.
    pub fn begin(&mut self) {
        self.stamp = self.links.net().now();
        self.heard = self.stamp;
        self.begin_second(self.limits.start);
    }

    /// When time brings something about by itself.
    pub fn next_moment(&mut self) -> Nanos {
        let (slots, now) = (self.links.slots(), self.stamp);
        let beats = |beats: &Heartbeats| beats.next(slots, now);
        let one_way = if self.one_way.is_due() { self.stamp } else { Nanos::MAX };
        one_way
            .min(self.books.second_ends())
            .min(self.flights.next_timeout())
            .min(self.links.openings().next())
            .min(self.withheld.next())
            .min(self.pools.retry_at())
            .min(self.heartbeats.as_ref().map_or(Nanos::MAX, beats))
            .min(self.next_end())
    }

    /// What time brings about by itself.
    #[inline]
    pub fn keep_time(&mut self) {
        if self.one_way.is_due() {
            self.end_one_way();
        }
        if self.heartbeats.is_some() {
            self.send_heartbeats();
        }
        self.books.report_early(self.stamp, false);
        if self.stamp >= self.pools.retry_at() {
            self.retry();
        }
        self.batch_arrivals();
        self.time_out();
        if self.lookups.pending() {
            self.looked_up();
        }
    }

    /// True where users have something to hear, or bytes are to leave.
    #[inline]
    pub fn has_news(&self) -> bool {
        !self.outcomes.is_empty() || self.links.has_unsent()
    }

    /// The first second of a run (or of its common start) begins.
    pub(crate) fn begin_second(&mut self, at: Nanos) {
        self.books.begin(&self.limits, at, self.stamp);
        self.health.begin(self.links.net().running(), self.stamp);
        self.listen_again();
    }

    /// True where nothing new is started any more.
    #[inline]
    pub(crate) fn window_over(&self) -> bool {
        self.closing || self.stamp >= self.next_end()
    }

    /// What ends next: the window, then its drain; never where the quota ends the run, or before a common start.
    pub(crate) fn next_end(&self) -> Nanos {
        match self.limits.end {
            Some(end) if self.closing => end.saturating_add(self.limits.drain),
            Some(end) if !self.before_start => end,
            _ => Nanos::MAX,
        }
    }

    /// True where an exchange that is over now had no time left when its end came. How late we were to read that end is not
    /// held against it.
    #[inline]
    pub(crate) fn too_late(&self, id: ExchangeId, x: &Exchange) -> bool {
        self.flights.is_late((id, x), self.turn.news_since)
    }

    /// Those time out whose time was over when we had last caught up: a response that lies in its socket because we were late
    /// did not time out.
    pub fn time_out(&mut self) {
        let caught_up = self.turn.caught_up;
        if self.flights.next_timeout() <= caught_up {
            let came_up = self.flights.came_up(caught_up);
            for slot in &came_up {
                if self.flights.times_out(*slot, caught_up).is_some() {
                    self.give_up(ExchangeId(*slot));
                }
            }
            self.flights.give_back(came_up);
        }
        if self.withheld.next() <= caught_up {
            self.release();
        }
        if self.links.openings().next() <= caught_up {
            for conn in self.links.openings().came_up(caught_up) {
                if self.links.times_out(conn, caught_up) {
                    self.break_off(conn, FaultKind::Timeout, None, None);
                }
            }
        }
    }

    /// What was withheld long enough is sent, asked for or not.
    #[cold]
    fn release(&mut self) {
        for id in self.withheld.came_up(self.turn.caught_up) {
            let x = *self.flights.get(id);
            if x.state == Standing::InFlight && x.conn != NONE && self.links.release(x.conn, id) && !x.warmup {
                self.books.counts().released += 1;
            }
        }
    }

    /// Reads the clock; what is stamped from now on belongs to the second it lies in.
    #[inline]
    pub(crate) fn mark(&mut self) {
        let now = self.links.net().now();
        self.is_now(now);
        self.heard = now;
    }

    /// The same of what was just read: it is heard when it was read, whatever looking into it takes.
    #[inline]
    pub(crate) fn mark_read(&mut self) {
        let read = self.links.net().read_at();
        self.is_now(read);
        self.heard = read;
    }

    /// What is stamped from now on belongs to the second this lies in.
    #[inline]
    pub(crate) fn is_now(&mut self, now: Nanos) {
        self.stamp = now;
        if now >= self.books.second_ends() {
            self.roll_seconds();
        }
    }

    /// Hands the finished seconds on.
    pub(crate) fn roll_seconds(&mut self) {
        while self.stamp >= self.books.second_ends() {
            let to = self.books.second_ends();
            self.roll(to);
        }
    }

    /// What a second is told of beside what was counted in it.
    pub fn gauges(&mut self) -> Gauges {
        let (bytes_sent, refused) = self.links.sent_and_refused();
        let (waiting, connections) = (self.pools.waiting(), u64::from(self.links.count()));
        Gauges { users: self.population.users(self.limits.per_user), waiting, connections, bytes_sent, refused }
    }

    pub fn roll(&mut self, to: Nanos) {
        if self.limits.part(self.books.second_began()) != self.limits.part(to) {
            self.gap_ends(to);
        }
        let running = self.links.net().running();
        let busy_since = self.books.busy_since();
        let polled = self.health.polled(running, self.spin.take_spun());
        self.books.counts().spun_ns = polled.0;
        self.health.count(running, polled, busy_since, to, &mut self.books.counts().apart);
        let gauges = self.gauges();
        for scenario in 0..self.population.scenarios() {
            let (alive, area) = self.population.take_area(scenario, to);
            self.books.users_of(scenario, alive, area);
        }
        self.books.roll(to, &self.limits, &gauges);
        self.listen_again();
    }

    /// Connections that are part of the plan end in order; sockets of datagrams were kept for the final read.
    pub fn say_goodbye_to_all(&mut self) {
        for conn in 0..self.links.slots() as u32 {
            let c = self.links.conn(conn);
            let in_order = self.held.is_some() || self.pools.get(c.origin).origin.datagrams;
            if c.stage == Stage::Open && in_order {
                self.say_goodbye(conn);
            }
        }
        for conn in 0..self.links.slots() as u32 {
            self.books.counts().heartbeats.open += self.heartbeat_unanswered(conn);
        }
    }
}
