//! Iterations and groups of a flow as JSON has them.

use schemars::JsonSchema;
use serde::Serialize;

use super::distribution::Distribution;
use crate::iterations::{ITERATION, SpanRow};
use crate::summary::Summary;

/// The iterations of a flow, or its groups of one name.
#[derive(Serialize, JsonSchema)]
pub struct SpanReport<'a> {
    /// The group's name; `iteration` for iterations as a whole.
    name: &'a str,
    /// Iterations: due, or begun by a user. Groups: begun. Warm-up left out.
    started: u64,
    /// Ended, and none of its requests failed.
    succeeded: u64,
    /// Ended, and a request of it failed.
    failed: u64,
    /// Without an end when the run ended.
    cut: u64,
    /// Successes that ended within the window ÷ its length.
    throughput_per_s: f64,
    /// From when an iteration was due (a group: its first request) to the end of its last step (a group: its last response).
    duration: Distribution<'a>,
    /// The same without pauses, of those that succeeded.
    active: Distribution<'a>,
}

/// Iterations first, then each group.
pub fn reports(summary: &Summary) -> Vec<SpanReport<'_>> {
    summary.spans().map(|row| of(row, summary)).collect()
}

fn of<'a>(row: SpanRow<'a>, summary: &Summary) -> SpanReport<'a> {
    let counts = &row.totals.counts;
    SpanReport {
        name: row.group.unwrap_or(ITERATION),
        started: counts.due,
        succeeded: counts.finished,
        failed: counts.failed,
        cut: counts.censored,
        throughput_per_s: summary.per_s(row.totals.finished_in_window),
        duration: Distribution::of(row.duration()),
        active: Distribution::of(row.active()),
    }
}
