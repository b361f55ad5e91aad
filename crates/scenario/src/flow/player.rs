//! Where a user stands in a flow.

use measure::Nanos;

/// Not begun.
const NEVER: Nanos = Nanos::MAX;
/// Begun, but nothing was sent yet.
pub const SOON: Nanos = Nanos(u64::MAX - 1);

/// Where a user stands.
#[derive(Clone, Copy, Debug)]
pub struct Player {
    pub at: u32,
    /// It is in the middle of an iteration, or of what comes before its first or after its last.
    pub plays: bool,
    pub phase: Phase,
    /// Requests under way.
    pub flying: u32,
    /// Of a batch: so many were sent.
    pub batch: u32,
    /// When that batch began.
    pub batch_began: Nanos,
    /// One of it failed, so that nothing more of it is sent and what follows it is left.
    pub dropped: bool,
    /// A step of this iteration failed.
    pub failed: bool,
    /// It failed, and what is left of the iteration is to wait as long as its pauses say.
    pub only_waits: bool,
    /// A request of this iteration was answered by somebody.
    pub sent: bool,
    /// So many in a row were not sent, for their user had the answers.
    pub recalled: u32,
    /// It waited for its turn to send what comes next.
    pub has_turn: bool,
    /// So many times in a row it went through many operations without sending or pausing.
    pub busy: u32,
    /// It leaves for good after this iteration.
    pub leaves: bool,
    /// It finished an iteration before.
    pub again: bool,
    /// Pauses of this iteration so far.
    pub slept: Nanos,
    pub last_answer: Nanos,
    /// Of the pauses, those before that answer.
    pub slept_by_answer: Nanos,
}

/// What a user is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Before its first iteration.
    Before,
    Start,
    Iterations,
    End,
}

/// One iteration or group of a user under way.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub began: Nanos,
    /// What the user had slept by then.
    pub slept: Nanos,
    pub failed: bool,
}

/// Who has not come yet.
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
/// Nothing of it has begun.
pub const NOT_BEGUN: Span = Span { began: NEVER, slept: Nanos::ZERO, failed: false };
