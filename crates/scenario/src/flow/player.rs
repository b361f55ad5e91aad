//! The position of a user in a flow.

use measure::Nanos;

/// Start time of a span that has not begun.
const NEVER: Nanos = Nanos::MAX;
/// Start time of a span that has begun but has not sent anything yet.
pub const SOON: Nanos = Nanos(u64::MAX - 1);

/// The state of one user in the flow.
#[derive(Clone, Copy, Debug)]
pub struct Player {
    pub at: u32,
    /// Set during an iteration and during the start and end sections.
    pub plays: bool,
    pub phase: Phase,
    /// Number of requests in flight.
    pub flying: u32,
    /// Number of requests of the current batch that were sent.
    pub batch: u32,
    /// Time at which the current batch began.
    pub batch_began: Nanos,
    /// Set after a failed request: the rest of the batch is not sent and the steps after it are skipped.
    pub dropped: bool,
    /// Set if a step of this iteration failed.
    pub failed: bool,
    /// Set after a failure: the rest of the iteration only waits as long as its pauses say.
    pub only_waits: bool,
    /// Set if a peer answered a request of this iteration.
    pub sent: bool,
    /// Number of consecutive requests that were answered from the user's cache instead of being sent.
    pub recalled: u32,
    /// Set if the user has waited for its turn to send the next request.
    pub has_turn: bool,
    /// Number of consecutive turns in which the user used up its operation budget without sending or pausing.
    pub busy: u32,
    /// Set if the user leaves for good after this iteration.
    pub leaves: bool,
    /// Set once the user has finished an iteration.
    pub again: bool,
    /// Total of the pauses of this iteration so far.
    pub slept: Nanos,
    pub last_answer: Nanos,
    /// Total of the pauses before the last response.
    pub slept_by_answer: Nanos,
}

/// The section of the flow that a user is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The time before the first iteration.
    Before,
    Start,
    Iterations,
    End,
}

/// An iteration or group of a user in progress.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub began: Nanos,
    /// Total of the user's pauses when the span began.
    pub slept: Nanos,
    pub failed: bool,
}

/// State of a user that has not started.
pub const NEW: Player = Player {
    at: 0,
    plays: false,
    phase: Phase::Before,
    flying: 0,
    batch: 0,
    batch_began: Nanos::ZERO,
    dropped: false,
    failed: false,
    only_waits: false,
    sent: false,
    has_turn: false,
    recalled: 0,
    busy: 0,
    leaves: false,
    again: false,
    slept: Nanos::ZERO,
    last_answer: Nanos::ZERO,
    slept_by_answer: Nanos::ZERO,
};
/// A span that has not begun.
pub const NOT_BEGUN: Span = Span { began: NEVER, slept: Nanos::ZERO, failed: false };
