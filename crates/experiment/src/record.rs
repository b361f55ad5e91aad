//! The record of an experiment: what was asked, and its runs, each as its own record would hold it.

use brunt_contract::UsageError;
use brunt_engine::Stop;
use brunt_i18n::Lang;
use brunt_i18n::text::{Text, text};
use brunt_measure::Nanos;
use serde::{Deserialize, Serialize};

use crate::compare::{CompareOutcome, ComparePlan};
use crate::find::{FindOutcome, FindPlan};
use crate::ladder::{LadderOutcome, LadderPlan};
use crate::report::Reported;
use crate::runner::TrialRunner;
use crate::sweep::{SweepOutcome, SweepPlan};
use crate::words::about;
use crate::{compare, find, ladder, sweep};

const BOUNDED: Text =
    text("{said} No run begins that would end after {limit}.", "{said}不会开始会超过 {limit} 才结束的运行。");

/// The head of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExperimentHead {
    /// Version of brunt.
    pub brunt: String,
    /// Wall clock at its beginning, milliseconds since 1970.
    pub unix_ms: u64,
    /// Command line, secrets masked.
    pub command: Vec<String>,
    /// What is asked.
    pub experiment: Experiment,
    /// The plan of each subject with secrets masked, and what is run around it. Cells of a sweep have that of the first, as
    /// they differ in their axes.
    pub plans: Vec<serde_json::Value>,
}

impl ExperimentHead {
    /// Returns `true` if a record with this head is one of the other: everything is the same but the seed, the time, the
    /// command line and the version.
    pub fn is_like(&self, other: &ExperimentHead) -> bool {
        self.experiment.is_like(&other.experiment) && self.plans == other.plans
    }
}

/// What an experiment asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Experiment {
    /// The highest load that keeps objectives.
    Find(FindPlan),
    /// Whether one side is worse than the other.
    Compare(Box<ComparePlan>),
    /// A table of loads and options.
    Sweep(SweepPlan),
    /// What each further dependency costs.
    Ladder(LadderPlan),
}

impl Experiment {
    /// Returns the name of the command.
    pub fn name(&self) -> &'static str {
        match self {
            Experiment::Find(_) => "find",
            Experiment::Compare(_) => "compare",
            Experiment::Sweep(_) => "sweep",
            Experiment::Ladder(_) => "ladder",
        }
    }

    /// Says what will be done and how long it takes, before it begins.
    ///
    /// No run begins that would end after `limit`.
    pub fn outlook(&self, limit: Option<Nanos>, lang: Lang) -> String {
        let said = match self {
            Experiment::Find(plan) => find::outlook(plan, lang),
            Experiment::Compare(plan) => compare::outlook(plan, lang),
            Experiment::Sweep(plan) => sweep::outlook(plan, lang),
            Experiment::Ladder(plan) => ladder::outlook(plan, lang),
        };
        match limit.or(self.usual_limit()) {
            Some(limit) => lang.fill(BOUNDED, &[("said", &said), ("limit", &about(limit, lang))]),
            None => said,
        }
    }

    /// Makes the experiment; `say` gets a line for each run as it is done, in the language. `stop` ends it with what is
    /// known.
    ///
    /// # Errors
    /// Returns an error if the first load does not fit the requests, or that of the runner.
    pub fn conduct(
        &self,
        runner: &mut dyn TrialRunner,
        stop: &Stop,
        (say, lang): (&mut dyn FnMut(&str), Lang),
    ) -> Result<ExperimentOutcome, UsageError> {
        match self {
            Experiment::Find(plan) => {
                let (mut number, is_rate) = (0, plan.load.is_open());
                let found = find::find(plan, runner, stop, &mut |row| {
                    number += 1;
                    say(&find::trial_line(number, row, is_rate, lang));
                });
                found.map(|found| ExperimentOutcome::Find(Box::new(found)))
            }
            Experiment::Compare(plan) => {
                let tell = &mut |n, row: &_| say(&compare::run_line(n, row, lang));
                compare::compare(plan, runner, stop, tell).map(|found| ExperimentOutcome::Compare(Box::new(found)))
            }
            Experiment::Sweep(plan) => {
                let found = sweep::sweep(plan, runner, stop, &mut |n, cell, summary| {
                    say(&sweep::run_line(n, (cell, plan), summary, lang));
                });
                found.map(ExperimentOutcome::Sweep)
            }
            Experiment::Ladder(plan) => {
                let tell = &mut |rung: &str, run: &_| say(&ladder::run_line(rung, run, lang));
                ladder::climb(plan, runner, stop, tell).map(ExperimentOutcome::Ladder)
            }
        }
    }

    fn seed(&mut self) -> &mut u64 {
        match self {
            Experiment::Find(plan) => &mut plan.seed,
            Experiment::Compare(plan) => &mut plan.seed,
            Experiment::Sweep(plan) => &mut plan.seed,
            Experiment::Ladder(plan) => &mut plan.seed,
        }
    }

    /// Returns the time that it may take without a bound of one's own.
    pub fn usual_limit(&self) -> Option<Nanos> {
        match self {
            Experiment::Find(plan) => Some(plan.usual_limit()),
            Experiment::Compare(_) | Experiment::Sweep(_) | Experiment::Ladder(_) => None,
        }
    }

    /// Returns `true` if a record of this is one of the other, apart from the seed.
    pub fn is_like(&self, other: &Experiment) -> bool {
        let (mut alike, mut other) = (self.clone(), other.clone());
        *alike.seed() = *other.seed();
        alike == other
    }
}

/// What an experiment found.
#[derive(Debug)]
pub enum ExperimentOutcome {
    /// See [`Experiment::Find`].
    Find(Box<FindOutcome>),
    /// See [`Experiment::Compare`].
    Compare(Box<CompareOutcome>),
    /// See [`Experiment::Sweep`].
    Sweep(SweepOutcome),
    /// See [`Experiment::Ladder`].
    Ladder(LadderOutcome),
}

impl ExperimentOutcome {
    /// Returns what is reported.
    pub fn reported(&self) -> &dyn Reported {
        match self {
            ExperimentOutcome::Find(found) => &**found,
            ExperimentOutcome::Compare(found) => &**found,
            ExperimentOutcome::Sweep(found) => found,
            ExperimentOutcome::Ladder(found) => found,
        }
    }
}
