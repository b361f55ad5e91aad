//! The position of a user in a flow.

use brunt_measure::Nanos;

/// Start time of a span that has not begun.
const NEVER: Nanos = Nanos::MAX;
/// Start time of a span that is open but has not sent anything yet.
pub const SOON: Nanos = Nanos(u64::MAX - 1);

/// The state of one user in the flow.
#[derive(Clone, Copy, Debug)]
pub struct FlowPosition {
    pub at: u32,
    /// Set during an iteration and during the start and end sections.
    pub active: bool,
    pub section: FlowSection,
    /// Time at which the section, or the iteration, began.
    pub began: Nanos,
    /// Number of requests in flight.
    pub in_flight: u32,
    /// Number of requests of the current batch that were sent.
    pub batch_sent: u32,
    /// Time at which the current batch began.
    pub batch_began: Nanos,
    /// Set after a failed request: the rest of the batch is not sent and the steps after it are skipped.
    pub batch_failed: bool,
    /// Set if a step of this iteration failed.
    pub failed: bool,
    /// Set after a failure: the rest of the iteration sends nothing and only pauses.
    pub only_waits: bool,
    /// Set if the user cannot connect yet: it goes on up to its next request.
    pub disconnected: bool,
    /// Set if a failure kept a request of this iteration from being sent.
    pub cut_short: bool,
    /// Number of consecutive iterations that a failure cut short.
    pub cut_in_a_row: u8,
    /// Set if a peer answered a request of this iteration.
    pub answered: bool,
    /// Number of consecutive requests that were answered from the user's cache instead of being sent.
    pub cached_in_a_row: u32,
    /// Set if the user has waited for its turn to send the next request.
    pub has_turn: bool,
    /// Number of consecutive turns in which the user used up its operation budget without sending or pausing.
    pub busy_turns: u32,
    /// Set if the user leaves for good after this iteration.
    pub leaving: bool,
    /// Set once the user has finished an iteration.
    pub has_iterated: bool,
    /// Total of the pauses of this iteration so far.
    pub paused: Nanos,
    /// Total of the delays of this iteration's requests that may be the generator's own.
    pub delayed: Nanos,
    /// End of the latest of these requests.
    pub delayed_until: Nanos,
    pub last_answer: Nanos,
    /// Total of the pauses before the last response.
    pub paused_by_answer: Nanos,
}

/// The section of the flow that a user is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowSection {
    /// The time before the first iteration.
    Before,
    Start,
    Iterations,
    End,
}

/// An iteration or group of a user in progress.
#[derive(Clone, Copy, Debug)]
pub struct OpenSpan {
    pub began: Nanos,
    /// Total of the user's pauses when the span began.
    pub paused_before: Nanos,
    /// Total of the delays that may be the generator's own when the span began.
    pub delayed_before: Nanos,
    pub failed: bool,
}

/// State of a user that has not started.
pub const NEW: FlowPosition = FlowPosition {
    at: 0,
    active: false,
    section: FlowSection::Before,
    began: Nanos::ZERO,
    in_flight: 0,
    batch_sent: 0,
    batch_began: Nanos::ZERO,
    batch_failed: false,
    failed: false,
    only_waits: false,
    disconnected: false,
    cut_short: false,
    cut_in_a_row: 0,
    answered: false,
    has_turn: false,
    cached_in_a_row: 0,
    busy_turns: 0,
    leaving: false,
    has_iterated: false,
    paused: Nanos::ZERO,
    delayed: Nanos::ZERO,
    delayed_until: Nanos::ZERO,
    last_answer: Nanos::ZERO,
    paused_by_answer: Nanos::ZERO,
};
/// A span that has not begun.
pub const NOT_BEGUN: OpenSpan =
    OpenSpan { began: NEVER, paused_before: Nanos::ZERO, delayed_before: Nanos::ZERO, failed: false };
