//! The rule for runs without a single success, and the cause: no request was due, or every response had a
//! status that counts as a failure.

use brunt_record::{End, Failure, Kind, Phase};

use super::Evidence;
use crate::failure_kind::FailureKind as _;
use crate::finding::{Finding, Grade};
use crate::text::{Text, text};

const NOTHING: Text = text("no request succeeded, so there is no latency to report", "没有请求成功，因此没有延迟数据");
const ONLY_ANSWERS: Text = text(
    "no request succeeded: every response was {codes}; if that is what you expect, use --expect-status {codes}",
    "没有请求成功：所有响应都是 {codes}；如果这符合预期，请用 --expect-status {codes}",
);
const NOTHING_BEGUN: Text =
    text("the run ended before its first request was scheduled", "压测在第一个请求的计划时刻之前就已结束");
const NOTHING_BUT_WARMUP: Text =
    text("the run ended during its warm-up, before anything was measured", "压测在预热期间就已结束，没有任何测量数据");
const NOTHING_DUE: Text = text(
    "no request was scheduled; run longer (-d), or at a higher rate",
    "计划中没有请求；请延长压测时间（-d）或提高速率",
);

/// Code of the finding.
pub(crate) const CODE: &str = "nothing_succeeded";
/// Maximum number of codes listed.
const CODES: usize = 5;

pub(super) fn judge(run: &Evidence<'_>) -> Option<Finding> {
    if run.only_holds() || run.totals.finished > 0 {
        return None;
    }
    // Where an objective is about failures, a run of failures is its result: latency is not judged.
    let is_result = run.totals.due > 0 && run.failures_are_judged();
    let grade = if is_result { Grade::Unchecked } else { Grade::Fail };
    let found = |text| Finding::new(CODE, grade, text, []);
    Some(match (run.totals.due, run.end) {
        (0, End::Completed) => found(NOTHING_DUE),
        (0, _) if run.totals.warmup > 0 => found(NOTHING_BUT_WARMUP),
        (0, _) => found(NOTHING_BEGUN),
        _ => match only_answers(run) {
            Some(codes) => Finding::new(CODE, grade, ONLY_ANSWERS, [("codes", codes)]),
            None => found(NOTHING),
        },
    })
}

/// Returns the codes of a run in which every request failed by its status, if `--expect-status` could make them
/// successes.
fn only_answers(run: &Evidence<'_>) -> Option<String> {
    let totals = &run.totals;
    let by_status = |f: &Failure| f.is(Kind::WrongStatus) && !f.is_in(Phase::Greeting);
    let expects = run.started.as_ref().is_some_and(|s| matches!(&*s.plan.protocol, "http" | "grpc"));
    let all = totals.failed > 0 && totals.censored == 0 && totals.failures.iter().all(by_status);
    let codes: Vec<&str> = totals.status.keys().map(String::as_str).collect();
    (expects && all && !codes.is_empty() && codes.len() <= CODES).then(|| codes.join(","))
}
