//! The machines of a run that many made together.

use serde::{Deserialize, Serialize};

use crate::{GeneratorHost, RunEvent};

/// An agent of a run, and its share.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentHead {
    /// Name in the fleet.
    pub name: String,
    /// Labels: places, sizes, owners.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Its machine.
    pub host: GeneratorHost,
    /// First worker of its share.
    pub from: u32,
    /// One past the last worker of its share.
    pub to: u32,
    /// Version of brunt.
    pub brunt: String,
    /// Offset of its monotonic clock ahead of the coordinator's (nanoseconds).
    pub clock_ahead_ns: i64,
    /// Maximum error of that offset: half the round trip of the exchange that measured it (nanoseconds).
    pub clock_within_ns: u64,
}

impl AgentHead {
    /// Returns the number of its workers.
    pub fn workers(&self) -> u32 {
        self.to.saturating_sub(self.from)
    }
}

/// An event of an agent's own record: the start of its window, a second (without what only the whole run is judged by),
/// counters of its machine, a notice, or the end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentEvent {
    /// Index into the agents of [`crate::RunStarted`].
    pub agent: u16,
    /// The event; times are as in its own record, since the start of its window.
    pub of: Box<RunEvent>,
}
