//! Iterations and groups of a flow as JSON has them.

use plan::scenarios::SpanName;
use serde::Serialize;

use super::distribution::Distribution;
use crate::iterations::SpanRow;
use crate::summary::Summary;

/// The iterations of a flow, or its groups of one name.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SpanReport<'a> {
    /// Of one scenario among several: its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    scenario: Option<&'a str>,
    /// The group's name; `iteration` for iterations as a whole.
    name: &'a str,
    /// Iterations: due, or begun by a user, those left out that were dropped. Groups: begun. Warm-up left out.
    started: u64,
    /// Iterations that were due when there were as many users as there may be: none of them was begun.
    dropped: u64,
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
        scenario: row.scenario,
        name: row.group.unwrap_or(SpanName::ITERATION),
        started: row.started(),
        dropped: counts.dropped,
        succeeded: counts.finished,
        failed: counts.failed,
        cut: counts.censored,
        throughput_per_s: summary.per_s(row.totals.finished_in_window),
        duration: Distribution::of(row.duration()),
        active: Distribution::of(row.active()),
    }
}
