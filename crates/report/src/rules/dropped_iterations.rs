//! The rule for iterations that were dropped because all users were busy when they were due: the load was lower than
//! requested.

use super::Evidence;
use crate::finding::{Finding, Grade};
use crate::iterations::SpanRow;
use crate::numbers;
use crate::sums::RunSums;
use crate::text::{Text, text};

const DROPPED: Text = text(
    "{dropped} of {due} iterations were dropped: no user was free for them (max-users), so less load was sent than was scheduled, and the latency is that of the others",
    "{due} 次迭代中有 {dropped} 次被放弃：到了开始时间却没有空闲用户（max-users），因此实际负载低于计划，延迟只反映其余迭代",
);
const OF_SCENARIO: Text = text(
    "{dropped} of {due} iterations of {scenario} were dropped: no user was free for them (max-users), so less load was sent than was scheduled, and the latency is that of the others",
    "{scenario} 的 {due} 次迭代中有 {dropped} 次被放弃：到了开始时间却没有空闲用户（max-users），因此实际负载低于计划，延迟只反映其余迭代",
);

/// Threshold for a finding: one dropped iteration in this many.
const ONE_IN: u64 = 1000;

/// Returns the iterations of the flow with the most dropped ones, if there are enough to report.
pub(crate) fn worst(run: &RunSums) -> Option<SpanRow<'_>> {
    let told = |row: &SpanRow<'_>| {
        let counts = &row.totals.counts;
        counts.dropped > 0 && counts.dropped.saturating_mul(ONE_IN) >= counts.due
    };
    run.spans().filter(|row| row.group.is_none()).filter(told).max_by_key(|row| row.totals.counts.dropped)
}

pub(super) fn judge(run: &Evidence<'_>) -> Option<Finding> {
    let row = worst(run)?;
    let counts = &row.totals.counts;
    let [dropped, due] = [counts.dropped, counts.due].map(numbers::count);
    let facts = [("dropped", dropped), ("due", due), ("scenario", row.scenario.unwrap_or_default().to_owned())];
    let text = if row.scenario.is_some() { OF_SCENARIO } else { DROPPED };
    Some(Finding::new("iterations_dropped", Grade::Warn, text, facts))
}
