//! Self-monitoring of the generator: whether a worker was running when something happened.
//!
//! Answers are timestamped when they are read, so a worker that is busy, waiting for a core or suspended makes the
//! server look slow. Three measurements contribute to the verdict:
//!
//! - `loop_gap`: stretches in which the loop did not poll its sockets: the length of a turn, and the delay of the end
//!   of a wait.
//! - `wake_delay`: how long the thread waited for a core after a wait, as reported by the scheduler, for all waits but
//!   the shortest ([`crate::own_delay`]).
//! - how the thread ran in each second: its time on a core, its time ready without one, and enforcement of its CPU
//!   quota.

use brunt_contract::ThreadStats;
use brunt_measure::Nanos;
use brunt_record::Latency;

use crate::tally::UnsummedCounts;

/// Minimum length of a recorded gap, which is about the length of a turn with a few requests.
const MIN_GAP: Nanos = Nanos::from_micros(20);

/// A worker's measurements of itself since the last second was passed on.
#[derive(Debug, Default)]
pub(super) struct Health {
    /// Time at which the sockets were last polled, or a wait for them began.
    last_poll: Nanos,
    /// Time at which the current wait should end; zero if there is none.
    wait_end: Nanos,
    /// The thread's statistics when the second began.
    second_began: ThreadStats,
}

impl Health {
    /// Begins the run: time before it is not recorded.
    pub fn begin(&mut self, running: ThreadStats, now: Nanos) {
        (self.second_began, self.last_poll) = (running, now);
    }

    /// Records the beginning of a wait that should end at `until`.
    #[inline]
    pub fn begin_wait(&mut self, until: Nanos) {
        self.wait_end = until;
    }

    /// Returns the part of `spun` that the thread can actually have spent polling since the last count: at most its CPU
    /// time, if that is known.
    pub fn poll_time(&self, now: ThreadStats, spun: Nanos) -> Nanos {
        if now.cpu == Nanos::ZERO { spun } else { spun.min(now.cpu - self.second_began.cpu) }
    }

    /// Records the scheduling of the thread in the second that ends at `to`. `busy` is the time since which requests
    /// have been in flight without a break. Time spent polling was available for work, so it does not count as busy.
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

    /// Records that the sockets are polled next: the gap since the last poll.
    #[inline]
    pub fn begin_poll(&mut self, now: Nanos, times: &mut Latency) {
        note(now - self.last_poll, times);
        self.last_poll = now;
    }

    /// Records the end of a wait that should have ended at `until`.
    #[inline]
    pub fn end_wait(&mut self, until: Nanos, now: Nanos, times: &mut Latency) {
        note(now - until.max(self.last_poll), times);
        (self.last_poll, self.wait_end) = (now, Nanos::ZERO);
    }

    /// Splits a gap at `to`, the end of the warm-up or of the window: the part before is recorded now, and the
    /// remainder is counted from `to`. Returns the part before.
    pub fn split_gap(&mut self, to: Nanos, times: &mut Latency) -> Nanos {
        let gap = to - self.last_poll.max(self.wait_end);
        note(gap, times);
        self.last_poll = self.last_poll.max(to);
        gap
    }
}

#[inline]
fn note(gap: Nanos, times: &mut Latency) {
    if gap >= MIN_GAP {
        times.loop_gap.record(gap);
    }
}
