//! Figures by name in blocks of seconds: the data of the tables, and their small charts, for a time range.

use std::collections::{BTreeMap, BTreeSet};

use brunt_record::{NamedCounts, NamedFigures, RunPart, Second};
use serde_json::{Value, json};

use super::histogram::CoarseHistogram;
use super::resolution::Resolution;

/// The figures of one name in a block.
#[derive(Default)]
struct NameBlockRow {
    counts: NamedCounts,
    finished_in_window: u64,
    latency: CoarseHistogram,
    at_least: CoarseHistogram,
    delayed: CoarseHistogram,
    undelayed: CoarseHistogram,
}

/// The names of a run, block by block.
pub(super) struct NameBlocks {
    named: BTreeSet<u16>,
    grouping: u32,
    block_s: i64,
    block: Option<i64>,
    rows: BTreeMap<u16, NameBlockRow>,
}

impl NameBlocks {
    /// Creates the state for a run without seconds.
    pub fn of(grain: &Resolution) -> NameBlocks {
        let block_s = i64::try_from(grain.block_s).unwrap_or(1);
        let (named, grouping) = (grain.named.clone(), grain.names);
        NameBlocks { named, grouping, block_s, block: None, rows: BTreeMap::new() }
    }

    /// Adds a second; returns a line for the previous block if the second begins a new one.
    pub fn add(&mut self, second: &Second) -> Option<Value> {
        if second.part == RunPart::Warmup || second.named.is_empty() {
            return None;
        }
        let block = second.from_ns.div_euclid(self.block_s * 1_000_000_000);
        let before = if self.block == Some(block) { None } else { self.flush() };
        self.block = Some(block);
        for named in second.named.iter().filter(|named| self.named.contains(&named.name)) {
            let row = self.rows.entry(named.name).or_default();
            row.add(named, second.part, self.grouping);
        }
        before
    }

    /// Returns the remaining line, if any.
    pub fn flush(&mut self) -> Option<Value> {
        let block = self.block.take()?;
        let rows = std::mem::take(&mut self.rows);
        let rows: Vec<Value> = rows.into_iter().map(|(name, row)| row.to_json(name)).collect();
        let from_s = block.saturating_mul(self.block_s);
        (!rows.is_empty()).then(|| json!({ "n": from_s, "r": rows }))
    }
}

impl NameBlockRow {
    fn add(&mut self, named: &NamedFigures, part: RunPart, grouping: u32) {
        self.counts.add(&named.counts);
        if part == RunPart::Window {
            let ended = named.counts.finished.saturating_add(named.counts.finished_of_warmup);
            self.finished_in_window = self.finished_in_window.saturating_add(ended);
        }
        let histograms = [
            (&named.latency, &mut self.latency),
            (&named.at_least, &mut self.at_least),
            (&named.latency_delayed, &mut self.delayed),
            (&named.latency_undelayed, &mut self.undelayed),
        ];
        histograms.into_iter().for_each(|(more, to)| to.add(more, grouping));
    }

    /// Returns `[name, scheduled, succeeded, failed, unfinished, succeeded within the window, payload, latency,
    /// lower bounds, dropped (of iterations), from caches]`, and if brunt may have delayed some of them, their latency with
    /// and without the delays.
    fn to_json(&self, name: u16) -> Value {
        let numbers = CoarseHistogram::numbers;
        let c = &self.counts;
        let mut row = json!([
            name,
            c.due,
            c.finished,
            c.failed,
            c.censored,
            self.finished_in_window,
            c.payload,
            numbers(&self.latency),
            numbers(&self.at_least),
            c.dropped,
            c.from_cache,
        ]);
        let own = [numbers(&self.delayed), numbers(&self.undelayed)];
        if let Value::Array(cells) = &mut row
            && !own[0].is_empty()
        {
            cells.extend(own.map(|numbers| json!(numbers)));
        }
        row
    }
}
