//! One side of a comparison: a run's figures, and how well its own seconds support them.

use std::io;

use measure::{Estimate, Histogram, Nanos};
use record::{RunPart, Second};

use super::Of;
use crate::finding::Grade;
use crate::objectives::Facts;
use crate::ranked::headline;
use crate::seconds::Seconds;
use crate::summary::Summary;

/// Maximum number of blocks per run while it is read; seconds are merged to keep within it.
const KEPT: usize = 300;
/// Number of blocks compared: long ones, so that each is longer than the fluctuations of a queue. Fewer than
/// the minimum support no verdict.
const COMPARED: usize = 10;
const LEAST: usize = 5;
/// Quantiles compared.
const QUANTILES: [f64; 3] = [0.5, 0.95, 0.99];

/// A run to be compared.
pub struct Side {
    pub(super) trusted: bool,
    open: bool,
    throughput: Known,
    failed: Known,
    /// Quantiles of response and of service.
    quantiles: [[Known; QUANTILES.len()]; 2],
}

/// A figure and its 95 % interval, as far as they are known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    pub value: Option<f64>,
    ends: Option<[f64; 2]>,
}

impl Known {
    fn of(value: Option<f64>, estimate: Option<Estimate>) -> Known {
        Known { value, ends: estimate.map(|one| [one.low, one.high]) }
    }

    pub fn estimate(&self) -> Option<Estimate> {
        let [low, high] = self.ends?;
        Some(Estimate::new(self.value?, low, high))
    }
}

impl Side {
    /// Creates a side from a run's summary and seconds.
    ///
    /// # Errors
    ///
    /// Returns one sentence if the seconds cannot be read.
    pub fn of(summary: &Summary, all: &dyn Seconds) -> io::Result<Side> {
        let facts = Facts::of_all(summary);
        let mut blocks = Blocks::new(summary.window, summary.open, facts.cut);
        for second in all.pass()? {
            blocks.add(&second?);
        }
        let blocks = blocks.compared(summary.totals.untold);
        let told = |of: fn(&Block) -> (f64, f64)| -> Vec<(f64, f64)> { blocks.iter().map(of).collect() };
        let throughput = Estimate::rate(&told(|block| (block.finished, block.length_s)));
        let failed = Estimate::share(&told(|block| (block.bad, block.ended)));
        let enough = blocks.len() >= LEAST;
        let (bad, due) = facts.failures();
        Ok(Side {
            trusted: summary.trust.verdict() != Grade::Fail,
            open: summary.open,
            throughput: Known::of(
                (summary.window > Nanos::ZERO).then(|| summary.throughput_per_s()),
                throughput.filter(|_| enough),
            ),
            failed: Known::of((due > 0).then(|| bad as f64 / due as f64), failed.filter(|_| enough)),
            quantiles: [true, false].map(|open| QUANTILES.map(|q| quantile(summary, open, q))),
        })
    }

    /// Returns whether its figures can be trusted.
    pub fn is_trusted(&self) -> bool {
        self.trusted
    }

    /// Returns whether its requests have a response time, and not only a service time.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// Returns a figure; for a latency, the response time if `open`.
    pub(super) fn known(&self, of: Of, open: bool) -> Known {
        match of {
            Of::Throughput => self.throughput,
            Of::Failed => self.failed,
            Of::Quantile(q) => {
                let at = QUANTILES.iter().position(|one| *one == q);
                at.map_or_else(Known::default, |at| self.quantiles[usize::from(!open)][at])
            }
        }
    }
}

/// Returns a quantile in microseconds, with the interval of the run's own report. Its ends are those of their
/// buckets: no value is known more precisely.
fn quantile(summary: &Summary, open: bool, q: f64) -> Known {
    let found = summary.totals.ranked(open).quantile(q);
    let micros = |time: Nanos| time.0 as f64 / 1e3;
    let ends = found.interval.map(|[low, high]| {
        [
            low.map_or(0.0, |low| micros(Histogram::floor_of(low))),
            high.map_or(f64::INFINITY, |high| micros(Histogram::ceiling_of(high))),
        ]
    });
    Known { value: found.figure.exact().map(micros), ends }
}

/// The counts of one stretch of the window.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    from_ns: i64,
    length_s: f64,
    finished: f64,
    /// Requests that failed or are unfinished.
    bad: f64,
    ended: f64,
}

/// The stretches of a window, collected as its seconds are read.
struct Blocks {
    all: Vec<Block>,
    /// Number of seconds in a block, and in the last one.
    seconds: usize,
    in_last: usize,
    open: bool,
    /// Set if unfinished requests were cut off by a stop, and are not counted.
    cut: bool,
}

impl Blocks {
    fn new(window: Nanos, open: bool, cut: bool) -> Blocks {
        let seconds = (window.as_secs_f64().ceil() as usize).div_ceil(KEPT).max(1);
        Blocks { all: Vec::new(), seconds, in_last: 0, open, cut }
    }

    fn add(&mut self, second: &Second) {
        if second.part == RunPart::Warmup {
            return;
        }
        let within = second.part == RunPart::Window;
        // Requests that end in the drain count in the last block.
        if self.all.is_empty() || (within && self.in_last >= self.seconds) {
            self.all.push(Block { from_ns: second.from_ns, ..Block::default() });
            self.in_last = 0;
        }
        self.in_last += usize::from(within);
        let counts = second.counts();
        let without_response = self.put_back(second, counts.failed, counts.censored);
        let Some(last) = self.all.last_mut() else { return };
        if within {
            last.length_s += second.to_ns.saturating_sub(second.from_ns).max(0) as f64 / 1e9;
            last.finished += second.successes() as f64;
        }
        let censored = if self.cut { 0 } else { counts.censored };
        let bad = (counts.failed as f64 + censored as f64 - without_response).max(0.0);
        last.bad += bad;
        last.ended += bad + counts.finished as f64;
    }

    /// Counts requests without a response in the second they began, derived from their lower bounds: requests
    /// that hang all end together with the run, whenever they began. Returns the number counted.
    fn put_back(&mut self, second: &Second, failed: u64, censored: u64) -> f64 {
        let ranked = headline(&second.latency, self.open);
        let Some(bounds) = ranked.at_least.filter(|bounds| !bounds.is_empty()) else { return 0.0 };
        let counted = if self.cut { failed } else { failed.saturating_add(censored) };
        let here = bounds.count().saturating_sub(if self.cut { censored } else { 0 }).min(counted) as f64;
        for (waited, n) in bounds.buckets() {
            let began = second.to_ns.saturating_sub(i64::try_from(waited.0).unwrap_or(i64::MAX));
            let at = self.all.partition_point(|block| block.from_ns <= began).saturating_sub(1);
            let n = here * n as f64 / bounds.count() as f64;
            self.all[at].bad += n;
            self.all[at].ended += n;
        }
        here
    }

    /// Merges the blocks into few. Requests that were open when a record stops are in none of its seconds.
    fn compared(mut self, untold: u64) -> Vec<Block> {
        if let Some(last) = self.all.last_mut().filter(|_| !self.cut) {
            last.bad += untold as f64;
            last.ended += untold as f64;
        }
        let many = self.all.len().min(COMPARED);
        let mut few = vec![Block::default(); many];
        for (i, block) in self.all.iter().enumerate() {
            let into = &mut few[i * many / self.all.len()];
            into.length_s += block.length_s;
            into.finished += block.finished;
            into.bad += block.bad;
            into.ended += block.ended;
        }
        few
    }
}
