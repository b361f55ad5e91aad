//! One side of a comparison: the figures of a run, and the confidence in them that its seconds support.

use std::io;

use brunt_measure::{Estimate, Histogram, Nanos};
use brunt_record::{RunPart, Second};

use super::{Measure, MeasureKind};
use serde::{Deserialize, Deserializer, Serialize};

use crate::finding::Finding;
use crate::objectives::ObjectiveInputs;
use crate::ranked::{RankedLatency, headline};
use crate::seconds::SecondsSource;
use crate::summary::Summary;

/// Maximum number of blocks kept while a run is read; seconds are merged to stay within it.
const KEPT: usize = 300;
/// Number of blocks compared, few enough that each is longer than the fluctuations of a queue, and the minimum number
/// for a verdict.
const COMPARED: usize = 10;
const LEAST: usize = 5;
/// Quantiles compared.
const QUANTILES: [f64; 3] = [0.5, 0.95, 0.99];

/// A run to be compared.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedFigures {
    /// Set unless the run is in doubt for a reason without a size.
    pub(super) is_sound: bool,
    open: bool,
    throughput: KnownFigure,
    failed: KnownFigure,
    /// Quantiles of response time and of service time.
    quantiles: [[KnownFigure; QUANTILES.len()]; 2],
}

/// A figure, its 95 % interval and its band, each if known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct KnownFigure {
    pub value: Option<f64>,
    /// Not kept: what differs between runs shows between runs.
    #[serde(skip)]
    interval: Option<[f64; 2]>,
    /// Ends of the band; `None` if nothing of the figure is brunt's own.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "open_ended")]
    pub band: Option<[f64; 2]>,
}

/// Reads a band, whose upper end JSON has as null where it is infinite.
fn open_ended<'de, D: Deserializer<'de>>(from: D) -> Result<Option<[f64; 2]>, D::Error> {
    let ends = <Option<(f64, Option<f64>)>>::deserialize(from)?;
    Ok(ends.map(|(low, high)| [low, high.unwrap_or(f64::INFINITY)]))
}

impl KnownFigure {
    fn of(value: Option<f64>, estimate: Option<Estimate>) -> KnownFigure {
        KnownFigure { value, interval: estimate.map(|one| [one.low, one.high]), band: None }
    }

    /// Returns the figure at both ends of its band, each with an interval as wide, in proportion.
    pub fn estimates(&self) -> Option<[Estimate; 2]> {
        let (value, [low, high]) = (self.value?, self.interval?);
        let at = |end: f64| match value > 0.0 {
            true => Estimate::new(end, low * end / value, high * end / value),
            false => Estimate::new(value, low, high),
        };
        Some(self.band.unwrap_or([value; 2]).map(at))
    }
}

impl ComparedFigures {
    /// Creates a side from a run's summary and seconds.
    ///
    /// # Errors
    ///
    /// Returns an error if the seconds cannot be read.
    pub fn of(summary: &Summary, all: &dyn SecondsSource) -> io::Result<ComparedFigures> {
        let facts = ObjectiveInputs::of_all(summary);
        let mut blocks = ContrastBlocks::new(summary.window, summary.open, facts.cut);
        for second in all.pass()? {
            blocks.add(&second?);
        }
        let blocks = blocks.into_merged(summary.totals.unrecorded);
        let told = |of: fn(&ContrastBlock) -> (f64, f64)| -> Vec<(f64, f64)> { blocks.iter().map(of).collect() };
        let enough = blocks.len() >= LEAST;
        let throughput = Estimate::rate(&told(|block| (block.finished, block.length_s))).filter(|_| enough);
        let failed = Estimate::share(&told(|block| (block.failed, block.ended))).filter(|_| enough);
        Ok(ComparedFigures::with(summary, &facts, [throughput, failed]))
    }

    /// Creates a side of which only the sums are known: its throughput and its failures have no intervals.
    pub fn of_sums(summary: &Summary) -> ComparedFigures {
        ComparedFigures::with(summary, &ObjectiveInputs::of_all(summary), [None; 2])
    }

    /// Creates a side from the requests of one name of a run; `None` if the run has no such name.
    pub fn of_name(summary: &Summary, name: &str) -> Option<ComparedFigures> {
        let ranked = summary.by_name().find(|row| row.name == name)?.totals.ranked();
        let facts = ObjectiveInputs::of_name(summary, name)?;
        let quantiles = QUANTILES.map(|q| known_quantile(&ranked, q));
        Some(ComparedFigures { quantiles: [quantiles; 2], ..ComparedFigures::with(summary, &facts, [None; 2]) })
    }

    fn with(summary: &Summary, facts: &ObjectiveInputs<'_>, [rate, share]: [Option<Estimate>; 2]) -> ComparedFigures {
        let rates = [facts.throughput_per_s, facts.throughput_at_most_per_s];
        let (bad, due) = facts.failures();
        ComparedFigures {
            is_sound: summary.trust.against().all(Finding::is_of_band),
            open: summary.open,
            throughput: KnownFigure {
                band: (rates[0] < rates[1]).then_some(rates),
                ..KnownFigure::of((summary.window > Nanos::ZERO).then_some(rates[0]), rate)
            },
            failed: KnownFigure::of((due > 0).then(|| bad as f64 / due as f64), share),
            quantiles: [true, false].map(|open| QUANTILES.map(|q| known_quantile(&summary.totals.ranked(open), q))),
        }
    }

    /// Returns `true` unless the run is in doubt for a reason without a size, which no band can express.
    pub fn is_sound(&self) -> bool {
        self.is_sound
    }

    /// Returns `true` if requests have a response time in addition to their service time.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Returns the value of a measure and its band, if known; for a latency, the response time if `open`.
    pub fn value(&self, measure: &Measure, open: bool) -> Option<(f64, Option<[f64; 2]>)> {
        let figure = self.figure(measure.kind, open);
        Some((figure.value?, figure.band))
    }

    /// Returns a figure; for a latency, the response time if `open`.
    pub(super) fn figure(&self, of: MeasureKind, open: bool) -> KnownFigure {
        match of {
            MeasureKind::Throughput => self.throughput,
            MeasureKind::Failed => self.failed,
            MeasureKind::Quantile(q) => {
                let at = QUANTILES.iter().position(|one| *one == q);
                at.map_or_else(KnownFigure::default, |at| self.quantiles[usize::from(!open)][at])
            }
        }
    }
}

/// Returns a quantile in microseconds, with the same interval as in the report of the run, widened to the bounds of the
/// buckets at its ends, since no value is known more precisely.
fn known_quantile(ranked: &RankedLatency<'_>, q: f64) -> KnownFigure {
    let found = ranked.quantile(q);
    let micros = |time: Nanos| time.0 as f64 / 1e3;
    let ends = found.interval.map(|[low, high]| {
        [
            low.map_or(0.0, |low| micros(Histogram::floor_of(low))),
            high.map_or(f64::INFINITY, |high| micros(Histogram::ceiling_of(high))),
        ]
    });
    let band = found.band.map(|band| [band.least, band.most].map(micros));
    KnownFigure { value: found.figure.exact().map(micros), interval: ends, band }
}

/// The counts of one stretch of the window.
#[derive(Clone, Copy, Debug, Default)]
struct ContrastBlock {
    from_ns: i64,
    length_s: f64,
    finished: f64,
    /// Requests that failed or are unfinished.
    failed: f64,
    ended: f64,
}

/// The stretches of a window, collected as its seconds are read.
struct ContrastBlocks {
    blocks: Vec<ContrastBlock>,
    /// Number of seconds in a block, and in the last one.
    seconds: usize,
    in_last: usize,
    open: bool,
    /// Set if unfinished requests were cut off by a stop and are therefore not counted.
    cut_by_stop: bool,
}

impl ContrastBlocks {
    fn new(window: Nanos, open: bool, cut: bool) -> ContrastBlocks {
        let seconds = (window.as_secs_f64().ceil() as usize).div_ceil(KEPT).max(1);
        ContrastBlocks { blocks: Vec::new(), seconds, in_last: 0, open, cut_by_stop: cut }
    }

    fn add(&mut self, second: &Second) {
        if second.part == RunPart::Warmup {
            return;
        }
        let within = second.part == RunPart::Window;
        // Requests that end in the drain count in the last block.
        if self.blocks.is_empty() || (within && self.in_last >= self.seconds) {
            self.blocks.push(ContrastBlock { from_ns: second.from_ns, ..ContrastBlock::default() });
            self.in_last = 0;
        }
        self.in_last += usize::from(within);
        let counts = second.counts();
        let without_response = self.backdate(second, counts.failed, counts.censored);
        let Some(last) = self.blocks.last_mut() else { return };
        if within {
            last.length_s += second.to_ns.saturating_sub(second.from_ns).max(0) as f64 / 1e9;
            last.finished += second.successes() as f64;
        }
        let censored = if self.cut_by_stop { 0 } else { counts.censored };
        let bad = (counts.failed as f64 + censored as f64 - without_response).max(0.0);
        last.failed += bad;
        last.ended += bad + counts.finished as f64;
    }

    /// Counts each request without a response in the block in which it began, derived from its lower bound: requests
    /// that hang all end with the run, whenever they began. Returns the number counted.
    fn backdate(&mut self, second: &Second, failed: u64, censored: u64) -> f64 {
        let ranked = headline(&second.latency, self.open);
        let Some(bounds) = ranked.at_least.filter(|bounds| !bounds.is_empty()) else { return 0.0 };
        let counted = if self.cut_by_stop { failed } else { failed.saturating_add(censored) };
        let here = bounds.count().saturating_sub(if self.cut_by_stop { censored } else { 0 }).min(counted) as f64;
        for (waited, n) in bounds.buckets() {
            let began = second.to_ns.saturating_sub(i64::try_from(waited.0).unwrap_or(i64::MAX));
            let at = self.blocks.partition_point(|block| block.from_ns <= began).saturating_sub(1);
            let n = here * n as f64 / bounds.count() as f64;
            self.blocks[at].failed += n;
            self.blocks[at].ended += n;
        }
        here
    }

    /// Merges the blocks into a few; `untold` is the number of requests that were open at the end of a truncated record
    /// and are in none of its seconds.
    fn into_merged(mut self, untold: u64) -> Vec<ContrastBlock> {
        if let Some(last) = self.blocks.last_mut().filter(|_| !self.cut_by_stop) {
            last.failed += untold as f64;
            last.ended += untold as f64;
        }
        let many = self.blocks.len().min(COMPARED);
        let mut few = vec![ContrastBlock::default(); many];
        for (i, block) in self.blocks.iter().enumerate() {
            let into = &mut few[i * many / self.blocks.len()];
            into.length_s += block.length_s;
            into.finished += block.finished;
            into.failed += block.failed;
            into.ended += block.ended;
        }
        few
    }
}
