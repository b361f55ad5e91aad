//! The exit code of a run.
//!
//! Precedence, from the most severe: 70 (brunt's own accounting is wrong, so every other result is meaningless), 30
//! (the target could not be reached), 21 (the run or its `--after` was interrupted, or its record is cut off, so that
//! results are missing; a drained run is complete), 20 (the counts themselves are in doubt), 10 (an objective was missed
//! for certain, whatever delays may be brunt's own), 20 (the figures cannot be trusted, or an objective cannot be
//! decided). An untrusted run never exits with 0, unless its plan allows it (`--trust warn`). The program sets 11
//! (regression) and 64 (usage) itself.

use brunt_plan::TrustPolicy;
use brunt_record::{End, Subject};

use crate::finding::Finding;
use crate::objectives::{JudgedObjective, ObjectiveOutcome};
use crate::sums::RunSums;
use crate::trust::Trust;

/// Exit codes (`docs/measurement.md` 3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All objectives were met, and the figures can be trusted.
    Ok,
    /// An objective was missed, or a failed step ended the run as planned.
    Missed,
    /// The figures cannot be trusted, or are only lower bounds.
    NotTrusted,
    /// Interrupted, or cut off.
    Interrupted,
    /// The run itself was fine, but a requested report could not be written.
    NotWritten,
    /// The target could not be reached at all.
    Unreachable,
    /// The run's own counts do not add up: a bug in brunt.
    Bug,
}

impl Exit {
    /// Returns the exit code as a number.
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

    /// Returns the exit code of a judged run.
    pub(crate) fn of(run: &RunSums, trust: &Trust, objectives: &[JudgedObjective]) -> Exit {
        if !run.totals.is_consistent() {
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
        if trust.against().any(Finding::refutes_counts) {
            return Exit::NotTrusted;
        }
        let any = |outcome| objectives.iter().any(|objective| objective.outcome == outcome);
        if any(ObjectiveOutcome::Missed) || said(Subject::StepStop) {
            return Exit::Missed;
        }
        let policy = run.trust_policy();
        let undecided = policy != TrustPolicy::Warn && any(ObjectiveOutcome::Undecided);
        let untrusted = undecided || trust.doubts(policy, !objectives.is_empty()).next().is_some();
        if untrusted { Exit::NotTrusted } else { Exit::Ok }
    }
}
