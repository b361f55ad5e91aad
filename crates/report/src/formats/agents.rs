//! The agents of a run of many machines for human-readable documents: a row of cells for each, and for each label.

use brunt_measure::Nanos;
use brunt_record::End;

use super::rate_parts;
use crate::agents::{AgentSummary, FleetFigures, LabelSummary, shown_name};
use crate::columns::{fit, table};
use crate::finding::Grade;
use crate::judgement;
use crate::numbers;
use crate::ranked::Figure;
use crate::sentences as say;
use crate::summary::Summary;
use crate::text::{Lang, Text, text};

/// Heading above the agents.
pub(super) const AGENTS: Text = text("Agents", "施压机");
/// Heading above the labels.
pub(super) const BY_LABEL: Text = text("By label", "按标签");
const AGENT: Text = text("agent", "施压机");
const LABEL: Text = text("label", "标签");
const LABELS: Text = text("labels", "标签");
const LATE: Text = text("sent late p99", "晚发 p99");
const CPU: Text = text("busiest worker", "最忙线程");
const TRUST: Text = text("trust", "可信度");
const TRUSTED: Text = text("trusted", "可信");
const TOO_SHORT: Text = text("too short", "过短");
const CAUTION: Text = text("caution", "谨慎");
const NOT_TRUSTED: Text = text("not trusted", "不可信");
const LOST: Text = text("lost", "丢失");
const SOME_LOST: Text = text("{trust}, {n} lost", "{trust}，丢失 {n} 个");
const SPREAD: Text = text("started within {spread} (± {within})", "启动时刻相差 {spread}（± {within}）");
const SPREAD_AT_MOST: Text = text(
    "started at most {most} apart: their clocks could only be compared to ± {within}",
    "启动时刻最多相差 {most}：各机时钟只能比较到 ± {within}",
);
const COUNT: Text = text("{n} {n|agent|agents}", "{n} 个施压机");
const DOUBTED: Text = text("not trusted: {agents}", "不可信：{agents}");
const LOST_AGENTS: Text = text("lost: {agents}", "丢失：{agents}");
const MORE: Text = text(
    "and {n} more {n|agent|agents}, none of them worse: see --format json for all",
    "另有 {n} 个施压机，均不差于以上各行：--format json 列出全部",
);
const MORE_NOTICES: Text = text(
    "and {n} more {n|notice|notices} of agents: see --format json for all",
    "另有 {n} 条施压机的说明：--format json 列出全部",
);
const BETWEEN_NAMES: Text = text(", ", "、");
const SAID: Text = text("{agent}: {notice}", "{agent}：{notice}");

/// Number of agents up to which all are shown, and number of the worst that are shown of more.
const ALL: usize = 20;
const WORST: usize = 10;
/// Maximum number of notices of agents.
const NOTICES: usize = 5;
/// Maximum number of agents named in one line.
const NAMED: usize = 3;

/// Returns the agents that are shown: all, in the order of the run, or the worst of very many.
fn shown(summary: &Summary) -> Vec<&AgentSummary> {
    let mut all: Vec<&AgentSummary> = summary.agents.iter().collect();
    if all.len() > ALL {
        worst_first(&mut all, |agent| agent, summary);
        all.truncate(WORST);
    }
    all
}

/// Sorts agents so that the lost ones, those in doubt and the slowest come first.
pub(super) fn worst_first<T>(all: &mut [T], agent_of: impl Fn(&T) -> &AgentSummary, summary: &Summary) {
    all.sort_by_cached_key(|one| {
        let agent = agent_of(one);
        let ranked = agent.figures.headline(summary.open);
        let slowest = [ranked.quantile(0.99).figure, ranked.max()].map(known);
        std::cmp::Reverse((agent.is_lost(), agent.figures.verdict, slowest))
    });
}

/// Returns a figure for comparison: a lower bound ranks above all exact ones, and a withheld one below.
fn known(figure: Figure) -> Option<(bool, Nanos)> {
    figure.at_least().map(|time| (true, time)).or(figure.exact().map(|time| (false, time)))
}

/// Returns the rows of agents with their heading; empty in a run of one machine.
pub(super) fn rows(summary: &Summary, lang: Lang) -> Vec<Vec<String>> {
    let has_labels = !summary.labels.is_empty();
    let shown = shown(summary);
    let rates: Vec<f64> = shown.iter().map(|agent| rate_of(&agent.figures, summary)).collect();
    let rates = rate_parts::add_up(summary.throughput_per_s(), &rates);
    let rows = shown.into_iter().zip(rates).map(|(agent, rate)| {
        let mut cells = vec![shown_name(&agent.head.name)];
        if has_labels {
            cells.push(agent.head.labels.iter().map(|label| shown_name(label)).collect::<Vec<_>>().join(" "));
        }
        let trust = if is_lost(agent, summary) { LOST } else { trust_in_words(agent.figures.verdict) };
        cells.extend(cells_of(&agent.figures, (agent.share, rate), lang.of(trust), summary, lang));
        cells
    });
    let mut first = vec![AGENT];
    first.extend(has_labels.then_some(LABELS));
    with_heading(&first, rows.collect(), lang)
}

/// Returns `true` if an agent told of no end although the record of the run has one.
fn is_lost(agent: &AgentSummary, summary: &Summary) -> bool {
    agent.is_lost() && summary.end != End::CutOff
}

/// Returns the rows of labels with their heading; empty if no agent has one.
pub(super) fn label_rows(summary: &Summary, lang: Lang) -> Vec<Vec<String>> {
    let rows = summary.labels.iter().map(|row: &LabelSummary| {
        let mut cells = vec![shown_name(&row.label), numbers::count(row.agents.len() as u64)];
        let rate = numbers::rate(rate_of(&row.figures, summary));
        cells.extend(cells_of(&row.figures, (row.share, rate), &trust_of_label(row, summary, lang), summary, lang));
        cells
    });
    with_heading(&[LABEL, AGENTS_COLUMN], rows.collect(), lang)
}

const AGENTS_COLUMN: Text = text("agents", "施压机数");

fn with_heading(first: &[Text], rows: Vec<Vec<String>>, lang: Lang) -> Vec<Vec<String>> {
    if rows.is_empty() {
        return rows;
    }
    let of = |text: Text| lang.of(text).to_owned();
    let mut heading: Vec<String> = first.iter().copied().map(of).collect();
    heading.extend([say::SHARE, say::RATE].map(of));
    heading.extend(["p50".to_owned(), "p99".to_owned()]);
    heading.extend([say::FAILED, LATE, CPU, TRUST].map(of));
    std::iter::once(heading).chain(rows).collect()
}

fn rate_of(figures: &FleetFigures, summary: &Summary) -> f64 {
    summary.per_s(figures.succeeded_in_window)
}

fn trust_in_words(verdict: Grade) -> Text {
    match verdict {
        Grade::Unchecked | Grade::Ok => TRUSTED,
        Grade::TooShort => TOO_SHORT,
        Grade::Warn => CAUTION,
        Grade::Fail => NOT_TRUSTED,
    }
}

/// Returns the verdict on the agents with a label that were not lost, and how many were.
fn trust_of_label(row: &LabelSummary, summary: &Summary, lang: Lang) -> String {
    let agents = row.agents.iter().filter_map(|at| summary.agents.get(*at));
    let (lost, others): (Vec<&AgentSummary>, Vec<&AgentSummary>) = agents.partition(|agent| is_lost(agent, summary));
    let Some(verdict) = others.iter().map(|agent| agent.figures.verdict).max() else { return lang.of(LOST).to_owned() };
    let trust = lang.of(trust_in_words(verdict));
    match lost.len() {
        0 => trust.to_owned(),
        n => lang.fill(SOME_LOST, &[("trust", trust), ("n", &n.to_string())]),
    }
}

fn cells_of(
    figures: &FleetFigures,
    (share, rate): (f64, String),
    trust: &str,
    summary: &Summary,
    lang: Lang,
) -> Vec<String> {
    let ranked = figures.headline(summary.open);
    let ended = figures.succeeded.saturating_add(figures.failed);
    vec![
        numbers::share(share),
        rate,
        ranked.quantile(0.5).show(lang),
        ranked.quantile(0.99).show(lang),
        numbers::percent(figures.failed, ended),
        figures.late_p99().show(),
        figures.busiest_share.map_or_else(|| numbers::WITHHELD.to_owned(), numbers::share),
        trust.to_owned(),
    ]
}

/// Returns the rows of agents as lines of at most `room` cells where possible.
pub(super) fn lines(summary: &Summary, lang: Lang, room: Option<usize>) -> Vec<String> {
    fitted(rows(summary, lang), lang, room)
}

/// Returns the rows of labels as lines.
pub(super) fn label_lines(summary: &Summary, lang: Lang, room: Option<usize>) -> Vec<String> {
    fitted(label_rows(summary, lang), lang, room)
}

fn fitted(rows: Vec<Vec<String>>, lang: Lang, room: Option<usize>) -> Vec<String> {
    let [late, cpu, share, failed, labels] = [LATE, CPU, say::SHARE, say::FAILED, LABELS].map(|text| lang.of(text));
    let room = room.unwrap_or(usize::MAX);
    table(&fit(rows, room, &[labels, share, failed, "p50", cpu, late]))
}

/// Returns the sentences below the rows: how many agents are not shown, how far apart they began, and their notices.
pub(super) fn notes(summary: &Summary, lang: Lang) -> Vec<String> {
    if summary.agents.is_empty() {
        return Vec::new();
    }
    let left_out = summary.agents.len() - shown(summary).len();
    let more = (left_out > 0).then(|| lang.fill(MORE, &[("n", &left_out.to_string())]));
    more.into_iter().chain(spread(summary, lang)).chain(notices(summary, lang)).collect()
}

fn spread(summary: &Summary, lang: Lang) -> Option<String> {
    let found = summary.start_spread()?;
    let [spread, within, most] = [found.spread, found.within, found.most()].map(numbers::duration);
    let text = if found.is_known() { SPREAD } else { SPREAD_AT_MOST };
    Some(lang.fill(text, &[("spread", &spread), ("within", &within), ("most", &most)]))
}

/// Returns the notices of agents, those with the same words once, and how many are left out.
fn notices(summary: &Summary, lang: Lang) -> Vec<String> {
    let mut said: Vec<(String, Vec<String>)> = Vec::new();
    let mut left_out = 0;
    for agent in &summary.agents {
        for notice in agent.notices.iter().map(|notice| judgement::notice(notice, lang)) {
            let name = shown_name(&agent.head.name);
            match said.iter().position(|(known, _)| *known == notice) {
                Some(at) => said[at].1.push(name),
                None if said.len() < NOTICES => said.push((notice, vec![name])),
                None => left_out += 1,
            }
        }
    }
    let more = (left_out > 0).then(|| lang.fill(MORE_NOTICES, &[("n", &left_out.to_string())]));
    let told = |(notice, names): (String, Vec<String>)| {
        lang.fill(SAID, &[("agent", &listed(&names, lang)), ("notice", &notice)])
    };
    said.into_iter().map(told).chain(more).collect()
}

/// Joins names, as many as are worth a line.
fn listed(names: &[String], lang: Lang) -> String {
    let more = if names.len() > NAMED { " …" } else { "" };
    names[..names.len().min(NAMED)].join(lang.of(BETWEEN_NAMES)) + more
}

/// Returns the agents in one line: how many, how far apart they began, and whose figures are in doubt.
pub(super) fn in_short(summary: &Summary, lang: Lang) -> Option<String> {
    if summary.agents.is_empty() {
        return None;
    }
    let mut parts = vec![lang.fill(COUNT, &[("n", &summary.agents.len().to_string())])];
    parts.extend(spread(summary, lang));
    let (lost, others): (Vec<&AgentSummary>, Vec<&AgentSummary>) =
        summary.agents.iter().partition(|agent| is_lost(agent, summary));
    let doubted = others.into_iter().filter(|agent| agent.figures.verdict == Grade::Fail).collect();
    for (text, agents) in [(LOST_AGENTS, lost), (DOUBTED, doubted)] {
        let names: Vec<String> = agents.iter().map(|agent| shown_name(&agent.head.name)).collect();
        parts.extend((!names.is_empty()).then(|| lang.fill(text, &[("agents", &listed(&names, lang))])));
    }
    Some(parts.join(lang.of(say::SEMICOLON)))
}
