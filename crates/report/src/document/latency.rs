//! Latencies and phases in the JSON report.

use brunt_record::Latency;
use serde::Serialize;

use super::distribution::Distribution;
use crate::ranked::{RankedLatency, headline, heartbeats};
use crate::totals::RunTotals;

/// Latency of requests, measured in four ways.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatencyReport<'a> {
    /// Response time, from the intended start; null in closed mode.
    response: Option<Distribution<'a>>,
    /// Service time, from the actual start.
    service: Distribution<'a>,
    /// Wait for a connection (open mode).
    wait_conn: Distribution<'a>,
    /// Lateness of the generator (open mode, and steps of flows).
    gen_late: Distribution<'a>,
    /// Time to the failure, of failed requests.
    failed: Distribution<'a>,
    /// Time to the end of the response, of failed requests that got one (a wrong status, a failed check).
    failed_responses: Distribution<'a>,
}

/// Phases of requests and connections.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhasesReport<'a> {
    /// Opening of connections.
    connect: Distribution<'a>,
    /// TLS handshakes.
    tls: Distribution<'a>,
    /// Handshakes of the application protocol.
    greeting: Distribution<'a>,
    /// Time from the write to the first byte.
    first_byte: Distribution<'a>,
    /// Time from the first byte to the last.
    transfer: Distribution<'a>,
    /// Time between the messages of a stream.
    message_gap: Distribution<'a>,
    /// Time from a heartbeat to its response; without one, a lower bound.
    heartbeat: Distribution<'a>,
}

impl<'a> LatencyReport<'a> {
    /// Returns the latency of a whole run, with intervals.
    pub fn of_run(totals: &'a RunTotals, open: bool) -> LatencyReport<'a> {
        LatencyReport {
            response: open.then(|| Distribution::of(totals.ranked(true))),
            service: Distribution::of(totals.ranked(false)),
            ..LatencyReport::of(&totals.latency, open)
        }
    }

    pub fn of(l: &'a Latency, open: bool) -> LatencyReport<'a> {
        LatencyReport {
            response: open.then(|| Distribution::of(headline(l, true))),
            service: Distribution::of(headline(l, false)),
            wait_conn: Distribution::of(RankedLatency::with_unfinished(&l.wait_conn, &l.wait_conn_at_least)),
            gen_late: Distribution::plain(&l.gen_late),
            failed: Distribution::plain(&l.failed),
            failed_responses: Distribution::plain(&l.failed_responses),
        }
    }
}

impl<'a> PhasesReport<'a> {
    pub fn of(l: &'a Latency) -> PhasesReport<'a> {
        PhasesReport {
            connect: Distribution::plain(&l.connect),
            tls: Distribution::plain(&l.tls),
            greeting: Distribution::plain(&l.greeting),
            first_byte: Distribution::plain(&l.first_byte),
            transfer: Distribution::plain(&l.transfer),
            message_gap: Distribution::plain(&l.message_gap),
            heartbeat: Distribution::of(heartbeats(l)),
        }
    }
}
