//! Detection of a server that could not keep up with the requested rate.
//!
//! Under open load, requests arrive whether or not earlier ones were answered. If fewer are answered than scheduled,
//! the rest wait in a growing queue: the sustained rate is the server's capacity, and latencies consist mostly of
//! queueing time, which grows with the length of the run.
//!
//! That fewer are answered is no evidence of a queue: some requests may never get a response at any load. A queue is
//! seen when the requests in flight or waiting grow over the seconds, or, if timeouts keep them from growing, when even
//! the fastest responses take most of the timeout. Until the first requests are answered, those in flight grow without any
//! queue, to rate × latency (Little's law): growth counts from then on.

use brunt_measure::{Nanos, quantile, steady};
use brunt_record::{End, Kind, Second};

use crate::failure_kind::FailureKind as _;
use crate::ranked::headline;
use crate::sums::RunSums;

/// Share of the scheduled rate below which a server did not keep up.
const KEPT: f64 = 0.95;
/// Minimum queue length that counts as an overload, regardless of the request rate.
const LEAST_QUEUE: f64 = 10.0;
/// Length of the window, in seconds, below which the growth of a queue cannot be determined.
const LEAST_S: f64 = 2.0;
/// Share of the timeout, and multiple of the shortest response time, that the fastest responses of a second take when
/// all requests queue.
const OF_TIMEOUT: f64 = 0.5;
const OF_SHORTEST: f64 = 3.0;
/// Rank of the fastest responses: one of ten may have been lucky.
const FASTEST: f64 = 0.1;

/// The overload of a server that did not keep up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overload {
    /// Requests succeeded per second.
    pub sustained_per_s: f64,
    /// Requests scheduled per second.
    pub scheduled_per_s: f64,
    /// Growth of the queue per second; `None` if timeouts kept it from growing.
    pub growth_per_s: Option<f64>,
}

impl Overload {
    /// Detects an overload; `None` unless the run had a constant rate and was not cut short.
    pub fn of(run: &RunSums) -> Option<Overload> {
        let totals = &run.totals;
        let plan = run.started.as_ref().map(|started| &started.plan)?;
        let level = plan.load.is_open() && plan.is_level() && run.changes.is_empty();
        if !level || run.end != End::Completed || run.window.as_secs_f64() < LEAST_S {
            return None;
        }
        let (sustained, scheduled) = (run.throughput_per_s(), run.per_s(totals.due));
        if totals.finished_in_window == 0 || sustained >= KEPT * scheduled {
            return None;
        }
        let typical = headline_median(run) - plan.warmup;
        let growth = totals.backlog.growth_per_s(typical)?;
        let last = totals.backlog.last() as f64;
        let missing = (scheduled - sustained) * run.window.as_secs_f64();
        let timed_out: u64 = totals.failures.iter().filter(|f| f.is(Kind::Timeout)).map(|f| f.count).sum();
        let grew = growth > (1.0 - KEPT) * scheduled && last >= LEAST_QUEUE;
        let full = timed_out as f64 >= LEAST_QUEUE && totals.backlog.is_full(plan.timeout, shortest(run));
        // Requests that failed at once or got a wrong answer did not remain in the queue.
        let queued = last + timed_out as f64;
        ((grew || full) && queued >= missing / 2.0).then_some(Overload {
            sustained_per_s: sustained,
            scheduled_per_s: scheduled,
            growth_per_s: grew.then_some(growth),
        })
    }
}

/// Returns the shortest response time of the run, including that of the pre-flight request.
pub(crate) fn shortest(run: &RunSums) -> Nanos {
    let before = run.probe.as_ref().filter(|first| first.failure.is_none() && first.requests == 1);
    let within = Nanos(run.headline().finished.min());
    before.map_or(within, |first| within.min(first.took))
}

/// Returns the median response time of the requests that ended: in an overload, at most half of the window.
fn headline_median(run: &RunSums) -> Nanos {
    let finished = run.headline().finished;
    finished.at_rank(quantile::rank_of(finished.count(), 0.5)).unwrap_or_default()
}

/// Maximum number of points kept; above it, every second one is dropped.
const POINTS: usize = 240;

/// The backlog (requests scheduled and not ended) over the window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Backlog {
    points: Vec<BacklogPoint>,
    /// Number of seconds seen, and of those between two points.
    seen: usize,
    apart: usize,
    last: Option<BacklogPoint>,
}

/// The backlog at the end of a second.
#[derive(Clone, Copy, Debug, PartialEq)]
struct BacklogPoint {
    to_ns: i64,
    requests: u64,
    /// Latency of the fastest responses in the second; `None` without any.
    fastest: Option<Nanos>,
}

impl Backlog {
    /// Adds a second of the window.
    pub(crate) fn add(&mut self, s: &Second) {
        // Only open load has a backlog, and its headline is the response time.
        let finished = headline(&s.latency, true).finished;
        let fastest = finished.at_rank(quantile::rank_of(finished.count(), FASTEST));
        let requests = u64::from(s.in_flight) + u64::from(s.waiting);
        let now = BacklogPoint { to_ns: s.to_ns, requests, fastest };
        self.last = Some(now);
        self.apart = self.apart.max(1);
        if self.seen.is_multiple_of(self.apart) {
            if self.points.len() == POINTS {
                self.points = self.points.iter().step_by(2).copied().collect();
                self.apart *= 2;
            }
            self.points.push(now);
        }
        self.seen += 1;
    }

    /// Returns the backlog at the end.
    pub fn last(&self) -> u64 {
        self.last.map_or(0, |last| last.requests)
    }

    /// Returns the growth per second, as the median over all pairs of seconds: what happened only near one end of the
    /// window, such as a stall, is no growth. Nor is what happened in half of the seconds or fewer, which the median
    /// over the pairs of a few seconds does not rule out. Only the time after `typical`, the usual response time, counts.
    /// `None` with fewer than two such seconds.
    pub fn growth_per_s(&self, typical: Nanos) -> Option<f64> {
        let filling = self.points.partition_point(|point| point.to_ns < typical.0 as i64);
        let (filled, points) = self.points.split_at(filling);
        let (first, last) = (points.first()?, points.last()?);
        let before = filled.last().map_or(0, |point| point.requests);
        let before = std::iter::once(before).chain(points.iter().map(|point| point.requests));
        let growing = before.zip(points).filter(|(before, point)| point.requests > *before).count();
        if growing * 2 <= points.len() {
            return (points.len() > 1).then_some(0.0);
        }
        let span_s = last.to_ns.saturating_sub(first.to_ns) as f64 / 1e9;
        let steps = points.len().checked_sub(1).filter(|steps| *steps > 0)? as f64;
        let requests: Vec<f64> = points.iter().map(|point| point.requests as f64).collect();
        (span_s > 0.0).then(|| steady::slope(&requests) * steps / span_s)
    }

    /// Returns `true` if, in the second half of the seconds with responses, even the fastest ones waited most of the
    /// timeout, and far longer than the shortest of the run.
    fn is_full(&self, timeout: Nanos, shortest: Nanos) -> bool {
        let fastest: Vec<f64> = self.points.iter().filter_map(|p| p.fastest).map(|time| time.0 as f64).collect();
        let later = steady::median(&fastest[fastest.len() / 2..]);
        later >= OF_TIMEOUT * timeout.0 as f64 && later >= OF_SHORTEST * shortest.0 as f64 && later > 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backlog(seconds: impl IntoIterator<Item = (u32, u64)>) -> Backlog {
        let mut backlog = Backlog::default();
        for (at, (waiting, fastest_ms)) in seconds.into_iter().enumerate() {
            let to_ns = (at as i64 + 1) * 1_000_000_000;
            let mut second = Second { to_ns, waiting, ..Second::default() };
            second.latency.response.record_n(Nanos::from_millis(fastest_ms), 20);
            backlog.add(&second);
        }
        backlog
    }

    #[test]
    fn a_backlog_grows_throughout_or_not_at_all() {
        let growth = |seconds: Vec<u32>| backlog(seconds.into_iter().map(|n| (n, 5))).growth_per_s(Nanos::ZERO);
        assert_eq!(growth((1..=10).map(|n| 80 * n).collect()), Some(80.0));
        assert_eq!(growth(vec![900; 10]), Some(0.0), "a late start is no growth");
        assert_eq!(growth(vec![3, 3, 3, 3, 3, 3, 3, 3, 103, 203]), Some(0.0), "a stall at the end");
        assert_eq!(growth(vec![0, 0, 140]), Some(0.0), "a stall at the end of a short run");
        assert_eq!(growth(vec![7]), None);
        let long = backlog((0..100_000).map(|n| (3 * n, 5)));
        assert!(long.points.len() <= POINTS && (long.growth_per_s(Nanos::ZERO).unwrap() - 3.0).abs() < 0.1);
        assert_eq!(long.last(), 3 * 99_999);
    }

    #[test]
    fn requests_in_flight_before_the_first_are_answered_are_no_queue() {
        let growth = |seconds: &[u32], typical_ms| {
            backlog(seconds.iter().map(|n| (*n, 5))).growth_per_s(Nanos::from_millis(typical_ms))
        };
        assert_eq!(growth(&[20, 40, 60, 60, 60], 3000), Some(0.0), "20/s of 3 s each");
        assert_eq!(growth(&[10, 20, 30, 40, 45, 45, 45, 45, 45, 45], 4500), Some(0.0));
        assert_eq!(growth(&[20, 40, 60, 70, 80], 3000), Some(10.0), "it grows on");
        assert_eq!(growth(&[10, 20, 30], 3000), None, "nothing was answered long enough");
    }

    #[test]
    fn a_full_queue_delays_even_the_fastest() {
        let second = Nanos::from_secs(1);
        let full = |ms: [u64; 4], shortest| backlog(ms.map(|ms| (9, ms))).is_full(second, Nanos::from_millis(shortest));
        assert!(full([400, 900, 950, 950], 5));
        assert!(!full([5, 5, 5, 6], 5), "others may never be answered, but these do not queue");
        assert!(!full([600, 600, 600, 600], 550), "it takes that long");
    }
}
