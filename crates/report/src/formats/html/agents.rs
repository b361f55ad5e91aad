//! Agents over time, in blocks of seconds: the data of their curves. Of many agents, the labels are drawn, or the worst.

use std::collections::BTreeMap;

use brunt_measure::Histogram;
use brunt_record::{AgentEvent, RunEvent, RunPart, Second};
use serde_json::{Value, json};

use crate::agents::{AgentSummary, shown_name};
use crate::formats::agents::worst_first;
use crate::ranked::{Figure, RankedLatency, headline};
use crate::summary::Summary;

/// Maximum number of curves in a chart.
const CURVES: usize = 8;

/// The curves of a run: the agents of each, and how each is named.
#[derive(Clone, Debug, Default)]
pub(super) struct AgentCurves {
    /// Names of the curves.
    pub names: Vec<String>,
    /// Set if each curve is a label.
    pub by_label: bool,
    /// The curves that an agent is part of.
    curves: Vec<Vec<usize>>,
}

impl AgentCurves {
    /// Chooses the curves: each agent, or if there are too many, each label, or the worst agents.
    pub fn of(summary: &Summary) -> AgentCurves {
        let mut chosen = AgentCurves { curves: vec![Vec::new(); summary.agents.len()], ..AgentCurves::default() };
        if summary.agents.len() > CURVES && !summary.labels.is_empty() {
            chosen.by_label = true;
            for (curve, row) in summary.labels.iter().take(CURVES).enumerate() {
                chosen.names.push(shown_name(&row.label));
                row.agents.iter().for_each(|agent| chosen.curves[*agent].push(curve));
            }
            return chosen;
        }
        let mut agents: Vec<(usize, &AgentSummary)> = summary.agents.iter().enumerate().collect();
        if agents.len() > CURVES {
            worst_first(&mut agents, |(_, agent)| agent, summary);
        }
        for (curve, (index, agent)) in agents.into_iter().take(CURVES).enumerate() {
            chosen.names.push(shown_name(&agent.head.name));
            chosen.curves[index].push(curve);
        }
        chosen
    }

    /// Returns the curves as part of the head of a page.
    pub fn to_json(&self, block_s: u64) -> Value {
        json!({ "names": self.names, "by_label": self.by_label, "block_s": block_s })
    }
}

/// The figures of a curve in a block.
#[derive(Default)]
struct CurveBlock {
    succeeded: u64,
    failed: u64,
    finished: Histogram,
    at_least: Histogram,
}

/// The conversion of the seconds of agents to lines.
pub(super) struct AgentBlocks {
    curves: AgentCurves,
    open: bool,
    block_ns: i64,
    /// Blocks that some agents may still add to.
    blocks: BTreeMap<i64, BTreeMap<usize, CurveBlock>>,
    /// The block that each agent told of last.
    reached: Vec<i64>,
}

/// Maximum number of blocks that are held for agents that are behind, or lost.
const HELD: usize = 100;

impl AgentBlocks {
    /// Creates the state for a run without seconds.
    pub fn of(summary: &Summary, block_s: u64) -> AgentBlocks {
        let block_ns = i64::try_from(block_s.max(1)).unwrap_or(1).saturating_mul(1_000_000_000);
        let curves = AgentCurves::of(summary);
        // An agent that is in no curve holds nothing up.
        let reached = curves.curves.iter().map(|of| if of.is_empty() { i64::MAX } else { i64::MIN }).collect();
        let mut all = AgentBlocks { curves, open: summary.open, block_ns, blocks: BTreeMap::new(), reached };
        for (index, agent) in summary.agents.iter().enumerate() {
            agent.left_open.iter().for_each(|left| all.add_second(index, left));
        }
        all
    }

    /// Adds a second to the curves of an agent.
    fn add_second(&mut self, agent: usize, second: &Second) {
        let curves = self.curves.curves.get(agent).filter(|_| second.part != RunPart::Warmup);
        for curve in curves.into_iter().flatten() {
            let block = self.blocks.entry(second.from_ns.div_euclid(self.block_ns)).or_default();
            block.entry(*curve).or_default().add(second, self.open);
        }
    }

    /// Adds an event of an agent; returns a line for a block that is complete.
    pub fn add(&mut self, told: &AgentEvent) -> Option<Value> {
        let RunEvent::Second(second) = &*told.event else { return None };
        self.curves.curves.get(usize::from(told.agent)).filter(|curves| !curves.is_empty())?;
        if second.part == RunPart::Warmup {
            return None;
        }
        let at = second.from_ns.div_euclid(self.block_ns);
        self.reached[usize::from(told.agent)] = at;
        self.add_second(usize::from(told.agent), second);
        let complete = self.reached.iter().min().copied().unwrap_or(i64::MAX);
        let is_due =
            self.blocks.len() > HELD || self.blocks.first_key_value().is_some_and(|(block, _)| *block < complete);
        if is_due { self.next() } else { None }
    }

    /// Returns the remaining lines.
    pub fn flush(&mut self) -> Vec<Value> {
        std::iter::from_fn(|| self.next()).collect()
    }

    /// Returns the line of the earliest block: `g`: its start in seconds; `r`: for each curve its number, the successes and
    /// failures, and p50 and p99 as in the lines of seconds.
    fn next(&mut self) -> Option<Value> {
        let (block, rows) = self.blocks.pop_first()?;
        let from_s = block.saturating_mul(self.block_ns / 1_000_000_000);
        let rows: Vec<Value> = rows.iter().map(|(curve, block)| block.to_json(*curve)).collect();
        Some(json!({ "g": from_s, "r": rows }))
    }
}

impl CurveBlock {
    fn add(&mut self, second: &Second, open: bool) {
        self.succeeded = self.succeeded.saturating_add(second.successes());
        self.failed = self.failed.saturating_add(second.failed);
        let ranked = headline(&second.latency, open);
        self.finished.merge(ranked.finished);
        ranked.at_least.iter().for_each(|bounds| self.at_least.merge(bounds));
    }

    fn to_json(&self, curve: usize) -> Value {
        let ranked = RankedLatency::with_unfinished(&self.finished, &self.at_least);
        let whole = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
        let [p50, p99] = [0.5, 0.99].map(|q| match ranked.quantile(q).figure {
            Figure::Exact(time) => whole(time.0),
            Figure::AtLeast(time) => -whole(time.0),
            Figure::Withheld => 0,
        });
        json!([curve, self.succeeded, self.failed, p50, p99])
    }
}
