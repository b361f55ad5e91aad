//! When requests are due: schedules as pure arithmetic.
//!
//! A load model turns (plan, share of the run, seed) into numbers: moments at which arrivals are due (open load), or
//! how many users are alive (closed load). No clock and no thread is in here, so a schedule is tested as a table of
//! numbers, and workers share a run without a word between them.

mod arrivals;
mod curve;
mod users;

pub use arrivals::{Schedule, arrivals};
pub use users::Users;

use measure::Nanos;
use plan::{Plan, Stage};

/// When a plan ends by time, since the start of the run: warm-up and duration, or warm-up and stages where no duration
/// was given. None where only the number of requests ends it: a single stage then goes on at its level.
pub fn run_ends(plan: &Plan) -> Option<Nanos> {
    ends(plan.load.stages(), plan.warmup, plan.requests, plan.duration)
}

/// As [`run_ends`], from the parts of a plan.
fn ends(stages: &[Stage], warmup: Nanos, requests: Option<u64>, duration: Option<Nanos>) -> Option<Nanos> {
    match duration {
        Some(duration) => Some(warmup.saturating_add(duration)),
        None if requests.is_some() && stages.len() < 2 => None,
        None => Some(warmup.saturating_add(stages_last(stages))),
    }
}

/// How long all stages take together.
fn stages_last(stages: &[Stage]) -> Nanos {
    stages.iter().fold(Nanos::ZERO, |sum, stage| sum.saturating_add(stage.lasts))
}
