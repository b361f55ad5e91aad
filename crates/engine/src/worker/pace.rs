//! Time in a worker: its beginning, what is due when, timeouts, seconds, and the end.

use measure::Nanos;
use plan::Change;
use wire::{ConnId, ExchangeId, FaultKind, Network};

use crate::Stop;
use crate::books::Gauges;
use crate::control::Stamped;
use crate::exchange::{Exchange, NONE, Standing};
use crate::message::Message;
use crate::pool::Stage;
use crate::source::Source;

use super::Worker;

/// A stop asked for from outside is seen at least so often.
pub(super) const ATTENTION: Nanos = Nanos::from_millis(50);
/// While responses are awaited a wait is no longer than this: one that ends later tells that the process was stopped.
const WATCHFUL: Nanos = Nanos::from_millis(10);
/// At a stop, a sleep that ended so late is still one.
const ASLEEP: Nanos = Nanos::from_millis(5);
/// While a look-up or a common start is awaited, so often.
const IMPATIENCE: Nanos = Nanos::from_millis(2);

impl<N: Network> Worker<N> {
    pub(super) fn begin(&mut self) {
        self.stamp = self.links.net().now();
        self.heard = self.stamp;
        self.begin_second(self.limits.start);
        let limits = &self.limits;
        for source in self.source.all_mut() {
            // Draws the first.
            let _ = source.take_arrival(limits);
        }
        let mut users_start = self.limits.start;
        if let Some(start) = &mut self.common_start {
            // Nothing of the run has begun before the common start: no second ends, no user starts, nothing is due.
            self.books.hold();
            users_start = Nanos::MAX;
            start.begin(self.stamp, self.source.only().suspend());
        }
        self.source.all_mut().iter_mut().for_each(|source| source.users().begin_at(users_start));
    }

    /// The first second of a run (or of its common start) begins.
    pub(super) fn begin_second(&mut self, at: Nanos) {
        self.books.begin(&self.limits, at, self.stamp);
        self.health.begin(self.links.net().running(), self.stamp);
        self.listen_again();
    }

    /// Until when the network may sleep.
    pub(super) fn next_moment(&mut self) -> Nanos {
        let opens = self.common_start.as_ref().is_some_and(|start| start.opens());
        let mut next_start = Nanos::MAX;
        if self.may_come() {
            next_start = if opens { self.source.only().next_start() } else { self.source.next_start() };
        }
        if self.one_way.is_due() {
            next_start = self.stamp;
        }
        let at_most = match self.common_start.is_some() || self.lookups.pending() {
            true => IMPATIENCE,
            false if self.flights.alive() > 0 => WATCHFUL,
            false => ATTENTION,
        };
        let slots = self.links.slots();
        (self.stamp + at_most)
            .min(next_start)
            .min(self.next_arrival().saturating_add(self.limits.slack))
            .min(self.books.second_ends())
            .min(self.flights.next_timeout())
            .min(self.links.openings().next())
            .min(self.withheld.next())
            .min(self.source.next_awake())
            .min(self.pools.retry_at())
            .min(self.source.next_change())
            .min(self.source.next_end())
            .min(self.heartbeats.as_ref().map_or(Nanos::MAX, |beats| beats.next(slots, self.stamp)))
            .min(self.next_end())
    }

    /// True where nothing new is started any more.
    #[inline]
    pub(super) fn window_over(&self) -> bool {
        self.closing || self.stamp >= self.next_end()
    }

    /// What ends next: the window, then its drain; never where the quota ends the run, or before a common start.
    pub(super) fn next_end(&self) -> Nanos {
        match self.limits.end {
            Some(end) if self.closing => end.saturating_add(self.limits.drain),
            Some(end) if self.common_start.is_none() => end,
            _ => Nanos::MAX,
        }
    }

    /// Everything that time alone brings about.
    #[inline]
    pub(super) fn keep_time(&mut self, stop: &Stop) {
        if self.common_start.is_some() {
            self.await_common_start();
        } else {
            self.heed_changes();
            self.change_users();
            self.wake_users();
            if self.stamp >= self.source.next_end() {
                self.cut_scenarios();
            }
        }
        if self.one_way.is_due() {
            self.end_one_way();
        }
        if self.held.is_some() {
            self.await_hold();
            self.replace_lost();
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
        self.consider_end(stop);
    }

    /// Takes the changes of load that were asked for: each holds from its moment on, which is to come.
    #[inline]
    fn heed_changes(&mut self) {
        for Stamped { at, change } in self.heeding.look(self.stamp) {
            if self.closing {
                return;
            }
            self.limits.lasts_otherwise();
            self.source.change(&self.limits, at, change, self.stamp);
            if change == Change::Drain {
                // What was told of a window that went on stays told.
                self.limits.ends_by(at.max(self.stamp));
                self.books.ends_at(at.max(self.stamp));
            }
        }
    }

    /// True where an exchange that is over now had no time left when its end came. How late we were to read that end is not
    /// held against it.
    #[inline]
    pub(super) fn too_late(&self, id: ExchangeId, x: &Exchange) -> bool {
        self.flights.is_late((id, x), self.turn.news_since)
    }

    /// Those time out whose time was over when we had last caught up: a response that lies in its socket because we were late
    /// did not time out.
    fn time_out(&mut self) {
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
                    self.break_off(conn, FaultKind::Timeout, None, "");
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
    pub(super) fn mark(&mut self) {
        let now = self.links.net().now();
        self.is_now(now);
        self.heard = now;
    }

    /// The same of what was just read: it is heard when it was read, whatever looking into it takes.
    #[inline]
    pub(super) fn mark_read(&mut self) {
        let read = self.links.net().read_at();
        self.is_now(read);
        self.heard = read;
    }

    /// What is stamped from now on belongs to the second this lies in.
    #[inline]
    pub(super) fn is_now(&mut self, now: Nanos) {
        self.stamp = now;
        if now >= self.books.second_ends() {
            self.roll_seconds();
        }
    }

    /// Hands the finished seconds on.
    pub(super) fn roll_seconds(&mut self) {
        while self.stamp >= self.books.second_ends() {
            let to = self.books.second_ends();
            self.roll(to);
        }
    }

    fn gauges(&mut self) -> Gauges {
        let flows = self.source.has_flows();
        let per_user = self.limits.per_user;
        // Those whom arrivals bring are the requests in flight.
        let users_of = |source: &mut Source| {
            let users = source.users();
            if users.arrive() && !flows { 0 } else { u64::from(users.alive() / per_user) }
        };
        let users = self.source.all_mut().iter_mut().map(users_of).sum();
        let (bytes_sent, refused) = self.links.sent_and_refused();
        let (waiting, connections) = (self.pools.waiting(), u64::from(self.links.count()));
        Gauges { users, waiting, connections, bytes_sent, refused }
    }

    fn roll(&mut self, to: Nanos) {
        if self.limits.part(self.books.second_began()) != self.limits.part(to) {
            self.gap_ends(to);
        }
        let running = self.links.net().running();
        let busy_since = self.books.busy_since();
        let polled = self.health.polled(running, self.spin.take_spun());
        self.books.counts().spun_ns = polled.0;
        self.health.count(running, polled, busy_since, to, &mut self.books.counts().apart);
        let gauges = self.gauges();
        for (scenario, source) in self.source.all_mut().iter_mut().enumerate() {
            let users = source.users();
            self.books.users_of(scenario, u64::from(users.alive()), users.take_area(to));
        }
        self.books.roll(to, &self.limits, &gauges);
        self.listen_again();
    }

    fn consider_end(&mut self, stop: &Stop) {
        if !self.closing && self.stamp >= self.next_end() {
            // Arrivals that were due in the window and that we are late to send are sent in the drain: nothing is skipped.
            self.closing = true;
            self.stop_users();
        }
        let nothing_more = (self.closing && self.source.next_due() == Nanos::MAX)
            || (self.common_start.is_none() && self.source.are_over(&self.limits, self.stamp));
        let overdue = self.closing && self.stamp >= self.next_end();
        if (nothing_more && self.flights.alive() == 0 && !self.is_within_iterations()) || overdue {
            self.finish(stop, false, self.stamp);
        }
    }

    /// The run is to end before its time, as was seen after a wait that began at `waits`: what has come is heard, and nothing more is
    /// sent, which could only be unfinished. Arrivals that came due while we slept came with the stop or after it, and are not
    /// scheduled any more; those of a longer absence were due.
    pub(super) fn interrupted(&mut self, stop: &Stop, waits: Nanos) {
        let until = waits.max(self.stamp - ASLEEP).min(self.stamp);
        if self.common_start.is_none() {
            self.closing = true;
            // Connections that are held still stand, and are told of.
            if self.held.is_none() {
                self.stop_users();
            }
        }
        while let Some(arrived) = self.links.next() {
            self.hear(arrived);
            if self.turn.is_long(self.stamp) {
                break;
            }
        }
        self.finish(stop, true, until);
    }

    /// Users that wait for their next request have none.
    fn stop_users(&mut self) {
        // Who is in the middle of an iteration goes on as long as the drain lasts.
        while !self.source.has_flows()
            && let Some((_, user)) = self.source.awake(Nanos(u64::MAX - 1))
        {
            self.user_ends(user);
        }
        self.let_holders_go();
        self.source.all_mut().iter_mut().for_each(|source| source.users().begin_no_more());
    }

    /// The end: what is unfinished is censored, arrivals that were due until then and not sent too, and everything counted is handed over.
    fn finish(&mut self, stop: &Stop, interrupted: bool, until: Nanos) {
        let now = self.stamp;
        self.books.report_early(now, true);
        self.censor_unsent(until);
        for id in self.flights.all() {
            let x = self.flights.take(id);
            self.books.unfinished(&x, &self.limits, now);
        }
        self.read_finally(stop);
        self.all_leave_flow();
        self.roll_seconds();
        if self.held.is_some() && now > self.books.second_began() {
            // The last second tells what stood in it: whom we say goodbye to now did stand.
            self.roll(now);
        }
        self.say_goodbye_to_all();
        let gauges = self.gauges();
        if now > self.books.second_began() || !self.books.is_idle(&gauges) {
            self.roll(now.max(self.books.second_began()));
        }
        let end = self.limits.end.map_or(now, |end| end.min(now));
        self.books.report(Message::Over { window: end - self.limits.window, interrupted });
        self.over = true;
        for conn in 0..self.links.slots() as u32 {
            if self.links.conn(conn).stage != Stage::Vacant {
                self.links.net().close(ConnId(conn));
            }
        }
    }

    /// Connections that are part of the plan end in order; sockets of datagrams were kept for the final read.
    fn say_goodbye_to_all(&mut self) {
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
