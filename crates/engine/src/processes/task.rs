//! What a process of a run is told: what all of them are, and which workers it takes.

use plan::Bundle;

/// What every process of a run is told, whatever its share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Briefing {
    /// What is run, in words that the engine does not read: whoever writes them reads them in [`crate::Assignment::words`].
    pub words: String,
    /// What the plan names and does not hold.
    pub bundle: Bundle,
}

/// Which workers of a run a process takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// The first worker it takes.
    pub from: u32,
    /// The one after its last.
    pub to: u32,
    /// Workers of the whole run.
    pub of: u32,
}
