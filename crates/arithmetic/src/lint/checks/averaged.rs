//! Percentiles of a total that are no percentiles of it: averages of those of its rows.
//!
//! A percentile of all requests lies between the least and the greatest of the same percentile of its parts.

use brunt_i18n::text::{Text, text};

use super::super::finding::{LintFinding, LintGrade};
use super::super::stated::{StatedPart, StatedPercentile, StatedRun, ToolName};
use super::{Examined, LintEvidence};
use crate::figures;

/// Percentiles that must all be averages, so that it is no coincidence.
const ALL_OF: usize = 3;
/// Ratio of the greatest to the least row from which an average is told from a percentile.
const APART: f64 = 1.05;
/// Relative error of a printed time beyond its digits, and of Locust's, which has two digits.
const ROUNDED: [f64; 2] = [0.005, 0.06];

const AVERAGE: Text = text(
    "p{q} of the total, {total}, is the average of the {rows} rows ({list}): percentiles cannot be averaged",
    "总计的 p{q} {total} 是 {rows} 行的平均值（{list}）：百分位数不能取平均",
);
const OUTSIDE: Text = text(
    "p{q} of the total, {total}, is not between the least and the greatest of its {rows} rows ({list}): it is no \
        percentile of them",
    "总计的 p{q} {total} 不在 {rows} 行的最小值与最大值之间（{list}）：它不是这些请求的百分位数",
);

/// Compares the percentiles of each total with those of its rows.
pub fn examine(evidence: &LintEvidence<'_>, examined: &mut Examined) {
    for run in evidence.runs.iter().filter(|run| run.parts.len() > 1) {
        let columns: Vec<PercentileColumn> = run.percentiles.iter().filter_map(|total| column(run, total)).collect();
        if !columns.is_empty() {
            examined.add(outside(run, &columns).or_else(|| average(run, &columns)));
        }
    }
}

/// A percentile of the total and of each row, in seconds.
struct PercentileColumn {
    total: StatedPercentile,
    /// Percentile and number of requests.
    rows: Vec<(f64, f64)>,
}

impl PercentileColumn {
    fn least(&self) -> f64 {
        self.rows.iter().fold(f64::INFINITY, |least, (time, _)| least.min(*time))
    }

    fn greatest(&self) -> f64 {
        self.rows.iter().fold(0.0, |greatest: f64, (time, _)| greatest.max(*time))
    }
}

fn column(run: &StatedRun, total: &StatedPercentile) -> Option<PercentileColumn> {
    let row = |part: &StatedPart| {
        let same = part.percentiles.iter().find(|percentile| (percentile.q - total.q).abs() < 1e-9)?;
        Some((same.time.value, part.requests as f64))
    };
    // A row without requests has no percentiles, and a row without percentiles might be the greatest.
    let rows: Vec<(f64, f64)> = run.parts.iter().filter(|part| part.requests > 0).map(row).collect::<Option<_>>()?;
    (rows.len() > 1).then_some(PercentileColumn { total: *total, rows })
}

fn outside(run: &StatedRun, columns: &[PercentileColumn]) -> Option<LintFinding> {
    let rounded = ROUNDED[usize::from(run.tool == ToolName::Locust)];
    let is_outside = |column: &&PercentileColumn| {
        let time = column.total.time;
        time.at_most() < column.least() * (1.0 - rounded) || time.at_least() > column.greatest() * (1.0 + rounded)
    };
    columns.iter().find(is_outside).map(|column| found(run, OUTSIDE, column))
}

fn average(run: &StatedRun, columns: &[PercentileColumn]) -> Option<LintFinding> {
    let telling: Vec<&PercentileColumn> =
        columns.iter().filter(|column| column.greatest() > column.least() * APART).collect();
    let plain =
        |column: &PercentileColumn| column.rows.iter().map(|(time, _)| time).sum::<f64>() / column.rows.len() as f64;
    let weighted = |column: &PercentileColumn| {
        let requests: f64 = column.rows.iter().map(|(_, requests)| requests).sum();
        column.rows.iter().map(|(time, requests)| time * requests).sum::<f64>() / requests
    };
    let equals = |mean: &dyn Fn(&PercentileColumn) -> f64| {
        telling.iter().all(|column| (column.total.time.value - mean(column)).abs() <= column.total.time.half_unit)
    };
    let is_average = telling.len() >= ALL_OF && (equals(&plain) || equals(&weighted));
    telling.last().filter(|_| is_average).map(|column| found(run, AVERAGE, column))
}

fn found(run: &StatedRun, text: Text, column: &PercentileColumn) -> LintFinding {
    const SHOWN: usize = 5;
    let list: Vec<String> = column.rows.iter().take(SHOWN).map(|(time, _)| figures::time(*time)).collect();
    let more = if column.rows.len() > SHOWN { ", …" } else { "" };
    let facts = [
        ("q", figures::percentile(column.total.q)),
        ("total", figures::time(column.total.time.value)),
        ("rows", column.rows.len().to_string()),
        ("list", format!("{}{more}", list.join(", "))),
    ];
    LintFinding::of_run(run, LintGrade::Wrong, text, facts).settled_by(run.brunt_again())
}
