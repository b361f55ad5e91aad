//! The rule for the pairing of answers with requests, if it relies on their order alone.

use brunt_plan::Plan;
use brunt_record::{Notice, Subject};

use super::Evidence;
use crate::finding::{Finding, Grade};
use crate::numbers;
use crate::text::{Text, text};
use crate::totals::RunTotals;

const PAIRING: Text = text(
    "{strays} unexpected {strays|response|responses} arrived, and responses are matched only by order: some \
        latencies may belong to other requests",
    "收到 {strays} 个多余的响应，而响应只按顺序匹配请求：部分延迟可能属于其他请求",
);

/// Threshold above which figures may belong to other requests: one surplus answer in this many answers.
const STRAYS_ONE_IN: u64 = 1000;

pub(super) fn judge(run: &Evidence<'_>) -> Option<Finding> {
    pairing(&run.totals, &run.notices, pipelined(run))
}

/// Judges surplus answers. Each may have been taken for the answer to the next request, and if several are awaited at a
/// time, each surplus answer shifts all that follow.
fn pairing(totals: &RunTotals, notices: &[Notice], pipelined: bool) -> Option<Finding> {
    // Older records, which did not count strays separately, contain a notice.
    let about =
        |notice: &Notice| matches!(notice.subject(), Some(Subject::DatagramsByOrder | Subject::MessagesByOrder));
    let by_order = notices.iter().any(about);
    let strays = if totals.strays == 0 && by_order { totals.unsolicited } else { totals.strays };
    let shifted = pipelined || strays.saturating_mul(STRAYS_ONE_IN) > totals.finished;
    let grade = if shifted { Grade::Fail } else { Grade::Warn };
    (strays > 0).then(|| Finding::new("pairing", grade, PAIRING, [("strays", numbers::count(strays))]))
}

/// Returns `true` if several answers were awaited at a time on one connection.
fn pipelined(run: &Evidence<'_>) -> bool {
    let depth = |plan: &Plan| plan.options.get("pipeline")?.last()?.parse::<u64>().ok();
    run.started.as_ref().and_then(|s| depth(&s.plan)).is_some_and(|depth| depth > 1)
}

#[cfg(test)]
mod tests {
    use brunt_record::Second;

    use super::*;

    #[test]
    fn answers_too_many_are_a_caution_and_too_many_of_them_cost_the_trust() {
        for (strays, pushed, finished, pipelined, grade) in [
            (0, 0, 5000, false, None),
            // An unsolicited message from a server is not a surplus answer.
            (0, 900, 5000, true, None),
            (5, 0, 5000, false, Some(Grade::Warn)),
            (6, 0, 5000, false, Some(Grade::Fail)),
            (1, 0, 5000, true, Some(Grade::Fail)),
            (1, 0, 0, false, Some(Grade::Fail)),
        ] {
            let mut totals = RunTotals::default();
            totals.add(&Second { strays, unsolicited: strays + pushed, finished, ..Second::default() });
            let judged = pairing(&totals, &[], pipelined).map(|found| found.grade);
            assert_eq!(judged, grade, "{strays} of {finished}, pipelined: {pipelined}");
        }
    }
}
