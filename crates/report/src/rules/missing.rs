//! The rule for figures that are missing because agents were lost: throughput and counts are without them.

use brunt_measure::Nanos;
use brunt_plan::Stage;
use brunt_record::{RunEvent, RunPart, Second, Subject};

use super::{Evidence, TrustRule};
use crate::finding::{Finding, Grade};
use crate::numbers;
use crate::sums::RunSums;
use crate::text::{Text, text};

const MISSING: Text = text(
    "{share} of the load is missing from these figures, from {from} on: {n} {n|agent was|agents were} lost",
    "自 {from} 起，结果中缺少 {share} 的负载：丢失 {n} 个施压机",
);
const NAMED: Text = text(" ({agents})", "（{agents}）");

/// Share of the run above which its throughput is not that of the load that was asked for.
const FAIL: f64 = 0.05;
/// Maximum number of agents named.
const AGENTS: usize = 3;

/// A stretch of a run in which a share of it is missing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MissingStretch {
    /// Beginning, since the start of the window (nanoseconds).
    pub from_ns: i64,
    /// End.
    pub to_ns: i64,
    /// The share, from 0 to 1.
    pub share: f64,
}

/// Maximum number of stretches kept.
const STRETCHES: usize = 64;

/// Adds a second to the stretches of seconds that miss as much.
pub(crate) fn add_stretch(all: &mut Vec<MissingStretch>, s: &Second) {
    if s.missing_share <= 0.0 || s.to_ns <= s.from_ns {
        return;
    }
    let is_same = |last: &&mut MissingStretch| last.to_ns == s.from_ns && last.share == s.missing_share;
    if let Some(last) = all.last_mut().filter(is_same) {
        last.to_ns = s.to_ns;
    } else if all.len() < STRETCHES {
        all.push(MissingStretch { from_ns: s.from_ns, to_ns: s.to_ns, share: s.missing_share });
    }
}

/// The share of the load whose figures are missing.
#[derive(Debug, Default)]
pub(super) struct MissingShareRule {
    /// The planned load over the window, if it is known: without, one second weighs as another.
    stages: Vec<Stage>,
    /// Sum over the window of the missing share times the planned load, and of the planned load.
    missing: f64,
    planned: f64,
    /// Sum over the window of the missing share times the length, in nanoseconds.
    missing_ns: f64,
    /// Start of the first second with a missing share.
    from_ns: Option<i64>,
}

impl TrustRule for MissingShareRule {
    fn see(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Started(started) => {
                let plan = &started.plan;
                let is_known = plan.warmup == Nanos::ZERO && plan.scenarios.is_empty();
                self.stages = plan.load.stages().iter().filter(|_| is_known).copied().collect();
            }
            RunEvent::Changed(_) => self.stages.clear(),
            RunEvent::Second(s) if s.part != RunPart::Warmup => self.add(s),
            _ => {}
        }
    }

    fn findings(&self, run: &Evidence<'_>) -> Vec<Finding> {
        self.found(run).into_iter().collect()
    }
}

/// Returns the load planned between two times since the start of the window, in users or arrivals times nanoseconds.
fn planned(stages: &[Stage], from_ns: i64, to_ns: i64) -> f64 {
    let (from, to) = (from_ns.max(0) as f64, to_ns.max(0) as f64);
    let (mut begins, mut sum) = (0.0, 0.0);
    for stage in stages {
        let lasts = stage.lasts.0 as f64;
        let (first, last) = (from.max(begins), to.min(begins + lasts));
        if last > first {
            let middle = ((first + last) / 2.0 - begins) / lasts;
            sum += (stage.from + (stage.to - stage.from) * middle) * (last - first);
        }
        begins += lasts;
    }
    sum
}

impl MissingShareRule {
    fn add(&mut self, s: &Second) {
        if s.missing_share > 0.0 {
            self.from_ns.get_or_insert(s.from_ns);
        }
        if s.part == RunPart::Window {
            let planned = planned(&self.stages, s.from_ns, s.to_ns);
            self.planned += planned;
            self.missing += s.missing_share * planned;
            self.missing_ns += s.missing_share * s.length().0 as f64;
        }
    }

    fn found(&self, run: &Evidence<'_>) -> Option<Finding> {
        let from = Nanos(u64::try_from(self.from_ns?).unwrap_or(0));
        let share = match self.stages.is_empty() || self.planned <= 0.0 {
            true => self.missing_ns / (run.window.0.max(1) as f64),
            false => self.missing / self.planned,
        };
        let lost = lost_agents(run.sums);
        let facts = [
            ("share", numbers::share(share.min(1.0))),
            ("from", crate::agents::clock(from)),
            ("n", lost.len().max(1).to_string()),
        ];
        let found = Finding::new("agents", if share > FAIL { Grade::Fail } else { Grade::Warn }, MISSING, facts);
        if lost.is_empty() {
            return Some(found);
        }
        let more = (lost.len() > AGENTS).then_some("…");
        let named = brunt_i18n::listed(lost.iter().take(AGENTS).map(|name| &**name).chain(more));
        Some(found.and(NAMED, [("agents", named)]))
    }
}

/// Returns the names of the agents that were lost, as notices tell.
fn lost_agents(run: &RunSums) -> Vec<String> {
    let lost = run.notices.iter().filter(|notice| notice.subject() == Some(Subject::AgentLost));
    lost.filter_map(|notice| notice.facts.get("agent")).map(|name| crate::agents::shown_name(name)).collect()
}

#[cfg(test)]
mod tests {
    use brunt_record::{Notice, RunEnd};

    use super::*;
    use crate::rules::tests::found;
    use crate::text::Lang;

    /// Returns the findings on ten seconds, of the last `lost` of which `share` is missing.
    fn judged(lost: i64, share: f64) -> Vec<Finding> {
        let second = |n: i64| {
            let (from_ns, to_ns) = (n * 1_000_000_000, (n + 1) * 1_000_000_000);
            let missing_share = if n >= 10 - lost { share } else { 0.0 };
            RunEvent::Second(Box::new(Second { from_ns, to_ns, missing_share, ..Second::default() }))
        };
        let lost = Notice::new(Subject::AgentLost, [("agent", "eu-1".to_owned())]);
        let ended = RunEvent::Ended(RunEnd { window: Nanos::from_secs(10), ..RunEnd::default() });
        found(MissingShareRule::default(), (0..10).map(second).chain([RunEvent::Notice(lost), ended]))
    }

    #[test]
    fn what_is_missing_is_judged_by_its_part_of_the_run() {
        let grades = [(0, 0.5), (1, 0.25), (2, 0.25), (3, 0.25), (10, 0.04)]
            .map(|(lost, share)| judged(lost, share).pop().map(|found| found.grade));
        assert_eq!(grades, [None, Some(Grade::Warn), Some(Grade::Warn), Some(Grade::Fail), Some(Grade::Warn)]);
        let said = judged(3, 0.25).pop().map(|found| found.sentence(Lang::En)).unwrap_or_default();
        assert_eq!(said, "7.5 % of the load is missing from these figures, from 00:07 on: 1 agent was lost (eu-1)");
    }

    #[test]
    fn a_second_weighs_as_much_as_was_planned_for_it() {
        let stage = |lasts, from, to| Stage { lasts: Nanos::from_secs(lasts), from, to };
        let stages = [stage(14, 40.0, 40.0), stage(2, 1_500.0, 1_500.0), stage(2, 0.0, 100.0)];
        let per = |from: i64, to: i64| planned(&stages, from * 1_000_000_000, to * 1_000_000_000) / 1e9;
        assert_eq!([per(0, 14), per(13, 15), per(16, 17), per(17, 18), per(-5, 0)], [560.0, 1_540.0, 25.0, 75.0, 0.0]);
        let line = include_str!("../../../record/src/version-1.jsonl").lines().next().unwrap();
        let RunEvent::Started(mut started) = serde_json::from_str(line).unwrap() else { panic!("{line}") };
        started.plan.warmup = Nanos::ZERO;
        started.plan.load = brunt_plan::Load::Open { stages: stages[..2].to_vec(), arrivals: Default::default() };
        let second = |n: i64| {
            let (from_ns, to_ns) = (n * 1_000_000_000, (n + 1) * 1_000_000_000);
            let missing_share = if n >= 14 { 0.25 } else { 0.0 };
            RunEvent::Second(Box::new(Second { from_ns, to_ns, missing_share, ..Second::default() }))
        };
        let ended = RunEvent::Ended(RunEnd { window: Nanos::from_secs(16), ..RunEnd::default() });
        let events = [RunEvent::Started(started)].into_iter().chain((0..16).map(second)).chain([ended]);
        let found = found(MissingShareRule::default(), events).pop().unwrap();
        assert_eq!(found.grade, Grade::Fail, "750 of 3,560");
        assert!(found.sentence(Lang::En).starts_with("21.1 % of the load is missing"), "{}", found.sentence(Lang::En));
    }
}
