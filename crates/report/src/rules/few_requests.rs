//! The rules for runs that are too short to be judged, and for objectives met with too few requests: ten requests cannot show that a limit of one in a thousand is
//! met, and the next request may miss it.

use brunt_measure::Nanos;
use brunt_measure::quantile::minimum_count;
use brunt_record::NamedCounts;

use super::Evidence;
use crate::finding::{Finding, Grade};
use crate::iterations::SpanRow;
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

const NO_ITERATION: Text = text(
    "no iteration ended: {n} {n|was|were} cut off at the end of the run, so neither their durations nor their success can \
        be judged; run longer, or let them end (--drain, graceful-stop)",
    "没有迭代结束：压测结束时有 {n} 次迭代被截断，无法判断其耗时与成败；请延长压测时间，或让迭代得以结束（--drain、graceful-stop）",
);
const NO_ITERATION_OF: Text = text(
    "no iteration of {scenario} ended: {n} {n|was|were} cut off at its end, so neither their durations nor their success \
        can be judged; run longer, or let them end (graceful-stop)",
    "{scenario} 没有迭代结束：场景结束时有 {n} 次迭代被截断，无法判断其耗时与成败；请延长压测时间，或让迭代得以结束（graceful-stop）",
);

/// Finds a flow whose iterations were all cut off: its requests were measured, but what users do was not.
pub(super) fn no_iteration(run: &Evidence<'_>) -> Option<Finding> {
    let is_cut = |row: &SpanRow<'_>| {
        let NamedCounts { finished, failed, censored, .. } = row.totals.counts;
        row.group.is_none() && finished.saturating_add(failed) == 0 && censored > 0
    };
    let row = run.spans().find(is_cut)?;
    let facts =
        [("n", numbers::count(row.totals.counts.censored)), ("scenario", row.scenario.unwrap_or_default().to_owned())];
    let text = if row.scenario.is_some() { NO_ITERATION_OF } else { NO_ITERATION };
    Some(Finding::new("no_iteration", Grade::TooShort, text, facts))
}

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
