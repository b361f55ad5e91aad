//! The rule for runs that did not end as planned and therefore lack results.

use brunt_record::End;

use super::Evidence;
use crate::finding::{Finding, Grade};
use crate::text::{Text, text};

const INTERRUPTED: Text =
    text("the run was interrupted: results cover the time up to then", "压测被中断：结果只包含中断之前的部分");
const PARTIAL: Text = text(
    "part of the run was lost: results cover what it had reported up to then",
    "部分负载缺失：结果只包含丢失前已上报的部分",
);
const ABORTED: Text = text("the run could not continue", "压测无法继续");
const CUT_OFF: Text = text(
    "the record ends before the run did: results cover only what it holds",
    "记录在压测结束前中断：结果只包含已记录的部分",
);

pub(super) fn judge(run: &Evidence<'_>) -> Option<Finding> {
    let text = match run.end {
        // This includes drained runs: the headline mentions the drain, and the figures are
        // complete.
        End::Completed => return None,
        // A notice states the reason.
        End::Interrupted if run.was_stopped() => return None,
        End::Interrupted => INTERRUPTED,
        End::Partial => PARTIAL,
        End::Aborted => ABORTED,
        End::CutOff => CUT_OFF,
    };
    Some(Finding::new(run.end.name(), Grade::Warn, text, []))
}
