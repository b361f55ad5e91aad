//! The time of requests by phase, in blocks of seconds: the data of the curve of each phase, and of the phases in a
//! time range.

use std::collections::BTreeMap;

use brunt_measure::Histogram;
use brunt_record::{Latency, RunPart, Second};
use serde_json::{Map, Value, json};

use super::histogram::{COARSEST, bucket_of, numbers};
use super::resolution::Resolution;

/// Returns all timed phases with their names in the JSON report.
fn parts(of: &Latency) -> [(&'static str, &Histogram); 15] {
    [
        ("gen_late", &of.gen_late),
        ("wait_conn", &of.wait_conn),
        ("wait_conn_at_least", &of.wait_conn_at_least),
        ("service", &of.service),
        ("service_at_least", &of.service_at_least),
        ("first_byte", &of.first_byte),
        ("transfer", &of.transfer),
        ("connect", &of.connect),
        ("tls", &of.tls),
        ("greeting", &of.greeting),
        ("message_gap", &of.message_gap),
        ("heartbeat", &of.heartbeat),
        ("heartbeat_at_least", &of.heartbeat_at_least),
        ("failed_responses", &of.failed_responses),
        ("failed", &of.failed),
    ]
}

/// Returns the number of filled buckets in a second, over all phases.
pub(super) fn filled(second: &Second) -> usize {
    let of = |(_, histogram): (_, &Histogram)| {
        let mut before = None;
        histogram.cells().filter(|(low, ..)| before.replace(bucket_of(low.0, COARSEST)) != before).count()
    };
    if second.part == RunPart::Warmup { 0 } else { parts(&second.latency).into_iter().map(of).sum() }
}

/// The phases of a run, block by block.
pub(super) struct PhaseBlocks {
    block_s: i64,
    block: Option<i64>,
    rows: BTreeMap<&'static str, Histogram>,
}

impl PhaseBlocks {
    /// Creates the state for a run without seconds.
    pub fn of(grain: &Resolution) -> PhaseBlocks {
        PhaseBlocks { block_s: i64::try_from(grain.phases_s).unwrap_or(1), block: None, rows: BTreeMap::new() }
    }

    /// Adds a second; returns a line for the previous block if the second begins a new one.
    pub fn add(&mut self, second: &Second) -> Option<Value> {
        if second.part == RunPart::Warmup {
            return None;
        }
        let block = second.from_ns.div_euclid(self.block_s * 1_000_000_000);
        let before = if self.block == Some(block) { None } else { self.flush() };
        self.block = Some(block);
        for (part, histogram) in parts(&second.latency).into_iter().filter(|(_, histogram)| !histogram.is_empty()) {
            self.rows.entry(part).or_default().merge(histogram);
        }
        before
    }

    /// Returns the remaining line, if any.
    pub fn flush(&mut self) -> Option<Value> {
        let block = self.block.take()?;
        let rows: Map<String, Value> = std::mem::take(&mut self.rows)
            .into_iter()
            .map(|(part, row)| (part.into(), json!(numbers(&row, COARSEST))))
            .collect();
        (!rows.is_empty()).then(|| json!({ "p": block.saturating_mul(self.block_s), "r": rows }))
    }
}
