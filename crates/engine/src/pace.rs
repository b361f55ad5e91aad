//! Time in a worker: its beginning, what is due when, timeouts, seconds, and the end.

use measure::Nanos;
use record::Part;
use wire::{Dialogue, ExchangeId, FaultKind, Network, Phase, Session};

use crate::Stop;
use crate::exchange::{Exchange, NONE, Standing};
use crate::message::Message;
use crate::pool::Stage;
use crate::tally::{InFlight, encode};
use crate::worker::Worker;

/// A stop asked for from outside is seen at least so often.
pub(crate) const ATTENTION: Nanos = Nanos::from_millis(50);
/// While answers are awaited a wait is no longer than this: one that ends later tells that the process was stopped.
const WATCHFUL: Nanos = Nanos::from_millis(10);
/// So many arrivals that were never sent are counted at the end, which takes a second: a rate may be asked for that no machine sends.
const UNSENT: u32 = 1 << 26;
/// While a look-up or a common start is awaited, so often.
const IMPATIENCE: Nanos = Nanos::from_millis(2);

impl<N: Network, D: Dialogue> Worker<N, D> {
    pub fn begin(&mut self) {
        self.stamp = self.net.now();
        self.cpu = thread_cpu();
        self.begin_second(self.limits.start);
        self.draw_next_due();
        let mut users_start = self.limits.start;
        if let Some(common_start) = &mut self.common_start {
            // Nothing of the run has begun before the common start: no second ends, no user starts, nothing is due.
            (self.second_to, users_start) = (Nanos::MAX, Nanos::MAX);
            common_start.since = self.stamp;
            common_start.first_due = std::mem::replace(&mut self.next_due, Nanos::MAX);
        }
        if let Some(crowd) = self.crowd.as_mut() {
            crowd.next_change = users_start;
        }
    }

    /// When the next arrival is due; never where there is none.
    #[inline]
    pub fn draw_next_due(&mut self) {
        self.next_due = match self.schedule.as_mut().and_then(|s| s.next_due()) {
            Some(since_start) => self.limits.start + since_start,
            None => Nanos::MAX,
        };
    }

    /// The first second of a run (or of its common start) begins.
    pub fn begin_second(&mut self, at: Nanos) {
        self.in_flight = InFlight::begin(at.max(self.stamp));
        self.second_from = at;
        self.second_to = self.second_after(at);
        self.begin_health();
        self.listen_again();
    }

    /// The end of the second that holds `at`: seconds are counted from the window's start, and cut where it begins and ends.
    fn second_after(&self, at: Nanos) -> Nanos {
        const SECOND: u64 = 1_000_000_000;
        let window = self.limits.window.0;
        let next = if at.0 < window {
            window - (window - at.0 - 1) / SECOND * SECOND
        } else {
            window + ((at.0 - window) / SECOND + 1) * SECOND
        };
        match self.limits.end {
            Some(end) if at < end => Nanos(next.min(end.0)),
            _ => Nanos(next),
        }
    }

    /// Until when the network may sleep.
    pub fn next_moment(&self) -> Nanos {
        let crowd = self.crowd.as_ref();
        let to_start = crowd.is_some_and(|c| !c.starting.is_empty());
        let mut next_start = Nanos::MAX;
        if (to_start || self.common_start.as_ref().is_some_and(|g| g.to_open > 0)) && self.may_come() {
            match self.limits.connect_rate {
                Some(_) => next_start = self.next_start,
                None => return Nanos::ZERO,
            }
        }
        if self.one_way.is_due() {
            next_start = self.stamp;
        }
        let at_most = match self.common_start.is_some() || self.lookups.pending() {
            true => IMPATIENCE,
            false if self.alive > 0 => WATCHFUL,
            false => ATTENTION,
        };
        (self.stamp + at_most)
            .min(next_start)
            .min(self.next_due.saturating_add(self.limits.slack))
            .min(self.second_to)
            .min(self.timeouts.next())
            .min(self.connect_timeouts.next())
            .min(self.pauses.next())
            .min(self.retry_at)
            .min(crowd.map_or(Nanos::MAX, |c| c.next_change))
            .min(self.heartbeat.as_ref().map_or(Nanos::MAX, |beat| beat.next(self.conns.len(), self.stamp)))
            .min(self.next_end())
    }

    /// True where nothing new is started any more.
    #[inline]
    pub fn window_over(&self) -> bool {
        self.closing || self.stamp >= self.next_end()
    }

    /// What ends next: the window, then its drain; never where the quota ends the run, or before a common start.
    fn next_end(&self) -> Nanos {
        match self.limits.end {
            Some(end) if self.closing => end.saturating_add(self.limits.drain),
            Some(end) if self.common_start.is_none() => end,
            _ => Nanos::MAX,
        }
    }

    /// Everything that time alone brings about.
    #[inline]
    pub fn keep_time(&mut self, stop: &Stop) {
        if self.common_start.is_some() {
            self.await_common_start();
        } else if self.crowd.is_some() {
            self.change_users();
            self.wake_users();
        }
        if self.one_way.is_due() {
            self.end_one_way();
        }
        if self.held.is_some() {
            self.await_hold();
            self.replace_lost();
        }
        if self.heartbeat.is_some() {
            self.beat();
        }
        if self.early.is_some() {
            self.report_early(false);
        }
        if self.stamp >= self.retry_at {
            self.retry();
        }
        self.batch_arrivals();
        self.time_out();
        if self.lookups.pending() {
            self.looked_up();
        }
        self.consider_end(stop);
    }

    /// True where an exchange that is over now had no time left when its end came. How late we were to read that end is not
    /// held against it.
    #[inline]
    pub fn too_late(&self, x: &Exchange) -> bool {
        self.turn.news_since > x.started + self.limits.timeout
    }

    /// Those time out whose time was over when we had last caught up: an answer that lies in its socket because we were late
    /// did not time out.
    fn time_out(&mut self) {
        let caught_up = self.turn.caught_up;
        if self.timeouts.next().min(self.connect_timeouts.next()) > caught_up {
            return;
        }
        if self.timeouts.next() <= caught_up {
            let mut came_up = std::mem::take(&mut self.came_up);
            self.timeouts.due(caught_up, &mut came_up);
            for entry in came_up.drain(..) {
                self.look_at(ExchangeId(entry));
            }
            self.came_up = came_up;
        }
        if self.connect_timeouts.next() <= caught_up {
            let mut came_up = std::mem::take(&mut self.came_up);
            self.connect_timeouts.due(caught_up, &mut came_up);
            for conn in came_up.drain(..) {
                self.look_at_connection(conn);
            }
            self.came_up = came_up;
        }
    }

    /// An exchange's timer came up: it is over, or has time left, or times out.
    fn look_at(&mut self, id: ExchangeId) {
        let timeout = self.limits.timeout;
        let x = *self.exchanges.get(id);
        let since = if x.state == Standing::Waiting { x.intended } else { x.started };
        if x.state == Standing::Vacant {
            self.exchanges.get(id).watched = false;
            return;
        }
        if since + timeout > self.turn.caught_up {
            return self.timeouts.watch(id.0, since + timeout);
        }
        self.exchanges.get(id).watched = false;
        match x.state {
            Standing::Vacant => {}
            Standing::Waiting => self.give_up_waiting(),
            Standing::Connecting => self.break_off(x.conn, FaultKind::Timeout, None, ""),
            Standing::InFlight if x.conn == NONE => self.give_up_resending(id),
            Standing::InFlight => self.time_out_in_flight(id, x.conn, x.first_byte != Nanos::ZERO),
        }
    }

    /// Those who wait stand in the order they were due in: the ones whose time passed are in front.
    fn give_up_waiting(&mut self) {
        for pool in 0..self.pools.len() {
            while let Some(&id) = self.pools[pool].waiting.front() {
                if self.exchanges.get(id).intended + self.limits.timeout > self.turn.caught_up {
                    break;
                }
                self.pools[pool].waiting.pop_front();
                self.fail_now(id, FaultKind::Timeout, Phase::Wait, None, "", false);
            }
        }
        self.go_on_without();
    }

    /// The peer did not touch it, and no other connection came.
    fn give_up_resending(&mut self, id: ExchangeId) {
        self.pools.iter_mut().for_each(|pool| pool.waiting.retain(|waiting| *waiting != id));
        self.fail_now(id, FaultKind::Timeout, Phase::Wait, None, "", false);
        self.go_on_without();
    }

    fn time_out_in_flight(&mut self, id: ExchangeId, conn: u32, begun: bool) {
        self.aim(conn);
        let session = self.conns[conn as usize].session.as_mut();
        let lives = session.is_some_and(|s| s.cancel(id, &mut self.out));
        if !lives {
            return self.break_off(conn, FaultKind::Timeout, None, "");
        }
        self.flush();
        self.conns[conn as usize].in_flight -= 1;
        let phase = if begun { Phase::Transfer } else { Phase::FirstByte };
        self.fail_now(id, FaultKind::Timeout, phase, None, "", false);
        self.go_on(conn);
    }

    fn look_at_connection(&mut self, conn: u32) {
        self.watched[conn as usize] = false;
        let c = &self.conns[conn as usize];
        if !matches!(c.stage, Stage::Connecting | Stage::Handshaking | Stage::Greeting) {
            return;
        }
        let deadline = c.since + self.limits.connect_timeout;
        if deadline > self.turn.caught_up {
            self.watched[conn as usize] = true;
            return self.connect_timeouts.watch(conn, deadline);
        }
        self.break_off(conn, FaultKind::Timeout, None, "");
    }

    /// Hands the finished seconds on.
    pub fn roll_seconds(&mut self) {
        while self.stamp >= self.second_to {
            let to = self.second_to;
            self.roll(to);
        }
    }

    fn roll(&mut self, to: Nanos) {
        let from = self.second_from;
        let part = match self.limits.end {
            _ if from < self.limits.window => Part::Warmup,
            Some(end) if from >= end => Part::Drain,
            _ => Part::Window,
        };
        let (area, before, after) = self.in_flight.roll(to);
        let cpu = thread_cpu();
        let bytes_sent = self.net.bytes_sent();
        let waiting = self.pools.iter().map(|p| p.waiting.len() as u64).sum();
        let counts = &mut self.tally.counts;
        (counts.apart.area_ns, counts.apart.before_ns, counts.apart.after_ns) = (area, before, after);
        counts.apart.service_ns += self.tally.latency.service.sum() as u64;
        counts.apart.users = self.crowd.as_ref().map_or(0, |c| u64::from(c.alive / self.limits.per_user));
        (counts.apart.in_flight, counts.apart.waiting, counts.apart.open) =
            (self.in_flight.now, waiting, u64::from(self.connections));
        counts.bytes.sent = bytes_sent.saturating_sub(self.bytes_sent);
        self.bytes_sent = self.bytes_sent.max(bytes_sent);
        counts.connections.refused += self.net.refused().saturating_sub(self.refused);
        self.refused = self.refused.max(self.net.refused());
        counts.cpu_ns = (cpu - std::mem::replace(&mut self.cpu, cpu)).0;
        self.count_running(to);
        let encoded = encode(&self.tally, (from, to), part, self.limits.window);
        (self.report)(Message::Snapshot(encoded));
        self.tally.clear();
        self.second_from = to;
        self.second_to = self.second_after(to);
        self.listen_again();
    }

    fn consider_end(&mut self, stop: &Stop) {
        if !self.closing && self.stamp >= self.next_end() {
            // Arrivals that were due in the window and that we are late to send are sent in the drain: nothing is skipped.
            self.closing = true;
            self.stop_users();
        }
        if stop.requested() {
            return self.finish(stop, true);
        }
        let nothing_more = (self.closing && self.next_due == Nanos::MAX) || self.all_started();
        let overdue = self.closing && self.stamp >= self.next_end();
        if (nothing_more && self.alive == 0) || overdue {
            self.finish(stop, false);
        }
    }

    /// Users that wait for their next request have none.
    fn stop_users(&mut self) {
        while let Some((_, user)) = self.pauses.due(Nanos(u64::MAX - 1)) {
            self.user_ends(user);
        }
        self.let_holders_go();
        let Some(crowd) = self.crowd.as_mut() else { return };
        crowd.next_change = Nanos::MAX;
        for user in std::mem::take(&mut crowd.starting) {
            self.user_ends(user);
        }
    }

    /// True where the plan asks for no further request.
    fn all_started(&self) -> bool {
        match &self.crowd {
            Some(crowd) => {
                let no_more = crowd.next_change == Nanos::MAX || self.quota_spent();
                self.common_start.is_none() && crowd.alive == 0 && no_more
            }
            // Without a number of requests the run lasts as long as was asked, though the last arrival came before.
            None => self.next_due == Nanos::MAX && (self.limits.until_quota || self.limits.end.is_none()),
        }
    }

    /// Arrivals that were due and that we never came to send are due all the same, and unfinished. They waited for nobody but
    /// us; how long the server would have taken, nobody knows.
    fn censor_unsent(&mut self) {
        for _ in 0..UNSENT {
            if self.next_due > self.stamp {
                return;
            }
            let late = self.stamp - self.next_due;
            if self.next_due >= self.limits.window {
                self.tally.counts.due += 1;
                self.tally.counts.censored += 1;
                if let Some(named) = &mut self.tally.named {
                    let name = self.dialogue.names().of(self.mix.next());
                    named.counts(name).due += 1;
                    named.counts(name).censored += 1;
                    named.at_least(name, late);
                }
                let latency = &mut self.tally.latency;
                latency.response_at_least.record(late);
                latency.service_at_least.record(Nanos::ZERO);
                latency.wait_conn.record(Nanos::ZERO);
                latency.gen_late.record(late);
            }
            self.draw_next_due();
        }
    }

    /// The end: what is unfinished is censored, and everything counted is handed over.
    fn finish(&mut self, stop: &Stop, interrupted: bool) {
        let now = self.stamp;
        self.report_early(true);
        self.censor_unsent();
        for id in self.exchanges.alive().collect::<Vec<_>>() {
            let x = self.exchanges.remove(id);
            self.over_with(&x, false);
            self.unanswered(&x);
            if x.warmup {
                continue;
            }
            self.tally.counts.censored += 1;
            if let Some(named) = &mut self.tally.named {
                named.counts(x.name).censored += 1;
            }
            self.bound_by_name(&x);
            let latency = &mut self.tally.latency;
            if self.limits.open {
                latency.response_at_least.record(now - x.intended);
            }
            if x.state == Standing::Waiting {
                latency.wait_conn_at_least.record(now - x.intended);
            } else {
                latency.service_at_least.record(now - x.started);
            }
        }
        self.read_finally(stop);
        self.roll_seconds();
        if self.held.is_some() && now > self.second_from {
            // The last second tells what stood in it: whom we say goodbye to now did stand.
            self.roll(now);
        }
        for conn in 0..self.conns.len() as u32 {
            // Connections that are part of the plan end in order; sockets of datagrams were kept for the last look.
            let c = &self.conns[conn as usize];
            let in_order = self.held.is_some() || self.pools[c.origin as usize].origin.datagrams;
            if c.stage == Stage::Open && in_order {
                self.say_goodbye(conn);
            }
        }
        for conn in 0..self.conns.len() as u32 {
            self.tally.counts.heartbeats.open += self.beat_unanswered(conn);
        }
        let untold = self.net.bytes_sent() != self.bytes_sent || self.net.refused() != self.refused;
        if now > self.second_from || untold || !self.tally.is_idle() {
            self.roll(now.max(self.second_from));
        }
        let end = self.limits.end.map_or(now, |end| end.min(now));
        (self.report)(Message::Over { window: end - self.limits.window, interrupted });
        self.over = true;
        for conn in 0..self.conns.len() as u32 {
            if self.conns[conn as usize].stage != Stage::Vacant {
                self.net.close(wire::ConnId(conn));
            }
        }
    }
}

/// CPU time of this thread; zero where the system does not report.
fn thread_cpu() -> Nanos {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Nanos(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}
