//! What coordinator and agents say to each other, as JSON: small questions with an answer each. Plans and figures go
//! another way (`frame`, and the pieces of a briefing).

use brunt_engine::Task;
use brunt_plan::{Change, OwnerTerms};
use brunt_record::GeneratorHost;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Bytes of a briefing in one piece.
pub(crate) const PIECE: usize = 256 << 10;

/// A question to an agent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AgentQuestion {
    /// Who are you?
    Describe,
    /// What is the time of your clocks?
    Clock,
    /// Take a share of a run.
    Take(ShareOffer),
    /// An order within a run. Those of one run are numbered, and one that comes twice is followed once.
    Order { run: String, number: u64, order: AgentOrder },
}

/// An offer of a share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ShareOffer {
    /// Identifier of the run.
    pub run: String,
    /// Version of the coordinator.
    pub brunt: String,
    /// First worker, and one past the last.
    pub from: u32,
    pub to: u32,
    /// Workers of the whole run.
    pub of: u32,
    /// Length of the briefing in bytes; it is asked for in pieces.
    pub bytes: u64,
    /// Time without a sign of the coordinator after which the load stops (nanoseconds).
    pub orphan_timeout_ns: u64,
}

impl ShareOffer {
    pub fn task(&self) -> Task {
        Task { from: self.from, to: self.to, of: self.of }
    }
}

/// An order to an agent; times are those of its own clock (nanoseconds).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AgentOrder {
    /// A barrier is released.
    Go { barrier: u32, at_ns: u64 },
    /// The load changes.
    Change { at_ns: u64, change: Change },
    /// The load stops.
    Stop,
}

/// The answer of an agent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AgentAnswer {
    Description(Box<AgentDescription>),
    /// Monotonic clock, and wall clock since 1970 (nanoseconds).
    Clock {
        now_ns: u64,
        unix_ns: u64,
    },
    /// It is done, or will be.
    Yes,
    /// A change of the load is followed from this time of its clock on (nanoseconds): the ordered one, or later if the order
    /// came late.
    Follows {
        from_ns: u64,
    },
    /// It will not, in English and Chinese.
    No {
        en: String,
        zh: String,
    },
}

/// A question to the coordinator of a run.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunQuestion {
    /// The piece of the briefing with this number.
    Piece(u64),
}

/// What an agent says of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentDescription {
    /// Its name in the fleet.
    pub name: String,
    /// Its labels: places, sizes, owners.
    #[serde(default)]
    pub labels: Vec<String>,
    /// Version of brunt.
    pub brunt: String,
    /// Its machine.
    pub host: GeneratorHost,
    /// What its owner allows.
    #[serde(default)]
    pub terms: OwnerTerms,
    /// What it does now.
    pub state: AgentState,
    /// What its doctor objects to, in English and Chinese.
    #[serde(default)]
    pub remarks: Vec<[String; 2]>,
    /// Cores that others use now; null if unknown.
    #[serde(default)]
    pub busy_cores: Option<f64>,
}

/// What an agent does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentState {
    /// Nothing: it can take a share.
    #[default]
    Idle,
    /// A share of the run with this identifier.
    Runs(String),
}

/// Returns `true` for what can identify a run: it becomes the name of files, so it is no path.
pub(crate) fn is_run_name(text: &str) -> bool {
    (1..=40).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

pub(crate) fn to_bytes(message: &impl Serialize) -> Vec<u8> {
    // Text and numbers: this cannot fail, and nobody would understand the empty message.
    serde_json::to_vec(message).unwrap_or_default()
}

pub(crate) fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    serde_json::from_slice(bytes).ok()
}
