//! `brunt sweep`: a table of runs, and what it says about scaling.

mod document;
mod report;
mod scaling;
mod story;
#[cfg(test)]
mod tests;

use brunt_config::SweepAxis;
use brunt_contract::UsageError;
use brunt_engine::Stop;
use brunt_measure::steady::median;
use brunt_measure::{Nanos, Rng};
use brunt_plan::Trial;
use brunt_report::contrast::{ComparedFigures, MEASURES, Measure};
use brunt_report::{Exit, Finding, Summary};
use serde::{Deserialize, Serialize};

use crate::binomial::median_ranks;
use crate::runner::{RunOf, RunResult, TrialRunner};
use crate::runs::shuffle;

#[cfg(feature = "schema")]
pub(crate) use document::SweepReport;
pub use scaling::CurveScaling;
pub use story::{outlook, run_line};

/// How a table is run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepPlan {
    /// What is loaded, as written.
    pub target: String,
    /// One or two axes.
    pub axes: Vec<SweepAxis>,
    /// Cells: all combinations, the last axis varied first.
    pub cells: Vec<CellPlan>,
    /// Runs of each cell.
    pub repeat: usize,
    /// Set if the order is random, by the seed.
    pub shuffle: bool,
    /// Seed of the order and of the runs.
    pub seed: u64,
}

/// A combination of values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellPlan {
    /// Index of the value on each axis.
    pub at: Vec<usize>,
    /// A run of it, without its seed.
    pub trial: Trial,
}

/// A cell of the table: a combination of values, and the runs of it.
#[derive(Clone, Debug)]
pub struct TableCell {
    /// Index of the value on each axis.
    pub at: Vec<usize>,
    /// Load: users, or requests per second.
    pub load: f64,
    /// Figures of its runs, those in doubt left out.
    pub runs: Vec<ComparedFigures>,
    /// Requests scheduled per second in each of these runs: arrivals by chance are not exactly the rate.
    pub scheduled_per_s: Vec<f64>,
    /// Why its last run in doubt was.
    pub doubt: Option<Finding>,
}

/// A figure of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellFigure {
    /// Median over the runs.
    pub median: f64,
    /// 95 % interval of the median (order statistics), from six runs on.
    pub interval: Option<[f64; 2]>,
}

impl TableCell {
    /// Returns a figure over the runs; `None` if none has it.
    pub fn figure(&self, measure: &Measure) -> Option<CellFigure> {
        let of = |run: &ComparedFigures| run.value(measure, run.is_open()).map(|(value, _)| value);
        let mut values: Vec<f64> = self.runs.iter().filter_map(of).collect();
        values.sort_by(f64::total_cmp);
        let ranks = median_ranks(values.len());
        let interval = ranks.map(|[low, high]| [values[low - 1], values[high - 1]]);
        (!values.is_empty()).then(|| CellFigure { median: median(&values), interval })
    }

    /// Returns the throughput over the runs, per second.
    pub fn throughput(&self) -> Option<f64> {
        self.figure(&MEASURES[0]).map(|figure| figure.median)
    }
}

/// The end of a sweep.
#[derive(Clone, Debug)]
pub struct SweepOutcome {
    /// How it was made.
    pub plan: SweepPlan,
    /// All cells, the last axis varied first.
    pub cells: Vec<TableCell>,
    /// How throughput scales along users or rates, for each value of the other axis.
    pub curves: Vec<CurveScaling>,
    /// Runs that were made.
    pub made: usize,
    /// Time that was spent.
    pub elapsed: Nanos,
    /// Set if the target was lost.
    pub unreachable: bool,
    /// Which agent or process was lost, or could not be had, if that ended it.
    pub lost_part: Option<UsageError>,
    /// Why a load could not be sent from this machine.
    pub refused: Option<UsageError>,
}

impl SweepOutcome {
    /// Returns the exit code: 20 if a cell has no run that can be trusted.
    pub fn exit(&self) -> Exit {
        match () {
            () if self.unreachable => Exit::Unreachable,
            () if self.made < self.cells.len() * self.plan.repeat => Exit::Interrupted,
            () if self.cells.iter().any(|cell| cell.runs.is_empty()) => Exit::NotTrusted,
            () => Exit::Ok,
        }
    }
}

/// Runs the cells; `tell` gets each run as it is done, with its number. `stop` ends the sweep with what is known.
///
/// # Errors
/// Returns an error if the first load does not fit the requests, or that of the runner.
pub fn sweep(
    plan: &SweepPlan,
    runner: &mut dyn TrialRunner,
    stop: &Stop,
    tell: &mut dyn FnMut(usize, &TableCell, &Summary),
) -> Result<SweepOutcome, UsageError> {
    let mut found = SweepOutcome {
        plan: plan.clone(),
        cells: plan.cells.iter().map(TableCell::of).collect(),
        curves: Vec::new(),
        made: 0,
        elapsed: Nanos::ZERO,
        unreachable: false,
        lost_part: None,
        refused: None,
    };
    let mut seeds = Rng::new(plan.seed);
    for at in order(found.cells.len(), plan) {
        if stop.requested() {
            break;
        }
        let trial = Trial { seed: Some(seeds.next_u64()), ..plan.cells[at].trial.clone() };
        match runner.run(RunOf::subject(at), &trial, stop, &mut [])? {
            RunResult::Made(summary) => {
                found.made += 1;
                found.cells[at].add(&summary);
                tell(found.made, &found.cells[at], &summary);
                continue;
            }
            RunResult::Refused(complaint) if found.made == 0 => return Err(complaint),
            RunResult::Refused(complaint) => found.refused = Some(complaint),
            RunResult::Partial(why) => found.lost_part = Some(why),
            RunResult::Lost => found.unreachable = true,
            RunResult::Stopped | RunResult::OutOfTime => {}
        }
        break;
    }
    found.elapsed = runner.elapsed();
    found.curves = scaling::curves(&found);
    Ok(found)
}

impl TableCell {
    fn of(cell: &CellPlan) -> TableCell {
        let (runs, scheduled_per_s) = (Vec::new(), Vec::new());
        TableCell { at: cell.at.clone(), load: cell.trial.load.peak(), runs, scheduled_per_s, doubt: None }
    }

    fn add(&mut self, summary: &Summary) {
        match summary.doubt_without_size() {
            Some(doubt) => self.doubt = Some(doubt.clone()),
            None => {
                self.runs.push(ComparedFigures::of_sums(summary));
                self.scheduled_per_s.push(summary.per_s(summary.totals.due));
            }
        }
    }
}

/// Returns the cells in the order in which they run: one after the other, each pass as many times as asked, or at random.
fn order(cells: usize, plan: &SweepPlan) -> Vec<usize> {
    let mut order: Vec<usize> = (0..plan.repeat).flat_map(|_| 0..cells).collect();
    if plan.shuffle {
        shuffle(&mut order, plan.seed);
    }
    order
}
