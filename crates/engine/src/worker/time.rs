//! Time in a worker: its beginning, what is due when, timeouts, seconds, and the end.

use measure::Nanos;
use plan::Change;
use wire::Network;

use crate::Stop;
use crate::connections::ATTENTION;
use crate::control::Stamped;
use crate::message::Message;

use super::Worker;
use super::ending::Standing;

/// While responses are awaited a wait is no longer than this: one that ends later tells that the process was stopped.
const WATCHFUL: Nanos = Nanos::from_millis(10);
/// At a stop, a sleep that ended so late is still one.
const ASLEEP: Nanos = Nanos::from_millis(5);
/// While a look-up or a common start is awaited, so often.
const IMPATIENCE: Nanos = Nanos::from_millis(2);

impl<N: Network> Worker<N> {
    pub(super) fn begin(&mut self) {
        self.connections.begin();
        let limits = &self.connections.limits;
        for source in self.users.source.all_mut() {
            // Draws the first.
            let _ = source.take_arrival(limits);
        }
        let mut users_start = self.connections.limits.start;
        if let Some(start) = &mut self.common_start {
            // Nothing of the run has begun before the common start: no second ends, no user starts, nothing is due.
            self.connections.books.hold();
            self.connections.before_start = true;
            users_start = Nanos::MAX;
            start.begin(self.connections.stamp, self.users.source.only().suspend());
        }
        self.users.source.all_mut().iter_mut().for_each(|source| source.users().begin_at(users_start));
    }

    /// Until when the network may sleep.
    pub(super) fn next_moment(&mut self) -> Nanos {
        let Worker { users, connections: c, common_start, .. } = self;
        let opens = common_start.as_ref().is_some_and(|start| start.opens());
        let mut next_start = Nanos::MAX;
        if c.may_come() {
            next_start = if opens { users.source.only().next_start() } else { users.source.next_start() };
        }
        let at_most = match c.before_start || c.lookups.pending() {
            true => IMPATIENCE,
            false if c.flights.alive() > 0 => WATCHFUL,
            false => ATTENTION,
        };
        (c.stamp + at_most)
            .min(next_start)
            .min(users.next_arrival(c).saturating_add(c.limits.slack))
            .min(users.source.next_awake())
            .min(users.source.next_change())
            .min(users.source.next_end())
            .min(c.next_moment())
    }

    /// Everything that time alone brings about.
    #[inline]
    pub(super) fn keep_time(&mut self, stop: &Stop) {
        if self.common_start.is_some() {
            self.await_common_start();
        } else {
            self.heed_changes();
            self.users.keep_time(&mut self.connections);
        }
        if self.connections.held.is_some() {
            self.await_hold();
            self.replace_lost();
        }
        self.connections.keep_time();
        if self.connections.has_news() {
            self.users.go_on(&mut self.connections);
        }
        self.consider_end(stop);
    }

    /// Takes the changes of load that were asked for: each holds from its moment on, which is to come.
    #[inline]
    fn heed_changes(&mut self) {
        for Stamped { at, change } in self.heeding.look(self.connections.stamp) {
            if self.connections.closing {
                return;
            }
            self.connections.limits.lasts_otherwise();
            self.users.source.change(&self.connections.limits, at, change, self.connections.stamp);
            if change == Change::Drain {
                // What was told of a window that went on stays told.
                self.connections.limits.ends_by(at.max(self.connections.stamp));
                self.connections.books.ends_at(at.max(self.connections.stamp));
            }
        }
    }

    fn consider_end(&mut self, stop: &Stop) {
        if !self.connections.closing && self.connections.stamp >= self.connections.next_end() {
            // Arrivals that were due in the window and that we are late to send are sent in the drain: nothing is skipped.
            self.connections.closing = true;
            self.users.stop_users(&mut self.connections);
        }
        let c = &self.connections;
        let standing = Standing {
            closing: c.closing,
            any_due: self.users.source.next_due() < Nanos::MAX,
            sources_over: self.common_start.is_none() && self.users.source.are_over(&c.limits, c.stamp),
            in_flight: c.flights.alive() > 0,
            iterates: self.users.is_within_iterations(c),
            ends: c.next_end(),
            now: c.stamp,
        };
        if standing.is_over() {
            self.finish(stop, false, self.connections.stamp);
        }
    }

    /// The run is to end before its time, as was seen after a wait that began at `waits`: what has come is heard, and nothing more is
    /// sent, which could only be unfinished. Arrivals that came due while we slept came with the stop or after it, and are not
    /// scheduled any more; those of a longer absence were due.
    pub(super) fn interrupted(&mut self, stop: &Stop, waits: Nanos) {
        let until = waits.max(self.connections.stamp - ASLEEP).min(self.connections.stamp);
        if self.common_start.is_none() {
            self.connections.closing = true;
            // Connections that are held still stand, and are told of.
            if self.connections.held.is_none() {
                self.users.stop_users(&mut self.connections);
            }
        }
        while let Some(arrived) = self.connections.links.next() {
            self.hear(arrived);
            if self.connections.turn.is_long(self.connections.stamp) {
                break;
            }
        }
        self.finish(stop, true, until);
    }

    /// The end: what is unfinished is censored, arrivals that were due until then and not sent too, and everything counted is handed over.
    fn finish(&mut self, stop: &Stop, interrupted: bool, until: Nanos) {
        let now = self.connections.stamp;
        self.connections.books.report_early(now, true);
        self.users.censor_unsent(&mut self.connections, until);
        for id in self.connections.flights.all() {
            let x = self.connections.flights.take(id);
            self.connections.books.unfinished(&x, &self.connections.limits, now);
        }
        self.connections.read_finally(stop);
        self.users.all_leave(&mut self.connections);
        self.connections.roll_seconds();
        if self.connections.held.is_some() && now > self.connections.books.second_began() {
            // The last second tells what stood in it: whom we say goodbye to now did stand.
            self.connections.roll(now);
        }
        self.connections.say_goodbye_to_all();
        let gauges = self.connections.gauges();
        if now > self.connections.books.second_began() || !self.connections.books.is_idle(&gauges) {
            self.connections.roll(now.max(self.connections.books.second_began()));
        }
        let end = self.connections.limits.end.map_or(now, |end| end.min(now));
        self.connections.books.report(Message::Over { window: end - self.connections.limits.window, interrupted });
        self.over = true;
        self.connections.links.close_all();
    }

    /// With `--hold`: once every worker's users hold (or failed to), the end of the run is known.
    pub(super) fn await_hold(&mut self) {
        let Some(held) = &mut self.connections.held else { return };
        let users = self.users.source.only().users();
        if self.connections.limits.end.is_some() || !users.have_all_begun() {
            return;
        }
        if let Some(end) = held.ends(users.alive(), self.connections.limits.window, self.connections.stamp) {
            self.connections.limits.end = Some(end);
            self.connections.books.ends_at(end);
        }
    }

    /// With a rate over a fixed number of connections: one that was lost is opened again.
    pub(super) fn replace_lost(&mut self) {
        let all = self.connections.closing || self.common_start.is_some() || self.connections.pools.group(0).is_full();
        if self.connections.held.is_none() || !self.connections.limits.open || all {
            return;
        }
        let origin = self.users.source.only().leads_to(0);
        let pool = self.connections.pools.get(origin);
        let may = self.connections.stamp >= pool.setbacks.until && pool.opening < pool.at_once;
        if may && self.connections.may_come() && self.users.source.only().pace_allows(self.connections.stamp) {
            self.connections.open_ahead(origin);
        }
    }
}
