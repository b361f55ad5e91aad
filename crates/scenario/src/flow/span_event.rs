//! Events that a flow reports about its iterations and groups.

use brunt_measure::Nanos;

use crate::UserIndex;

/// The beginning or end of an iteration or of a group within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanEvent {
    /// User to which the span belongs.
    pub user: UserIndex,
    /// Index of the span: 0 is the whole iteration; the groups follow in the order of
    /// [`brunt_plan::flow::Flow::groups`].
    pub span: u16,
    /// Start time: when the iteration was due, or when the first request of the group was due.
    pub began: Nanos,
    /// Kind of the event.
    pub kind: SpanEventKind,
}

/// The kind of a span event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanEventKind {
    /// The span began.
    Began,
    /// The steps of the span are done, or one of them failed and the rest was skipped.
    Ended {
        /// Set if no step failed.
        passed: bool,
        /// Duration including pauses.
        lasted: Nanos,
        /// Duration without pauses.
        active: Nanos,
        /// Part of both that may be the generator's own: the delays of its requests.
        own: Nanos,
    },
    /// The run ended before the span did; holds its duration up to then.
    Cut(Nanos),
}
