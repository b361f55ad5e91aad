//! Coordinated omission: users who wait for their responses send nothing while a server stands still, so that a stall is
//! one sample of each user (docs/measurement.md 1.3).

use brunt_i18n::numbers;
use brunt_i18n::text::{Text, text};

use super::super::finding::{LintFinding, LintGrade};
use super::super::stated::{LoadKind, StatedRun, ToolName};
use super::little::IDLE;
use super::{Examined, LintEvidence};
use crate::figures;

/// Ratio of the longest to the typical time from which it looks like a stall.
const STALL: f64 = 20.0;
/// Share of requests that such a stall would have left out, from which it changes what is read.
const MATERIAL: f64 = 0.2;

const STALLED: Text = text(
    "if the longest time of {max} was one stall of the server, {users} users sent nothing meanwhile and left out \
        {users} × ({max} − {typical}) ÷ {typical} = {hidden} requests beside the {n} measured, so that independent \
        visitors may see far higher percentiles (coordinated omission)",
    "如果最长的 {max} 是服务的一次停顿，{users} 个用户在此期间什么也没有发送，漏掉 {users} × ({max} − {typical}) ÷ {typical} = {hidden} \
        个请求（测得的是 {n} 个），独立访客看到的百分位数可能高得多（coordinated omission）",
);
const CLOSED: Text = text(
    "users wait for their responses here: time spent waiting to be sent is in no figure, and visitors who come at a \
        rate are not measured",
    "用户要等到响应才发送下一个请求：发送前的等待不体现在任何数字里，按速率到来的访客也没有测到",
);

/// Looks at runs of users who never pause.
pub fn examine(evidence: &LintEvidence<'_>, examined: &mut Examined) {
    let closed: Vec<&StatedRun> =
        evidence.runs.iter().filter(|run| run.load == LoadKind::Closed && run.mean.is_some()).collect();
    let before = examined.findings.len();
    closed.iter().for_each(|run| examined.add(stalled(run)));
    // Said once for all of them, and not where a finding says more.
    if examined.findings.len() == before
        && let Some(first) = closed.first()
    {
        examined
            .findings
            .push(LintFinding::of_run(first, LintGrade::Note, CLOSED, []).settled_by(first.brunt_with_rate()));
    }
}

fn stalled(run: &StatedRun) -> Option<LintFinding> {
    // wrk has added the requests that it takes for left out. Users who wait until a request is due leave out fewer.
    if run.tool == ToolName::Wrk || run.is_paced() {
        return None;
    }
    let (max, n, users) = (run.max?.value, run.timed? as f64, run.users()? as f64);
    let typical = run.percentile(0.5).filter(|median| median.value > 0.0).or(run.mean)?.value;
    if run.min.is_some_and(|min| typical < min.at_least()) {
        return None;
    }
    // Users whose time is not in the latency were not kept waiting by the server alone.
    let in_flight = run.rate?.at_most() * run.mean?.at_most();
    if in_flight < users * IDLE {
        return None;
    }
    let hidden = users * (max - typical) / typical;
    let is_telling = max >= STALL * typical && typical > 0.0 && hidden >= MATERIAL * (n + hidden);
    is_telling.then(|| {
        let facts = [
            ("max", figures::time(max)),
            ("users", numbers::count(users as u64)),
            ("typical", figures::time(typical)),
            ("hidden", numbers::count(hidden as u64)),
            ("n", numbers::count(n as u64)),
        ];
        LintFinding::of_run(run, LintGrade::Weak, STALLED, facts).settled_by(run.brunt_with_rate())
    })
}
