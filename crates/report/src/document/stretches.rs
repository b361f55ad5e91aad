//! The stretches of a run's load in the JSON report.

use brunt_plan::Change;
use serde::Serialize;

use super::distribution::Distribution;
use crate::load_stretches::{LoadStretch, LoadTurn};
use crate::summary::Summary;

/// A stretch of the run between two changes of its load. A second in which the load changed belongs to none.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StretchReport<'a> {
    /// Beginning, in seconds since the start of the window.
    from_s: f64,
    /// End, in seconds since the start of the window.
    to_s: f64,
    /// The event at its beginning: `stage` (of the plan), `change`, `pause` or `resume` (during the run).
    begins: &'static str,
    /// Number of the stage, from 1; null if it does not begin with one.
    stage: Option<usize>,
    /// Planned load at its beginning: arrivals per second (open load), or users.
    load_from: f64,
    /// Planned load at its end.
    load_to: f64,
    /// Length of its whole seconds within the window, the divisor of throughput.
    measured_s: f64,
    /// Scheduled (closed load: started) in its seconds.
    scheduled: u64,
    /// Succeeded.
    succeeded: u64,
    /// Failed.
    failed: u64,
    /// Successes within the window ÷ `measured_s`; null if it has no whole second.
    throughput_per_s: Option<f64>,
    /// Latency of the requests that ended in it: response time under open load, service time under closed load.
    latency: Distribution<'a>,
}

impl<'a> StretchReport<'a> {
    fn of(stretch: &'a LoadStretch) -> StretchReport<'a> {
        let (begins, stage) = match stretch.turn {
            LoadTurn::Stage(number) => ("stage", Some(number + 1)),
            LoadTurn::Change(Change::Pause) => ("pause", None),
            LoadTurn::Change(Change::Resume) => ("resume", None),
            LoadTurn::Change(_) => ("change", None),
        };
        StretchReport {
            from_s: stretch.from_ns as f64 / 1e9,
            to_s: stretch.to_ns as f64 / 1e9,
            begins,
            stage,
            load_from: stretch.levels[0],
            load_to: stretch.levels[1],
            measured_s: stretch.measured.as_secs_f64(),
            scheduled: stretch.due,
            succeeded: stretch.finished,
            failed: stretch.failed,
            throughput_per_s: stretch.throughput_per_s(),
            latency: Distribution::of(stretch.ranked()),
        }
    }
}

/// Returns the stretches of a run; `None` if its load never changed.
pub fn reports(summary: &Summary) -> Option<Vec<StretchReport<'_>>> {
    let all = &summary.stretches;
    (!all.is_empty()).then(|| all.iter().map(StretchReport::of).collect())
}
