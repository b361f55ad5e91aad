//! The rule for a significant share of failed requests: the latency covers only the others, and those that timed out.

use super::Evidence;
use crate::finding::{Finding, Grade};
use crate::numbers;
use crate::text::{Text, text};

const FAILURES: Text =
    text("{share} of the requests failed: latency covers only the others", "{share} 的请求失败：延迟只反映其余请求");
const TIMED_OUT: Text = text(
    "{share} of the requests failed, all by timeout: latency counts them, as lower bounds",
    "{share} 的请求失败，均为超时：延迟已按下限计入这些请求",
);
const MIXED: Text = text(
    "{share} of the requests failed: latency counts those that timed out, as lower bounds, and leaves out the other \
        {others}",
    "{share} 的请求失败：延迟已按下限计入其中超时的请求，不含其余 {others} 个",
);
const FAILURES_ADVICE: Text = text(
    "; add --objective 'failed<0.1%' to turn this into an exit code",
    "；用 --objective 'failed<0.1%' 可让退出码反映这一点",
);

/// Threshold for a finding: one failure in this many requests.
const ONE_IN: u64 = 1000;

pub(super) fn judge(run: &Evidence<'_>) -> Option<Finding> {
    let (failed, due) = (run.totals.failed, run.totals.due);
    if !run.has_latency() || failed == 0 || failed.saturating_mul(ONE_IN) < due {
        return None;
    }
    let others = run.failed_outside_headline();
    let text = match others {
        0 => TIMED_OUT,
        others if others >= failed => FAILURES,
        _ => MIXED,
    };
    let facts = [("share", numbers::percent(failed, due)), ("others", numbers::count(others))];
    let found = Finding::new("failures", Grade::Warn, text, facts);
    Some(if run.failures_are_judged() { found } else { found.and(FAILURES_ADVICE, []) })
}
