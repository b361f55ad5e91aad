//! What a virtual user does next.
//!
//! The engine wakes a user when something happened to it (its visit begins, its pause is over, a response came) and does what
//! the scenario put into a buffer of acts. Whether that is a weighted choice among prepared requests, what is said on a connection of
//! one's own, a flow or a script makes no difference to it. A scenario belongs to one worker: it shares nothing and never waits.

mod condition;
mod flow;
mod mix;
mod own;
mod program;
mod requests;
mod turns;

use std::collections::VecDeque;

use measure::Nanos;
use plan::flow::OnFailure;
use wire::{Draft, FaultKind, OriginId, RequestId, Values};

pub use condition::Condition;
pub use flow::{ENDLESS, Flow, InBatch, Stops, Told, What};
pub use mix::Mix;
pub use own::OwnConnections;
pub use program::Program;
pub use requests::Requests;
pub use turns::Turns;

wire::ids! {
    /// A user, by its number within its scenario.
    UserIndex
}

/// Chooses what the users of one worker do.
pub trait Scenario: Send {
    /// What a user does after what happened to it, appended to `acts` in its order; `values` are its own, of which requests with slots are
    /// filled, and into which captures of responses go. Nothing: it waits for what it wants already.
    fn wake(&mut self, woken: Woken, values: &mut Values, acts: &mut Acts);
    /// Its users hear messages that come unasked on connections of their own ([`Scenario::hear`]): asked once, before the run.
    fn hears(&self) -> bool {
        false
    }
    /// A message came unasked on a user's connection, whatever else that waits for. What it does upon it is appended to `acts`; what it comes to
    /// in the end (a pause, leaving) only where it waits for nothing else.
    fn hear(&mut self, _unasked: Unasked<'_>, _values: &mut Values, _acts: &mut Acts) {}
    /// Where a connection leads that is opened before anything is said on it; `nth`: its number.
    fn leads_to(&mut self, _nth: u32) -> OriginId {
        OriginId(0)
    }
    /// Users go through iterations, which are what the load counts, and finish what they began though the window is over. False: each request
    /// is an iteration of its own.
    fn iterates(&self) -> bool {
        false
    }
    /// A user who begins next does what comes before its first iteration.
    fn prepares(&self, _user: UserIndex) -> bool {
        false
    }
    /// Requests of a user that are under way, as far as it was told.
    fn under_way(&self, _user: UserIndex) -> u32 {
        0
    }
    /// A user is in the middle of requests that are sent together.
    fn is_in_batch(&self, _user: UserIndex) -> bool {
        false
    }
    /// A request that was due then leaves, and is in no cache of its user.
    fn sends(&mut self, _user: UserIndex, _at: Nanos, _acts: &mut Acts) {}
    /// A user does nothing more, in the middle of an iteration or not; `anew`: somebody else may have its number next.
    fn leaves(&mut self, _user: UserIndex, _at: Nanos, _anew: bool, _acts: &mut Acts) {}
}

/// What users do, in its order: the scenario appends to it, and the engine drains it.
pub type Acts = VecDeque<Act>;

/// A user to whom something happened.
#[derive(Clone, Copy, Debug)]
pub struct Woken {
    /// Which, by its number within the scenario.
    pub user: UserIndex,
    /// Where the connection leads that is its own, if it has one.
    pub on: Option<OriginId>,
    /// What happened.
    pub news: News,
    /// When.
    pub at: Nanos,
    /// It could not connect, and sends nothing until it is woken again: what happened is noted, that it waits where requests of it are
    /// under way, and how long it pauses where it would have paused anyway.
    pub rests: bool,
}

impl Woken {
    /// A user to whom this happened at that moment; it has no connection of its own, and may go on.
    pub const fn new(user: UserIndex, news: News, at: Nanos) -> Woken {
        Woken { user, on: None, news, at, rests: false }
    }
}

/// A message that nobody asked for, on a connection of a user.
#[derive(Clone, Copy, Debug)]
pub struct Unasked<'a> {
    /// Whose.
    pub user: UserIndex,
    /// When it was read.
    pub at: Nanos,
    /// Its bytes, as far as its protocol keeps what it looks into.
    pub message: &'a [u8],
}

/// Why a user is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// Its visit begins: it was started, or an arrival is due.
    Begin,
    /// No further visit of it begins: what it does at its end is next.
    NoMore,
    /// Its pause is over, or the connection it asked for stands.
    Awake,
    /// What it sent is over: the status code of the response (0: none), and what was wrong with it.
    Ended {
        /// As in [`wire::Ended::code`].
        code: u32,
        /// None: it succeeded.
        fault: Option<FaultKind>,
        /// Of one of a batch: what follows where it failed ([`InBatch::on_failure`]). Of others their step says so.
        on_failure: OnFailure,
    },
    /// It has the answer to what it was to send, and did not send it.
    Recalled,
}

impl News {
    /// What was sent is over and was as it should be, whatever its code.
    pub const PASSED: News = News::Ended { code: 0, fault: None, on_failure: OnFailure::GoOn };
}

/// What a user does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Sends the prepared request of this index.
    Send(RequestId),
    /// The same of one of several that are sent together.
    SendTogether(RequestId, InBatch),
    /// Sends a request that is composed for it.
    Compose(Box<Draft>),
    /// Closes connections of its own: to the servers of the `close` of this number.
    Close(usize),
    /// An iteration of it, or a group, began or is over.
    Tell(Told),
    /// A step failed that is to stop more than its iteration.
    Stop(Stops),
    /// Does nothing for so long.
    Pause(Nanos),
    /// Waits for what it sent before.
    Wait,
    /// Has gone through many steps that send nothing and is not at the end of them: others have their turn first. The number says for the how many-th
    /// time in a row.
    Busy(u32),
    /// Has said everything, and keeps its connection.
    Hold,
    /// Its visit, or its iteration, is over.
    Done,
    /// It leaves for good.
    Leave,
}
