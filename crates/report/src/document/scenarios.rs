//! Scenarios side by side in the JSON report.

use std::collections::BTreeMap;

use brunt_record::Second;
use serde::Serialize;

use super::distribution::Distribution;
use crate::summary::Summary;

/// The requests of one scenario.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScenarioReport<'a> {
    /// Name of the scenario.
    name: &'a str,
    /// Scheduled, excluding the warm-up.
    scheduled: u64,
    /// Succeeded.
    succeeded: u64,
    /// Failed.
    failed: u64,
    /// Still unfinished when the run, or the scenario, ended.
    unfinished: u64,
    /// Successes that completed within the window ÷ its length, including those of warm-up requests.
    throughput_per_s: f64,
    /// Payload bytes of the responses.
    payload: u64,
    /// Concurrent users, on average over the window; for a rate, users within an iteration.
    users_mean: f64,
    /// Status code → count.
    status: &'a BTreeMap<String, u64>,
    /// Latency: response time if a scenario of the run has a rate, otherwise service time.
    latency: Distribution<'a>,
}

/// The figures of one scenario in one second.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScenarioSecond<'a> {
    /// Name of the scenario.
    name: &'a str,
    /// Users at the end of the second; for a rate, users within an iteration.
    users: u64,
    /// Requests scheduled in the second.
    scheduled: u64,
    /// Successes that completed in the second.
    succeeded: u64,
    /// Failures that ended in the second.
    failed: u64,
    /// Iterations begun or due in the second, excluding dropped ones.
    iterations_started: u64,
    /// Iterations that ended in the second without a failed request.
    iterations_succeeded: u64,
    /// Iterations that were due in the second and dropped.
    iterations_dropped: u64,
}

/// Returns the figures of each scenario; `None` if the run has none.
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

/// Returns the figures of each scenario in one second; `None` if the run has none.
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
