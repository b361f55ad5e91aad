//! The exit code of a run.
//!
//! Precedence, from the gravest: 70 (our own counting is wrong, so nothing else means anything), 30 (there was nobody to
//! measure), 21 (the run or its `--after` was interrupted, or its record is cut off: what is missing, is missing because of that; of a
//! run that was drained nothing is missing),
//! 20 (the figures are not to be trusted, so neither is what objectives say of them), 10. An untrusted run never exits 0. 11 (regression) and 64 (usage) are given by the program.

use record::{End, Subject};

use crate::objectives::Judged;
use crate::sums::Sums;
use crate::trust::Trust;

/// Exit codes (`docs/measurement.md` 3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Every objective met, and trusted.
    Ok,
    /// An objective was missed, or a step failed that was to end the run.
    Missed,
    /// The figures cannot be trusted, or are only lower bounds.
    NotTrusted,
    /// Interrupted, or cut off.
    Interrupted,
    /// The run was as it should be, and a report that was asked for could not be written.
    NotWritten,
    /// The target could not be reached at all.
    Unreachable,
    /// Our own accounting is violated: a bug in brunt.
    Bug,
}

impl Exit {
    /// The number for the operating system.
    pub fn code(self) -> u8 {
        match self {
            Exit::Ok => 0,
            Exit::Missed => 10,
            Exit::NotTrusted => 20,
            Exit::Interrupted | Exit::NotWritten => 21,
            Exit::Unreachable => 30,
            Exit::Bug => 70,
        }
    }

    /// The code of a run that was judged.
    pub(crate) fn of(run: &Sums, trust: &Trust, objectives: &[Judged]) -> Exit {
        if !run.totals.add_up() {
            return Exit::Bug;
        }
        let probe_failed = run.probe.as_ref().is_some_and(|p| p.failure.is_some());
        if run.end == End::Aborted && run.totals.due == 0 && probe_failed {
            return Exit::Unreachable;
        }
        let said = |subject| run.notices.iter().any(|notice| notice.subject() == Some(subject));
        if (run.end != End::Completed && !run.was_stopped()) || said(Subject::AfterInterrupted) {
            return Exit::Interrupted;
        }
        if trust.against().next().is_some() {
            return Exit::NotTrusted;
        }
        let met = objectives.iter().all(|o| o.met) && !said(Subject::StepStop);
        if met { Exit::Ok } else { Exit::Missed }
    }
}
