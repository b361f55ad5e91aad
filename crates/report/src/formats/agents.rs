//! The agents of a run for human-readable documents: a table by agent, and one by label.

use crate::agents::{AgentSummary, by_label};
use crate::judgement;
use crate::numbers;
use crate::ranked::{RankedLatency, headline};
use crate::summary::Summary;
use crate::text::{Lang, Text, text};

/// Heading above the table by agent.
pub(super) const AGENTS: Text = text("Agents", "代理");
/// Heading above the table by label.
pub(super) const LABELS: Text = text("By label", "按标签");
const AGENT: Text = text("agent", "代理");
const LABEL: Text = text("label", "标签");
const SHARE: Text = text("share", "份额");
const RATE: Text = text("succeeded/s", "成功/s");
const FAILED: Text = text("failed", "失败");
const LATE: Text = text("late p99", "延迟发出 p99");
const CPU: Text = text("busiest core", "最忙核");
const TRUST: Text = text("trust", "可信度");
const LOST: Text = text("lost", "丢失");
const MORE: Text = text("{n} more, none of them worse", "另有 {n} 个，都不比以上更差");

/// Maximum number of agents in the table: the worst ones if there are more.
const ROWS: usize = 20;

/// Returns the rows of the table by agent, headings first; empty for a run of one machine.
pub(super) fn rows(summary: &Summary, lang: Lang) -> Vec<Vec<String>> {
    if summary.agents.is_empty() {
        return Vec::new();
    }
    let headings = [AGENT, SHARE, RATE, FAILED].map(|heading| lang.of(heading).to_owned());
    let figures = ["p50".to_owned(), "p99".to_owned()];
    let machine = [LATE, CPU, TRUST].map(|heading| lang.of(heading).to_owned());
    let workers = summary.agents.iter().map(|agent| agent.head.workers()).sum();
    let mut order: Vec<&AgentSummary> = summary.agents.iter().collect();
    if order.len() > ROWS {
        order.sort_by_key(|agent| (agent.has_ended, std::cmp::Reverse(agent.trust.verdict())));
    }
    let shown = order.iter().take(ROWS).map(|agent| row(agent, workers, lang));
    let mut rows: Vec<Vec<String>> =
        std::iter::once(headings.into_iter().chain(figures).chain(machine).collect()).chain(shown).collect();
    if order.len() > ROWS {
        rows.push(vec![lang.fill(MORE, &[("n", &(order.len() - ROWS).to_string())])]);
    }
    rows
}

fn row(agent: &AgentSummary, workers: u32, lang: Lang) -> Vec<String> {
    let labels = agent.head.labels.join(" ");
    let name = if labels.is_empty() { agent.head.name.clone() } else { format!("{} ({labels})", agent.head.name) };
    let totals = &agent.sums.totals;
    let share = f64::from(agent.head.workers()) / f64::from(workers.max(1));
    let late = if totals.latency.gen_late.is_empty() {
        "-".to_owned()
    } else {
        quantile(RankedLatency::finished_only(&totals.latency.gen_late), 0.99)
    };
    let busiest = totals.generator.share(totals.generator.busiest).map_or_else(|| "-".to_owned(), numbers::share);
    let verdict = agent.trust.verdict();
    let trust = if agent.has_ended { lang.of(judgement::verdict(verdict)) } else { lang.of(LOST) };
    vec![
        name,
        numbers::share(share),
        numbers::rate(agent.sums.throughput_per_s()),
        numbers::count(totals.failed),
        quantile(agent.latency(), 0.5),
        quantile(agent.latency(), 0.99),
        late,
        busiest,
        trust.to_owned(),
    ]
}

fn quantile(ranked: RankedLatency<'_>, q: f64) -> String {
    if ranked.count() == 0 { "-".to_owned() } else { ranked.quantile(q).figure.show() }
}

/// Returns the rows of the table by label, headings first; empty if no agent has a label.
pub(super) fn label_rows(summary: &Summary, lang: Lang) -> Vec<Vec<String>> {
    let labels = by_label(&summary.agents);
    if labels.is_empty() {
        return Vec::new();
    }
    let headings = [LABEL, AGENTS, RATE, FAILED].map(|heading| lang.of(heading).to_owned());
    let figures = ["p50".to_owned(), "p99".to_owned()];
    let rows = labels.iter().map(|of| {
        let ranked = headline(&of.latency, summary.open);
        vec![
            of.label.clone(),
            of.agents.to_string(),
            numbers::rate(of.per_s),
            numbers::count(of.failed),
            quantile(ranked, 0.5),
            quantile(ranked, 0.99),
        ]
    });
    std::iter::once(headings.into_iter().chain(figures).collect()).chain(rows).collect()
}
