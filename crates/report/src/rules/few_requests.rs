//! The rule for objectives met with too few requests: ten requests cannot show that a limit of one in a thousand is
//! met, and the next request may miss it.

use brunt_measure::Nanos;
use brunt_measure::quantile::minimum_count;

use super::Evidence;
use crate::finding::{Finding, Grade};
use crate::numbers;
use crate::text::{Text, text};

/// Length of a run below which its figures are not judged; a little less than a second, because runs of a second end
/// early.
const SHORTEST: Nanos = Nanos::from_millis(950);

const FEW: Text = text("too few requests to confirm {objective}", "请求太少，不足以确认 {objective}");
const FURTHER: Text = text(", {objective}", "，{objective}");
const ADVICE: Text = text("; run longer or send more", "；请延长压测时间或增加请求数");

const TOO_SHORT_TIME: Text = text(
    "the run lasted {time}: run for a second or more to judge its figures",
    "压测只持续了 {time}：至少运行 1 秒才能判断其数据",
);
const TOO_SHORT_COUNT: Text = text(
    "{n} {n|request|requests} in {time}: a median needs {needed} or more",
    "{time} 内只有 {n} 个请求：中位数至少需要 {needed} 个",
);

/// Finds a run that is too short, or has too few requests, to judge its figures.
pub(super) fn too_short(run: &Evidence<'_>) -> Option<Finding> {
    if !run.has_latency() {
        return None;
    }
    let (n, needed, time) = (run.headline().count(), minimum_count(0.5), numbers::duration(run.window));
    let text = match () {
        () if n < needed => TOO_SHORT_COUNT,
        () if run.window < SHORTEST => TOO_SHORT_TIME,
        () => return None,
    };
    let facts = [("n", numbers::count(n)), ("needed", numbers::count(needed)), ("time", time)];
    Some(Finding::new("too_short", Grade::TooShort, text, facts))
}

pub(super) fn judge(run: &Evidence<'_>) -> Option<Finding> {
    let mut few = run.objectives.iter().filter(|judged| judged.is_met() && judged.too_few_requests);
    let fact = |judged: &crate::JudgedObjective| [("objective", judged.objective.clone())];
    let first = Finding::new("few_requests", Grade::Warn, FEW, fact(few.next()?));
    Some(few.fold(first, |found, judged| found.and(FURTHER, fact(judged))).and(ADVICE, []))
}
