//! Agents: the machines that each take a share of a run, and what a record of the whole says of one of them.
//!
//! Each agent makes a record of its share, and the whole is merged from these records. What is an agent's alone — its
//! machine's counters, its seconds without names, its notices — stands beside the whole, wrapped as an [`AgentEvent`].

use serde::{Deserialize, Serialize};

use crate::{GeneratorHost, RunEvent, Second};

/// Workers of a run, by number: from the first up to the last, which is not included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkerRange {
    /// Number of the first worker.
    pub from: u32,
    /// Number after the last worker.
    pub to: u32,
}

impl WorkerRange {
    /// Returns the number of workers.
    pub fn count(self) -> u32 {
        self.to.saturating_sub(self.from)
    }
}

/// An agent of a run: a machine with a share of its workers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentHead {
    /// Name, unique in the run.
    pub name: String,
    /// Labels, by which figures are summed up: `eu`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// The machine.
    pub host: GeneratorHost,
    /// Workers of the run that are its share.
    pub workers: WorkerRange,
    /// Version of brunt.
    pub brunt: String,
    /// Offset of its monotonic clock ahead of the coordinator's (nanoseconds); its times are given on the coordinator's
    /// clock.
    pub clock_ahead_ns: i64,
    /// Maximum error of that offset (nanoseconds).
    pub clock_within_ns: u64,
}

/// An event of one agent's record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentEvent {
    /// Index into the agents of [`crate::RunStarted`].
    pub agent: u16,
    /// The event: `began`, `second` (see [`Second::slim`]), `counters`, `notice` or `ended`.
    #[serde(rename = "told")]
    pub event: Box<RunEvent>,
}

impl AgentEvent {
    /// Wraps an event of an agent's record, if it is one that stands beside the whole; seconds are slimmed.
    pub fn of(agent: u16, event: &RunEvent) -> Option<AgentEvent> {
        let event = match event {
            RunEvent::Second(second) => RunEvent::Second(Box::new(second.slim())),
            other if AgentEvent::may_hold(other) => other.clone(),
            _ => return None,
        };
        Some(AgentEvent { agent, event: Box::new(event) })
    }

    /// Returns `true` for the kinds of events that may be told of one agent.
    pub(crate) fn may_hold(event: &RunEvent) -> bool {
        matches!(
            event,
            RunEvent::Began(_)
                | RunEvent::Second(_)
                | RunEvent::Counters(_)
                | RunEvent::Notice(_)
                | RunEvent::Ended(_)
                | RunEvent::Unknown
        )
    }
}

impl Second {
    /// Returns what is kept of an agent's second: without names, checks and traces, whose figures are in the whole, and
    /// without the histograms that neither its row of a table nor the judgement of its machine reads.
    pub fn slim(&self) -> Second {
        let mut slim = Second {
            words: Default::default(),
            failed_addresses: Vec::new(),
            named: Vec::new(),
            checks: Vec::new(),
            slowest: Vec::new(),
            ..self.clone()
        };
        let latency = &mut slim.latency;
        let unread = [
            &mut latency.first_byte,
            &mut latency.transfer,
            &mut latency.tls,
            &mut latency.greeting,
            &mut latency.failed,
            &mut latency.failed_responses,
            &mut latency.message_gap,
            &mut latency.heartbeat,
            &mut latency.heartbeat_at_least,
        ];
        unread.into_iter().for_each(|histogram| histogram.clear());
        slim
    }
}
