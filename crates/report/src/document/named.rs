//! Figures by name in the JSON report.

use std::collections::BTreeMap;

use brunt_record::{FailureExample, TraceId};
use serde::Serialize;

use super::distribution::Distribution;
use crate::summary::Summary;

/// The requests with one name.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NameReport<'a> {
    /// Name of the requests.
    name: &'a str,
    /// Scheduled (closed load: started), excluding the warm-up.
    scheduled: u64,
    /// Succeeded.
    succeeded: u64,
    /// Failed.
    failed: u64,
    /// Still unfinished when the run ended.
    unfinished: u64,
    /// Successes that completed within the window ÷ its length, including those of warm-up requests.
    throughput_per_s: f64,
    /// Payload bytes of the responses.
    payload: u64,
    /// Responses from users' caches: not requests.
    from_cache: u64,
    /// Status code → count.
    status: &'a BTreeMap<String, u64>,
    /// Latency: response time under open load, service time under closed load.
    latency: Distribution<'a>,
    /// One failure of each kind and status.
    examples: Vec<NameExample<'a>>,
}

/// The kept example of a failure.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct NameExample<'a> {
    /// Kind, such as `refused`, `timeout`, `wrong_status`.
    kind: &'a str,
    /// Phase, such as `connect`, `first_byte`.
    phase: &'a str,
    /// System error, such as `ECONNREFUSED`.
    errno: Option<&'a str>,
    /// The status code of the response; empty if there is none.
    status: &'a str,
    /// Time of the failure, in seconds since the start of the window.
    at_s: Option<f64>,
    /// Details beyond the kind.
    detail: &'a str,
    /// Data sent.
    sent: &'a str,
    /// Data received.
    received: &'a str,
    /// Trace of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<&'a TraceId>,
    /// The user's values in the request, as in `failures`.
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<&'a [brunt_record::UsedValue]>,
}

impl<'a> From<&'a FailureExample> for NameExample<'a> {
    fn from(e: &'a FailureExample) -> NameExample<'a> {
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

/// Returns the figures of each name.
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
