//! Runs made with benches.

use std::time::Instant;

use brunt_bench::Bench;
use brunt_contract::UsageError;
use brunt_engine::Stop;
use brunt_measure::Nanos;
use brunt_plan::Trial;
use brunt_record::RunListener;
use brunt_report::Exit;

use super::{RunOf, RunResult, TrialRunner};

/// What is done before (`true`) and after each run of a subject.
type AroundRun<'a> = Box<dyn FnMut(usize, bool) -> Result<(), UsageError> + 'a>;

/// A maker of runs with benches whose first answers are known.
pub struct BenchRunner<'a> {
    benches: Vec<&'a Bench>,
    around: AroundRun<'a>,
    began: Instant,
    /// Time after which no run ends, if it can be helped; the first is always made.
    limit: Option<Nanos>,
    made: usize,
    /// The longest time that a run took beyond its length.
    longest_extra: Nanos,
}

impl<'a> BenchRunner<'a> {
    /// Creates the runner of an experiment with one bench for each subject.
    pub fn new(benches: impl IntoIterator<Item = &'a Bench>) -> BenchRunner<'a> {
        BenchRunner {
            benches: benches.into_iter().collect(),
            around: Box::new(|_, _| Ok(())),
            began: Instant::now(),
            limit: None,
            made: 0,
            longest_extra: Nanos::ZERO,
        }
    }

    /// Sets the time after which no run shall end; the first one is made in any case.
    #[must_use]
    pub fn until(self, limit: Option<Nanos>) -> BenchRunner<'a> {
        BenchRunner { limit, ..self }
    }

    /// Sets what is done before (`true`) and after each run of a subject.
    #[must_use]
    pub fn around(self, around: impl FnMut(usize, bool) -> Result<(), UsageError> + 'a) -> BenchRunner<'a> {
        BenchRunner { around: Box::new(around), ..self }
    }
}

impl TrialRunner for BenchRunner<'_> {
    fn run(
        &mut self,
        of: RunOf,
        trial: &Trial,
        stop: &Stop,
        listeners: &mut [&mut dyn RunListener],
    ) -> Result<RunResult, UsageError> {
        let before = self.elapsed();
        let ends = before.saturating_add(trial.lasts()).saturating_add(self.longest_extra);
        if self.made > 0 && self.limit.is_some_and(|limit| ends > limit) {
            return Ok(RunResult::OutOfTime);
        }
        (self.around)(of.subject, true)?;
        let measured = self.benches[of.subject].measure(trial, stop, listeners);
        (self.around)(of.subject, false)?;
        self.made += 1;
        self.longest_extra = self.longest_extra.max((self.elapsed() - before) - trial.lasts());
        Ok(match measured {
            Err(complaint) => RunResult::Refused(complaint),
            Ok(summary) => match summary.exit {
                Exit::Unreachable => RunResult::Lost,
                Exit::Interrupted => RunResult::Stopped,
                _ => RunResult::Made(Box::new(summary)),
            },
        })
    }

    fn elapsed(&self) -> Nanos {
        Nanos(self.began.elapsed().as_nanos() as u64)
    }
}
