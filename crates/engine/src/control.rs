//! Changes of the load during a run.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use brunt_measure::{Clock, Nanos};
use brunt_plan::{Change, Plan};

/// Delay before a change takes effect, by which time every worker in every process has received it.
const AHEAD: Nanos = Nanos::from_millis(300);

/// A handle that changes the load during a run, used by a terminal, a console or an agent. A change takes effect at a
/// time in the near future, on all workers at once, and is recorded.
#[derive(Clone, Debug, Default)]
pub struct Control(Arc<ChangeLog>);

#[derive(Debug, Default)]
struct ChangeLog {
    /// Number of changes. Workers poll only this, without a lock.
    count: AtomicUsize,
    list: Mutex<Vec<ScheduledChange>>,
}

/// A change with the time at which it takes effect, on the clock of this process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ScheduledChange {
    pub at: Nanos,
    pub change: Change,
}

impl Control {
    /// Requests a change for a run of this plan. Returns the time (monotonic clock) at which it takes effect.
    ///
    /// # Errors
    /// The plan does not support this change; the message names one that it supports.
    pub fn change(&self, plan: &Plan, change: Change) -> Result<Nanos, String> {
        change.check(plan)?;
        let mut list = self.list();
        if list.last().is_some_and(|last| last.change == Change::Drain) {
            return Err("the run is already ending, and only waits for requests in flight".into());
        }
        let at = list.last().map_or(Nanos::ZERO, |last| last.at).max(Clock.now() + AHEAD);
        self.add(&mut list, ScheduledChange { at, change });
        Ok(at)
    }

    /// Adds a change whose time was set by another process.
    pub(crate) fn add_scheduled(&self, stamped: ScheduledChange) {
        self.add(&mut self.list(), stamped);
    }

    /// Returns the changes beyond the first `seen`, each with the time (monotonic clock) at which it takes effect, for
    /// workers on other machines.
    pub fn scheduled_since(&self, seen: usize) -> Vec<(Nanos, Change)> {
        self.since(seen).into_iter().map(|ScheduledChange { at, change }| (at, change)).collect()
    }

    /// Returns the changes beyond the first `seen`.
    pub(crate) fn since(&self, seen: usize) -> Vec<ScheduledChange> {
        if self.0.count.load(Ordering::Acquire) <= seen {
            return Vec::new();
        }
        self.list().get(seen..).unwrap_or_default().to_vec()
    }

    fn add(&self, list: &mut Vec<ScheduledChange>, stamped: ScheduledChange) {
        list.push(stamped);
        self.0.count.store(list.len(), Ordering::Release);
    }

    fn list(&self) -> MutexGuard<'_, Vec<ScheduledChange>> {
        self.0.list.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// One worker's position in the list of changes.
#[derive(Debug)]
pub(crate) struct ControlCursor {
    control: Control,
    seen: usize,
    /// Time of the next poll.
    next_poll: Nanos,
}

/// Interval at which a worker polls: well within [`AHEAD`].
const LOOK: Nanos = Nanos::from_millis(50);

impl ControlCursor {
    pub fn new(control: Control) -> ControlCursor {
        ControlCursor { control, seen: 0, next_poll: Nanos::ZERO }
    }

    /// Returns the changes since the last poll, if a poll is due.
    #[inline]
    pub fn poll(&mut self, now: Nanos) -> Vec<ScheduledChange> {
        if now < self.next_poll {
            return Vec::new();
        }
        self.next_poll = now + LOOK;
        let new = self.control.since(self.seen);
        self.seen += new.len();
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::harness::{SECOND, SimPlan};

    #[test]
    fn changes_hold_from_a_moment_to_come_one_after_the_other() {
        let (open, closed) =
            (SimPlan::open(5.0, brunt_plan::Arrivals::Poisson, SECOND).plan, SimPlan::closed(5, SECOND).plan);
        let control = Control::default();
        let before = Clock.now();
        let first = control.change(&open, Change::Rate(5.0)).unwrap();
        let second = control.clone().change(&open, Change::Pause).unwrap();
        assert!(first >= before + AHEAD && second >= first);
        let held = Plan { hold: Some(SECOND), ..closed.clone() };
        for (plan, change) in [
            (&open, Change::Users(3)),
            (&open, Change::Rate(0.0)),
            (&open, Change::Rate(f64::NAN)),
            (&open, Change::Rate(1e308)),
            (&open, Change::Rate(1.001 * Change::MOST_RATE)),
            (&closed, Change::Users(Change::MOST_USERS + 1)),
            (&closed, Change::Rate(3.0)),
            (&closed, Change::Users(0)),
            (&held, Change::Pause),
        ] {
            assert!(control.change(plan, change).is_err(), "{change:?}");
        }
        let seen: Vec<Change> = control.since(0).iter().map(|stamped| stamped.change).collect();
        assert_eq!(seen, [Change::Rate(5.0), Change::Pause]);
        assert_eq!((control.since(1).len(), control.since(2).len(), control.since(9).len()), (1, 0, 0));
        assert!(control.change(&open, Change::Drain).is_ok());
        assert!(control.change(&open, Change::Resume).is_err(), "it ends");
    }

    #[test]
    fn a_worker_sees_each_change_once() {
        let control = Control::default();
        let mut heeding = ControlCursor::new(control.clone());
        assert!(heeding.poll(Nanos(1)).is_empty());
        let stamped = ScheduledChange { at: Nanos(9), change: Change::Pause };
        control.add_scheduled(stamped);
        assert!(heeding.poll(LOOK).is_empty(), "not yet");
        assert_eq!(heeding.poll(LOOK + Nanos(1)), [stamped]);
        assert!(heeding.poll(LOOK + LOOK + LOOK).is_empty());
    }
}
