//! The rule that every request is counted exactly once: due = finished + failed + censored.

use super::Evidence;
use crate::finding::{Finding, Grade};
use crate::numbers;
use crate::text::{Text, text};

const ACCOUNTING: Text = text("every request is accounted for", "请求数核对一致");
const ACCOUNTING_BROKEN: Text = text(
    "the counts do not add up: {due} scheduled, but {sum} succeeded, failed or unfinished. This is a bug in brunt; do not use these results",
    "计数不符：计划 {due}，而成功、失败与未结束之和为 {sum}。这是 brunt 的缺陷，请勿使用本次结果",
);

pub(super) fn judge(run: &Evidence<'_>) -> Option<Finding> {
    let totals = &run.totals;
    if totals.is_consistent() {
        return Some(Finding::new("accounting", Grade::Ok, ACCOUNTING, []));
    }
    let sum = numbers::count(totals.finished + totals.failed + totals.censored);
    let facts = [("due", numbers::count(totals.due)), ("sum", sum)];
    Some(Finding::new("accounting", Grade::Fail, ACCOUNTING_BROKEN, facts))
}
