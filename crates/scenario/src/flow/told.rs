//! What a flow tells of its iterations and groups.

use measure::Nanos;

use crate::UserIndex;

/// An iteration, or a group of it, began or is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// Whose.
    pub user: UserIndex,
    /// Which: 0 is the iteration as a whole, the groups follow in the order of [`plan::flow::Flow::groups`].
    pub span: u16,
    /// When it began: for an iteration, when it was due; for a group, when its first request was.
    pub began: Nanos,
    /// What became of it.
    pub what: What,
}

/// What became of an iteration or a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// It began.
    Began,
    /// Its steps are done, or one of them failed so that it was left.
    Ended {
        /// No step of it failed.
        passed: bool,
        /// How long it took.
        lasted: Nanos,
        /// The same without pauses.
        active: Nanos,
    },
    /// The run ended before it did, when it had lasted so long.
    Cut(Nanos),
}
