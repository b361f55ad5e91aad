//! A mean that stands for no request: few slow ones make it.

use brunt_i18n::text::{Text, text};

use super::super::finding::{LintFinding, LintGrade};
use super::super::stated::StatedRun;
use super::{Examined, LintEvidence};
use crate::figures;

/// Ratio of mean to median from which the mean describes the tail. It is 1.44 for exponential times.
const HEAVY: f64 = 2.0;

const ABOVE_MEDIAN: Text = text(
    "the mean of {mean} is {times} times the median of {median}: few slow requests make it, and most took far less; \
        read percentiles instead",
    "平均值 {mean} 是中位数 {median} 的 {times} 倍：它由少数慢请求造成，多数请求要快得多；请看百分位数",
);
const ONLY_MEAN: Text = text(
    "the standard deviation of {deviation} exceeds the mean of {mean}, so the mean says little, and no percentile is \
        printed",
    "标准差 {deviation} 超过平均值 {mean}，平均值因此说明不了什么，而又没有打印百分位数",
);

/// Compares the mean with the median, or with the deviation if there is no percentile.
pub fn examine(evidence: &LintEvidence<'_>, examined: &mut Examined) {
    for run in evidence.runs {
        if let Some(found) = judge(run) {
            examined.add(found);
        }
    }
}

fn judge(run: &StatedRun) -> Option<Option<LintFinding>> {
    let mean = run.mean?;
    if let Some(median) = run.percentile(0.5) {
        let is_heavy = mean.at_least() >= HEAVY * median.at_most() && median.value > 0.0;
        return Some(is_heavy.then(|| {
            let facts = [
                ("mean", figures::time(mean.value)),
                ("median", figures::time(median.value)),
                ("times", figures::number((mean.value / median.value * 10.0).round() / 10.0)),
            ];
            LintFinding::of_run(run, LintGrade::Weak, ABOVE_MEDIAN, facts).settled_by(run.brunt_again())
        }));
    }
    let deviation = run.deviation.filter(|_| run.percentiles.is_empty())?;
    Some((deviation.at_least() > mean.at_most()).then(|| {
        let facts = [("mean", figures::time(mean.value)), ("deviation", figures::time(deviation.value))];
        LintFinding::of_run(run, LintGrade::Weak, ONLY_MEAN, facts).settled_by(run.brunt_again())
    }))
}
