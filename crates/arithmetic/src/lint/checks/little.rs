//! Little's law: throughput × time = requests in flight, which are never more than the users (docs/measurement.md 3.9).

use brunt_i18n::numbers;
use brunt_i18n::text::{Text, text};

use super::super::finding::{LintFinding, LintGrade};
use super::super::stated::{LoadKind, StatedRun, ToolName};
use super::{Examined, LintEvidence};
use crate::figures;

/// Deviation that is put down to the way of measuring, for tools whose time is computed from the rate.
const COMPUTED: f64 = 0.05;
/// The same for tools that measure both.
const MEASURED: f64 = 0.1;
/// The same for wrk, which adds made-up samples to its times.
const CORRECTED: f64 = 0.25;
/// Share of the users below which most of their time is outside of the latency.
const IDLE: f64 = 0.5;

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
    let is_of_wrk2 = run.tool == ToolName::Wrk && run.max.is_some_and(|max| max.at_least() > run.timeout_s());
    if rate.value <= 0.0 || time.value <= 0.0 || is_of_wrk2 {
        return None;
    }
    let [low, high] = [rate.at_least() * time.at_least(), rate.at_most() * time.at_most()];
    let facts = || {
        [
            ("rate", figures::rate(rate.value)),
            ("time", figures::time(time.value)),
            ("flight", figures::number(rounded(rate.value * time.value))),
            ("users", numbers::count(users as u64)),
        ]
    };
    let found =
        |text: Text| LintFinding::of_run(run, LintGrade::Wrong, text, facts()).settled_by(run.brunt_with_users());
    let is_computed = matches!(run.tool, ToolName::Ab | ToolName::GoStressTesting);
    Some(match run.tool {
        _ if is_computed => {
            let agrees = low <= users * (1.0 + COMPUTED) && high >= users * (1.0 - COMPUTED);
            (!agrees).then(|| found(OTHER_RUN))
        }
        ToolName::Wrk if low > users * (1.0 + CORRECTED) => Some(found(TOO_MANY).and(MADE_UP, [])),
        ToolName::Wrk => (high < users * IDLE).then(|| weaker(found(TOO_FEW))),
        _ if low > users * (1.0 + MEASURED) => Some(found(TOO_MANY)),
        // Only users who never pause are always waiting for a response.
        _ if run.load == LoadKind::Closed && !is_paced(run) => (high < users * IDLE).then(|| weaker(found(TOO_FEW))),
        _ => None,
    })
}

fn weaker(found: LintFinding) -> LintFinding {
    LintFinding { grade: LintGrade::Weak, ..found }
}

fn is_paced(run: &StatedRun) -> bool {
    run.command.as_ref().is_some_and(|command| command.rate_per_s.is_some())
}

/// Rounds to as many digits as the printed factors can bear.
fn rounded(flight: f64) -> f64 {
    let places = 10_f64.powf(3.0 - flight.max(1e-3).log10().floor());
    (flight * places).round() / places
}
