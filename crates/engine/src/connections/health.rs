//! The generator watches itself: whether a worker was there when something happened.
//!
//! Answers are stamped when they are read, so a worker that is busy, waits for a core or is stopped makes the server look
//! slow. Three things are counted for the verdict:
//!
//! - `loop_gap`: stretches in which the loop did not look at its sockets: the length of a turn, and how much later than
//!   asked for a wait ended.
//! - `wake_delay`: how long the thread waited for a core when a wait was over, as the scheduler tells it, for a sample of
//!   the waits.
//! - how the thread ran in each second: time on a core, time ready without one, its CPU quota enforced.

use measure::Nanos;
use wire::{Network, Running};

use crate::tally::Apart;

use super::Connections;

/// Shorter gaps are not kept: a turn of a few requests is that long.
const NOTABLE: Nanos = Nanos::from_micros(20);
/// A wait is sampled at most so often: 200 times a second cost under 0.1 % of a core.
const SAMPLE_EVERY: Nanos = Nanos::from_millis(5);

/// What a worker knows of itself since the last second was handed on.
#[derive(Debug, Default)]
pub(super) struct Health {
    /// When the sockets were last asked, or began to be waited for.
    looked: Nanos,
    /// Until when the wait at hand is to last; zero while there is none.
    asleep: Nanos,
    next_sample: Nanos,
    /// The scheduler's account before a sampled wait.
    sampled: Option<Nanos>,
    /// How the thread had run when the second began.
    since: Running,
}

impl Health {
    /// The run begins: what came before it is in no figure.
    pub fn begin(&mut self, running: Running, now: Nanos) {
        (self.since, self.looked) = (running, now);
    }

    /// A wait begins that is to end at `until`.
    #[inline]
    pub fn waits(&mut self, until: Nanos) {
        self.asleep = until;
    }

    /// How much of the thread's time since this was counted last can have been polled away: no more than it ran, where that is
    /// known.
    pub fn polled(&self, now: Running, spun: Nanos) -> Nanos {
        if now.cpu == Nanos::ZERO { spun } else { spun.min(now.cpu - self.since.cpu) }
    }

    /// How the thread ran in the second that ends at `to`, in which requests were in flight without a break since `busy`. What
    /// of its time was polled away was free for work.
    pub fn count(&mut self, now: Running, polled: Nanos, busy: Option<Nanos>, to: Nanos, apart: &mut Apart) {
        let since = std::mem::replace(&mut self.since, now);
        apart.busiest_cpu_ns = (now.cpu - since.cpu - polled).0;
        apart.ready_ns = (now.ready - since.ready).0;
        apart.periods = now.periods.saturating_sub(since.periods);
        apart.throttled = now.throttled.saturating_sub(since.throttled);
        if let Some(busy) = busy.filter(|_| apart.first_success == 0) {
            apart.busy_for = (to - busy).0 + 1;
        }
    }
}

impl<N: Network> Connections<N> {
    /// A turn is over, and the next wait begins. A turn that is left for a look at the time goes on: the sockets are not
    /// asked again before its end.
    #[inline]
    pub(crate) fn before_wait(&mut self) {
        self.mark();
        if !self.turn.is_cut() {
            self.note_gap(self.stamp - self.health.looked);
            self.health.looked = self.stamp;
            if self.stamp >= self.health.next_sample {
                self.health.next_sample = self.stamp + SAMPLE_EVERY;
                self.health.sampled = self.links.net().ready_time();
            }
        }
        self.spin.turn_is_over(self.stamp);
    }

    /// A wait that was to end at `until` is over.
    #[inline]
    pub(crate) fn after_wait(&mut self, until: Nanos) {
        if self.turn.is_cut() {
            return;
        }
        self.note_gap(self.stamp - until.max(self.health.looked));
        (self.health.looked, self.health.asleep) = (self.stamp, Nanos::ZERO);
        if let Some(before) = self.health.sampled.take()
            && let Some(now) = self.links.net().ready_time()
        {
            self.books.times().wake_delay.record(now - before);
        }
    }

    /// The warm-up or the window ends at `to`, and is told that we are not there; what follows is told of the rest.
    pub(crate) fn gap_ends(&mut self, to: Nanos) {
        self.note_gap(to - self.health.looked.max(self.health.asleep));
        self.health.looked = self.health.looked.max(to);
    }

    #[inline]
    fn note_gap(&mut self, gap: Nanos) {
        if gap >= NOTABLE {
            self.books.times().loop_gap.record(gap);
        }
    }
}
