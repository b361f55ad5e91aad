//! The result of a comparison as JSON.

use std::io::{self, Write};

use brunt_i18n::Lang;
use brunt_report::contrast::{ComparedFigures, MEASURES};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{CompareOutcome, ComparedRunRow};
use crate::runs::{RunSide, RunsChange};

/// The result of a comparison of two sides.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct CompareReport<'a> {
    /// Form of the document.
    schema: &'static str,
    /// Names of the sides, as written: A, B.
    sides: &'a [String; 2],
    /// Start of the runs of A, milliseconds since 1970, if they are a baseline; null if both sides were run in turn.
    baseline_unix_ms: Option<u64>,
    /// Runs of each side that were asked for.
    runs_each: usize,
    /// Changes of the whole runs from A to B.
    changes: Vec<SidesChange>,
    /// Changes by name, if the runs have several.
    names: Vec<NamedSidesChange<'a>>,
    /// All runs, in their order.
    runs: Vec<SideRunReport>,
    /// Which agent was lost, or could not be had, if that ended it.
    doubts: Vec<String>,
    /// Time that was spent.
    elapsed_s: f64,
    /// Exit code: 11 if B is worse.
    exit_code: u8,
}

/// A figure of both sides.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct SidesChange {
    /// Figure: `throughput_per_s`, `p50_us`, `p95_us`, `p99_us`, `failed_share`.
    name: &'static str,
    /// `true` if a larger value is better.
    more_is_better: bool,
    /// Threshold of a change that matters: a share of A's figure, or for shares a difference.
    matters: f64,
    /// Runs of each side that have the figure.
    runs: [usize; 2],
    /// Medians over the runs of each side.
    medians: [Option<f64>; 2],
    /// Typical ratio of B to A (Hodges and Lehmann); for shares the difference.
    change: Option<f64>,
    /// 95 % interval of the change, widened by the bands.
    interval: Option<[f64; 2]>,
    /// Probability of such ranks if both sides are alike (Mann and Whitney, exact).
    p: f64,
    /// `better`, `same`, `worse` or `cannot_tell`.
    verdict: &'static str,
    /// Further runs of each side after which the verdict is likely clear; null if it is, or would take too many.
    more_runs: Option<usize>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct NamedSidesChange<'a> {
    /// Name of the requests.
    name: &'a str,
    /// Changes of their figures.
    changes: Vec<SidesChange>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct SideRunReport {
    /// `A` or `B`.
    side: &'static str,
    /// Figures; null if withheld.
    figures: Value,
    /// Why they are no evidence; null if they are.
    doubt: Option<String>,
}

impl From<&RunsChange> for SidesChange {
    fn from(change: &RunsChange) -> SidesChange {
        SidesChange {
            name: change.measure.name,
            more_is_better: change.measure.more_is_better,
            matters: change.measure.threshold,
            runs: change.runs,
            medians: change.medians,
            change: change.change,
            interval: change.interval,
            p: change.test.p,
            verdict: change.verdict.name(),
            more_runs: change.more_runs,
        }
    }
}

fn figures(of: &ComparedFigures) -> Value {
    let figure = |measure: &brunt_report::contrast::Measure| {
        (measure.name.to_owned(), json!(of.value(measure, of.is_open()).map(|(value, _)| value)))
    };
    Value::Object(MEASURES.iter().map(figure).collect::<Map<String, Value>>())
}

impl From<&ComparedRunRow> for SideRunReport {
    fn from(row: &ComparedRunRow) -> SideRunReport {
        SideRunReport {
            side: if row.side == RunSide::Before { "A" } else { "B" },
            figures: figures(&row.figures),
            doubt: row.doubt.as_ref().map(|doubt| doubt.sentence(Lang::En)),
        }
    }
}

/// Writes the result of a comparison as JSON.
///
/// # Errors
/// Returns the error of writing.
pub(super) fn write_json(outcome: &CompareOutcome, out: &mut dyn Write) -> io::Result<()> {
    let changes = |all: &[RunsChange]| all.iter().map(SidesChange::from).collect::<Vec<_>>();
    let report = CompareReport {
        schema: "brunt-compare/1",
        sides: &outcome.plan.names,
        baseline_unix_ms: outcome.plan.baseline.as_ref().map(|baseline| baseline.unix_ms),
        runs_each: outcome.plan.runs,
        changes: changes(&outcome.changes),
        names: outcome.named.iter().map(|(name, all)| NamedSidesChange { name, changes: changes(all) }).collect(),
        runs: outcome.rows.iter().map(SideRunReport::from).collect(),
        doubts: outcome.lost_part.iter().map(ToString::to_string).collect(),
        elapsed_s: outcome.elapsed.as_secs_f64(),
        exit_code: outcome.exit_code(),
    };
    serde_json::to_writer_pretty(&mut *out, &report)?;
    out.write_all(b"\n")
}
