//! Throughput that does not follow from the requests and the time that stand beside it.

use brunt_i18n::numbers;
use brunt_i18n::text::{Text, text};

use super::super::finding::{LintFinding, LintGrade};
use super::super::stated::{StatedRun, ToolName};
use super::{Examined, LintEvidence};
use crate::figures;

/// Deviation that is put down to when the tools begin and end to count.
const TOLERATED: f64 = 0.03;
/// Share of the rate asked for from which it was kept.
const KEPT: f64 = 0.95;
/// Ratio of the time taken to the time asked for, and seconds beyond it, from which the clock of the tool was wrong.
const OVERRUN: (f64, f64) = (2.0, 30.0);
/// Times that hey keeps; later ones are in its sum and in no percentile (`maxRes` of hey).
const KEPT_BY_HEY: u64 = 1_000_000;

const DISAGREE: Text = text(
    "{requests} requests in {time} are {counted}, not {printed}",
    "{requests} 个请求用时 {time}，即 {counted}，而不是 {printed}",
);
const WRONG_CLOCK: Text = text(
    "a test of {asked} cannot have taken {time}: the clock of the tool was wrong, and so is the rate of {printed}",
    "{asked} 的压测不可能用时 {time}：工具的计时有误，{printed} 的速率因此也是错的",
);
const TOO_SHORT: Text = text(
    "a run of {time} cannot hold a request of {max}: the clock of the tool was wrong, and so is the rate of {printed}",
    "用时 {time} 的压测不可能有耗时 {max} 的请求：工具的计时有误，{printed} 的速率因此也是错的",
);
const NOT_KEPT: Text = text(
    "{asked} were asked for and {printed} came: requests that are late queue up, so that the times grow as long as the run \
        lasts, and say more about its length than about the service",
    "要求 {asked}，实际只有 {printed}：迟到的请求不断排队，压测持续多久，耗时就增长多久，反映的是压测时长而不是服务",
);
const NOT_MADE: Text = text(
    "{asked} were asked for and {printed} came: the load asked for was not made, or these figures are of another run",
    "要求 {asked}，实际只有 {printed}：没有施加所要求的负载，或者这些数字来自另一次压测",
);
const FIRST_MILLION: Text = text(
    "{printed} × {time} are {all} requests, but times and statuses are those of the first {kept} only; the mean is the \
        sum of all times ÷ {kept}, {factor} times too high",
    "{printed} × {time} 是 {all} 个请求，但耗时和状态码只含前 {kept} 个；平均值是全部耗时之和 ÷ {kept}，高出真实值 {factor} 倍",
);

/// Compares the printed rate with requests ÷ time.
pub fn examine(evidence: &LintEvidence<'_>, examined: &mut Examined) {
    for run in evidence.runs {
        if let Some(found) = judge(run) {
            examined.add(wrong_clock(run).or(found).or_else(|| not_kept(run)));
        }
    }
}

/// Returns what is said about a duration that cannot be.
pub fn wrong_clock(run: &StatedRun) -> Option<LintFinding> {
    let time = run.duration?;
    let facts = |name: &'static str, other: f64| {
        let printed = run.rate.map_or(0.0, |rate| rate.value);
        [("time", figures::time(time.value)), (name, figures::time(other)), ("printed", figures::rate(printed))]
    };
    let found = |text: Text, facts: [(&'static str, String); 3]| {
        Some(LintFinding::of_run(run, LintGrade::Wrong, text, facts).settled_by(run.brunt_with_users()))
    };
    if let Some(asked) = run.asked_duration.filter(|asked| time.at_least() > OVERRUN.0 * asked.value + OVERRUN.1) {
        return found(WRONG_CLOCK, facts("asked", asked.value));
    }
    let max = run.max.filter(|max| max.at_least() > time.at_most() * (1.0 + TOLERATED))?;
    found(TOO_SHORT, facts("max", max.value))
}

/// Returns what is said about a rate that was not kept.
fn not_kept(run: &StatedRun) -> Option<LintFinding> {
    let asked = run.command.as_ref()?.rate_per_s?;
    let text = match run.tool {
        ToolName::Wrk2 => NOT_KEPT,
        ToolName::Oha => NOT_MADE,
        // The rate of hey is that of each user.
        _ => return None,
    };
    let printed = run.rate?;
    (printed.at_most() < asked * KEPT).then(|| {
        let facts = [("asked", figures::rate(asked)), ("printed", figures::rate(printed.value))];
        LintFinding::of_run(run, LintGrade::Weak, text, facts).settled_by(run.brunt_with_rate())
    })
}

fn judge(run: &StatedRun) -> Option<Option<LintFinding>> {
    let (requests, time, printed) = (run.requests?, run.duration?, run.rate?);
    // The rate of go-stress-testing is no count; that is another check's.
    if time.value <= 0.0 || requests == 0 || run.tool == ToolName::GoStressTesting {
        return None;
    }
    let [most, least] = [time.at_least().max(1e-9), time.at_most()].map(|time| requests as f64 / time);
    let agrees = printed.at_most() >= least * (1.0 - TOLERATED) && printed.at_least() <= most * (1.0 + TOLERATED);
    if agrees {
        return Some(None);
    }
    let all = printed.value * time.value;
    if run.tool == ToolName::Hey && run.timed == Some(KEPT_BY_HEY) {
        let facts = [
            ("printed", figures::rate(printed.value)),
            ("time", figures::time(time.value)),
            ("all", numbers::count(all as u64)),
            ("kept", numbers::count(KEPT_BY_HEY)),
            ("factor", figures::number((all / KEPT_BY_HEY as f64 * 100.0).round() / 100.0)),
        ];
        let found = LintFinding::of_run(run, LintGrade::Wrong, FIRST_MILLION, facts);
        return Some(Some(found.settled_by(run.brunt_again())));
    }
    let facts = [
        ("requests", numbers::count(requests)),
        ("time", figures::time(time.value)),
        ("counted", figures::rate(requests as f64 / time.value)),
        ("printed", figures::rate(printed.value)),
    ];
    let found = LintFinding::of_run(run, LintGrade::Wrong, DISAGREE, facts);
    Some(Some(found.settled_by(run.brunt_again())))
}
