//! Iterations and groups of a flow in the JSON report.

use brunt_plan::scenarios::SpanName;
use serde::Serialize;

use super::distribution::Distribution;
use crate::iterations::SpanRow;
use crate::summary::Summary;

/// The iterations of a flow, or its groups of one name.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SpanReport<'a> {
    /// Name of the scenario, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    scenario: Option<&'a str>,
    /// Name of the group; `iteration` for iterations as a whole.
    name: &'a str,
    /// Iterations: due, or begun by a user, excluding dropped ones. Groups: begun. Excludes the warm-up.
    started: u64,
    /// Iterations dropped because the maximum number of users was already in use when they were due; none of
    /// them was begun.
    dropped: u64,
    /// Ended without a failed request.
    succeeded: u64,
    /// Ended with a failed request.
    failed: u64,
    /// Unfinished when the run ended.
    cut: u64,
    /// Successes that completed within the window ÷ its length.
    throughput_per_s: f64,
    /// Time from when an iteration was due (a group: its first request) to the end of its last step (a group:
    /// its last response).
    duration: Distribution<'a>,
    /// Duration without pauses, of those that succeeded.
    active: Distribution<'a>,
}

/// Returns iterations first, then each group.
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
