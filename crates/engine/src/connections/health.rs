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
use record::Latency;
use wire::{Network, Running};

use crate::tally::Apart;

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

    /// The sockets are asked next; how late that is, and whether the wait for them is sampled.
    #[inline]
    pub fn looks(&mut self, now: Nanos, net: &mut impl Network, times: &mut Latency) {
        note(now - self.looked, times);
        self.looked = now;
        if now >= self.next_sample {
            self.next_sample = now + SAMPLE_EVERY;
            self.sampled = net.ready_time();
        }
    }

    /// A wait that was to end at `until` is over.
    #[inline]
    pub fn woke(&mut self, until: Nanos, now: Nanos, net: &mut impl Network, times: &mut Latency) {
        note(now - until.max(self.looked), times);
        (self.looked, self.asleep) = (now, Nanos::ZERO);
        if let Some(before) = self.sampled.take()
            && let Some(ready) = net.ready_time()
        {
            times.wake_delay.record(ready - before);
        }
    }

    /// The warm-up or the window ends at `to`, and is told that we are not there; what follows is told of the rest.
    pub fn gap_ends(&mut self, to: Nanos, times: &mut Latency) {
        note(to - self.looked.max(self.asleep), times);
        self.looked = self.looked.max(to);
    }
}

#[inline]
fn note(gap: Nanos, times: &mut Latency) {
    if gap >= NOTABLE {
        times.loop_gap.record(gap);
    }
}
