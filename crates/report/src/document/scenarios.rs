//! Scenarios side by side as JSON has them.

use std::collections::BTreeMap;

use record::Second;
use serde::Serialize;

use super::distribution::Distribution;
use crate::summary::Summary;

/// The requests of one scenario.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScenarioReport<'a> {
    /// Its name.
    name: &'a str,
    /// Scheduled, warm-up left out.
    scheduled: u64,
    /// Succeeded.
    succeeded: u64,
    /// Failed.
    failed: u64,
    /// Still without an end when the run ended, or the scenario did.
    unfinished: u64,
    /// Successes that completed within the window ÷ its length, including those of warm-up requests.
    throughput_per_s: f64,
    /// Bytes of payload of the responses.
    payload: u64,
    /// Users at a time, on average over the window; of a rate those within an iteration.
    users_mean: f64,
    /// Status code → count.
    status: &'a BTreeMap<String, u64>,
    /// Latency: response where a scenario of the run has a rate, else service.
    latency: Distribution<'a>,
}

/// What a second held of one scenario.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScenarioSecond<'a> {
    /// Its name.
    name: &'a str,
    /// Users at its end; of a rate those within an iteration.
    users: u64,
    /// Requests scheduled in it.
    scheduled: u64,
    /// Successes that ended in it.
    succeeded: u64,
    /// Failures that ended in it.
    failed: u64,
    /// Iterations begun or due in it, those left out that were dropped.
    iterations_started: u64,
    /// Iterations that ended in it, and none of whose requests failed.
    iterations_succeeded: u64,
    /// Iterations that were due in it and dropped.
    iterations_dropped: u64,
}

/// What each comes to; None where the run has none.
pub fn reports(summary: &Summary) -> Option<Vec<ScenarioReport<'_>>> {
    let rows = summary.scenarios().map(|row| {
        let (totals, counts) = (row.totals, &row.totals.counts);
        ScenarioReport {
            name: row.name,
            scheduled: counts.due,
            succeeded: counts.finished,
            failed: counts.failed,
            unfinished: counts.censored,
            throughput_per_s: summary.per_s(totals.finished_in_window),
            payload: counts.payload,
            users_mean: summary.per_s(totals.users_ns_in_window) / 1e9,
            status: &totals.status,
            latency: Distribution::of(totals.ranked()),
        }
    });
    Some(rows.collect::<Vec<_>>()).filter(|rows| !rows.is_empty())
}

/// What a second held of each; None where the run has none.
pub fn of_second<'a>(second: &Second, summary: &'a Summary) -> Option<Vec<ScenarioSecond<'a>>> {
    let plan = summary.started.as_deref().map(|started| &started.plan);
    let names: Vec<&str> = plan.iter().flat_map(|plan| &plan.scenarios).map(|scenario| &*scenario.name).collect();
    if names.is_empty() {
        return None;
    }
    let spans = plan.map(|plan| plan.spans()).unwrap_or_default();
    let first = summary.names().len();
    let counts = |row: usize| {
        let found = second.named.iter().find(|named| usize::from(named.name) == row);
        found.map(|named| named.counts).unwrap_or_default()
    };
    let iterations = spans.iter().enumerate().filter(|(_, span)| span.group.is_none()).map(|(at, _)| first + 2 * at);
    let rows = names.into_iter().zip(iterations).enumerate();
    let rows = rows.map(|(number, (name, iterations))| {
        let (requests, iterations) = (counts(first + 2 * spans.len() + number), counts(iterations));
        ScenarioSecond {
            name,
            users: requests.users,
            scheduled: requests.due,
            succeeded: requests.finished.saturating_add(requests.finished_of_warmup),
            failed: requests.failed,
            iterations_started: iterations.due.saturating_sub(iterations.dropped),
            iterations_succeeded: iterations.finished,
            iterations_dropped: iterations.dropped,
        }
    });
    Some(rows.collect())
}
