//! The runs of an experiment: made with benches, or read from its record, which makes no difference to what is asked.

mod benches;
mod recorded;
#[cfg(test)]
pub(crate) mod tests;

use brunt_contract::UsageError;
use brunt_engine::Stop;
use brunt_measure::Nanos;
use brunt_plan::Trial;
use brunt_record::RunListener;
use brunt_report::Summary;
use serde::{Deserialize, Serialize};

pub use benches::BenchRunner;
pub use recorded::{RecordedRunner, nth_run};

/// What became of a run.
#[derive(Debug)]
pub enum RunResult {
    /// It was made.
    Made(Box<Summary>),
    /// The target could not be reached any more.
    Lost,
    /// An agent or a process was lost in it, or could not be had: it says nothing about the service, nor about what this
    /// machine can send.
    Partial(UsageError),
    /// It was interrupted, or the record ends here: no further run follows.
    Stopped,
    /// There is no time for it.
    OutOfTime,
    /// The load does not fit the requests, or this machine.
    Refused(UsageError),
}

/// What a run is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOf {
    /// Index of the subject: a side, a cell, a rung.
    pub subject: usize,
    /// Set if it only prepares others, and is not numbered: a warm-up, or a wait until the service has recovered.
    pub is_aside: bool,
}

impl RunOf {
    /// Creates a run that counts, of this subject.
    pub fn subject(subject: usize) -> RunOf {
        RunOf { subject, is_aside: false }
    }
}

/// A maker of runs.
pub trait TrialRunner {
    /// Makes the next run; the listeners get its events.
    ///
    /// # Errors
    /// Returns an error if a command around it failed, or the record is not one of these runs.
    fn run(
        &mut self,
        of: RunOf,
        trial: &Trial,
        stop: &Stop,
        listeners: &mut [&mut dyn RunListener],
    ) -> Result<RunResult, UsageError>;

    /// Returns the time spent on the experiment, up to the end of the last run or longer.
    fn elapsed(&self) -> Nanos;
}
