//! The result of a sweep as JSON.

use std::io::{self, Write};

use brunt_i18n::Lang;
use brunt_report::contrast::MEASURES;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{CurveScaling, SweepOutcome, TableCell};

/// The result of a sweep.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct SweepReport<'a> {
    /// Form of the document.
    schema: &'static str,
    /// Axes: option and values.
    axes: Vec<AxisReport<'a>>,
    /// Cells, the last axis varied first.
    cells: Vec<CellReport>,
    /// How throughput scales along users or rates, for each value of the other axis.
    curves: Vec<ScalingReport<'a>>,
    /// Runs of each cell that were asked for.
    repeat: usize,
    /// Runs that were made.
    runs: usize,
    /// Why the next load could not be sent, or which agent was lost, if that ended it.
    doubts: Vec<String>,
    /// Time that was spent.
    elapsed_s: f64,
    /// Exit code.
    exit_code: u8,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct AxisReport<'a> {
    /// Long name of the option.
    option: &'a str,
    /// Values, as written.
    values: &'a [String],
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct CellReport {
    /// Option → value.
    of: Map<String, Value>,
    /// Users, or requests per second.
    load: f64,
    /// Runs that can be trusted.
    runs: usize,
    /// Medians over the runs, by figure; null if withheld.
    medians: Map<String, Value>,
    /// 95 % intervals of the medians, by figure; null with fewer than six runs.
    intervals: Map<String, Value>,
    /// Why the last run in doubt was; null if none was.
    doubt: Option<String>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ScalingReport<'a> {
    /// Value of the other axis; null if there is none.
    of: Option<&'a str>,
    /// Loads and throughput per second.
    points: &'a [(f64, f64)],
    /// Fit of the universal scalability law along users; null without one.
    usl: Option<UslReport>,
    /// Number of users from which on they queue for certain; null if a single user was not measured.
    knee_users: Option<f64>,
    /// Number of users where the curve bends to the eye (Kneedle).
    visual_knee_users: Option<f64>,
    /// Lowest rate that was not sustained; null: none, or users.
    unsustained_per_s: Option<f64>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct UslReport {
    /// Throughput of a user alone (γ), per second.
    alone_per_s: f64,
    /// Contention (σ).
    contention: f64,
    /// Coherency (κ).
    coherency: f64,
    /// Standard errors of γ, σ and κ; null where infinite.
    errors: [Option<f64>; 3],
    /// Users at the peak; null: no peak within the evidence.
    peak_users: Option<f64>,
    /// 95 % interval of the users at the peak; an end of null is infinite.
    peak_interval: Option<[Option<f64>; 2]>,
    /// Throughput at the peak, per second.
    peak_per_s: Option<f64>,
}

fn finite(value: f64) -> Option<f64> {
    Some(value).filter(|value| value.is_finite())
}

fn cell_report(found: &SweepOutcome, cell: &TableCell) -> CellReport {
    let axes = found.plan.axes.iter().zip(&cell.at);
    let figures = |of: &dyn Fn(super::CellFigure) -> Value| {
        let one = |measure: &brunt_report::contrast::Measure| {
            (measure.name.to_owned(), cell.figure(measure).map_or(Value::Null, of))
        };
        MEASURES.iter().map(one).collect::<Map<String, Value>>()
    };
    CellReport {
        of: axes.map(|(axis, at)| (axis.name.clone(), json!(axis.values[*at]))).collect(),
        load: cell.load,
        runs: cell.runs.len(),
        medians: figures(&|figure| json!(figure.median)),
        intervals: figures(&|figure| json!(figure.interval)),
        doubt: cell.doubt.as_ref().map(|doubt| doubt.sentence(Lang::En)),
    }
}

fn curve_report(curve: &CurveScaling) -> ScalingReport<'_> {
    let usl = curve.usl.as_ref().map(|fit| UslReport {
        alone_per_s: fit.alone,
        contention: fit.contention,
        coherency: fit.coherency,
        errors: fit.errors.map(finite),
        peak_users: fit.peak(),
        peak_interval: fit.peak_interval.map(|ends| ends.map(finite)),
        peak_per_s: fit.peak().map(|at| fit.throughput(at)),
    });
    ScalingReport {
        of: curve.of.as_ref().map(|(_, value)| value.as_str()),
        points: &curve.points,
        usl,
        knee_users: curve.bounds.map(|bounds| bounds.knee()),
        visual_knee_users: curve.visual_knee,
        unsustained_per_s: curve.unsustained,
    }
}

/// Writes the result of a sweep as JSON.
///
/// # Errors
/// Returns the error of writing.
pub(super) fn write_json(found: &SweepOutcome, out: &mut dyn Write) -> io::Result<()> {
    let axes = found.plan.axes.iter().map(|axis| AxisReport { option: &axis.name, values: &axis.values });
    let report = SweepReport {
        schema: "brunt-sweep/1",
        axes: axes.collect(),
        cells: found.cells.iter().map(|cell| cell_report(found, cell)).collect(),
        curves: found.curves.iter().map(curve_report).collect(),
        repeat: found.plan.repeat,
        runs: found.made,
        doubts: found.refused.iter().chain(&found.lost_part).map(ToString::to_string).collect(),
        elapsed_s: found.elapsed.as_secs_f64(),
        exit_code: found.exit().code(),
    };
    serde_json::to_writer_pretty(&mut *out, &report)?;
    out.write_all(b"\n")
}
