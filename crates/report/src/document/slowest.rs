//! The slowest requests with their traces, in the JSON report.

use brunt_record::{TraceId, TracedRequest};
use serde::Serialize;

use crate::summary::Summary;

/// A request among the slowest.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SlowRequest<'a> {
    /// Trace id, for lookup in Jaeger or Tempo.
    trace: &'a TraceId,
    /// Name of the request, if the run has several names.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    /// Status of its response; empty if there is none.
    status: &'a str,
    /// `true` if it timed out: its latency is a lower bound.
    timed_out: bool,
    /// Latency in microseconds: response time under open load, service time under closed load.
    latency_us: f64,
    /// Scheduled time, in seconds since the start of the window.
    scheduled_s: f64,
    /// Time it was sent, in seconds since the start of the window.
    sent_s: f64,
    /// Time of the first byte of its response, in seconds since the start of the window; null: unknown.
    first_byte_s: Option<f64>,
    /// Time it ended, in seconds since the start of the window.
    ended_s: f64,
}

/// Returns all kept requests, the slowest first; `None` if no request has a trace.
pub fn reports(summary: &Summary) -> Option<Vec<SlowRequest<'_>>> {
    let all: Vec<SlowRequest<'_>> = summary.slowest().map(|one| report(one, summary)).collect();
    (!all.is_empty()).then_some(all)
}

fn report<'a>(one: &'a TracedRequest, summary: &'a Summary) -> SlowRequest<'a> {
    let seconds = |ns: i64| ns as f64 / 1e9;
    SlowRequest {
        trace: &one.trace,
        name: one.name.and_then(|name| summary.names().get(usize::from(name))).map(String::as_str),
        status: &one.status,
        timed_out: one.timed_out,
        latency_us: one.latency_ns as f64 / 1e3,
        scheduled_s: seconds(one.scheduled_ns),
        sent_s: seconds(one.sent_ns),
        first_byte_s: one.first_byte_ns.map(seconds),
        ended_s: seconds(one.ended_ns),
    }
}
