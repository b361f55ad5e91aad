//! Scenarios, which decide what a virtual user does next.
//!
//! The engine wakes a user on an event (its visit begins, its pause ends, a response arrives) and performs the actions
//! that the scenario appends to a buffer. The engine does not distinguish between a weighted choice among prepared
//! requests, an exchange on a user's own connection, a flow and a script. A scenario belongs to one worker: it shares
//! nothing and never blocks.

mod condition;
mod dedicated;
mod elements;
mod flow;
mod program;
mod rate_limit;
mod requests;
mod weighted;

use std::collections::VecDeque;

use brunt_contract::{FaultKind, OriginId, RequestDraft, RequestId, UserValues};
use brunt_measure::Nanos;
use brunt_plan::flow::OnFailure;

pub use condition::Condition;
pub use dedicated::DedicatedConnections;
pub use flow::{BatchMember, ENDLESS, FlowScenario, SpanEvent, SpanEventKind, StopScope};
pub use program::FlowProgram;
pub use rate_limit::RateLimit;
pub use requests::RequestMix;
pub use weighted::WeightedChoice;

brunt_contract::ids! {
    /// A user, numbered within its scenario.
    UserIndex
}

/// The decision logic for the users of one worker.
pub trait Scenario: Send {
    /// Appends the user's reaction to an event to `actions`, in order. `values` belongs to this user: it fills the
    /// slots of requests, and stores the captures of responses. If nothing is appended, the user continues to wait.
    fn wake(&mut self, wakeup: Wakeup, values: &mut UserValues, actions: &mut Actions);
    /// Returns `true` if users handle unsolicited messages on their own connections ([`Scenario::on_unsolicited`]). The
    /// engine calls it once, before the run.
    fn handles_unsolicited(&self) -> bool {
        false
    }
    /// Handles an unsolicited message on a user's connection, whatever the user is waiting for. Appends the reaction to
    /// the actions; a final action (a pause, leaving) may be appended only if the user waits for nothing else.
    fn on_unsolicited(&mut self, _unasked: UnsolicitedMessage<'_>, _values: &mut UserValues, _acts: &mut Actions) {}
    /// Returns the origin that the `nth` connection leads to, for connections opened before any request is chosen.
    fn origin_of(&mut self, _nth: u32) -> OriginId {
        OriginId(0)
    }
    /// Returns `true` if users run iterations: the load counts these, and the current ones are finished after the
    /// window ends. If `false`, each request is an iteration.
    fn has_iterations(&self) -> bool {
        false
    }
    /// Returns `true` if the user will next run the steps that precede its first iteration.
    fn has_start_section(&self, _user: UserIndex) -> bool {
        false
    }
    /// Returns the number of a user's requests in flight, as known to the scenario.
    fn in_flight(&self, _user: UserIndex) -> u32 {
        0
    }
    /// Returns `true` if the user is in the middle of requests that are sent together.
    fn is_in_batch(&self, _user: UserIndex) -> bool {
        false
    }
    /// Records that a request due at `at` is actually sent, not answered from the user's cache.
    fn on_sent(&mut self, _user: UserIndex, _at: Nanos, _acts: &mut Actions) {}
    /// Records a delay of a request of the user that ended at `at`, which may be the generator's own; the event of its
    /// end follows.
    fn on_delayed(&mut self, _user: UserIndex, _own: Nanos, _at: Nanos) {}
    /// Handles a user that stops, in the middle of an iteration or not. If `anew`, another user may get its index next.
    fn on_leave(&mut self, _user: UserIndex, _at: Nanos, _anew: bool, _acts: &mut Actions) {}
}

/// The buffer for a user's actions, in order: the scenario appends to it, and the engine drains it.
pub type Actions = VecDeque<Action>;

/// A user with the event that wakes it.
#[derive(Clone, Copy, Debug)]
pub struct Wakeup {
    /// Index of the user within the scenario.
    pub user: UserIndex,
    /// Origin of the user's own connection, if it has one.
    pub origin: Option<OriginId>,
    /// The event.
    pub event: UserEvent,
    /// Time of the event.
    pub at: Nanos,
    /// Set if the user could not connect and sends nothing yet. The scenario records the event and goes on up to the
    /// user's next request: pauses pass meanwhile.
    pub disconnected: bool,
}

impl Wakeup {
    /// Creates the wakeup of a user that has no connection of its own and may continue.
    pub const fn new(user: UserIndex, event: UserEvent, at: Nanos) -> Wakeup {
        Wakeup { user, origin: None, event, at, disconnected: false }
    }
}

/// An unsolicited message on a user's connection.
#[derive(Clone, Copy, Debug)]
pub struct UnsolicitedMessage<'a> {
    /// User for whom it arrived.
    pub user: UserIndex,
    /// Time at which it was read.
    pub at: Nanos,
    /// Bytes of the message that its protocol keeps for searching.
    pub message: &'a [u8],
}

/// The reason for waking a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserEvent {
    /// The user's visit begins, because the user was started or an arrival is due.
    Begin,
    /// The user begins no further visit; its end steps are next.
    NoMoreVisits,
    /// The user's pause is over, or the connection it requested is established.
    Resumed,
    /// A request has ended.
    Ended {
        /// Status code of the response, 0 for none; see [`brunt_contract::ExchangeEnd::code`].
        code: u32,
        /// Fault of the request; `None` if it succeeded.
        fault: Option<FaultKind>,
        /// Failure policy of a batch request ([`BatchMember::on_failure`]). Other requests use the policy of their
        /// step.
        on_failure: OnFailure,
    },
    /// The request was answered from the user's cache and was not sent.
    Cached,
}

impl UserEvent {
    /// A request that succeeded, whatever its status code.
    pub const PASSED: UserEvent = UserEvent::Ended { code: 0, fault: None, on_failure: OnFailure::GoOn };
}

/// An action of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Sends the prepared request with this index.
    Send(RequestId),
    /// Like [`Action::Send`], for a request of a batch.
    SendInBatch(RequestId, BatchMember),
    /// Sends a request composed at run time.
    Compose(Box<RequestDraft>),
    /// Closes the user's connections to the servers of the `close` step with this index.
    Close(usize),
    /// Reports that an iteration or a group began or ended.
    Report(SpanEvent),
    /// Reports a failed step that stops more than its iteration.
    Stop(StopScope),
    /// Pauses for this long.
    Pause(Nanos),
    /// Waits for requests sent before.
    Wait,
    /// Yields, because the user used up its operation budget without sending. Holds the number of consecutive times.
    Yielded(u32),
    /// Keeps the connection open: the user has sent everything.
    Hold,
    /// Ends the visit or the iteration.
    Done,
    /// Leaves for good.
    Leave,
}
