//! Time in a worker: the beginning, due actions, and the end.

use brunt_contract::Network;
use brunt_measure::Nanos;
use brunt_plan::Change;

use crate::Stop;
use crate::connections::STOP_CHECK_INTERVAL;
use crate::control::ScheduledChange;

use super::Worker;
use super::ending::RunProgress;

/// Maximum lateness of a wake-up that still counts as a normal sleep at a stop.
const ASLEEP: Nanos = Nanos::from_millis(5);
/// Polling interval while a lookup or a common start is pending.
const IMPATIENCE: Nanos = Nanos::from_millis(2);

impl<N: Network> Worker<N> {
    pub(super) fn begin(&mut self) {
        self.connections.begin();
        let limits = self.connections.limits();
        for source in self.users.sources.all_mut() {
            // Draws the first arrival.
            let _ = source.take_arrival(limits);
        }
        let mut users_start = limits.start;
        if let Some(start) = &mut self.common_start {
            // Before the common start, the run has not begun: no second ends, no user starts, nothing is due.
            self.connections.wait_for_start();
            users_start = Nanos::MAX;
            start.begin(self.connections.now(), self.users.sources.only().suspend());
        }
        self.users.sources.all_mut().iter_mut().for_each(|source| source.users().begin_at(users_start));
    }

    /// Returns the time until which the network may sleep.
    pub(super) fn next_moment(&mut self) -> Nanos {
        let Worker { users, connections: c, common_start, .. } = self;
        let opens = common_start.as_ref().is_some_and(|start| start.opens());
        let mut next_start = Nanos::MAX;
        if c.may_open() {
            next_start = if opens { users.sources.only().next_start() } else { users.sources.next_start() };
        }
        let at_most = match c.needs_frequent_checks() {
            true => IMPATIENCE,
            false if c.has_requests() => c.longest_wait(),
            false => STOP_CHECK_INTERVAL,
        };
        (c.now() + at_most)
            .min(next_start)
            .min(users.next_arrival(c).saturating_add(c.limits().slack))
            .min(users.sources.next_wake())
            .min(users.sources.next_change())
            .min(users.sources.next_end())
            .min(c.next_time())
    }

    /// Performs all actions that are triggered by time.
    #[inline]
    pub(super) fn keep_time(&mut self, stop: &Stop) {
        if self.common_start.is_some() {
            self.await_common_start();
        } else {
            self.apply_changes();
            self.users.keep_time(&mut self.connections);
        }
        if self.connections.are_fixed() {
            self.await_hold();
            self.replace_lost();
        }
        self.connections.keep_time();
        if self.connections.has_events() {
            self.users.process_and_flush(&mut self.connections);
        }
        self.check_end(stop);
    }

    /// Applies the requested changes of the load; each takes effect at the time set for it.
    #[inline]
    fn apply_changes(&mut self) {
        let now = self.connections.now();
        for ScheduledChange { at, change } in self.control.poll(now) {
            if self.connections.is_closing() {
                return;
            }
            self.connections.traffic().load_changed();
            self.users.sources.change(self.connections.limits(), at, change, now);
            if change == Change::Drain {
                // Seconds that were already reported as part of the window remain part of it.
                self.connections.traffic().ends_by(at.max(now));
            }
        }
    }

    fn check_end(&mut self, stop: &Stop) {
        if !self.connections.is_closing() && self.connections.now() >= self.connections.next_end() {
            // Arrivals that were due in the window but are late are sent in the drain; none is skipped.
            self.connections.close();
            self.users.stop_users(&mut self.connections);
        }
        let c = &self.connections;
        let standing = RunProgress {
            closing: c.is_closing(),
            any_due: self.users.sources.next_due() < Nanos::MAX,
            sources_over: self.common_start.is_none() && self.users.sources.are_over(c.limits(), c.now()),
            in_flight: c.has_requests(),
            iterates: self.users.is_within_iterations(c),
            ends: c.next_end(),
            now: c.now(),
        };
        if standing.is_over() {
            self.finish(stop, false, self.connections.now());
        }
    }

    /// Ends the run early, after a stop noticed at the end of a wait that began at `waits`. Data that arrived is
    /// processed, and nothing more is sent, because it could only stay unfinished. Arrivals due during a normal sleep
    /// coincided with the stop or followed it, and are not counted; arrivals due during a longer delay are.
    pub(super) fn interrupted(&mut self, stop: &Stop, waits: Nanos) {
        let now = self.connections.now();
        let until = waits.max(now - ASLEEP).min(now);
        if self.common_start.is_none() {
            self.connections.close();
            // Held connections are still established and are reported.
            if !self.connections.are_fixed() {
                self.users.stop_users(&mut self.connections);
            }
        }
        while let Some(arrived) = self.connections.next() {
            self.dispatch(arrived);
            if self.connections.is_turn_long() {
                break;
            }
        }
        self.finish(stop, true, until);
    }

    /// Ends the worker: unfinished requests and unsent arrivals due by `until` are censored, and all counts are
    /// reported.
    fn finish(&mut self, stop: &Stop, interrupted: bool, until: Nanos) {
        let now = self.connections.now();
        self.connections.traffic().report_early(true);
        self.users.censor_unsent(&mut self.connections, until);
        self.connections.traffic().censor_all();
        self.connections.read_finally(stop);
        self.users.end_all_iterations(&mut self.connections);
        self.connections.finish(now, interrupted, stop);
        self.over = true;
    }

    /// Sets the end of the run, with `--hold`, once the users of every worker hold their connections or failed to
    /// connect.
    pub(super) fn await_hold(&mut self) {
        if let Some(end) = self.users.hold_ends(&self.connections) {
            self.connections.traffic().ends_at(end);
        }
    }

    /// Reopens lost connections if arrivals use a fixed number of connections.
    pub(super) fn replace_lost(&mut self) {
        if !self.connections.limits().open || self.connections.is_closing() || self.common_start.is_some() {
            return;
        }
        let origin = self.users.sources.only().origin(0);
        let now = self.connections.now();
        if self.connections.may_replace(origin) && self.users.sources.only().take_start_permit(now) {
            self.connections.preopen(origin);
        }
    }
}
