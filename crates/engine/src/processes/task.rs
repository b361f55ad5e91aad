//! The briefing and the task of a process of a run.

use brunt_plan::Bundle;

/// The briefing sent to every process of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Briefing {
    /// Description of the run, which the engine does not interpret; it is returned by [`crate::Assignment::description`].
    pub description: String,
    /// Files and variables to which the plan refers.
    pub bundle: Bundle,
}

/// The range of workers of a run that a process takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// The first worker.
    pub from: u32,
    /// One past the last worker.
    pub to: u32,
    /// Number of workers of the whole run.
    pub of: u32,
}
