//! What a virtual user does next.
//!
//! The engine wakes a user when something happened to it (its visit begins, its pause is over, a response came) and does what
//! the scenario answers. Whether that is a weighted choice among prepared requests, what is said on a connection of one's
//! own, a flow or a script makes no difference to it. A scenario belongs to one worker: it shares nothing and never waits.

mod condition;
mod flow;
mod mix;
mod own;
mod program;
mod requests;
mod turns;

use measure::Nanos;
use plan::flow::OnFailure;
use wire::FaultKind;

pub use condition::Condition;
pub use flow::{ENDLESS, Flow, InBatch, Stops, Told, What};
pub use mix::Mix;
pub use own::OwnConnections;
pub use program::Program;
pub use requests::Requests;
pub use turns::Turns;

/// Chooses what the users of one worker do.
pub trait Scenario: Send {
    /// What a user does next. `on`: where the connection leads that is its own (an index into the origins of the run), if it
    /// has one.
    fn wake(&mut self, user: u32, on: Option<u32>, news: News) -> Act;
    /// Where a connection leads that is opened before anything is said on it; `nth`: its number.
    fn leads_to(&mut self, nth: u32) -> u32;
}

/// Why a user is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// Its visit begins: it was started, or an arrival is due.
    Begin,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Sends the prepared request of this index.
    Send(u32),
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

/// The scenario of a worker: what every usual run plays is called without a detour.
pub enum Choice {
    /// A weighted choice among the prepared requests.
    Requests(Requests),
    /// A flow, step by step.
    Flow(Box<Flow>),
    /// Any other.
    Other(Box<dyn Scenario>),
}

impl Choice {
    /// As [`Scenario::wake`]; of a flow at the moment `at` at which it happened, by a user who knows nothing yet.
    #[inline]
    pub fn wake(&mut self, user: u32, on: Option<u32>, news: News, at: Nanos) -> Act {
        match self {
            Choice::Requests(requests) => requests.wake(user, on, news),
            Choice::Flow(flow) => {
                flow.hear(user, news, at);
                let act = flow.next(user, at, &mut wire::Values::default());
                if matches!(act, Act::Send(_)) {
                    flow.sends(user, at);
                }
                act
            }
            Choice::Other(other) => other.wake(user, on, news),
        }
    }

    /// The flow that users go through, where they do.
    #[inline]
    pub fn flow(&mut self) -> Option<&mut Flow> {
        match self {
            Choice::Flow(flow) => Some(flow),
            Choice::Requests(_) | Choice::Other(_) => None,
        }
    }

    /// As [`Scenario::leads_to`].
    pub fn leads_to(&mut self, nth: u32) -> u32 {
        match self {
            Choice::Requests(requests) => requests.leads_to(nth),
            // Users of a flow open what they need.
            Choice::Flow(_) => 0,
            Choice::Other(other) => other.leads_to(nth),
        }
    }
}
