//! The comparison of runs with the first of them. Text, JSON, the HTML page and the console all use this comparison and
//! thus give the same verdict on the same pair.

use std::io;

use brunt_record::RunStarted;
use serde::Serialize;

use crate::contrast::{ComparedFigures, FigureChange, FigureChangeReport, MEASURES, compare_figures};
use crate::seconds::SecondsSource;
use crate::summary::Summary;

/// A run in a comparison.
#[derive(Clone, Copy)]
pub struct ComparedRun<'a> {
    /// Name: the file of its record.
    pub name: &'a str,
    /// Summary of the run.
    pub summary: &'a Summary,
    /// Seconds of the run.
    pub seconds: &'a dyn SecondsSource,
}

/// A run compared with the first.
#[derive(Clone, Debug, PartialEq)]
pub struct RunComparison {
    /// Set unless one of them is in doubt for a reason without a size; then no verdict on their differences is given.
    pub trusted: bool,
    /// Differences in plan, machine or version, which affect the comparison.
    pub differences: Vec<&'static str>,
    /// Comparison figure by figure.
    pub figures: [FigureChange; MEASURES.len()],
}

/// Compares each run but the first with the first.
///
/// # Errors
///
/// Returns the error of reading a record.
pub fn compare_runs(runs: &[ComparedRun<'_>]) -> io::Result<Vec<RunComparison>> {
    let Some((base, others)) = runs.split_first().filter(|(_, others)| !others.is_empty()) else {
        return Ok(Vec::new());
    };
    let first = ComparedFigures::of(base.summary, base.seconds)?;
    others
        .iter()
        .map(|run| {
            let side = ComparedFigures::of(run.summary, run.seconds)?;
            Ok(RunComparison {
                trusted: first.is_sound() && side.is_sound(),
                differences: differences(base.summary.started.as_deref(), run.summary.started.as_deref()),
                figures: compare_figures(&first, &side),
            })
        })
        .collect()
}

impl RunComparison {
    /// Returns the form used in documents.
    pub fn document(&self) -> RunComparisonReport<'_> {
        let figures = self.figures.iter().map(FigureChange::document).collect();
        RunComparisonReport { trusted: self.trusted, differs: &self.differences, figures }
    }
}

/// A run compared with the first.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunComparisonReport<'a> {
    /// `true` unless one of them is in doubt for a reason without a size, such as counts that disagree; then no verdict
    /// on their differences is given. Delays that may be brunt's own have a size, and widen the intervals.
    trusted: bool,
    /// Differences other than the figures: parts of the plan, `machine`, `brunt`.
    differs: &'a [&'static str],
    /// Comparison figure by figure.
    figures: Vec<FigureChangeReport>,
}

/// Compared parts of a plan, by their names in records.
const PARTS: [&str; 12] = [
    "urls",
    "options",
    "load",
    "flow",
    "scenarios",
    "duration",
    "requests",
    "warmup",
    "timeout",
    "workers",
    "tls",
    "max_connections",
];

fn differences(first: Option<&RunStarted>, second: Option<&RunStarted>) -> Vec<&'static str> {
    let (Some(a), Some(b)) = (first, second) else { return Vec::new() };
    let of = |started: &RunStarted| serde_json::to_value(&started.plan).unwrap_or_default();
    let (plan_a, plan_b) = (of(a), of(b));
    let of_plan = PARTS.into_iter().filter(|part| plan_a.get(part) != plan_b.get(part));
    let machine = |started: &RunStarted| started.host().map(|host| (host.name.clone(), host.cores.to_bits()));
    let versions = (a.brunt != b.brunt).then_some("brunt");
    of_plan.chain((machine(a) != machine(b)).then_some("machine")).chain(versions).collect()
}
