//! Runs held against the first of them, for every way in which that is shown: text, JSON, the page and the console draw this, and so
//! say the same word of the same pair.

use std::io;

use record::RunStarted;
use serde::Serialize;

use crate::contrast::{Contrast, ContrastReport, MEASURES, Side, contrast};
use crate::seconds::Seconds;
use crate::summary::Summary;

/// A run beside others.
#[derive(Clone, Copy)]
pub struct Compared<'a> {
    /// What it is called: the file of its record.
    pub name: &'a str,
    /// What it came to.
    pub summary: &'a Summary,
    /// Its seconds.
    pub seconds: &'a dyn Seconds,
}

/// A run held against the first.
#[derive(Clone, Debug, PartialEq)]
pub struct Against {
    /// Whether the figures of both can be trusted; where not, nothing is told of their differences.
    pub trusted: bool,
    /// What was not the same of both runs beside their figures: whoever compares them should know.
    pub differs: Vec<&'static str>,
    /// Figure by figure.
    pub figures: [Contrast; MEASURES.len()],
}

/// Each run but the first, held against that.
///
/// # Errors
/// What reading a record said.
pub fn comparison(runs: &[Compared<'_>]) -> io::Result<Vec<Against>> {
    let Some((base, others)) = runs.split_first().filter(|(_, others)| !others.is_empty()) else {
        return Ok(Vec::new());
    };
    let first = Side::of(base.summary, base.seconds)?;
    others
        .iter()
        .map(|run| {
            let side = Side::of(run.summary, run.seconds)?;
            Ok(Against {
                trusted: first.is_trusted() && side.is_trusted(),
                differs: differing(base.summary.started.as_deref(), run.summary.started.as_deref()),
                figures: contrast(&first, &side),
            })
        })
        .collect()
}

impl Against {
    /// As documents have it.
    pub fn document(&self) -> AgainstReport<'_> {
        let figures = self.figures.iter().map(Contrast::document).collect();
        AgainstReport { trusted: self.trusted, differs: &self.differs, figures }
    }
}

/// A run held against the first.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgainstReport<'a> {
    /// Whether the figures of both can be trusted; where not, nothing is told of their differences.
    trusted: bool,
    /// What was not the same beside their figures: parts of the plan, `machine`, `brunt`.
    differs: &'a [&'static str],
    /// Figure by figure.
    figures: Vec<ContrastReport>,
}

/// Parts of a plan that are compared, by their names in records.
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

fn differing(first: Option<&RunStarted>, second: Option<&RunStarted>) -> Vec<&'static str> {
    let (Some(a), Some(b)) = (first, second) else { return Vec::new() };
    let of = |started: &RunStarted| serde_json::to_value(&started.plan).unwrap_or_default();
    let (plan_a, plan_b) = (of(a), of(b));
    let of_plan = PARTS.into_iter().filter(|part| plan_a.get(part) != plan_b.get(part));
    let machine = |started: &RunStarted| started.host().map(|host| (host.name.clone(), host.cores.to_bits()));
    let versions = (a.brunt != b.brunt).then_some("brunt");
    of_plan.chain((machine(a) != machine(b)).then_some("machine")).chain(versions).collect()
}
