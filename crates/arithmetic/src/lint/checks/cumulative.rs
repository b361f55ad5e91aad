//! Figures since the start taken for figures per second: the table of go-stress-testing.
//!
//! Its qps is users ÷ the mean since the start. The differences of its counts between seconds are what was completed in
//! each, and the mean of a second follows from the means and counts before and after it.

use brunt_i18n::numbers;
use brunt_i18n::text::{Text, text};

use super::super::finding::{LintFinding, LintGrade};
use super::super::stated::{CumulativeRow, StatedRun};
use super::{Examined, LintEvidence};
use crate::figures;

/// Deviation of the printed rate from the completions that is negligible.
const TOLERATED: f64 = 0.05;
/// Completions of each user from which it does not matter where in its requests an interval begins and ends.
const LASTING: f64 = 10.0;
/// Seconds that are shown.
const SHOWN: usize = 6;

const NOT_PER_SECOND: Text = text(
    "the qps of {printed} is {users} {users|user|users} ÷ {mean}, the mean since the start, and no count: the columns of results \
        grew by {list} in each second, which is {rate} after the first one ({off})",
    "qps {printed} 是 {users} 个并发 ÷ 从头累计的平均耗时 {mean}，并不是计数：成功、失败两列每秒增加 {list}，第一秒之后为 {rate}（{off}）",
);
const LAST_MEAN: Text = text("; the mean of the last second is {last}", "；最后一秒的平均耗时是 {last}");

/// Compares the printed rate with the differences of the counts.
pub fn examine(evidence: &LintEvidence<'_>, examined: &mut Examined) {
    for run in evidence.runs {
        if let Some(found) = judge(run) {
            examined.add(found);
        }
    }
}

/// What was completed between two rows.
struct CompletedInterval {
    seconds: f64,
    done: u64,
    succeeded: u64,
    mean_s: Option<f64>,
}

fn judge(run: &StatedRun) -> Option<Option<LintFinding>> {
    let intervals = intervals(&run.rows);
    let (_, later) = intervals.split_first().filter(|(_, later)| !later.is_empty())?;
    let sum = |of: fn(&CompletedInterval) -> u64| later.iter().fold(0.0, |sum, one| sum + of(one) as f64);
    let seconds: f64 = later.iter().map(|one| one.seconds).sum();
    let [rate, good] = [sum(|one| one.done), sum(|one| one.succeeded)].map(|done| done / seconds);
    let last = run.rows.last()?;
    let users = run.users().unwrap_or(last.users);
    if rate * seconds < LASTING * users.max(1) as f64 {
        return None;
    }
    let off = last.rate_per_s / rate - 1.0;
    // The tool means successes, which failures are not.
    if off.abs() <= TOLERATED || (last.rate_per_s / good - 1.0).abs() <= TOLERATED {
        return Some(None);
    }
    let list: Vec<String> = intervals.iter().take(SHOWN).map(|one| numbers::count(one.done)).collect();
    let more = if intervals.len() > SHOWN { ", …" } else { "" };
    let facts = [
        ("printed", figures::rate(last.rate_per_s)),
        ("users", numbers::count(users)),
        ("mean", figures::time(last.mean_s)),
        ("list", format!("{}{more}", list.join(", "))),
        ("rate", figures::rate(rate.round())),
        (
            "off",
            format!("{}{}", if off > 0.0 { "+" } else { "−" }, figures::percent((off.abs() * 100.0).round() / 100.0)),
        ),
    ];
    let found = LintFinding::of_run(run, LintGrade::Wrong, NOT_PER_SECOND, facts).settled_by(run.brunt_with_users());
    let mean = intervals.last().and_then(|one| one.mean_s);
    Some(Some(match mean {
        Some(mean) => found.and(LAST_MEAN, [("last", figures::time(mean))]),
        None => found,
    }))
}

/// Returns what was completed in each interval between rows; the first one begins with the run.
fn intervals(rows: &[CumulativeRow]) -> Vec<CompletedInterval> {
    let start = CumulativeRow { at_s: 0.0, users: 0, succeeded: 0, failed: 0, rate_per_s: 0.0, mean_s: 0.0 };
    let mut before = start;
    let mut found = Vec::new();
    for row in rows {
        // The last row repeats a second that is not over.
        if row.at_s <= before.at_s {
            continue;
        }
        let [earlier, now] = [&before, row].map(|row| row.succeeded.saturating_add(row.failed));
        // The tool divides the sum of all times by the successes.
        let sums = [&before, row].map(|row| row.mean_s * row.succeeded as f64);
        let succeeded = row.succeeded.saturating_sub(before.succeeded);
        let mean_s = (succeeded > 0).then(|| (sums[1] - sums[0]) / succeeded as f64).filter(|mean| *mean > 0.0);
        let done = now.saturating_sub(earlier);
        found.push(CompletedInterval { seconds: row.at_s - before.at_s, done, succeeded, mean_s });
        before = *row;
    }
    found
}
