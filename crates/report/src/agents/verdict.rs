//! What stands against agents, in the verdict on the whole: each with the name of the agent and the moment.

use brunt_diagnose::{Conclusion, CounterCoverage, LimitFinding};
use brunt_i18n::LocalizedSentence;
use brunt_measure::Nanos;

use super::{AgentSummary, clock, shown_name};
use crate::finding::{Finding, Grade};
use crate::numbers;
use crate::rules::{band, not_sent};
use crate::text::{Text, text};
use crate::trust::Trust;

const AGENT: Text = text("agent {agent}: ", "施压机 {agent}：");
const FIRST: Text = text(" (first at {at})", "（首次出现在 {at}）");
const LONGEST: Text = text(" (the longest delay at {at})", "（最长的延迟出现在 {at}）");
const LIKEWISE: Text = text("; likewise {n} more {n|agent|agents}: {agents}", "；另有 {n} 个施压机也是如此：{agents}");
const MOST_OF_BAND: Text =
    text("; {share} of these delays are those of agent {agent}", "；这些延迟中有 {share} 来自施压机 {agent}");

const ON: Text = text("; on {n|agent|agents} {agents}", "；出现在施压机 {agents}");

/// Maximum number of agents named for the same finding.
const NAMED: usize = 5;
/// Share of the delays above which one agent is named for all of them.
const MOST: f64 = 0.5;

/// Findings whose size in the whole is judged there: one agent of ten that sent late may change no figure.
const SIZED: [&str; 2] = [band::CODE, not_sent::CODE];

/// Adds what stands against agents to the verdict on the whole: for each rule the worst agent in full, and the names of the
/// others.
pub(crate) fn add_to_trust(trust: &mut Trust, agents: &[AgentSummary]) {
    let mut codes: Vec<&'static str> = Vec::new();
    for finding in agents.iter().flat_map(|agent| &agent.trust.findings) {
        if stands_against(finding) && !codes.contains(&finding.code) {
            codes.push(finding.code);
        }
    }
    for code in codes {
        let told = |agent| Some((agent, of_code(agent, code)?));
        let mut all: Vec<(&AgentSummary, &Finding)> = agents.iter().filter_map(told).collect();
        all.sort_by_key(|(_, finding)| std::cmp::Reverse(finding.grade));
        let of_whole = trust.findings.iter().position(|known| known.code == code && known.grade >= Grade::Warn);
        match of_whole.filter(|_| SIZED.contains(&code)) {
            Some(at) => {
                let found = trust.findings.remove(at);
                trust.findings.insert(at, on_agents(found, &all, agents));
            }
            None => trust.findings.extend(taken_over(code, &all)),
        }
    }
}

/// Returns the finding of the worst agent as one of the whole. Where the whole judges the size itself and found nothing, it
/// is a caution.
fn taken_over(code: &str, all: &[(&AgentSummary, &Finding)]) -> Option<Finding> {
    let (agent, finding) = all.first()?;
    let grade = if SIZED.contains(&code) { finding.grade.min(Grade::Warn) } else { finding.grade };
    let said = (*finding).clone().of_agent(prefix(agent), grade);
    let said = moment(code, agent).into_iter().fold(said, |said, (text, at)| said.and(text, [("at", at)]));
    Some(others(all).into_iter().fold(said, |said, facts| said.and(LIKEWISE, facts)))
}

/// Adds to a finding of the whole on which agents it is, or of which one most of it is.
fn on_agents(found: Finding, all: &[(&AgentSummary, &Finding)], agents: &[AgentSummary]) -> Finding {
    if let Some((share, agent)) = widest(agents).filter(|_| found.is_of_band()) {
        let facts = [("share", numbers::share(share)), ("agent", shown_name(&agent.head.name))];
        let found = found.and(MOST_OF_BAND, facts);
        let at = agent.moments.longest_delay.map(|(_, at)| [("at", at_of(at))]);
        return at.into_iter().fold(found, |found, at| found.and(LONGEST, at));
    }
    let names: Vec<String> = all.iter().map(|(agent, _)| shown_name(&agent.head.name)).collect();
    found.and(ON, [("n", names.len().to_string()), ("agents", listed(&names))])
}

fn prefix(agent: &AgentSummary) -> LocalizedSentence {
    LocalizedSentence::new(AGENT, [("agent", shown_name(&agent.head.name))])
}

fn of_code<'a>(agent: &'a AgentSummary, code: &str) -> Option<&'a Finding> {
    agent.trust.findings.iter().find(|finding| finding.code == code && stands_against(finding))
}

/// Returns `true` for cautions and failures of an agent. How the whole ended, or that agents were lost, has findings of
/// its own.
fn stands_against(finding: &Finding) -> bool {
    finding.grade >= Grade::Warn && !["cut_off", "interrupted"].contains(&finding.code)
}

fn moment(code: &str, agent: &AgentSummary) -> Option<(Text, String)> {
    let moments = &agent.moments;
    let (text, at) = match code {
        "local_limit" => (FIRST, moments.local_limit?),
        "generator_busy" => (FIRST, moments.full?),
        "generator_throttled" => (FIRST, moments.throttled?),
        code if code == band::CODE => (LONGEST, moments.longest_delay?.1),
        _ => return None,
    };
    Some((text, at_of(at)))
}

fn at_of(ns: i64) -> String {
    clock(Nanos(u64::try_from(ns).unwrap_or(0)))
}

/// Returns the facts on the agents after the first; `None` if there are none.
fn others<T>(all: &[(&AgentSummary, T)]) -> Option<[(&'static str, String); 2]> {
    let names: Vec<String> = all.iter().skip(1).map(|(agent, _)| shown_name(&agent.head.name)).collect();
    (!names.is_empty()).then(|| [("n", names.len().to_string()), ("agents", listed(&names))])
}

/// Joins names, as many as are worth it.
fn listed(names: &[String]) -> String {
    let more = (names.len() > NAMED).then_some("…");
    brunt_i18n::listed(names.iter().take(NAMED).map(|name| &**name).chain(more))
}

/// Returns the agent that most of the delays are of which widen the figures of the whole, with its share; `None` if it is
/// not one alone.
fn widest(agents: &[AgentSummary]) -> Option<(f64, &AgentSummary)> {
    let delays: Vec<f64> = agents.iter().map(|agent| agent.figures.delays().0 as f64).collect();
    let all: f64 = delays.iter().sum();
    let (delay, agent) = delays.into_iter().zip(agents).max_by(|a, b| a.0.total_cmp(&b.0))?;
    (agents.len() > 1 && delay > MOST * all).then(|| (delay / all, agent))
}

/// Adds the limits of agents to the conclusion on the whole, each with the name of the agent.
pub(crate) fn add_to_limits(limits: Conclusion, agents: &[AgentSummary]) -> Conclusion {
    // Disturbances widen the figures of the whole by what its own finding says; that a worker was full is a matter of its
    // machine.
    let is_full = |agent: &AgentSummary| of_code(agent, "generator_busy").is_some_and(|f| f.grade == Grade::Fail);
    let is_of_whole = limits.findings.iter().any(|found| found.rule == "C1") && !agents.iter().any(is_full);
    let mut rules: Vec<&'static str> = Vec::new();
    for found in agents.iter().flat_map(|agent| &agent.limits) {
        let is_told = rules.contains(&found.rule) || (found.rule == "C1" && is_of_whole);
        if !is_told {
            rules.push(found.rule);
        }
    }
    let of_agents = rules.into_iter().filter_map(|rule| limit_of_agents(rule, agents)).collect();
    let observed = agents.iter().map(|agent| agent.observed).max().unwrap_or(CounterCoverage::Nothing);
    limits.with_agents(of_agents, observed)
}

fn limit_of_agents(rule: &str, agents: &[AgentSummary]) -> Option<LimitFinding> {
    let told = |agent| Some((agent, find(agent, rule)?));
    let all: Vec<(&AgentSummary, &LimitFinding)> = agents.iter().filter_map(told).collect();
    let (agent, found) = all.iter().min_by_key(|(_, found)| (!found.is_limit, found.proof))?;
    let first = matches!(rule, "C4" | "C5").then_some(agent.moments.local_limit).flatten();
    let full = (rule == "C1").then_some(agent.moments.full).flatten();
    let mut after = LocalizedSentence::default();
    if let Some(at) = first.or(full) {
        after = after.with_clause(FIRST, [("at", at_of(at))]);
    }
    let mut ordered = vec![(*agent, *found)];
    ordered.extend(all.iter().filter(|(other, _)| !std::ptr::eq(*other, *agent)).copied());
    if let Some(facts) = others(&ordered) {
        after = after.with_clause(LIKEWISE, facts);
    }
    Some((*found).clone().within(prefix(agent), after))
}

fn find<'a>(agent: &'a AgentSummary, rule: &str) -> Option<&'a LimitFinding> {
    agent.limits.iter().find(|found| found.rule == rule)
}
