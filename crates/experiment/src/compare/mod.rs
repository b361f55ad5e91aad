//! `brunt compare A B`: runs of two sides in turn, and what differs beyond what differs between runs of one side.
//!
//! The order is A B B A …, or random, so that whatever drifts meanwhile falls on both sides alike. Each run has a warm-up of
//! its own.

mod baseline;
mod document;
mod report;
mod story;
#[cfg(test)]
mod tests;

use brunt_contract::UsageError;
use brunt_engine::Stop;
use brunt_measure::{Nanos, Rng};
use brunt_plan::{Load, Stage, Trial};
use brunt_report::contrast::{ChangeVerdict, ComparedFigures, MEASURES};
use brunt_report::{Exit, Finding, Summary};
use serde::{Deserialize, Serialize};

use crate::runner::{RunOf, RunResult, TrialRunner};
use crate::runs::{RunSide, RunsChange, alternating, compare_sides, shuffled};

pub use baseline::{Baseline, BaselineRun};
#[cfg(feature = "schema")]
pub(crate) use document::CompareReport;
pub use story::{outlook, run_line};

/// Part of a run that its warm-up takes, unless the plan says otherwise.
const WARMING_PART: u64 = 10;
/// Exit code where the second side is worse.
pub const REGRESSION: u8 = 11;

/// How two sides are compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparePlan {
    /// Names of the sides, as written.
    pub names: [String; 2],
    /// A run of each side, without its seed.
    pub trials: [Trial; 2],
    /// Earlier runs that stand for the first side; `None` if it is run in turn with the second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
    /// Runs of each side that are made.
    pub runs: usize,
    /// Set if the order is random, by the seed.
    pub shuffle: bool,
    /// Seed of the order and of the runs.
    pub seed: u64,
    /// Change from which a ratio matters; `None` for the thresholds of the report.
    pub margin: Option<f64>,
}

/// A run that was made.
#[derive(Debug)]
pub struct ComparedRunRow {
    /// Side.
    pub side: RunSide,
    /// Figures of the whole run.
    pub figures: ComparedFigures,
    /// Figures by name, if the run has several.
    pub named: Vec<(String, ComparedFigures)>,
    /// Why the figures are no evidence; `None` if they are.
    pub doubt: Option<Finding>,
}

/// The end of a comparison.
#[derive(Debug)]
pub struct CompareOutcome {
    /// How it was made.
    pub plan: ComparePlan,
    /// All runs, in their order.
    pub rows: Vec<ComparedRunRow>,
    /// Changes of the whole runs.
    pub changes: [RunsChange; MEASURES.len()],
    /// Changes by name, for the names that both sides have.
    pub named: Vec<(String, [RunsChange; MEASURES.len()])>,
    /// Time that was spent.
    pub elapsed: Nanos,
    /// Set if a target was lost.
    pub unreachable: bool,
    /// Which agent or process was lost, or could not be had, if that ended it.
    pub lost_part: Option<UsageError>,
}

impl CompareOutcome {
    /// Returns the number of runs of a side that were made.
    pub fn runs(&self, side: RunSide) -> usize {
        self.rows.iter().filter(|row| row.side == side).count()
    }

    /// Returns `true` if all runs were made.
    pub fn is_complete(&self) -> bool {
        let sides =
            [RunSide::Before, RunSide::After].into_iter().filter(|side| *side == RunSide::After || !self.is_kept());
        sides.map(|side| self.runs(side)).all(|runs| runs == self.plan.runs)
    }

    /// Returns `true` if the first side is a baseline.
    fn is_kept(&self) -> bool {
        self.plan.baseline.is_some()
    }

    /// Returns the number of runs that were made, without those of a baseline.
    pub fn made(&self) -> usize {
        self.rows.len() - self.plan.baseline.as_ref().map_or(0, |baseline| baseline.runs.len())
    }

    /// Returns `true` if something can be told beyond that no more requests failed: of throughput, a latency, or failures
    /// that changed.
    pub fn is_told(&self) -> bool {
        let is_telling = |change: &RunsChange| match change.verdict {
            ChangeVerdict::CannotTell => false,
            ChangeVerdict::Same => !change.measure.is_share,
            ChangeVerdict::Better | ChangeVerdict::Worse => true,
        };
        self.changes.iter().chain(self.named.iter().flat_map(|(_, changes)| changes)).any(is_telling)
    }

    /// Returns the exit code: 11 if the second side is worse, 20 if nothing could be told.
    pub fn exit_code(&self) -> u8 {
        let all = || self.changes.iter().chain(self.named.iter().flat_map(|(_, changes)| changes));
        let is = |verdict: ChangeVerdict| move |change: &RunsChange| change.verdict == verdict;
        match () {
            () if self.unreachable => Exit::Unreachable.code(),
            () if !self.is_complete() => Exit::Interrupted.code(),
            // A test without a baseline yet.
            () if self.is_kept() && self.runs(RunSide::Before) == 0 => Exit::Ok.code(),
            () if all().any(is(ChangeVerdict::Worse)) => REGRESSION,
            () if !self.is_told() => Exit::NotTrusted.code(),
            () => Exit::Ok.code(),
        }
    }
}

/// Returns a trial with a warm-up of its own, unless it has one, or its load changes.
pub fn with_warm_up(trial: Trial) -> Trial {
    let lasts = match trial.duration {
        Some(lasts) if trial.warmup == Nanos::ZERO && trial.load.is_level() => lasts,
        _ => return trial,
    };
    let warmup = Nanos(lasts.0 / WARMING_PART);
    let mut load = trial.load;
    let (Load::Open { stages, .. } | Load::Closed { stages, .. }) = &mut load;
    let level = stages.first().map_or(0.0, |stage| stage.from);
    *stages = vec![Stage { lasts: warmup.saturating_add(lasts), from: level, to: level }];
    Trial { load, warmup, ..trial }
}

/// Compares two sides; `tell` gets each run as it is done. `stop` ends the comparison with what is known.
///
/// # Errors
/// Returns an error if a load does not fit its requests, or that of the runner.
pub fn compare(
    plan: &ComparePlan,
    runner: &mut dyn TrialRunner,
    stop: &Stop,
    tell: &mut dyn FnMut(usize, &ComparedRunRow),
) -> Result<CompareOutcome, UsageError> {
    let order = match &plan.baseline {
        Some(_) => vec![RunSide::After; plan.runs],
        None if plan.shuffle => shuffled(plan.runs, plan.seed),
        None => alternating(plan.runs),
    };
    let mut rows: Vec<ComparedRunRow> =
        plan.baseline.iter().flat_map(|baseline| &baseline.runs).map(kept_row).collect();
    let (kept, mut seeds) = (rows.len(), Rng::new(plan.seed));
    let (mut unreachable, mut lost_part) = (false, None);
    for side in order {
        if stop.requested() {
            break;
        }
        let trial = Trial { seed: Some(seeds.next_u64()), ..plan.trials[side as usize].clone() };
        let subject = if plan.baseline.is_some() { 0 } else { side as usize };
        match runner.run(RunOf::subject(subject), &trial, stop, &mut [])? {
            RunResult::Made(summary) => rows.push(row_of(side, &summary)),
            RunResult::Refused(complaint) => return Err(complaint),
            RunResult::Stopped | RunResult::OutOfTime => break,
            RunResult::Partial(why) => {
                lost_part = Some(why);
                break;
            }
            RunResult::Lost => {
                unreachable = true;
                break;
            }
        }
        tell(rows.len() - kept, &rows[rows.len() - 1]);
    }
    Ok(CompareOutcome { unreachable, lost_part, ..outcome(plan.clone(), rows, runner.elapsed()) })
}

fn kept_row(run: &BaselineRun) -> ComparedRunRow {
    ComparedRunRow { side: RunSide::Before, figures: run.figures, named: run.named.clone(), doubt: None }
}

fn row_of(side: RunSide, summary: &Summary) -> ComparedRunRow {
    let names = summary.by_name().map(|row| row.name.to_owned());
    let named = names.filter_map(|name| Some((name.clone(), ComparedFigures::of_name(summary, &name)?)));
    let doubt = summary.doubt_without_size().cloned();
    ComparedRunRow { side, figures: ComparedFigures::of_sums(summary), named: named.collect(), doubt }
}

fn outcome(plan: ComparePlan, rows: Vec<ComparedRunRow>, elapsed: Nanos) -> CompareOutcome {
    let of = |side: RunSide| rows.iter().filter(move |row| row.side == side);
    let changes_of = |figures: &dyn Fn(&ComparedRunRow) -> Option<ComparedFigures>| {
        let [a, b] = [RunSide::Before, RunSide::After].map(|side| of(side).filter_map(figures).collect::<Vec<_>>());
        compare_sides([&a, &b], plan.margin)
    };
    let changes = changes_of(&|row| Some(row.figures));
    let names = of(RunSide::Before).next().map_or(&[][..], |row| &row.named);
    let is_in_both = |name: &str| of(RunSide::After).any(|row| row.named.iter().any(|(other, _)| other == name));
    let of_name = |name: &str, row: &ComparedRunRow| {
        row.named.iter().find(|(other, _)| other == name).map(|(_, figures)| *figures)
    };
    let named = names.iter().map(|(name, _)| name).filter(|name| is_in_both(name));
    let named = named.map(|name| (name.clone(), changes_of(&|row| of_name(name, row)))).collect();
    CompareOutcome { changes, named, plan, rows, elapsed, unreachable: false, lost_part: None }
}
