//! Timeouts of the steps of opening a connection.

use brunt_measure::Nanos;

use crate::ids::ConnId;
use crate::timers::Wheel;

/// Timers of the slots used so far. A timer outlives its connection, and then watches the next one in the slot.
#[derive(Debug)]
pub(crate) struct OpeningTimers {
    timeout: Nanos,
    timers: Wheel,
    watched: Vec<bool>,
}

impl OpeningTimers {
    /// Creates timers for steps that may take `timeout`.
    pub fn new(timeout: Nanos, now: Nanos) -> OpeningTimers {
        OpeningTimers { timeout, timers: Wheel::new(timeout, now), watched: Vec::new() }
    }

    /// Watches a step that began at `since` in this slot.
    pub fn watch(&mut self, conn: ConnId, since: Nanos) {
        if self.watched.len() <= conn.at() {
            self.watched.resize(conn.at() + 1, false);
        }
        if !std::mem::replace(&mut self.watched[conn.at()], true) {
            self.timers.watch(conn.0, since + self.timeout);
        }
    }

    /// Returns when the next timeout may expire.
    #[inline]
    pub fn next(&self) -> Nanos {
        self.timers.next()
    }

    /// Returns the slots whose timers have fired at `now`, each to be checked with [`crate::links::Links::times_out`].
    pub fn take_expired(&mut self, now: Nanos) -> Vec<ConnId> {
        let mut came_up = Vec::new();
        self.timers.due(now, &mut came_up);
        came_up.into_iter().map(ConnId).collect()
    }

    /// Returns `true` if the step that began at `since` in this slot has timed out; `since` is `None` if nothing is
    /// being opened there.
    pub fn times_out(&mut self, conn: ConnId, since: Option<Nanos>, now: Nanos) -> bool {
        self.watched[conn.at()] = false;
        let Some(since) = since else { return false };
        let over = since + self.timeout <= now;
        if !over {
            self.watch(conn, since);
        }
        over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_has_its_own_time_and_a_slot_one_timer() {
        let ms = Nanos::from_millis;
        let mut openings = OpeningTimers::new(ms(1000), ms(0));
        openings.watch(ConnId(3), ms(0));
        openings.watch(ConnId(3), ms(5));
        assert_eq!(openings.take_expired(ms(1010)), [ConnId(3)], "one timer, however often it is watched");
        assert!(!openings.times_out(ConnId(3), Some(ms(600)), ms(1010)), "its TLS began later");
        assert_eq!(openings.take_expired(ms(1500)), []);
        assert_eq!(openings.take_expired(ms(1620)), [ConnId(3)]);
        assert!(openings.times_out(ConnId(3), Some(ms(600)), ms(1620)));
        openings.watch(ConnId(3), ms(1700));
        assert_eq!(openings.take_expired(ms(2710)), [ConnId(3)]);
        assert!(!openings.times_out(ConnId(3), None, ms(2710)), "it stands by now");
    }
}
