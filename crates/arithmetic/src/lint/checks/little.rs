//! Little's law: throughput × time = requests in flight, which are never more than the users (docs/measurement.md 3.9).

use brunt_i18n::numbers;
use brunt_i18n::text::{Text, text};

use super::super::finding::{LintFinding, LintGrade};
use super::super::quantities::PrintedNumber;
use super::super::stated::{LoadKind, StatedRun, ToolName};
use super::rates::wrong_clock;
use super::{Examined, LintEvidence};
use crate::figures;

/// Deviation that is put down to the way of measuring, for tools whose time is computed from the rate.
const COMPUTED: f64 = 0.05;
/// The same for tools that measure both.
const MEASURED: f64 = 0.1;
/// The same for wrk, which adds made-up samples to its times.
const CORRECTED: f64 = 0.25;
/// Requests of each user from which the start and the end of a run do not matter.
const LASTING: f64 = 10.0;
/// Share of the users below which most of their time is outside of the latency.
pub const IDLE: f64 = 0.5;

const OTHER_RUN: Text = text(
    "{rate} × {time} = {flight} {flight|request|requests} in flight (Little's law), but {users} users are stated: these figures are of \
        a run with {flight} {flight|user|users}",
    "{rate} × {time} = {flight} 个请求同时在途（利特尔定律），但给出的并发数是 {users}：这些数字来自并发 {flight} 的压测",
);
const TOO_MANY: Text = text(
    "{rate} × {time} = {flight} {flight|request|requests} in flight (Little's law), more than the {users} users can have: the mean is \
        not that of the requests counted",
    "{rate} × {time} = {flight} 个请求同时在途（利特尔定律），超过 {users} 个用户可能达到的数量：平均值与所计请求不符",
);
const MADE_UP: Text = text(
    "; wrk adds samples of its own to correct for coordinated omission, and they dominate here",
    "；wrk 会为修正协同遗漏而补入样本，这里以补入的样本为主",
);
const OR_PIPELINED: Text = text(" (unless a script pipelined requests)", "（除非脚本用了流水线，一次发送多个请求）");
const DIVIDED: Text = text(
    "{rate} × {time} = 1, for the mean is that of a request ÷ the {users} users, which old versions print: a request took \
        {whole} on average",
    "{rate} × {time} = 1，因为旧版本把平均耗时又除以并发数 {users}：一个请求平均耗时实际是 {whole}",
);
const TOO_FEW: Text = text(
    "{rate} × {time} = {flight} {flight|request|requests} in flight (Little's law), and there were {users} users: most of their time is \
        in no figure (connecting, time-outs, errors, pauses, or a generator that was too slow)",
    "{rate} × {time} = {flight} 个请求同时在途（利特尔定律），而用户有 {users} 个：他们的大部分时间不在任何数字里（建连、\
        超时、错误、停顿，或发压端过慢）",
);

/// Compares the users with throughput × time.
pub fn examine(evidence: &LintEvidence<'_>, examined: &mut Examined) {
    for run in evidence.runs {
        if let Some(judged) = judge(run) {
            examined.add(judged);
        }
    }
}

/// Returns what is wrong with a run, or `None` if it does not state enough.
fn judge(run: &StatedRun) -> Option<Option<LintFinding>> {
    let (rate, time) = run.cycle()?;
    let users = run.users().filter(|users| *users > 0 && run.load != LoadKind::Open)? as f64;
    // wrk records nothing slower than its time limit: such an output is one of wrk2, whose requests wait before they
    // are sent.
    let is_of_wrk2 =
        run.tool == ToolName::Wrk && run.max.zip(run.timeout_s()).is_some_and(|(max, limit)| max.at_least() > limit);
    let pipelines = run.command.as_ref().is_some_and(|command| command.pipelines());
    if rate.value <= 0.0 || time.value <= 0.0 || is_of_wrk2 || pipelines || wrong_clock(run).is_some() {
        return None;
    }
    Some(match run.tool {
        ToolName::Ab | ToolName::GoStressTesting => computed(run, rate, time, users),
        ToolName::Wrk => corrected(run, rate, time, users),
        _ => measured(run, rate, time, users),
    })
}

/// Returns the least and the most that may have been in flight, by the printed digits.
fn in_flight(rate: PrintedNumber, time: PrintedNumber) -> [f64; 2] {
    [rate.at_least() * time.at_least(), rate.at_most() * time.at_most()]
}

fn found(run: &StatedRun, text: Text, rate: PrintedNumber, time: PrintedNumber, users: f64) -> LintFinding {
    let facts = [
        ("rate", figures::rate(rate.value)),
        ("time", figures::time(time.value)),
        ("flight", figures::number(rounded(rate.value * time.value))),
        ("users", numbers::count(users as u64)),
        ("whole", figures::time(time.value * users)),
    ];
    LintFinding::of_run(run, LintGrade::Wrong, text, facts).settled_by(run.brunt_with_users())
}

/// Judges a time that the tool computed from the rate, and one that it measured beside it.
fn computed(run: &StatedRun, rate: PrintedNumber, time: PrintedNumber, users: f64) -> Option<LintFinding> {
    let agrees = |users: f64| {
        let [low, high] = in_flight(rate, time);
        low <= users * (1.0 + COMPUTED) && high >= users * (1.0 - COMPUTED)
    };
    let is_below_all = run.min.is_some_and(|min| min.at_least() > time.at_most());
    if run.tool == ToolName::GoStressTesting && is_below_all && agrees(1.0) && users > 1.0 {
        return Some(found(run, DIVIDED, rate, time, users));
    }
    if !agrees(users) {
        return Some(found(run, OTHER_RUN, rate, time, users));
    }
    let mean = run.mean.filter(|_| run.requests.is_some_and(|requests| requests as f64 >= LASTING * users))?;
    let [_, high] = in_flight(rate, mean);
    (high < users * IDLE).then(|| weaker(found(run, TOO_FEW, rate, mean, users)))
}

/// Judges the mean of wrk, which has made-up samples in it.
fn corrected(run: &StatedRun, rate: PrintedNumber, time: PrintedNumber, users: f64) -> Option<LintFinding> {
    let [low, high] = in_flight(rate, time);
    if low > users * (1.0 + CORRECTED) {
        let found = found(run, TOO_MANY, rate, time, users).and(MADE_UP, []);
        let is_plain = run.command.as_ref().is_some_and(|command| command.script.is_none());
        return Some(if is_plain { found } else { found.and(OR_PIPELINED, []) });
    }
    (high < users * IDLE).then(|| weaker(found(run, TOO_FEW, rate, time, users)))
}

/// Judges a mean that is measured.
fn measured(run: &StatedRun, rate: PrintedNumber, time: PrintedNumber, users: f64) -> Option<LintFinding> {
    let [low, high] = in_flight(rate, time);
    if low > users * (1.0 + MEASURED) {
        return Some(found(run, TOO_MANY, rate, time, users));
    }
    // Only users who never pause are always waiting for a response.
    let never_pauses = run.load == LoadKind::Closed && !run.is_paced();
    (never_pauses && high < users * IDLE).then(|| weaker(found(run, TOO_FEW, rate, time, users)))
}

fn weaker(found: LintFinding) -> LintFinding {
    LintFinding { grade: LintGrade::Weak, ..found }
}

/// Rounds to as many digits as the printed factors can bear.
fn rounded(flight: f64) -> f64 {
    let places = 10_f64.powf(3.0 - flight.max(1e-3).log10().floor());
    (flight * places).round() / places
}
