//! The rule for responses that cannot be told from messages nobody asked for: with `--push`, without a field by which
//! responses are matched.

use brunt_plan::Plan;

use super::Evidence;
use crate::finding::{Finding, Grade};
use crate::numbers;
use crate::text::{Text, text};

const PUSHES: Text = text(
    "{pushes} {pushes|message|messages} came unasked beside {responses} {responses|response|responses}, and without \
        --match-field any message counts as the response to the oldest request: some latencies may belong to other \
        messages",
    "除 {responses} 个响应外，还收到 {pushes} 条推送消息；未用 --match-field 时，任何消息都会当作最早那个请求的响应：部分延迟可能属于其他消息",
);

/// Threshold above which latencies may be those of pushes: one push in this many responses.
const PUSHES_ONE_IN: u64 = 1000;

/// Judges pushes: each that came while a request was in flight was taken for its response, and the response, which then
/// came unasked, was counted as a push. So no more responses can be wrong than there were pushes.
pub(super) fn judge(run: &Evidence<'_>) -> Option<Finding> {
    let plan = &run.started.as_ref()?.plan;
    if !takes_any_message(plan) {
        return None;
    }
    let responses = run.totals.finished.saturating_sub(run.totals.one_way);
    let pushes = run.totals.unsolicited;
    let grade = grade_of(pushes, responses)?;
    let facts = [("pushes", numbers::count(pushes)), ("responses", numbers::count(responses))];
    Some(Finding::new("pushes", grade, PUSHES, facts))
}

/// Returns the doubt in responses beside which pushes came.
fn grade_of(pushes: u64, responses: u64) -> Option<Grade> {
    match responses {
        0 => None,
        _ if pushes >= responses => Some(Grade::Fail),
        _ if pushes.saturating_mul(PUSHES_ONE_IN) > responses => Some(Grade::Warn),
        _ => None,
    }
}

/// Returns `true` if pushes are expected and a response is any message. The steps of a flow say what they await.
fn takes_any_message(plan: &Plan) -> bool {
    plan.options.contains_key("push") && !plan.options.contains_key("match-field") && !plan.has_flows()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_that_may_be_pushes_are_a_caution_and_cost_the_trust_where_pushes_outnumber_them() {
        let table = [
            ((2_425, 857), Some(Grade::Fail)),
            ((857, 857), Some(Grade::Fail)),
            ((100, 857), Some(Grade::Warn)),
            // So few that no percentile shown is theirs.
            ((1, 2_000), None),
            ((0, 2_000), None),
            // Nothing is answered, so nothing is confused.
            ((2_425, 0), None),
        ];
        for ((pushes, responses), expected) in table {
            assert_eq!(grade_of(pushes, responses), expected, "{pushes} pushes, {responses} responses");
        }
    }
}
