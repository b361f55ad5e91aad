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
    let grade = match responses {
        0 => return None,
        _ if pushes >= responses => Grade::Fail,
        _ if pushes.saturating_mul(PUSHES_ONE_IN) > responses => Grade::Warn,
        _ => return None,
    };
    let facts = [("pushes", numbers::count(pushes)), ("responses", numbers::count(responses))];
    Some(Finding::new("pushes", grade, PUSHES, facts))
}

/// Returns `true` if pushes are expected and a response is any message. The steps of a flow say what they await.
fn takes_any_message(plan: &Plan) -> bool {
    plan.options.contains_key("push") && !plan.options.contains_key("match-field") && !plan.has_flows()
}

#[cfg(test)]
mod tests {
    use brunt_record::{RunEvent, RunStarted, Second};

    use super::*;
    use crate::rules::tests::of_sums;

    fn grade(options: &[&str], (pushes, finished, one_way): (u64, u64, u64)) -> Option<Grade> {
        let mut started = RunStarted::default();
        started.plan.options = options.iter().map(|name| ((*name).to_owned(), vec![String::new()])).collect();
        let second = Second { unsolicited: pushes, finished, one_way, ..Second::default() };
        let events = [RunEvent::Started(Box::new(started)), RunEvent::Second(Box::new(second))];
        of_sums(judge, events).map(|found| found.grade)
    }

    #[test]
    fn responses_that_may_be_pushes_are_a_caution_and_cost_the_trust_where_pushes_outnumber_them() {
        for (options, counts, expected) in [
            (&["push"][..], (2_425, 857, 0), Some(Grade::Fail)),
            (&["push"], (857, 857, 0), Some(Grade::Fail)),
            (&["push"], (100, 857, 0), Some(Grade::Warn)),
            (&["push", "expect-body"], (100, 857, 0), Some(Grade::Warn)),
            // So few that no percentile shown is theirs.
            (&["push"], (1, 2_000, 0), None),
            (&["push"], (0, 2_000, 0), None),
            // Responses that say to which request they belong.
            (&["push", "match-field"], (2_425, 857, 0), None),
            // Nothing is answered, so nothing is confused.
            (&["push"], (2_425, 857, 857), None),
            // Without --push, a message that nobody awaits is an error.
            (&[], (5, 857, 0), None),
        ] {
            assert_eq!(grade(options, counts), expected, "{options:?} {counts:?}");
        }
    }
}
