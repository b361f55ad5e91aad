//! The lines behind the head, made of the events of a run as they come.

use record::RunEvent;
use serde_json::{Value, json};

use super::counters::Readings;
use super::flows::Flows;
use super::grain::Grain;
use super::named::Blocks;
use super::phases::Phases;
use super::second;
use crate::summary::Summary;

/// Makes lines of events.
pub(super) struct Drawing {
    open: bool,
    buckets: u32,
    flows: Flows,
    named: Blocks,
    phases: Phases,
    counters: Readings,
}

impl Drawing {
    /// Of a run of which nothing was read.
    pub fn of(summary: &Summary, grain: &Grain) -> Drawing {
        Drawing {
            open: summary.open,
            buckets: grain.buckets,
            flows: Flows::of(summary),
            named: Blocks::of(grain),
            phases: Phases::of(grain),
            counters: Readings::of(grain),
        }
    }

    /// The lines of an event: a block is told once the next begins.
    pub fn see(&mut self, event: &RunEvent) -> Vec<Value> {
        match event {
            // When the window began, by the clock on the wall (milliseconds).
            RunEvent::Began(began) if began.unix_ns > 0 => vec![json!({ "w": began.unix_ns / 1_000_000 })],
            RunEvent::Second(second) => {
                let line = second::row(second, self.open, self.buckets, self.flows.of_second(second));
                let blocks = [self.named.add(second), self.phases.add(second)];
                [Some(line)].into_iter().chain(blocks).flatten().collect()
            }
            RunEvent::Counters(sample) => self.counters.add(sample).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// What was not told yet.
    pub fn rest(&mut self) -> Vec<Value> {
        [self.named.rest(), self.phases.rest()].into_iter().flatten().collect()
    }
}
