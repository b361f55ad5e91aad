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
}

impl<'a> BenchRunner<'a> {
    /// Creates the runner of an experiment with one bench for each subject.
    pub fn new(benches: impl IntoIterator<Item = &'a Bench>) -> BenchRunner<'a> {
        BenchRunner { benches: benches.into_iter().collect(), around: Box::new(|_, _| Ok(())), began: Instant::now() }
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
        (self.around)(of.subject, true)?;
        let measured = self.benches[of.subject].measure(trial, stop, listeners);
        (self.around)(of.subject, false)?;
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
