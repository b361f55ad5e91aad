//! The agents of a run in the JSON report.

use brunt_i18n::Lang;
use brunt_record::GeneratorHost;
use serde::Serialize;

use crate::agents::{AgentSummary, LabelSummary, by_label, spread};
use crate::finding::Grade;
use crate::ranked::{RankedLatency, headline};
use crate::summary::Summary;

/// The machines that made the run together.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct AgentsReport<'a> {
    /// Time from the first start of an agent to the last (nanoseconds); null if none began.
    start_spread_ns: Option<u64>,
    /// Maximum error of that time (nanoseconds).
    start_spread_within_ns: Option<u64>,
    /// The agents, in the order of their shares.
    agents: Vec<AgentReport<'a>>,
    /// Figures by label; an agent with several labels is in several rows.
    labels: Vec<LabelReport>,
}

/// An agent and the figures of its share.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct AgentReport<'a> {
    /// Name in the fleet.
    name: &'a str,
    /// Labels.
    labels: &'a [String],
    /// Its machine.
    host: &'a GeneratorHost,
    /// Number of its workers.
    workers: u32,
    /// Its part of the run's workers.
    share: f64,
    /// Set if it reported the end of its share; otherwise it was lost.
    ended: bool,
    /// Scheduled requests.
    scheduled: u64,
    /// Succeeded requests.
    succeeded: u64,
    /// Failed requests.
    failed: u64,
    /// Requests that were unfinished when the run ended.
    unfinished: u64,
    /// Successes per second of the window.
    throughput_per_s: f64,
    /// Main latency of its requests.
    latency: FewQuantiles,
    /// 99th percentile of the time by which it was late (nanoseconds).
    late_p99_ns: Option<u64>,
    /// Mean share of a core that its busiest worker used.
    busiest_core: Option<f64>,
    /// Verdict on its machine: `trusted`, `too_short`, `caution`, `not_trusted`.
    trust: &'static str,
    /// What stands against it.
    findings: Vec<AgentFinding>,
}

/// A finding about an agent's machine.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct AgentFinding {
    /// Identifier of the check.
    code: &'static str,
    /// Its grade: `too_short`, `warn`, `fail`.
    grade: &'static str,
    /// In English.
    sentence: String,
}

/// Figures of all agents with a label.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct LabelReport {
    /// The label.
    label: String,
    /// Number of agents.
    agents: usize,
    /// Successes per second of the window.
    throughput_per_s: f64,
    /// Failed requests.
    failed: u64,
    /// Main latency, from merged histograms.
    latency: FewQuantiles,
}

/// A few quantiles (nanoseconds); null where unfinished requests leave them open, or there are no requests.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct FewQuantiles {
    p50_ns: Option<u64>,
    p90_ns: Option<u64>,
    p99_ns: Option<u64>,
    p999_ns: Option<u64>,
}

impl FewQuantiles {
    fn of(ranked: RankedLatency<'_>) -> FewQuantiles {
        let [p50_ns, p90_ns, p99_ns, p999_ns] = [0.5, 0.9, 0.99, 0.999].map(|q| exact(ranked, q));
        FewQuantiles { p50_ns, p90_ns, p99_ns, p999_ns }
    }
}

fn exact(ranked: RankedLatency<'_>, q: f64) -> Option<u64> {
    if ranked.count() == 0 { None } else { ranked.quantile(q).figure.exact().map(|at| at.0) }
}

impl AgentsReport<'_> {
    /// Returns the report on the agents; `None` for a run of one machine.
    pub fn of(summary: &Summary) -> Option<AgentsReport<'_>> {
        if summary.agents.is_empty() {
            return None;
        }
        let workers = summary.agents.iter().map(|agent| agent.head.workers()).sum();
        let starts = spread(&summary.agents);
        Some(AgentsReport {
            start_spread_ns: starts.map(|(spread, _)| spread.0),
            start_spread_within_ns: starts.map(|(_, within)| within.0),
            agents: summary.agents.iter().map(|agent| AgentReport::of(agent, workers)).collect(),
            labels: by_label(&summary.agents).iter().map(|of| LabelReport::of(of, summary.open)).collect(),
        })
    }
}

impl AgentReport<'_> {
    fn of(agent: &AgentSummary, workers: u32) -> AgentReport<'_> {
        let totals = &agent.sums.totals;
        let findings = agent.trust.findings.iter().filter(|found| found.grade > Grade::Ok);
        AgentReport {
            name: &agent.head.name,
            labels: &agent.head.labels,
            host: &agent.head.host,
            workers: agent.head.workers(),
            share: f64::from(agent.head.workers()) / f64::from(workers.max(1)),
            ended: agent.has_ended,
            scheduled: totals.due,
            succeeded: totals.finished,
            failed: totals.failed,
            unfinished: totals.censored,
            throughput_per_s: agent.sums.throughput_per_s(),
            latency: FewQuantiles::of(agent.latency()),
            late_p99_ns: exact(RankedLatency::finished_only(&totals.latency.gen_late), 0.99),
            busiest_core: totals.generator.share(totals.generator.busiest),
            trust: agent.trust.verdict().verdict(),
            findings: findings
                .map(|found| AgentFinding {
                    code: found.code,
                    grade: found.grade.name(),
                    sentence: found.sentence(Lang::En),
                })
                .collect(),
        }
    }
}

impl LabelReport {
    fn of(of: &LabelSummary, open: bool) -> LabelReport {
        LabelReport {
            label: of.label.clone(),
            agents: of.agents,
            throughput_per_s: of.per_s,
            failed: of.failed,
            latency: FewQuantiles::of(headline(&of.latency, open)),
        }
    }
}
