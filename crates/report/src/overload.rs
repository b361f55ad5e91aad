//! What a run says about a server that could not keep up with the rate that was asked of it.
//!
//! In open load requests come whether or not earlier ones were answered. Where fewer were answered than were scheduled, the
//! rest waits, and what waits grows: the rate that was kept is the server's capacity, and every latency of the run is that of
//! a queue, longer the longer the run.

use record::{End, Kind};

use crate::kinds::Kinds as _;
use crate::sums::Sums;

/// Less of what was scheduled than this was kept.
const KEPT: f64 = 0.95;
/// So many requests at least make a queue, whatever the rate.
const LEAST_QUEUE: f64 = 10.0;
/// Seconds of the window below which the queue has not shown whether it grows.
const LEAST_S: f64 = 2.0;

/// A server that did not keep up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overload {
    /// Requests succeeded per second.
    pub sustained_per_s: f64,
    /// Requests scheduled per second.
    pub scheduled_per_s: f64,
    /// How much longer the queue became each second; None where time-outs kept it from growing.
    pub growth_per_s: Option<f64>,
}

impl Overload {
    /// What a run shows of one, where its rate was level and it ran to its end.
    pub fn of(run: &Sums) -> Option<Overload> {
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
        // What failed at once, or was answered wrongly, was no queue's doing.
        let queued = (last + timed_out) as f64;
        (queued >= LEAST_QUEUE && queued >= missing / 2.0).then_some(Overload {
            sustained_per_s: sustained,
            scheduled_per_s: scheduled,
            growth_per_s: grew.then_some(growth),
        })
    }
}
