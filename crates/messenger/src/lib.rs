//! What an engine that connects machines must do for a run: six verbs over bytes.
//!
//! Zenoh and NATS implement them in `brunt-link`, a process of its own, so that no process that measures holds either. What
//! runs on top (agents, shares, records) is in `brunt-fleet` and does not know which engine carries it.

pub mod bridge;
mod local;
mod replaceable;

pub use bridge::LinkedMessenger;
pub use local::LocalMessenger;
pub use replaceable::ReplaceableMessenger;

use std::any::Any;
use std::time::Duration;

/// Something announced, watched or answered, until this is dropped.
pub type Held = Box<dyn Any + Send + Sync>;

/// Told of each name that appears (`true`) or disappears, first of those that are there.
pub type OnPresence = Box<dyn Fn(&str, bool) + Send + Sync>;

/// Answers a question, on a thread that may block.
pub type Respond = Box<dyn Fn(&[u8]) -> Vec<u8> + Send + Sync>;

/// Takes a frame; returns `true` once it is safe (on disk, or known already), which acknowledges it.
pub type Keep = Box<dyn Fn(&FrameId, &[u8]) -> bool + Send + Sync>;

/// Identity of a frame: one that comes twice is the same frame.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameId {
    /// Identifier of the run.
    pub run: String,
    /// Name of the agent.
    pub agent: String,
    /// Attempt of the agent at the run, from 0: a new process that takes the share again counts on.
    pub epoch: u32,
    /// Number of the frame, from 0.
    pub seq: u64,
}

/// Reason why a verb failed, in a sentence for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undelivered(pub String);

impl std::fmt::Display for Undelivered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Undelivered {}

/// A connection of a coordinator or an agent to the others of its fleet.
///
/// All methods block and may be called from any thread. Addresses are `agent/NAME` (questions to an agent) and `run/RUN`
/// (questions to the coordinator of a run).
pub trait Messenger: Send + Sync {
    /// Announces a name until the returned guard is dropped, or the process, its machine or the way to it is gone.
    ///
    /// # Errors
    /// The engine cannot be reached.
    fn appear(&self, name: &str) -> Result<Held, Undelivered>;

    /// Watches who is there.
    ///
    /// # Errors
    /// The engine cannot be reached.
    fn watch(&self, on_presence: OnPresence) -> Result<Held, Undelivered>;

    /// Answers questions at an address.
    ///
    /// # Errors
    /// The engine cannot be reached.
    fn answer(&self, address: &str, respond: Respond) -> Result<Held, Undelivered>;

    /// Asks at an address.
    ///
    /// # Errors
    /// Nobody answered within this time.
    fn ask(&self, address: &str, question: &[u8], within: Duration) -> Result<Vec<u8>, Undelivered>;

    /// Delivers a frame of a run; success means that the coordinator (or a durable stream) has it. After an error the caller
    /// keeps it and delivers it again.
    ///
    /// # Errors
    /// It was not acknowledged within this time.
    fn deliver(&self, id: &FrameId, frame: &[u8], within: Duration) -> Result<(), Undelivered>;

    /// Receives the frames of a run from all agents. Frames of one agent come in their order if it delivers one after the
    /// other; a frame may come more than once.
    ///
    /// # Errors
    /// The engine cannot be reached.
    fn receive(&self, run: &str, keep: Keep) -> Result<Held, Undelivered>;
}
