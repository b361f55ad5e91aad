//! Percentiles of too few requests (docs/measurement.md 2.3).

use brunt_i18n::numbers;
use brunt_i18n::text::{Text, text};
use brunt_measure::quantile::minimum_count;

use super::super::finding::{LintFinding, LintGrade};
use super::super::stated::{StatedPercentile, StatedRun, ToolName};
use super::{Examined, LintEvidence};
use crate::figures;

const TOO_FEW: Text = text(
    "{list} of {n} {n|request|requests} {many|is|are} little more than the longest of them: p{q} needs at least \
        {needed} requests ({share}^{needed} < 5 %)",
    "{n} 个请求的 {list} 几乎就是其中最慢的几个：p{q} 至少需要 {needed} 个请求（{share}^{needed} < 5 %）",
);
const OF_NAMES: Text = text(
    "; {parts} of the {all} names {parts|has|have} percentiles of too few requests, too",
    "；{all} 个名称中有 {parts} 个的百分位数同样样本不足",
);

/// Compares the number of requests with the number that each percentile needs.
pub fn examine(evidence: &LintEvidence<'_>, examined: &mut Examined) {
    for run in evidence.runs {
        if run.timed.is_some_and(|n| n > 0) && run.percentiles.iter().any(|percentile| percentile.q < 1.0) {
            examined.add(judge(run));
        }
    }
}

fn judge(run: &StatedRun) -> Option<LintFinding> {
    let n = run.timed?;
    let unsupported = unsupported(&run.percentiles, n);
    let first = unsupported.first()?;
    let list: Vec<String> = unsupported.iter().map(|q| format!("p{}", figures::percentile(*q))).collect();
    let facts = [
        ("list", list.join(", ")),
        ("many", list.len().to_string()),
        ("n", numbers::count(n)),
        ("needed", numbers::count(minimum_count(*first))),
        ("q", figures::percentile(*first)),
        ("share", figures::percentile(*first / 100.0)),
    ];
    let requests = minimum_count(unsupported.last().copied().unwrap_or(*first)).clamp(1000, 1_000_000);
    let command = run.brunt(&format!("-c {} -n {requests}", run.users().unwrap_or(10)));
    // These tools print the same columns whatever was measured: nobody asked for the last ones.
    let is_fixed = matches!(run.tool, ToolName::Wrk2 | ToolName::Locust) && *first > 0.99;
    let grade = if is_fixed { LintGrade::Note } else { LintGrade::Weak };
    let found = LintFinding::of_run(run, grade, TOO_FEW, facts).settled_by(command);
    let parts = run.parts.iter().filter(|part| !self::unsupported(&part.percentiles, part.requests).is_empty()).count();
    Some(match parts {
        // The only name is the total.
        _ if run.parts.len() < 2 => found,
        0 => found,
        parts => {
            let counts = [("parts", parts.to_string()), ("all", run.parts.len().to_string())];
            found.and(OF_NAMES, counts)
        }
    })
}

/// Returns the percentiles that so few requests cannot support, the lowest first.
fn unsupported(percentiles: &[StatedPercentile], n: u64) -> Vec<f64> {
    percentiles.iter().map(|percentile| percentile.q).filter(|q| *q < 1.0 && minimum_count(*q) > n).collect()
}
