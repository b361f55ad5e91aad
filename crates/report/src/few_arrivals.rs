//! Objectives on the rate that were missed by the draw of random arrivals alone, whatever the service did.

use brunt_plan::{Arrivals, Load};
use brunt_record::{End, Notice, Subject};

use crate::numbers;
use crate::objectives::{JudgedObjective, Objective, ObjectiveOutcome};
use crate::sums::RunSums;

/// Returns a notice about the first missed objective that asked for more arrivals per second than were drawn, and for
/// no more than planned.
pub fn notice(run: &RunSums, judged: &[JudgedObjective]) -> Option<Notice> {
    let planned = planned_rate(run)?;
    let arrived = run.totals.due as f64 / run.window.as_secs_f64();
    let is_draw = |judged: &&JudgedObjective| {
        let least = Objective::parse(&judged.objective).ok().and_then(|objective| objective.least_rate());
        judged.outcome == ObjectiveOutcome::Missed && least.is_some_and(|least| arrived < least && least <= planned)
    };
    let missed = judged.iter().find(is_draw)?;
    let facts = [
        ("objective", missed.objective.clone()),
        ("arrived", numbers::rate(arrived)),
        ("planned", numbers::rate(planned)),
    ];
    Some(Notice::new(Subject::FewArrivals, facts))
}

/// Returns the rate of a run whose requests arrive at random at one rate all the time, per second. A run that was cut
/// short or changed had other arrivals than planned.
fn planned_rate(run: &RunSums) -> Option<f64> {
    let plan = &run.started.as_ref()?.plan;
    let Load::Open { arrivals: Arrivals::Poisson, .. } = plan.load else { return None };
    let is_whole = run.end == End::Completed && run.changes.is_empty() && run.window.0 > 0;
    (is_whole && plan.load.is_level() && !plan.has_flows()).then_some(plan.load.peak())
}
