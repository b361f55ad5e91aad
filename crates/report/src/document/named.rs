//! Figures by name as JSON has them.

use std::collections::BTreeMap;

use record::{Example, TraceId};
use schemars::JsonSchema;
use serde::Serialize;

use super::distribution::Distribution;
use crate::summary::Summary;

/// The requests of one name.
#[derive(Serialize, JsonSchema)]
pub struct NameReport<'a> {
    /// What they are called.
    name: &'a str,
    /// Scheduled (closed: started), warm-up left out.
    scheduled: u64,
    /// Succeeded.
    succeeded: u64,
    /// Failed.
    failed: u64,
    /// Still without an end when the run ended.
    unfinished: u64,
    /// Successes that ended within the window ÷ its length; those of requests of the warm-up are among them.
    throughput_per_s: f64,
    /// Bytes of payload of the answers.
    payload: u64,
    /// Responses that users had in their caches: no requests.
    from_cache: u64,
    /// Status code → count.
    status: &'a BTreeMap<String, u64>,
    /// Latency: response in open load, service in closed.
    latency: Distribution<'a>,
    /// One failure of each sort and status.
    examples: Vec<NameExample<'a>>,
}

/// The kept example of a failure.
#[derive(Serialize, JsonSchema)]
struct NameExample<'a> {
    /// `refused`, `timeout`, `wrong_status` …
    kind: &'a str,
    /// `connect`, `first_byte` …
    phase: &'a str,
    /// `ECONNREFUSED` …
    errno: Option<&'a str>,
    /// The status code of the answer; empty where it had none.
    status: &'a str,
    /// When, in seconds since the start of the window.
    at_s: Option<f64>,
    /// What is known beyond the kind.
    detail: &'a str,
    /// What was sent.
    sent: &'a str,
    /// What came back.
    received: &'a str,
    /// The trace that it said it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<&'a TraceId>,
    /// The values of its user that it was made of, as in `failures`.
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<&'a [record::UsedValue]>,
}

impl<'a> From<&'a Example> for NameExample<'a> {
    fn from(e: &'a Example) -> NameExample<'a> {
        NameExample {
            kind: &e.kind,
            phase: &e.phase,
            errno: e.errno.as_deref(),
            status: &e.status,
            at_s: e.at_ns.map(|ns| ns as f64 / 1e9),
            detail: &e.detail,
            sent: &e.sent,
            received: &e.received,
            trace: e.trace.as_ref(),
            values: (!e.values.is_empty()).then_some(&e.values),
        }
    }
}

/// What each name comes to.
pub fn reports(summary: &Summary) -> Vec<NameReport<'_>> {
    let rows = summary.by_name();
    rows.map(|row| {
        let (totals, counts) = (row.totals, &row.totals.counts);
        NameReport {
            name: row.name,
            scheduled: counts.due,
            succeeded: counts.finished,
            failed: counts.failed,
            unfinished: counts.censored,
            throughput_per_s: summary.per_s(totals.finished_in_window),
            payload: counts.payload,
            from_cache: counts.from_cache,
            status: &totals.status,
            latency: Distribution::of(totals.ranked()),
            examples: summary.examples_of(row.index).map(NameExample::from).collect(),
        }
    })
    .collect()
}
