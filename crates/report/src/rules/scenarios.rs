//! Rules for scenarios that did not run as requested: those without any figures, and those whose users were
//! distributed over workers such that some were idle while iterations were dropped.

use brunt_measure::Nanos;

use super::Evidence;
use crate::finding::{Finding, Grade};
use crate::iterations::ScenarioRow;
use crate::numbers;
use crate::text::{Text, text};

const IDLE: Text = text("nothing was measured for scenario {scenario}", "场景 {scenario} 没有任何测量结果");
const FURTHER: Text = text(", {scenario}", "、{scenario}");
const WHY: Text = text(
    ": none of its iterations was due in the window, after the warm-up",
    "：预热之后的统计窗口内没有计划开始的迭代",
);

const SPLIT: Text = text(
    "iterations of {scenario} were dropped by one of {workers} workers, which split its {limit} users (`max-users`)",
    "{scenario} 的 {limit} 个用户（`max-users`）分给了 {workers} 个工作线程，有迭代因其中一个线程没有空闲用户而被放弃",
);
const SPLIT_FURTHER: Text =
    text(", as were those of {scenario} with its {limit} users", "；{scenario} 的 {limit} 个用户也是如此");
const SPLIT_WHY: Text = text(
    ": one drops iterations that are due while another has free users, so the number dropped depends on the number of workers; -w 1 drops only those for which no user was free",
    "：一个线程放弃迭代时，另一个线程可能仍有空闲用户，换个线程数，放弃的次数也会不同；用 -w 1 时，只有确实没有空闲用户才会放弃",
);
/// Share of the maximum number of users that, if within an iteration, leaves hardly any user free while iterations are
/// dropped.
const HARDLY_FREE: f64 = 0.95;

/// Finds idle scenarios, whose figures of zero look like measurements.
pub(super) fn idle(run: &Evidence<'_>) -> Option<Finding> {
    let plan = &run.started.as_ref()?.plan;
    // A scenario that was to start only after the end of the run is expected to be idle.
    let was_on = |row: &ScenarioRow<'_>| {
        plan.scenarios.iter().any(|scenario| scenario.name == row.name && scenario.start < run.window)
    };
    let is_idle = |row: &ScenarioRow<'_>| row.totals.counts.due == 0 && row.iterations.totals.counts.due == 0;
    let mut all = run.scenarios().filter(|row| is_idle(row) && was_on(row));
    let fact = |row: ScenarioRow<'_>| [("scenario", row.name.to_owned())];
    let first = Finding::new("scenario_idle", Grade::Warn, IDLE, fact(all.next()?));
    Some(all.fold(first, |found, row| found.and(FURTHER, fact(row))).and(WHY, []))
}

/// Finds iterations that one worker dropped while another may have had free users.
pub(super) fn split(run: &Evidence<'_>) -> Option<Finding> {
    let started = run.started.as_ref().filter(|started| started.workers > 1)?;
    let limit_of = |row: &ScenarioRow<'_>| {
        let scenario = started.plan.scenarios.iter().find(|scenario| scenario.name == row.name)?;
        let lasted = (run.window - scenario.start).min(scenario.duration.unwrap_or(Nanos::MAX));
        let all = f64::from(scenario.max_users?) * lasted.0 as f64;
        let free = (row.totals.counts.users_ns as f64) < HARDLY_FREE * all;
        (free && row.iterations.totals.counts.dropped > 0).then_some(scenario.max_users?)
    };
    let workers = numbers::count(started.workers.into());
    let facts = |(name, limit): (&str, u32)| {
        [("scenario", name.to_owned()), ("limit", numbers::count(limit.into())), ("workers", workers.clone())]
    };
    let mut all = run.scenarios().filter_map(|row| Some((row.name, limit_of(&row)?)));
    let first = Finding::new("split_users", Grade::Warn, SPLIT, facts(all.next()?));
    Some(all.fold(first, |found, one| found.and(SPLIT_FURTHER, facts(one))).and(SPLIT_WHY, []))
}
