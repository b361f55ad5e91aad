//! The record of an experiment: what was asked, and its runs, each as its own record would hold it.

use brunt_contract::UsageError;
use brunt_engine::Stop;
use brunt_i18n::Lang;
use brunt_measure::Nanos;
use serde::{Deserialize, Serialize};

use crate::compare::{CompareOutcome, ComparePlan};
use crate::find::{FindOutcome, FindPlan};
use crate::ladder::{LadderOutcome, LadderPlan};
use crate::report::Reported;
use crate::runner::TrialRunner;
use crate::sweep::{SweepOutcome, SweepPlan};
use crate::{compare, find, ladder, sweep};

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
}

/// What an experiment asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Experiment {
    /// The highest load that keeps objectives.
    Find(FindPlan),
    /// Whether one side is worse than the other.
    Compare(ComparePlan),
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
    pub fn outlook(&self, lang: Lang) -> String {
        match self {
            Experiment::Find(plan) => find::outlook(plan, lang),
            Experiment::Compare(plan) => compare::outlook(plan, lang),
            Experiment::Sweep(plan) => sweep::outlook(plan, lang),
            Experiment::Ladder(plan) => ladder::outlook(plan, lang),
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
                found.map(ExperimentOutcome::Find)
            }
            Experiment::Compare(plan) => {
                let tell = &mut |n, row: &_| say(&compare::run_line(n, row, lang));
                compare::compare(plan, runner, stop, tell).map(ExperimentOutcome::Compare)
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

    /// Returns the seed and the bound of its time.
    fn course(&mut self) -> (&mut u64, &mut Option<Nanos>) {
        match self {
            Experiment::Find(plan) => (&mut plan.seed, &mut plan.time_limit),
            Experiment::Compare(plan) => (&mut plan.seed, &mut plan.time_limit),
            Experiment::Sweep(plan) => (&mut plan.seed, &mut plan.time_limit),
            Experiment::Ladder(plan) => (&mut plan.seed, &mut plan.time_limit),
        }
    }

    /// Returns what goes on from a record: the recorded one, with the time that is allowed now; `None` if something else is
    /// asked.
    #[must_use]
    pub fn resumed_from(&self, recorded: &Experiment) -> Option<Experiment> {
        let mut now = self.clone();
        let seed = *recorded.clone().course().0;
        *now.course().0 = seed;
        let mut before = recorded.clone();
        *before.course().1 = *now.course().1;
        (before == now).then_some(now)
    }
}

/// What an experiment found.
#[derive(Debug)]
pub enum ExperimentOutcome {
    /// See [`Experiment::Find`].
    Find(FindOutcome),
    /// See [`Experiment::Compare`].
    Compare(CompareOutcome),
    /// See [`Experiment::Sweep`].
    Sweep(SweepOutcome),
    /// See [`Experiment::Ladder`].
    Ladder(LadderOutcome),
}

impl ExperimentOutcome {
    /// Returns what is reported.
    pub fn reported(&self) -> &dyn Reported {
        match self {
            ExperimentOutcome::Find(found) => found,
            ExperimentOutcome::Compare(found) => found,
            ExperimentOutcome::Sweep(found) => found,
            ExperimentOutcome::Ladder(found) => found,
        }
    }
}
