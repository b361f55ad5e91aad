//! Scenarios of a run of which there is nothing to tell, beside others of which there is.

use super::Evidence;
use crate::finding::{Finding, Grade};
use crate::iterations::ScenarioRow;
use crate::text::{Text, text};

const IDLE: Text = text("nothing was measured of scenario {scenario}", "场景 {scenario} 没有任何测量结果");
const FURTHER: Text = text(", {scenario}", "、{scenario}");
const WHY: Text = text(
    ": none of its iterations was due in the window, after the warm-up",
    "：预热之后的测量窗口内没有任何迭代应开始",
);

/// A scenario whose figures are all zero looks like one that was measured.
pub(super) fn idle(run: &Evidence<'_>) -> Option<Finding> {
    let plan = &run.started.as_ref()?.plan;
    // One that the run had not come to yet, or was cut before, is no surprise.
    let was_on = |row: &ScenarioRow<'_>| {
        plan.scenarios.iter().any(|scenario| scenario.name == row.name && scenario.start < run.window)
    };
    let is_idle = |row: &ScenarioRow<'_>| row.totals.counts.due == 0 && row.iterations.totals.counts.due == 0;
    let mut all = run.scenarios().filter(|row| is_idle(row) && was_on(row));
    let fact = |row: ScenarioRow<'_>| [("scenario", row.name.to_owned())];
    let first = Finding::new("scenario_idle", Grade::Warn, IDLE, fact(all.next()?));
    Some(all.fold(first, |found, row| found.and(FURTHER, fact(row))).and(WHY, []))
}
