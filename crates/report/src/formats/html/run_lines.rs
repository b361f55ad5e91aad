//! The lines after the head, created from the events of a run as they arrive.

use brunt_record::RunEvent;
use serde_json::{Value, json};

use super::agents::AgentBlocks;
use super::counters::CounterLines;
use super::flows::Flows;
use super::named::NameBlocks;
use super::phases::PhaseBlocks;
use super::resolution::Resolution;
use super::steps::SecondSteps;
use crate::summary::Summary;

/// The conversion of events to lines.
pub(super) struct RunLines {
    steps: SecondSteps,
    flows: Flows,
    named: NameBlocks,
    phases: PhaseBlocks,
    counters: CounterLines,
    agents: AgentBlocks,
}

impl RunLines {
    /// Creates the state for a run without events.
    pub fn of(summary: &Summary, grain: &Resolution) -> RunLines {
        RunLines {
            steps: SecondSteps::of(summary, grain.buckets, grain.second_s),
            flows: Flows::of(summary),
            named: NameBlocks::of(grain),
            phases: PhaseBlocks::of(grain),
            counters: CounterLines::of(grain),
            agents: AgentBlocks::of(summary, grain.agents_s),
        }
    }

    /// Returns the lines that an event completes: a block is written once the next one begins.
    pub fn see(&mut self, event: &RunEvent) -> Vec<Value> {
        match event {
            // Start of the window, wall-clock time (milliseconds).
            RunEvent::Began(began) if began.unix_ns > 0 => vec![json!({ "w": began.unix_ns / 1_000_000 })],
            RunEvent::Second(second) => {
                let mut lines = self.steps.add(second, self.flows.of_second(second));
                lines.extend([self.named.add(second), self.phases.add(second)].into_iter().flatten());
                lines
            }
            RunEvent::Counters(sample) => self.counters.add(sample).into_iter().collect(),
            RunEvent::OfAgent(told) => self.agents.add(told).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the remaining lines.
    pub fn flush(&mut self) -> Vec<Value> {
        let mut lines = self.steps.flush();
        lines.extend([self.named.flush(), self.phases.flush()].into_iter().flatten());
        lines.extend(self.agents.flush());
        lines
    }
}
