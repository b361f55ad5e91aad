//! The rule for responses that brunt itself did not check, because a limit of its own was reached: memory for responses,
//! or work for the checks and captures of one. Such failures are ours, and say nothing about the target.

use super::Evidence;
use crate::finding::{Finding, Grade};
use crate::numbers;
use crate::text::{Text, text};

const UNCHECKED: Text = text(
    "{failed} {failed|response|responses} could not be checked, because a limit of brunt was reached: whether they were \
        good is unknown, and their count among the failures is no fault of the target",
    "{failed} 个响应因达到 brunt 自身的上限而未能检查：其对错未知，计入失败并非目标之过",
);

/// Share of the requests above which the counts of the run are not those of the target.
const FAIL: f64 = 0.05;

pub(super) fn judge(run: &Evidence<'_>) -> Option<Finding> {
    let failed = run.unchecked();
    let share = failed as f64 / run.totals.due.max(1) as f64;
    let grade = if share > FAIL { Grade::Fail } else { Grade::Warn };
    (failed > 0).then(|| Finding::new("unchecked", grade, UNCHECKED, [("failed", numbers::count(failed))]))
}

#[cfg(test)]
mod tests {
    use brunt_record::{End, Failure, Second};

    use super::*;
    use crate::rules::tests::of_second;

    #[test]
    fn what_brunt_did_not_check_is_a_doubt_in_the_failures() {
        let judged = |kind: &str, count| {
            let failures = vec![Failure { kind: kind.into(), count, ..Failure::default() }];
            let second = Second { due: 1_000, failures, ..Second::default() };
            of_second(judge, second, End::Completed).map(|found| found.grade)
        };
        assert_eq!(
            [0, 1, 50, 51].map(|count| judged("unchecked", count)),
            [None, Some(Grade::Warn), Some(Grade::Warn), Some(Grade::Fail)]
        );
        assert_eq!(judged("wrong_body", 51), None);
    }
}
