//! The rule for headline quantiles that are only lower bounds.

use brunt_record::End;

use super::Evidence;
use crate::finding::{Finding, Grade};
use crate::numbers;
use crate::text::{Text, text};

/// Code of the finding.
pub(crate) const CODE: &str = "lower_bound";

const LOWER_BOUND: Text = text(
    "{quantiles} {n|is|are} at least what is shown: {unfinished} {unfinished|request|requests} got no response in time, \
        so their latency is unknown",
    "{quantiles} 只是下限：{unfinished} 个请求没有按时收到响应，其延迟未知",
);

const NOT_SENT: Text = text(
    "{quantiles} {n|is|are} at least what is shown: {unfinished} {unfinished|request|requests} got no response in time, \
        {unsent} of which {unsent|was|were} never sent",
    "{quantiles} 只是下限：{unfinished} 个请求没有按时收到响应，其中 {unsent} 个从未发出",
);

pub(super) fn judge(run: &Evidence<'_>) -> Option<Finding> {
    let headline = run.headline();
    // The interruption of the run cut off these requests, and the verdict already mentions it.
    let cut = run.end == End::Interrupted && headline.unfinished() <= run.totals.censored;
    if !run.has_latency() || cut {
        return None;
    }
    let bounds = [("p50", 0.5), ("p99", 0.99)].into_iter().filter(|(_, q)| headline.is_lower_bound(*q));
    let quantiles: Vec<&str> = bounds.map(|(name, _)| name).collect();
    let unsent = super::not_sent::unsent(&run.totals);
    let facts = [
        ("quantiles", brunt_i18n::listed(&quantiles)),
        ("n", quantiles.len().to_string()),
        ("unfinished", numbers::count(headline.unfinished())),
        ("unsent", numbers::count(unsent)),
    ];
    let text = if unsent > headline.unfinished() / 2 { NOT_SENT } else { LOWER_BOUND };
    (!quantiles.is_empty()).then(|| Finding::new(CODE, Grade::Fail, text, facts))
}
