//! The result of a ladder as JSON.

use std::io::{self, Write};

use brunt_i18n::Lang;
use serde::Serialize;

use super::{ClimbedRung, LadderOutcome, RungRun};
use crate::laws::ladder::{LadderStep, StepCost};

/// The result of a ladder.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct LadderReport<'a> {
    /// Form of the document.
    schema: &'static str,
    /// Rungs, the lowest first.
    rungs: Vec<RungReport<'a>>,
    /// Cores of the machine of the service; null if it was not watched.
    cores: Option<f64>,
    /// Which agent was lost, or could not be had, if that ended it.
    doubts: Vec<String>,
    /// Time that was spent.
    elapsed_s: f64,
    /// Exit code.
    exit_code: u8,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct RungReport<'a> {
    /// Name.
    name: &'a str,
    /// Median response time of a user alone (R0).
    alone_s: Option<f64>,
    /// Highest throughput that keeps the objectives, if there are any (X*).
    capacity_per_s: Option<f64>,
    /// `false` if throughput was still rising with the most users.
    is_full: bool,
    /// CPU seconds of the service for a request; null if it is not watched.
    cpu_s: Option<f64>,
    /// What it adds to the rung below; null for the lowest, or if it cannot be told.
    step: Option<StepReport>,
    /// Its runs.
    runs: Vec<RungRunReport>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct StepReport {
    /// Added response time of a user alone.
    added_s: f64,
    /// Added CPU seconds for a request.
    added_cpu_s: Option<f64>,
    /// Capacity ÷ that of the rung below.
    kept: f64,
    /// What limits it: `free`, `cpu`, `serial`, `pool`, `shorter`, `more` or `unexplained`.
    cost: &'static str,
    /// Size of the pool, or the number of requests in what it adds at a time.
    at_once: Option<f64>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct RungRunReport {
    /// Users.
    users: u32,
    /// Successes per second.
    throughput_per_s: f64,
    /// Median service time.
    median_s: Option<f64>,
    /// Why it is no evidence; null if it is.
    doubt: Option<String>,
}

impl From<LadderStep> for StepReport {
    fn from(step: LadderStep) -> StepReport {
        let LadderStep { added_s, added_cpu_s, kept, cost } = step;
        let (cost, at_once) = match cost {
            StepCost::Free => ("free", None),
            StepCost::Cpu => ("cpu", None),
            StepCost::Shorter => ("shorter", None),
            StepCost::More => ("more", None),
            StepCost::Serial => ("serial", Some(1.0)),
            StepCost::Pool(size) => ("pool", Some(f64::from(size))),
            StepCost::Unexplained(at_once) => ("unexplained", Some(at_once)),
        };
        StepReport { added_s, added_cpu_s, kept, cost, at_once }
    }
}

impl From<&RungRun> for RungRunReport {
    fn from(run: &RungRun) -> RungRunReport {
        RungRunReport {
            users: run.users,
            throughput_per_s: run.throughput_per_s,
            median_s: run.median_s,
            doubt: run.doubt.as_ref().map(|doubt| doubt.sentence(Lang::En)),
        }
    }
}

fn rung_report(rung: &ClimbedRung, step: Option<LadderStep>) -> RungReport<'_> {
    let measured = rung.measured();
    RungReport {
        name: &rung.name,
        alone_s: measured.map(|rung| rung.alone_s),
        capacity_per_s: measured.map(|rung| rung.capacity_per_s),
        is_full: rung.is_full,
        cpu_s: measured.and_then(|rung| rung.cpu_s),
        step: step.map(StepReport::from),
        runs: rung.runs.iter().map(RungRunReport::from).collect(),
    }
}

/// Writes the result of a ladder as JSON.
///
/// # Errors
/// Returns the error of writing.
pub(super) fn write_json(found: &LadderOutcome, out: &mut dyn Write) -> io::Result<()> {
    let steps = std::iter::once(None).chain(found.steps());
    let report = LadderReport {
        schema: "brunt-ladder/1",
        rungs: found.rungs.iter().zip(steps).map(|(rung, step)| rung_report(rung, step)).collect(),
        cores: found.cores,
        doubts: found.lost_part.iter().map(ToString::to_string).collect(),
        elapsed_s: found.elapsed.as_secs_f64(),
        exit_code: found.exit().code(),
    };
    serde_json::to_writer_pretty(&mut *out, &report)?;
    out.write_all(b"\n")
}
