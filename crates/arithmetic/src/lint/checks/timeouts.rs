//! Requests that timed out or were never sent, and so left no time in the latency.

use brunt_i18n::numbers;
use brunt_i18n::text::{Text, text};

use super::super::finding::{LintFinding, LintGrade};
use super::super::stated::{StatedRun, ToolName};
use super::{Examined, LintEvidence};
use crate::figures;

/// The percentiles people read, the lowest first.
const READ: [f64; 5] = [0.5, 0.9, 0.95, 0.99, 0.999];

const LEFT_OUT: Text = text(
    "{n} {n|request|requests} timed out after at least {limit} and left no time in the latency: of {all}, {share} took \
        that long",
    "{n} 个请求超时，至少用了 {limit}，却没有在延迟中留下耗时：{all} 个中有 {share} 用了这么久",
);
const PERCENTILE: Text = text("; p{q} is at least {limit}", "；p{q} 至少是 {limit}");
const LONGEST: Text = text("; the longest time is not {max}", "；最长耗时不是 {max}");
const OF_WRK2: Text = text(
    "the {n} time-outs are no number of requests: wrk2 looks every 2 s for connections whose last request began more than \
        {limit} before, answered or not, and counts each of them anew",
    "{n} 次超时并不是请求数：wrk2 每 2 s 检查一次，凡上一个请求在 {limit} 之前开始的连接，不论是否已得到响应，都会再计一次",
);
const DROPPED: Text = text(
    "{n} iterations were due and never started, because no user was free ({share} of those due): the load asked for was \
        not made, and their waiting is in no figure",
    "{n} 次迭代到了时间却没有开始，因为没有空闲的用户（占应开始的 {share}）：没有施加所要求的负载，它们的等待不在任何数字里",
);

/// Looks for time-outs and dropped iterations.
pub fn examine(evidence: &LintEvidence<'_>, examined: &mut Examined) {
    for run in evidence.runs {
        match run.tool {
            ToolName::Wrk2 => examined.add(of_wrk2(run)),
            ToolName::Wrk | ToolName::Hey | ToolName::Oha if run.requests.is_some() => examined.add(left_out(run)),
            ToolName::K6 => examined.add(dropped(run)),
            _ => {}
        }
    }
}

fn left_out(run: &StatedRun) -> Option<LintFinding> {
    let n = Some(run.timed_out).filter(|n| *n > 0)?;
    let limit = run.timeout_s()?;
    let all = run.timed?.saturating_add(n);
    let facts = [
        ("n", numbers::count(n)),
        ("limit", figures::time(limit)),
        ("all", numbers::count(all)),
        ("share", numbers::percent(n, all)),
    ];
    let command = run.brunt_with_rate() + &format!(" -t {}s", figures::number(limit.max(10.0)));
    let found = LintFinding::of_run(run, LintGrade::Weak, LEFT_OUT, facts).settled_by(command);
    let hit = READ.iter().find(|q| n as f64 / all as f64 > 1.0 - **q);
    let found = match hit {
        Some(q) => found.and(PERCENTILE, [("q", figures::number(q * 100.0)), ("limit", figures::time(limit))]),
        None => found,
    };
    Some(match run.max.filter(|max| max.at_most() < limit) {
        Some(max) => found.and(LONGEST, [("max", figures::time(max.value))]),
        None => found,
    })
}

fn of_wrk2(run: &StatedRun) -> Option<LintFinding> {
    let n = Some(run.timed_out).filter(|n| *n > 0)?;
    let facts = [("n", numbers::count(n)), ("limit", figures::time(run.timeout_s()?))];
    Some(LintFinding::of_run(run, LintGrade::Note, OF_WRK2, facts).settled_by(run.brunt_with_rate()))
}

fn dropped(run: &StatedRun) -> Option<LintFinding> {
    let n = Some(run.dropped).filter(|n| *n > 0)?;
    // Iterations are counted with requests where each makes one; the share is a lower bound otherwise.
    let due = run.requests.unwrap_or(0).saturating_add(n);
    let facts = [("n", numbers::count(n)), ("share", numbers::percent(n, due))];
    Some(LintFinding::of_run(run, LintGrade::Weak, DROPPED, facts).settled_by(run.brunt_with_rate()))
}
