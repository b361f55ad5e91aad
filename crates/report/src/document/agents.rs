//! The agents of a run of many machines in the JSON report.

use serde::Serialize;

use super::diagnosis::LimitReport;
use super::distribution::Distribution;
use super::{ReasonReport, reason, recorded};
use crate::agents::{AgentSummary, FleetFigures, LabelSummary};
use crate::rules::missing::MissingStretch;
use crate::summary::Summary;

/// An agent: a machine with a share of the run.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct AgentReport<'a> {
    /// Name.
    name: &'a str,
    /// Labels.
    labels: &'a [String],
    /// The machine.
    host: &'a brunt_record::GeneratorHost,
    /// Version of brunt.
    brunt: &'a str,
    /// Numbers of the first worker and after the last one.
    workers: [u32; 2],
    /// The way its part ended, as `ended` of the run; `cut_off` if it was lost.
    ended: &'static str,
    /// Time from the start of the first agent to its own; null if it told of none.
    started_after_us: Option<f64>,
    /// Maximum error of its start, because its clock was compared with the coordinator's over a network.
    clock_within_us: f64,
    /// Figures.
    #[serde(flatten)]
    figures: FiguresReport<'a>,
    /// All checks of its machine and its counts, whose worst grade is `verdict`.
    reasons: Vec<ReasonReport>,
    /// Limits of its machine and its network.
    limits: Vec<LimitReport>,
    /// Notices of the agent.
    notices: Vec<recorded::NoticeReport<'a>>,
}

/// The agents with one label.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct LabelReport<'a> {
    /// The label.
    label: &'a str,
    /// Names of the agents.
    agents: Vec<&'a str>,
    /// Figures.
    #[serde(flatten)]
    figures: FiguresReport<'a>,
}

/// How far apart the agents began.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct StartReport {
    /// Time from the first start to the last.
    spread_us: f64,
    /// Maximum error of that time.
    within_us: f64,
    /// Set if the clocks were compared well enough to tell the spread; if not, only the sum of both, which it does not
    /// exceed, is known.
    is_known: bool,
}

/// A stretch in which a share of the run is missing.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct MissingReport {
    /// Beginning, in seconds since the start of the window.
    from_s: f64,
    /// End, likewise.
    to_s: f64,
    /// The share, from 0 to 1.
    share: f64,
}

impl From<&MissingStretch> for MissingReport {
    fn from(missing: &MissingStretch) -> MissingReport {
        let [from_s, to_s] = [missing.from_ns, missing.to_ns].map(|ns| ns as f64 / 1e9);
        MissingReport { from_s, to_s, share: missing.share }
    }
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct FiguresReport<'a> {
    /// Share of the run's workers.
    share: f64,
    /// Successes that completed within the window ÷ its length.
    throughput_per_s: f64,
    /// Requests scheduled.
    scheduled: u64,
    /// Requests that succeeded.
    succeeded: u64,
    /// Requests that failed.
    failed: u64,
    /// Requests without an end.
    unfinished: u64,
    /// The main latency: response time under open load, service time under closed load; merged from the histograms of
    /// the agents.
    latency: Distribution<'a>,
    /// Time by which brunt itself sent requests late.
    generator_late: Distribution<'a>,
    /// CPU time of the busiest worker of each second ÷ the agent's own time in the window, which of a lost agent ends
    /// where it was lost; null if not known.
    busiest_share: Option<f64>,
    /// CPU time of all workers in the window ÷ the window of the run, in cores: the agents add up to the run.
    cores: f64,
    /// `trusted`, `too_short`, `caution` or `not_trusted`: the worst of its agents.
    verdict: &'static str,
}

impl<'a> FiguresReport<'a> {
    fn of(figures: &'a FleetFigures, share: f64, summary: &Summary) -> FiguresReport<'a> {
        FiguresReport {
            share,
            throughput_per_s: summary.per_s(figures.succeeded_in_window),
            scheduled: figures.scheduled,
            succeeded: figures.succeeded,
            failed: figures.failed,
            unfinished: figures.unfinished,
            latency: Distribution::of(figures.headline(summary.open)),
            generator_late: Distribution::plain(&figures.latency.gen_late),
            busiest_share: figures.busiest_share,
            cores: figures.cores(figures.cpu, summary.totals.generator.rated),
            verdict: figures.verdict.verdict(),
        }
    }
}

/// Returns the agents; `None` in a run of one machine.
pub(super) fn agents(summary: &Summary) -> Option<Vec<AgentReport<'_>>> {
    super::some_of(summary.agents.iter().map(|agent| of_agent(agent, summary)))
}

fn of_agent<'a>(agent: &'a AgentSummary, summary: &Summary) -> AgentReport<'a> {
    AgentReport {
        name: &agent.head.name,
        labels: &agent.head.labels,
        host: &agent.head.host,
        brunt: &agent.head.brunt,
        workers: [agent.head.workers.from, agent.head.workers.to],
        ended: agent.end.name(),
        started_after_us: summary.started_after(agent).map(brunt_measure::Nanos::as_micros_f64),
        clock_within_us: agent.clock_within().as_micros_f64(),
        figures: FiguresReport::of(&agent.figures, agent.share, summary),
        reasons: agent.trust.findings.iter().map(reason).collect(),
        limits: agent.limits.iter().map(LimitReport::of).collect(),
        notices: agent.notices.iter().map(recorded::NoticeReport::from).collect(),
    }
}

/// Returns the labels; `None` if no agent has one.
pub(super) fn labels(summary: &Summary) -> Option<Vec<LabelReport<'_>>> {
    super::some_of(summary.labels.iter().map(|row: &LabelSummary| LabelReport {
        label: &row.label,
        agents: row.agents.iter().filter_map(|at| summary.agents.get(*at)).map(|agent| &*agent.head.name).collect(),
        figures: FiguresReport::of(&row.figures, row.share, summary),
    }))
}

/// Returns how far apart the agents began.
pub(super) fn start(summary: &Summary) -> Option<StartReport> {
    let found = summary.start_spread()?;
    let [spread_us, within_us] = [found.spread, found.within].map(brunt_measure::Nanos::as_micros_f64);
    Some(StartReport { spread_us, within_us, is_known: found.is_known() })
}
