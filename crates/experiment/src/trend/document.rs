//! A history as JSON.

use std::io::{self, Write};

use brunt_report::contrast::{MEASURES, Measure};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{LevelChange, TestHistory, TrendRun};

/// The history of a test.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct TrendReport {
    /// Form of the document.
    schema: &'static str,
    /// Runs, by their time.
    runs: Vec<TrendRunReport>,
    /// Changes of figures to another level, by time.
    changes: Vec<LevelChangeReport>,
    /// Records of another test, left out.
    others: usize,
    /// Runs in doubt for a reason without a size, left out.
    doubtful: usize,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct TrendRunReport {
    /// File of its record.
    name: String,
    /// Start, milliseconds since 1970.
    unix_ms: u64,
    /// Figures; null if withheld.
    figures: Map<String, Value>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct LevelChangeReport {
    /// Figure.
    figure: &'static str,
    /// Index of the first run of the new level.
    at: usize,
    /// Median before and from there on.
    levels: [f64; 2],
    /// `better` or `worse`.
    verdict: &'static str,
}

fn run_report(run: &TrendRun) -> TrendRunReport {
    let figure = |measure: &Measure| {
        let value = run.figures.value(measure, run.figures.is_open()).map(|(value, _)| value);
        (measure.name.to_owned(), json!(value))
    };
    TrendRunReport { name: run.name.clone(), unix_ms: run.unix_ms, figures: MEASURES.iter().map(figure).collect() }
}

fn change_report(change: &LevelChange) -> LevelChangeReport {
    let LevelChange { measure, at, levels, verdict } = change;
    LevelChangeReport { figure: measure.name, at: *at, levels: *levels, verdict: verdict.name() }
}

/// Writes a history as JSON.
///
/// # Errors
/// Returns the error of writing.
pub(super) fn write_json(history: &TestHistory, out: &mut dyn Write) -> io::Result<()> {
    let report = TrendReport {
        schema: "brunt-trend/1",
        runs: history.runs.iter().map(run_report).collect(),
        changes: history.changes.iter().map(change_report).collect(),
        others: history.others,
        doubtful: history.doubtful,
    };
    serde_json::to_writer_pretty(&mut *out, &report)?;
    out.write_all(b"\n")
}
