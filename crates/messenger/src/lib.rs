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
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// Something announced, watched or answered, until this is dropped.
pub type Held = Box<dyn Any + Send + Sync>;

/// Told of each presence that appears (`true`) or disappears, first of those that are there.
pub type OnPresence = Box<dyn Fn(&Presence, bool) + Send + Sync>;

/// Answers a question, on a thread that may block.
pub type Respond = Box<dyn Fn(&[u8]) -> Vec<u8> + Send + Sync>;

/// Takes a frame; returns `true` once it is safe (on disk, or known already), which acknowledges it.
pub type Keep = Box<dyn Fn(&FrameId, &[u8]) -> bool + Send + Sync>;

/// Presence of an agent. Two of one name are two agents that share a token.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Presence {
    /// Name of the agent.
    pub name: String,
    /// Number that tells it from others of its name, the same whatever becomes of its links. It is small because others keep
    /// each: a hostile agent shall not fill their memory.
    pub instance: u16,
}

impl Presence {
    /// Draws the number of an agent, once for as long as it lends itself.
    #[must_use]
    pub fn draw(name: &str) -> Presence {
        // What seeds hashes comes from the operating system, so that machines that start at the same time differ.
        Presence { name: name.to_owned(), instance: RandomState::new().hash_one(name) as u16 }
    }

    /// Returns the name and the number as the two last parts of a key.
    #[must_use]
    pub fn key(&self, between: char) -> String {
        format!("{}{between}{}", self.name, self.instance)
    }

    /// Reads the two last parts of a key.
    #[must_use]
    pub fn of_key(key: &str, between: char) -> Option<Presence> {
        let mut parts = key.rsplit(between);
        let instance = parts.next()?.parse().ok()?;
        Some(Presence { name: parts.next()?.to_owned(), instance })
    }
}

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
    /// Announces a presence until the returned guard is dropped, or the process, its machine or the way to it is gone.
    ///
    /// # Errors
    /// The engine cannot be reached.
    fn appear(&self, presence: &Presence) -> Result<Held, Undelivered>;

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
