//! The machines of a run that many made together, each judged like the machine of a run of its own.
//!
//! What stands against one of them stands against the whole, with its name. Latencies of several agents are merged as
//! histograms; no quantile is computed from quantiles.

use std::collections::BTreeMap;

use brunt_diagnose::Conclusion;
use brunt_measure::Nanos;
use brunt_record::{AgentEvent, AgentHead, Latency, RunEvent, RunStarted, Second};

use crate::finding::{Finding, Grade};
use crate::limits::CounterCollector;
use crate::numbers;
use crate::ranked::{RankedLatency, headline};
use crate::rules::{self, Evidence, TrustRule};
use crate::sums::{RunSums, SumsBuilder};
use crate::text::{Text, text};
use crate::trust::Trust;

const KEPT_UP: Text = text(
    "each of the {agents} agents kept up, and they started within {spread} of each other (±{within})",
    "{agents} 个代理都跟上了负载，启动时刻相差不超过 {spread}（±{within}）",
);
const STARTED: Text = text(
    "the {agents} agents started within {spread} of each other (±{within})",
    "{agents} 个代理的启动时刻相差不超过 {spread}（±{within}）",
);
const SPREAD: Text = text(
    "the agents started within {spread} of each other (±{within}): the first seconds mix loads of different ages",
    "各代理的启动时刻相差 {spread}（±{within}）：最初几秒混合了不同阶段的负载",
);
const MISSING: Text = text(
    "figures of up to {share} of the run are missing from {from} to {to}: {agents} reported nothing more",
    "从 {from} 到 {to} 最多缺少 {share} 的数据：{agents} 不再报告",
);

/// Code of the findings about agents as such.
const CODE: &str = "agents";
/// Spread of the starts from which seconds of the agents do not belong together.
const APART: Nanos = Nanos::from_millis(100);
/// Maximum number of findings about agents that are passed on to the whole; the table shows the verdict of each.
const PASSED_ON: usize = 12;

/// An agent of a run, summed up and judged.
#[derive(Clone, Debug)]
pub struct AgentSummary {
    /// The agent, and its share.
    pub head: AgentHead,
    /// Sums of its share.
    pub sums: RunSums,
    /// Verdict on its machine.
    pub trust: Trust,
    /// Limits of its machine, among others.
    pub limits: Conclusion,
    /// Start of its window on the coordinator's clock (nanoseconds); `None` if it never began.
    pub began_ns: Option<u64>,
    /// Set if it reported the end of its share.
    pub has_ended: bool,
}

impl AgentSummary {
    /// Returns the main latency of its requests.
    pub fn latency(&self) -> RankedLatency<'_> {
        headline(&self.sums.totals.latency, self.sums.open)
    }
}

/// The agents of a run with one label.
#[derive(Clone, Debug)]
pub struct LabelSummary {
    /// The label.
    pub label: String,
    /// Number of agents.
    pub agents: usize,
    /// Successes per second of the window.
    pub per_s: f64,
    /// Failures.
    pub failed: u64,
    /// Merged histograms.
    pub latency: Latency,
}

/// The collector of the events of one agent.
struct AgentBuilder {
    head: AgentHead,
    sums: SumsBuilder,
    counting: CounterCollector,
    rules: Vec<Box<dyn TrustRule>>,
    began_ns: Option<u64>,
    has_ended: bool,
}

impl AgentBuilder {
    fn new(head: &AgentHead, started: &RunStarted) -> AgentBuilder {
        let mut agent = AgentBuilder {
            head: head.clone(),
            sums: SumsBuilder::default(),
            counting: CounterCollector::default(),
            rules: rules::of_machine(),
            began_ns: None,
            has_ended: false,
        };
        let own = RunStarted {
            hosts: vec![head.host.clone()],
            workers: head.workers(),
            agents: Vec::new(),
            names: Vec::new(),
            ..started.clone()
        };
        agent.see(&RunEvent::Started(Box::new(own)));
        agent
    }

    fn see(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Began(began) => self.began_ns = Some(began.clock_ns),
            RunEvent::Ended(_) => self.has_ended = true,
            _ => {}
        }
        self.sums.add(event);
        self.counting.see(event);
        self.rules.iter_mut().for_each(|rule| rule.see(event));
    }

    fn finish(self) -> AgentSummary {
        let sums = self.sums.finish();
        let evidence = Evidence { sums: &sums, objectives: &[] };
        let trust = Trust { findings: self.rules.iter().flat_map(|rule| rule.findings(&evidence)).collect() };
        let limits = self.counting.conclude(&sums, &trust);
        AgentSummary { head: self.head, sums, trust, limits, began_ns: self.began_ns, has_ended: self.has_ended }
    }
}

/// Seconds from which figures are missing.
#[derive(Clone, Copy, Debug)]
struct MissingSeconds {
    from_ns: i64,
    to_ns: i64,
    share: f64,
}

/// The collector of the events of all agents.
#[derive(Default)]
pub(crate) struct AgentsBuilder {
    agents: Vec<AgentBuilder>,
    missing: Option<MissingSeconds>,
}

impl AgentsBuilder {
    /// Handles the next event of the run.
    pub fn see(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Started(started) => {
                self.agents = started.agents.iter().map(|head| AgentBuilder::new(head, started)).collect();
            }
            RunEvent::OfAgent(AgentEvent { agent, of }) => {
                self.agents.get_mut(usize::from(*agent)).into_iter().for_each(|agent| agent.see(of));
            }
            RunEvent::Second(second) if second.missing_share > 0.0 => self.miss(second),
            _ => {}
        }
    }

    fn miss(&mut self, second: &Second) {
        let Second { from_ns, to_ns, missing_share: share, .. } = *second;
        let all = self.missing.get_or_insert(MissingSeconds { from_ns, to_ns, share });
        (all.to_ns, all.share) = (all.to_ns.max(to_ns), all.share.max(share));
    }

    /// Sums up and judges each agent; what stands against one is added to the verdict on the whole.
    pub fn finish(self, trust: &mut Trust) -> Vec<AgentSummary> {
        let missing = self.missing;
        let agents: Vec<AgentSummary> = self.agents.into_iter().map(AgentBuilder::finish).collect();
        if agents.is_empty() {
            return agents;
        }
        let mut against: Vec<Finding> = agents
            .iter()
            .flat_map(|agent| agent.trust.findings.iter().map(|found| (found, &agent.head.name)))
            .filter(|(found, _)| found.grade > Grade::TooShort)
            .map(|(found, name)| found.of_agent(name))
            .collect();
        against.sort_by_key(|found| std::cmp::Reverse(found.grade));
        against.truncate(PASSED_ON);
        if let Some(missing) = missing {
            against.insert(0, missing.finding(&agents));
        }
        against.push(of_starts(&agents, against.is_empty()));
        trust.findings.extend(against);
        agents
    }
}

impl MissingSeconds {
    fn finding(self, agents: &[AgentSummary]) -> Finding {
        let at = |ns: i64| numbers::seconds(ns as f64 / 1e9);
        let lost: Vec<&str> = agents.iter().filter(|agent| !agent.has_ended).map(|agent| &*agent.head.name).collect();
        let facts = [
            ("share", numbers::share(self.share)),
            ("from", at(self.from_ns)),
            ("to", at(self.to_ns)),
            ("agents", lost.join(", ")),
        ];
        Finding::new("agents_missing", Grade::Warn, MISSING, facts)
    }
}

/// Returns the spread of the agents' starts and its maximum error.
pub(crate) fn spread(agents: &[AgentSummary]) -> Option<(Nanos, Nanos)> {
    let began = agents.iter().filter_map(|agent| agent.began_ns);
    let (first, last) = (began.clone().min()?, began.max()?);
    let within = agents.iter().map(|agent| agent.head.clock_within_ns).max().unwrap_or(0);
    Some((Nanos(last - first), Nanos(within)))
}

fn of_starts(agents: &[AgentSummary], all_well: bool) -> Finding {
    let (spread, within) = spread(agents).unwrap_or_default();
    let shown = |span: Nanos| numbers::seconds(span.as_secs_f64());
    let (spread_text, within) = (shown(spread), shown(within));
    if spread > APART {
        return Finding::new(CODE, Grade::Warn, SPREAD, [("spread", spread_text), ("within", within)]);
    }
    let text = if all_well { KEPT_UP } else { STARTED };
    let facts = [("agents", agents.len().to_string()), ("spread", spread_text), ("within", within)];
    Finding::new(CODE, Grade::Ok, text, facts)
}

/// Returns the figures of the agents by label, in the order of the labels; empty if there are no labels.
pub(crate) fn by_label(agents: &[AgentSummary]) -> Vec<LabelSummary> {
    let mut labels: BTreeMap<&str, LabelSummary> = BTreeMap::new();
    for agent in agents {
        for label in &agent.head.labels {
            let all = labels.entry(label).or_insert_with(|| LabelSummary {
                label: label.clone(),
                agents: 0,
                per_s: 0.0,
                failed: 0,
                latency: Latency::default(),
            });
            all.agents += 1;
            all.per_s += agent.sums.throughput_per_s();
            all.failed = all.failed.saturating_add(agent.sums.totals.failed);
            all.latency.merge(&agent.sums.totals.latency);
        }
    }
    labels.into_values().collect()
}
