//! Two runs beside each other: the figures of both, how far the second is from the first, and what can be said of that.
//!
//! The interval of a ratio is a bootstrap of each run's own seconds, in blocks of neighbours (`docs/measurement.md`, Comparing two
//! runs): it knows how much the seconds of one run differ from each other, and not how much one run differs from the next of the
//! same thing.

use std::io;

use measure::{Nanos, Rng};
use record::{Part, Second};
use schemars::JsonSchema;
use serde::Serialize;

use crate::finding::Grade;
use crate::ranked::headline;
use crate::seconds::Seconds;
use crate::summary::Summary;

/// Drawings of each run.
const DRAWINGS: usize = 1000;
/// Seconds are put together so that a run has at most so many blocks; with fewer than the least nothing is said of chance.
const MOST_BLOCKS: usize = 300;
const LEAST_BLOCKS: usize = 5;
/// Of the buckets of a histogram so many bits are told apart: values are off by at most 0.8 %.
const BITS: u32 = 6;

/// What can be said of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The whole interval is better by more than what matters.
    Better,
    /// The whole interval is within what matters.
    Same,
    /// The whole interval is worse by more than what matters.
    Worse,
    /// The interval holds more than one of these, there is none, or the figures of one of the runs are not to be trusted.
    CannotTell,
}

impl Verdict {
    /// Its word in documents.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Same => "same",
            Verdict::Worse => "worse",
            Verdict::CannotTell => "cannot_tell",
        }
    }
}

/// What is compared, and how.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measure {
    /// A stable word.
    pub name: &'static str,
    /// More of it is better.
    pub more_is_better: bool,
    /// A change that matters: a share of the first run's figure, or for shares a difference.
    pub matters: f64,
    /// The figure is a share, and the difference is told instead of the ratio.
    pub is_share: bool,
    of: Of,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Of {
    Throughput,
    Failed,
    Quantile(f64),
}

impl Measure {
    /// The quantile it is; None: another figure.
    pub(crate) fn quantile(&self) -> Option<f64> {
        if let Of::Quantile(q) = self.of { Some(q) } else { None }
    }
}

/// What is compared of runs.
pub const MEASURES: [Measure; 5] = [
    Measure { name: "throughput_per_s", more_is_better: true, matters: 0.05, is_share: false, of: Of::Throughput },
    Measure { name: "p50_us", more_is_better: false, matters: 0.05, is_share: false, of: Of::Quantile(0.5) },
    Measure { name: "p95_us", more_is_better: false, matters: 0.1, is_share: false, of: Of::Quantile(0.95) },
    Measure { name: "p99_us", more_is_better: false, matters: 0.1, is_share: false, of: Of::Quantile(0.99) },
    Measure { name: "failed_share", more_is_better: false, matters: 0.001, is_share: true, of: Of::Failed },
];

/// One figure of two runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contrast {
    /// What it is.
    pub measure: Measure,
    /// Of both runs; None: withheld, or a lower bound.
    pub values: [Option<f64>; 2],
    /// The second ÷ the first, or for shares their difference.
    pub change: Option<f64>,
    /// Its 95 % interval.
    pub interval: Option<[f64; 2]>,
    /// What can be said.
    pub verdict: Verdict,
}

impl Contrast {
    /// As documents have it.
    pub fn document(&self) -> ContrastReport {
        ContrastReport {
            name: self.measure.name,
            more_is_better: self.measure.more_is_better,
            matters: self.measure.matters,
            is_share: self.measure.is_share,
            values: self.values,
            change: self.change,
            interval: self.interval,
            verdict: self.verdict.name(),
        }
    }
}

/// A figure of two runs.
#[derive(Serialize, JsonSchema)]
pub struct ContrastReport {
    /// What it is: `throughput_per_s`, `p99_us`, `failed_share`.
    name: &'static str,
    /// More of it is better.
    more_is_better: bool,
    /// A change that matters: a share of the first run's figure, or of shares a difference.
    matters: f64,
    /// It is a share, and `change` a difference.
    is_share: bool,
    /// Of the first run and of this one; null where it is withheld or only a lower bound.
    values: [Option<f64>; 2],
    /// The second divided by the first, or their difference.
    change: Option<f64>,
    /// Its 95 % interval.
    interval: Option<[f64; 2]>,
    /// What can be said: `better`, `same`, `worse` or `cannot_tell`.
    verdict: &'static str,
}

/// A run to be compared: its figures, and what they are in blocks of its seconds.
pub struct Side {
    trusted: bool,
    values: [Option<f64>; MEASURES.len()],
    blocks: Vec<Block>,
    /// The buckets that are told apart, as their values.
    buckets: Vec<u64>,
}

#[derive(Clone, Default)]
struct Block {
    length_s: f64,
    finished: u64,
    failed: u64,
    ended: u64,
    /// Index of a bucket → count.
    counts: Vec<(u32, u64)>,
    /// Without an end: ranked above all others.
    unfinished: u64,
}

/// What one drawing of a run gives.
type Drawn = [Option<f64>; MEASURES.len()];

impl Side {
    /// A run that was summed up, and its seconds.
    ///
    /// # Errors
    /// One sentence where they cannot be read.
    pub fn of(summary: &Summary, all: &dyn Seconds) -> io::Result<Side> {
        let mut seconds: Vec<(Block, Vec<(u64, u64)>)> = Vec::new();
        let per_block = ((summary.window.as_secs_f64().ceil() as usize).div_ceil(MOST_BLOCKS)).max(1);
        let mut in_block = usize::MAX;
        for second in all.pass()? {
            let second = second?;
            if second.part == Part::Warmup {
                continue;
            }
            // What ends in the drain belongs to the last block.
            if in_block >= per_block && (second.part == Part::Window || seconds.is_empty()) {
                seconds.push(Default::default());
                in_block = 0;
            }
            in_block += usize::from(second.part == Part::Window);
            if let Some((block, found)) = seconds.last_mut() {
                add(block, found, &second, summary.open);
            }
        }
        let mut buckets: Vec<u64> =
            seconds.iter().flat_map(|(_, found)| found.iter().map(|(value, _)| *value)).collect();
        buckets.sort_unstable();
        buckets.dedup();
        let blocks = seconds.into_iter().map(|(mut block, found)| {
            let index = |value: u64| buckets.partition_point(|bucket| *bucket < value) as u32;
            block.counts = found.into_iter().map(|(value, n)| (index(value), n)).collect();
            block
        });
        let blocks = blocks.collect();
        let trusted = summary.trust.verdict() != Grade::Fail;
        Ok(Side { trusted, values: MEASURES.map(|measure| figure(summary, measure.of)), blocks, buckets })
    }

    /// Whether its figures can be trusted.
    pub fn is_trusted(&self) -> bool {
        self.trusted
    }

    /// Figures of the run as if its seconds had come otherwise; None: too few of them.
    fn drawings(&self, seed: u64) -> Option<Vec<Drawn>> {
        let blocks = self.blocks.len();
        if blocks < LEAST_BLOCKS {
            return None;
        }
        // Neighbours stay together: they resemble each other.
        let group = (blocks as f64).cbrt().ceil() as usize;
        let mut random = Rng::new(seed);
        let mut weights = vec![0_u64; blocks];
        let mut counts = vec![0_u64; self.buckets.len()];
        Some(
            (0..DRAWINGS)
                .map(|_| {
                    weights.fill(0);
                    let mut left = blocks;
                    while left > 0 {
                        let from = random.below(blocks as u64) as usize;
                        let many = group.min(left);
                        (from..from + many).for_each(|at| weights[at % blocks] += 1);
                        left -= many;
                    }
                    self.drawn(&weights, &mut counts)
                })
                .collect(),
        )
    }

    fn drawn(&self, weights: &[u64], counts: &mut [u64]) -> Drawn {
        counts.fill(0);
        let (mut length, mut finished, mut failed, mut ended, mut unfinished) = (0.0, 0, 0, 0, 0);
        for (block, weight) in self.blocks.iter().zip(weights).filter(|(_, weight)| **weight > 0) {
            length += block.length_s * *weight as f64;
            finished += block.finished * weight;
            failed += block.failed * weight;
            ended += block.ended * weight;
            unfinished += block.unfinished * weight;
            block.counts.iter().for_each(|(at, n)| counts[*at as usize] += n * weight);
        }
        let ranked = counts.iter().sum::<u64>() + unfinished;
        MEASURES.map(|measure| match measure.of {
            Of::Throughput => (length > 0.0).then(|| finished as f64 / length),
            Of::Failed => (ended > 0).then(|| failed as f64 / ended as f64),
            Of::Quantile(q) => {
                at_rank(counts, (q * ranked as f64).ceil() as u64).map(|at| self.buckets[at] as f64 / 1e3)
            }
        })
    }
}

/// The bucket that holds a rank; None: those without an end hold it.
fn at_rank(counts: &[u64], rank: u64) -> Option<usize> {
    let mut below = 0;
    counts.iter().position(|n| {
        below += n;
        below >= rank.max(1)
    })
}

fn add(block: &mut Block, found: &mut Vec<(u64, u64)>, second: &Second, open: bool) {
    if second.part == Part::Window {
        block.length_s += (second.to_ns - second.from_ns).max(0) as f64 / 1e9;
        block.finished = block.finished.saturating_add(second.successes());
    }
    let counts = second.counts();
    block.failed = block.failed.saturating_add(counts.failed);
    block.ended =
        block.ended.saturating_add(counts.finished.saturating_add(counts.failed).saturating_add(counts.censored));
    let ranked = headline(&second.latency, open);
    block.unfinished = block.unfinished.saturating_add(ranked.unfinished());
    for (value, n) in ranked.finished.buckets() {
        let value = rounded(value);
        match found.last_mut() {
            Some((last, sum)) if *last == value => *sum += n,
            _ => found.push((value, n)),
        }
    }
}

/// A value with its highest bits only.
fn rounded(value: Nanos) -> u64 {
    let drop = (63 - (value.0 | 1).leading_zeros()).saturating_sub(BITS);
    value.0 >> drop << drop
}

fn figure(summary: &Summary, of: Of) -> Option<f64> {
    let totals = &summary.totals;
    match of {
        Of::Throughput => (summary.window > Nanos::ZERO).then(|| summary.throughput_per_s()),
        Of::Failed => {
            let ended = totals.finished + totals.failed + totals.censored;
            (ended > 0).then(|| totals.failed as f64 / ended as f64)
        }
        Of::Quantile(q) => summary.headline().quantile(q).figure.exact().map(|time| time.0 as f64 / 1e3),
    }
}

/// The second run beside the first.
pub fn contrast(first: &Side, second: &Side) -> [Contrast; MEASURES.len()] {
    // Different seeds: runs are independent. The same ones each time: so is the answer.
    let drawn = first.drawings(1).zip(second.drawings(2));
    std::array::from_fn(|at| {
        let measure = MEASURES[at];
        let values = [first.values[at], second.values[at]];
        let apart = |[a, b]: [Option<f64>; 2]| match (a?, b?) {
            (a, b) if measure.is_share => Some(b - a),
            (a, b) => (a > 0.0).then(|| b / a),
        };
        let change = apart(values);
        let drawings = drawn.as_ref().filter(|_| change.is_some());
        let interval =
            drawings.and_then(|(a, b)| middle(a.iter().zip(b).map(|(a, b)| apart([a[at], b[at]])).collect()));
        let verdict = if first.trusted && second.trusted { judged(&measure, interval) } else { Verdict::CannotTell };
        Contrast { measure, values, change, interval, verdict }
    })
}

/// The middle 95 % of what was drawn; None where some drawings gave nothing.
fn middle(drawn: Vec<Option<f64>>) -> Option<[f64; 2]> {
    let mut all: Vec<f64> = drawn.into_iter().collect::<Option<_>>()?;
    all.sort_unstable_by(f64::total_cmp);
    let at = |q: f64| all[((all.len() as f64 - 1.0) * q).round() as usize];
    (!all.is_empty()).then(|| [at(0.025), at(0.975)])
}

fn judged(measure: &Measure, interval: Option<[f64; 2]>) -> Verdict {
    let Some([low, high]) = interval else { return Verdict::CannotTell };
    let [least, most] = match measure.is_share {
        true => [-measure.matters, measure.matters],
        false => [1.0 / (1.0 + measure.matters), 1.0 + measure.matters],
    };
    let (more, less) = match measure.more_is_better {
        true => (Verdict::Better, Verdict::Worse),
        false => (Verdict::Worse, Verdict::Better),
    };
    match () {
        () if low >= least && high <= most => Verdict::Same,
        () if low > most => more,
        () if high < least => less,
        () => Verdict::CannotTell,
    }
}

#[cfg(test)]
mod tests {
    use record::{End, Ended, Past, ReadFault, RunEvent};

    use super::*;
    use crate::seconds::Replayed;

    /// A run of so many seconds: of each what finished, how long that took (µs), and what failed.
    fn side(seconds: i64, of: impl Fn(i64) -> (u64, u64, u64)) -> Side {
        let mut events = Vec::new();
        for at in 0..seconds {
            let (finished, us, failed) = of(at);
            let mut second = Second {
                from_ns: at * 1_000_000_000,
                to_ns: (at + 1) * 1_000_000_000,
                part: Part::Window,
                due: finished + failed,
                finished,
                failed,
                ..Second::default()
            };
            second.latency.service.record_n(Nanos(us * 1000), finished);
            events.push(RunEvent::Second(Box::new(second)));
        }
        let window = Nanos::from_secs(seconds as u64);
        events.push(RunEvent::Ended(Ended { reason: End::Completed, window, elapsed: window }));
        struct Kept(Vec<u8>);
        impl Past for Kept {
            fn replay(&self) -> Result<record::Reader<'_>, ReadFault> {
                record::Reader::over(&*self.0)
            }
        }
        let started = include_str!("../../record/src/version-1.jsonl").lines().next().expect("a head");
        let lines = events.iter().map(|event| serde_json::to_string(event).expect("JSON"));
        let text: String = std::iter::once(started.to_owned()).chain(lines).map(|line| line + "\n").collect();
        let past = Kept(text.into_bytes());
        let summary = Summary::from_past(&past).expect("a record");
        Side::of(&summary, &Replayed(Some(&past))).expect("a record")
    }

    fn verdicts(first: &Side, second: &Side) -> Vec<&'static str> {
        contrast(first, second).iter().map(|one| one.verdict.name()).collect()
    }

    #[test]
    fn a_run_is_the_same_as_itself_and_worse_than_a_better_one() {
        let base = side(30, |at| (100 + at as u64 % 3, 1000 + 10 * (at as u64 % 5), 0));
        let slow = side(30, |at| (70 + at as u64 % 3, 2000 + 20 * (at as u64 % 5), 5));
        assert_eq!(verdicts(&base, &base), ["same"; 5]);
        assert_eq!(verdicts(&base, &slow), ["worse"; 5]);
        assert_eq!(verdicts(&slow, &base), ["better"; 5]);
        let [throughput, p50, ..] = contrast(&base, &slow);
        let [low, high] = throughput.interval.expect("an interval");
        assert!(low <= throughput.change.expect("a change") && throughput.change.expect("a change") <= high);
        assert!((throughput.change.expect("a change") - 71.0 / 101.0).abs() < 1e-9, "{throughput:?}");
        assert!(p50.interval.expect("an interval")[0] > 1.9, "{p50:?}");
    }

    #[test]
    fn what_is_within_the_scatter_or_too_short_is_not_told() {
        let wild =
            |by: u64| side(12, move |at| if at % 2 == 0 { (40 + by, 500, 0) } else { (160 + by, 4000 + 10 * by, 0) });
        let found = contrast(&wild(0), &wild(20));
        assert_eq!(found[0].verdict, Verdict::CannotTell, "{found:?}");
        let short = side(3, |_| (100, 1000, 0));
        assert!(
            contrast(&short, &short).iter().all(|one| one.interval.is_none() && one.verdict == Verdict::CannotTell)
        );
    }

    #[test]
    fn nothing_is_told_of_a_run_that_is_not_trusted() {
        let (base, mut slow) = (side(30, |_| (100, 1000, 0)), side(30, |_| (100, 2000, 0)));
        assert_eq!(verdicts(&base, &slow)[1], "worse");
        slow.trusted = false;
        assert_eq!([verdicts(&base, &slow), verdicts(&slow, &base)], [["cannot_tell"; 5]; 2]);
        assert!(contrast(&base, &slow)[1].interval.is_some(), "its figures are shown all the same");
    }

    #[test]
    fn the_same_runs_give_the_same_answer() {
        let (a, b) = (side(20, |at| (100 + at as u64, 1000 + at as u64, 0)), side(20, |at| (90 + at as u64, 1100, 1)));
        assert_eq!(contrast(&a, &b), contrast(&a, &b));
    }
}
