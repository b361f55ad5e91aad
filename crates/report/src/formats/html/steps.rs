//! The seconds of a run as lines: each of them, or merged to steps if the run is too long to draw each.
//!
//! A step is followed by the few figures of its seconds that charts show once a reader looks closer. It ends where the
//! load changed, so that it never mixes two loads.

use brunt_record::{RunPart, Second};
use serde_json::{Value, json};

use super::flows::FlowFigures;
use super::second;
use crate::ranked::headline;
use crate::summary::Summary;

/// The conversion of seconds to lines.
pub(super) struct SecondSteps {
    open: bool,
    buckets: u32,
    /// Length of a step in nanoseconds.
    length_ns: i64,
    /// Times at which the load changed, in nanoseconds.
    turns: Vec<i64>,
    step: Option<StepSum>,
}

/// What seconds of one step have in common: the part of the run, their block, and the changes of load before their
/// beginning and their end.
type StepKey = (RunPart, i64, usize, usize);

struct StepSum {
    key: StepKey,
    sum: Second,
    flows: Option<FlowFigures>,
    details: Vec<Value>,
}

impl SecondSteps {
    /// Creates the state for a run without seconds; `length_s` is the length of a step.
    pub fn of(summary: &Summary, buckets: u32, length_s: u64) -> SecondSteps {
        let length_ns = i64::try_from(length_s).unwrap_or(1).saturating_mul(1_000_000_000);
        let turns = summary.stretches.iter().map(|stretch| stretch.from_ns).collect();
        SecondSteps { open: summary.open, buckets, length_ns, turns, step: None }
    }

    /// Adds a second; returns the lines that it completes.
    pub fn add(&mut self, second: &Second, flows: Option<FlowFigures>) -> Vec<Value> {
        if self.length_ns <= 1_000_000_000 {
            return vec![second::row(second, self.open, self.buckets, flows.as_ref())];
        }
        let before = |at: i64| self.turns.partition_point(|turn| *turn <= at);
        let block = second.from_ns.div_euclid(self.length_ns);
        let key = (second.part, block, before(second.from_ns), before(second.to_ns - 1));
        let done = if self.step.as_ref().is_some_and(|step| step.key == key) { Vec::new() } else { self.flush() };
        let step = self.step.get_or_insert_with(|| StepSum::beginning(key, second.from_ns));
        step.add(second, flows, self.open);
        done
    }

    /// Returns the remaining lines.
    pub fn flush(&mut self) -> Vec<Value> {
        let Some(step) = self.step.take() else { return Vec::new() };
        let row = second::row(&step.sum, self.open, self.buckets, step.flows.as_ref());
        vec![row, json!({ "z": step.details })]
    }
}

impl StepSum {
    fn beginning(key: StepKey, from_ns: i64) -> StepSum {
        let sum = Second { from_ns, part: key.0, ..Second::default() };
        StepSum { key, sum, flows: None, details: Vec::new() }
    }

    fn add(&mut self, second: &Second, flows: Option<FlowFigures>, open: bool) {
        self.details.push(second::detail(second, open));
        let sum = &mut self.sum;
        sum.count(&second.counts());
        (sum.to_ns, sum.users, sum.in_flight, sum.waiting) =
            (second.to_ns, second.users, second.in_flight, second.waiting);
        sum.bytes.add(&second.bytes);
        sum.connections.add(&second.connections);
        sum.connections.open = second.connections.open;
        sum.generator.busiest_cpu_ns = sum.generator.busiest_cpu_ns.saturating_add(second.generator.busiest_cpu_ns);
        second.status.iter().for_each(|(code, n)| brunt_record::add_code(&mut sum.status, code, *n));
        sum.failures.extend(second.failures.iter().cloned());
        second.checks.iter().for_each(|told| brunt_record::CheckResults::add(&mut sum.checks, *told));
        add_headline(sum, second, open);
        self.flows = match (self.flows.take(), flows) {
            (Some(sum), Some(more)) => Some(sum.into_iter().zip(more).map(added).collect()),
            (sum, more) => more.or(sum),
        };
    }
}

/// Adds the latency that a page draws over time.
fn add_headline(sum: &mut Second, second: &Second, open: bool) {
    let ranked = headline(&second.latency, open);
    let of = &mut sum.latency;
    let [finished, at_least, delayed, undelayed] = if open {
        [&mut of.response, &mut of.response_at_least, &mut of.response_delayed, &mut of.response_undelayed]
    } else {
        [&mut of.service, &mut of.service_at_least, &mut of.service_delayed, &mut of.service_undelayed]
    };
    finished.merge(ranked.finished);
    ranked.at_least.iter().for_each(|bounds| at_least.merge(bounds));
    if let Some(own) = ranked.own {
        delayed.merge(own.delayed);
        undelayed.merge(own.undelayed);
    }
}

/// Adds the figures of a flow in the next second, except the number of users, which is that at the end.
fn added((sum, more): ([u64; 9], [u64; 9])) -> [u64; 9] {
    let mut all: [u64; 9] = std::array::from_fn(|at| sum[at].saturating_add(more[at]));
    all[0] = more[0];
    all
}
