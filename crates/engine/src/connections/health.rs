//! Self-monitoring of the generator: whether a worker was running when something happened.
//!
//! Answers are stamped when they are read, so a worker that is busy, waits for a core or is stopped makes the server
//! look slow. Three things are measured for the verdict:
//!
//! - `loop_gap`: stretches in which the loop did not poll its sockets: the length of a turn, and the delay with which a
//!   wait ended.
//! - `wake_delay`: how long the thread waited for a core when a wait was over, as reported by the scheduler, for a
//!   sample of the waits.
//! - how the thread ran in each second: time on a core, time ready without one, its CPU quota enforced.

use brunt_contract::{Network, ThreadStats};
use brunt_measure::Nanos;
use brunt_record::Latency;

use crate::tally::UnsummedCounts;

/// Minimum length of a gap to be recorded: a turn of a few requests takes that long.
const MIN_GAP: Nanos = Nanos::from_micros(20);
/// Minimum interval between samples: 200 a second cost under 0.1 % of a core.
const SAMPLE_EVERY: Nanos = Nanos::from_millis(5);

/// A worker's observations of itself since the last second was passed on.
#[derive(Debug, Default)]
pub(super) struct Health {
    /// Time when the sockets were last polled, or a wait for them began.
    last_poll: Nanos,
    /// Time when the current wait is to end; zero if there is none.
    wait_end: Nanos,
    next_sample: Nanos,
    /// The scheduler's reading before a sampled wait.
    sampled: Option<Nanos>,
    /// The thread's running times when the second began.
    second_began: ThreadStats,
}

impl Health {
    /// Begins the run: the time before is in no figure.
    pub fn begin(&mut self, running: ThreadStats, now: Nanos) {
        (self.second_began, self.last_poll) = (running, now);
    }

    /// Records that a wait begins that is to end at `until`.
    #[inline]
    pub fn begin_wait(&mut self, until: Nanos) {
        self.wait_end = until;
    }

    /// Returns how much of the thread's time since the last count can have been spent polling: no more than it ran,
    /// where that is known.
    pub fn poll_time(&self, now: ThreadStats, spun: Nanos) -> Nanos {
        if now.cpu == Nanos::ZERO { spun } else { spun.min(now.cpu - self.second_began.cpu) }
    }

    /// Records how the thread ran in the second that ends at `to`, in which requests were in flight without a break
    /// since `busy`. Time spent polling was available for work.
    pub fn count(
        &mut self,
        now: ThreadStats,
        polled: Nanos,
        busy: Option<Nanos>,
        to: Nanos,
        apart: &mut UnsummedCounts,
    ) {
        let since = std::mem::replace(&mut self.second_began, now);
        apart.busiest_cpu_ns = (now.cpu - since.cpu - polled).0;
        apart.ready_ns = (now.ready - since.ready).0;
        apart.periods = now.periods.saturating_sub(since.periods);
        apart.throttled = now.throttled.saturating_sub(since.throttled);
        if let Some(busy) = busy.filter(|_| apart.first_success == 0) {
            apart.busy_for = (to - busy).0 + 1;
        }
    }

    /// Records that the sockets are polled next: how late that is, and the start of a sample where one is due.
    #[inline]
    pub fn begin_poll(&mut self, now: Nanos, net: &mut impl Network, times: &mut Latency) {
        note(now - self.last_poll, times);
        self.last_poll = now;
        if now >= self.next_sample {
            self.next_sample = now + SAMPLE_EVERY;
            self.sampled = net.ready_time();
        }
    }

    /// Records the end of a wait that was to end at `until`.
    #[inline]
    pub fn end_wait(&mut self, until: Nanos, now: Nanos, net: &mut impl Network, times: &mut Latency) {
        note(now - until.max(self.last_poll), times);
        (self.last_poll, self.wait_end) = (now, Nanos::ZERO);
        if let Some(before) = self.sampled.take()
            && let Some(ready) = net.ready_time()
        {
            times.wake_delay.record(ready - before);
        }
    }

    /// Splits a gap at the end of the warm-up or window `to`: the part before is recorded now, the rest counts from
    /// there.
    pub fn split_gap(&mut self, to: Nanos, times: &mut Latency) {
        note(to - self.last_poll.max(self.wait_end), times);
        self.last_poll = self.last_poll.max(to);
    }
}

#[inline]
fn note(gap: Nanos, times: &mut Latency) {
    if gap >= MIN_GAP {
        times.loop_gap.record(gap);
    }
}
