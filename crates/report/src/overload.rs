//! Detection of a server that could not keep up with the requested rate.
//!
//! Under open load, requests arrive whether or not earlier ones were answered. If fewer are answered than scheduled,
//! the rest wait in a growing queue: the sustained rate is the server's capacity, and latencies consist mostly of
//! queueing time, which grows with the length of the run.

use brunt_record::{End, Kind};

use crate::failure_kind::FailureKind as _;
use crate::sums::RunSums;

/// Share of the scheduled rate below which a server did not keep up.
const KEPT: f64 = 0.95;
/// Minimum queue length that counts as an overload, regardless of the request rate.
const LEAST_QUEUE: f64 = 10.0;
/// Length of the window, in seconds, below which the growth of a queue cannot be determined.
const LEAST_S: f64 = 2.0;

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
        let level =
            run.started.as_ref().is_some_and(|s| s.plan.load.is_open() && s.plan.is_level()) && run.changes.is_empty();
        if !level || run.end != End::Completed || run.window.as_secs_f64() < LEAST_S {
            return None;
        }
        let (sustained, scheduled) = (run.throughput_per_s(), run.per_s(totals.due));
        if totals.finished_in_window == 0 || sustained >= KEPT * scheduled {
            return None;
        }
        let (growth, last) = totals.backlog.growth()?;
        let missing = (scheduled - sustained) * run.window.as_secs_f64();
        let timed_out: u64 = totals.failures.iter().filter(|f| f.is(Kind::Timeout)).map(|f| f.count).sum();
        let grew = growth > (1.0 - KEPT) * scheduled && last as f64 >= LEAST_QUEUE;
        // Requests that failed at once or got a wrong answer did not remain in the queue.
        let queued = (last + timed_out) as f64;
        (queued >= LEAST_QUEUE && queued >= missing / 2.0).then_some(Overload {
            sustained_per_s: sustained,
            scheduled_per_s: scheduled,
            growth_per_s: grew.then_some(growth),
        })
    }
}
