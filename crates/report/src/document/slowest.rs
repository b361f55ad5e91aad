//! The slowest requests with their traces, as JSON has them.

use record::{TraceId, TracedRequest};
use serde::Serialize;

use crate::summary::Summary;

/// A request that was among the slowest.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SlowRequest<'a> {
    /// What it is looked up by in Jaeger or Tempo.
    trace: &'a TraceId,
    /// What it is called, where the run has several names.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    /// The status of its response; empty where there is none.
    status: &'a str,
    /// It was given up after its timeout: its latency is a lower bound.
    timed_out: bool,
    /// Its latency in microseconds: response in open load, service in closed.
    latency_us: f64,
    /// When it was due, in seconds since the start of the window.
    scheduled_s: f64,
    /// When it was sent, likewise.
    sent_s: f64,
    /// When the first byte of its response came, likewise; null: not known.
    first_byte_s: Option<f64>,
    /// When it was over, likewise.
    ended_s: f64,
}

/// All that are kept, the slowest first; None where no request has a trace.
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
