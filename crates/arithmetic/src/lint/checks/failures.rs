//! Failed requests inside figures that are read as those of successful ones.

use brunt_i18n::numbers;
use brunt_i18n::text::{Text, text};

use super::super::finding::{LintFinding, LintGrade};
use super::super::stated::{StatedRun, ToolName};
use super::{Examined, LintEvidence};
use crate::figures;

/// Share of failures from which they change a figure that is read to three digits.
const MATERIAL: f64 = 0.001;

const IN_LATENCY: Text = text(
    "{failed} of {requests} requests ({share}) failed, and their times are among the {requests} that mean and \
        percentiles are made of; failures are often much faster or slower",
    "{requests} 个请求中有 {failed} 个（{share}）失败，其耗时也计入平均值和百分位数；失败的请求往往快得多或慢得多",
);
const NOT_2XX: Text = text(
    "{failed} of {requests} requests ({share}) failed or had a status other than 2xx, which redirects have as well, and their \
        times are among the {requests} that mean and percentiles are made of; such responses are often much faster or slower",
    "{requests} 个请求中有 {failed} 个（{share}）失败，或状态码不是 2xx（重定向也算在内），其耗时也计入平均值和百分位数；\
        这样的响应往往快得多或慢得多",
);
const ALL_FAILED: Text = text(
    "all {requests} requests failed: rate, mean and percentiles are those of failures",
    "{requests} 个请求全部失败：速率、平均值和百分位数都是失败请求的",
);
const NONE_2XX: Text = text(
    "none of the {requests} requests had a status of 2xx: rate, mean and percentiles are those of errors or redirects",
    "{requests} 个请求中没有一个的状态码是 2xx：速率、平均值和百分位数都是错误或重定向的",
);
const GOOD_ALONE: Text =
    text("; successful ones alone have a mean of {good}, not {mean}", "；仅成功请求的平均值是 {good}，而不是 {mean}");
const IN_SPEED: Text = text(
    "the speed counts {failed} failed requests as pages: {good} succeeded, which is {rate}",
    "速度把 {failed} 个失败的请求也算作页面：成功 {good} 个，即 {rate}",
);
const IN_RATE: Text = text(
    "the rate counts {failed} requests that ended in an error: {good} were answered, which is {rate}, not {printed}",
    "速率把 {failed} 个出错的请求也计算在内：得到响应的是 {good} 个，即 {rate}，而不是 {printed}",
);
const IN_NOTHING: Text = text(
    "{failed} requests ended in a socket error ({share} of them and the {requests} counted together), and are in neither \
        the latency nor the rate",
    "{failed} 个请求以套接字错误结束（占它们与所计 {requests} 个之和的 {share}），既不在延迟里，也不在速率里",
);
const OTHER_LENGTH: Text = text(
    "{n} «failed» requests only had a response of another length than the first one, which pages with changing content \
        always have (ab -l)",
    "{n} 个“失败”的请求只是响应长度与第一个不同，内容变化的页面必然如此（ab -l）",
);

const OTHER_LENGTH_OR_STATUS: Text = text(
    "{n} requests count as «failed» because their response had another length than the first one, which error pages and \
        pages with changing content both have (ab -l)",
    "{n} 个请求因响应长度与第一个不同而被计为“失败”，错误页和内容变化的页面都会如此（ab -l）",
);

/// Looks for failures in the figures of each run.
pub fn examine(evidence: &LintEvidence<'_>, examined: &mut Examined) {
    for run in evidence.runs.iter().filter(|run| run.requests.is_some_and(|requests| requests > 0)) {
        examined.add(in_latency(run));
        examined.findings.extend(outside(run));
        examined.findings.extend(other_length(run));
    }
}

/// Returns the share of a count, and the grade that it deserves.
fn weigh(part: u64, whole: u64) -> (String, LintGrade) {
    let is_material = part as f64 >= MATERIAL * whole as f64;
    (numbers::percent(part.min(whole), whole), if is_material { LintGrade::Weak } else { LintGrade::Note })
}

fn in_latency(run: &StatedRun) -> Option<LintFinding> {
    let requests = run.timed.or(run.requests).filter(|_| run.failed_inside > 0)?;
    let (share, grade) = weigh(run.failed_inside, requests);
    let facts =
        [("failed", numbers::count(run.failed_inside)), ("requests", numbers::count(requests)), ("share", share)];
    let options = format!("-c {} -d 30s --objective 'failed<0.1%'", run.users().unwrap_or(10));
    let command = run.brunt(&options);
    let text = match (run.failed_inside >= requests, run.other_status) {
        (false, 0) => IN_LATENCY,
        (false, _) => NOT_2XX,
        (true, 0) => ALL_FAILED,
        (true, _) => NONE_2XX,
    };
    let found = LintFinding::of_run(run, grade, text, facts).settled_by(command);
    Some(match run.mean.zip(run.mean_of_good) {
        Some((mean, good)) if mean != good => {
            found.and(GOOD_ALONE, [("good", figures::time(good.value)), ("mean", figures::time(mean.value))])
        }
        _ => found,
    })
}

/// Returns what is said about failures whose times are left out: they are in the rate, or in nothing.
fn outside(run: &StatedRun) -> Option<LintFinding> {
    let requests = run.requests?;
    match run.tool {
        ToolName::Webbench | ToolName::Hey | ToolName::Oha => in_rate(run, requests),
        _ => {
            let broken = run.failed_outside.checked_sub(run.timed_out).filter(|broken| *broken > 0)?;
            let (share, grade) = weigh(broken, requests.saturating_add(broken));
            let facts = [("failed", numbers::count(broken)), ("share", share), ("requests", numbers::count(requests))];
            Some(LintFinding::of_run(run, grade, IN_NOTHING, facts).settled_by(run.brunt_again()))
        }
    }
}

fn in_rate(run: &StatedRun, requests: u64) -> Option<LintFinding> {
    let failed = run.failed_outside;
    let rate = run.rate.filter(|_| failed > 0)?;
    let good = requests.saturating_sub(failed);
    let (_, grade) = weigh(failed, requests);
    let facts = [
        ("failed", numbers::count(failed)),
        ("good", numbers::count(good)),
        ("rate", figures::rate(rate.value * good as f64 / requests as f64)),
        ("printed", figures::rate(rate.value)),
    ];
    let text = if run.tool == ToolName::Webbench { IN_SPEED } else { IN_RATE };
    Some(LintFinding::of_run(run, grade, text, facts).settled_by(run.brunt_again()))
}

fn other_length(run: &StatedRun) -> Option<LintFinding> {
    // As many error pages as other lengths: these are the same ones.
    let n = Some(run.other_length).filter(|n| *n > 0 && *n != run.other_status)?;
    let text = if run.other_status == 0 { OTHER_LENGTH } else { OTHER_LENGTH_OR_STATUS };
    Some(LintFinding::of_run(run, LintGrade::Note, text, [("n", numbers::count(n))]))
}
