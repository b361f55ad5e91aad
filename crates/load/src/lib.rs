//! Due times of requests: schedules as pure arithmetic.
//!
//! A load model maps a plan, a share of the run and a seed to numbers: the times at which arrivals are due (open load),
//! or the number of active users (closed load). It uses no clock and no threads, so a schedule can be tested as a table
//! of numbers, and workers share a run without communication.

mod arrivals;
mod counted_arrivals;
mod curve;
mod numbers;
mod scenarios;
#[cfg(test)]
mod spacing;
mod users;

pub use arrivals::{Schedule, arrivals};
pub use numbers::NumberSequence;
pub use scenarios::ScenarioCourse;
pub use users::UserProfile;

use brunt_measure::Nanos;
use brunt_plan::{Arrivals, Load, Plan, Share, Stage};

/// Returns the scheduled end of a plan, since the start of the run: the warm-up plus the duration or, without a
/// duration, the stages. `None` if only the number of requests ends the run: a single stage then continues at its
/// level.
pub fn run_ends(plan: &Plan) -> Option<Nanos> {
    if !plan.scenarios.is_empty() {
        return scenarios::all_end(plan);
    }
    ends(plan.load.stages(), plan.warmup, plan.requests, plan.duration)
}

/// Like [`run_ends`], from the parts of a plan.
fn ends(stages: &[Stage], warmup: Nanos, requests: Option<u64>, duration: Option<Nanos>) -> Option<Nanos> {
    match duration {
        Some(duration) => Some(warmup.saturating_add(duration)),
        None if requests.is_some() && stages.len() < 2 => None,
        None => Some(warmup.saturating_add(stages_last(stages))),
    }
}

/// Returns the planned level of a load (users, or arrivals per second) at a time since its start.
pub fn level(load: &Load, warmup: Nanos, since_start: Nanos) -> f64 {
    let mut at = warmup;
    for stage in load.stages() {
        let end = at.saturating_add(stage.lasts);
        if since_start < end {
            let passed = (since_start - at).0 as f64 / stage.lasts.0 as f64;
            return stage.from + (stage.to - stage.from) * passed;
        }
        at = end;
    }
    load.stages().last().map_or(0.0, |stage| stage.to)
}

/// Returns the total duration of the stages.
fn stages_last(stages: &[Stage]) -> Nanos {
    stages.iter().fold(Nanos::ZERO, |sum, stage| sum.saturating_add(stage.lasts))
}

/// Returns the sequence numbers of the requests, or of the flow iterations, that a share of a run starts. With several
/// scenarios, each has its own sequence ([`ScenarioCourse::numbers`]).
pub fn numbers(plan: &Plan, share: Share) -> NumberSequence {
    numbers_of(&plan.load, plan.warmup, plan.requests, share, plan.seed)
}

fn numbers_of(load: &Load, warmup: Nanos, requests: Option<u64>, share: Share, seed: u64) -> NumberSequence {
    match load {
        Load::Closed { .. } => UserProfile::new(load, warmup, share).numbers(),
        // A fixed number of arrivals is dealt at random; this share's numbers follow those of the shares before it.
        Load::Open { arrivals: Arrivals::Poisson, .. } if warmup == Nanos::ZERO => match requests {
            Some(requests) => NumberSequence::from(counted_arrivals::requests_before(requests, share, seed) + 1),
            None => NumberSequence::in_turn(share),
        },
        Load::Open { .. } => NumberSequence::in_turn(share),
    }
}

/// Returns when the request after the last one would be due, for a plan with a fixed number of evenly spaced requests
/// at a constant rate; `None` for other plans. Throughput is measured up to that time, so that a burst counts over its
/// whole second.
pub fn nominal_end(plan: &Plan) -> Option<Nanos> {
    nominal(&plan.load, plan.warmup, plan.requests)
}

fn nominal(load: &Load, warmup: Nanos, requests: Option<u64>) -> Option<Nanos> {
    let Load::Open { stages, arrivals: Arrivals::Constant | Arrivals::Burst } = load else { return None };
    match (requests, stages.as_slice()) {
        (Some(n), [only]) if only.from == only.to && only.from > 0.0 => {
            Some(warmup.saturating_add(Nanos::from_secs_f64(n as f64 / only.from)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_requests_at_a_rate_lasts_as_long_as_they_are_the_load_of() {
        let level = |from, to| vec![Stage { lasts: Nanos::from_secs(3600), from, to }];
        let table = [
            // Three bursts of 900 are the load of three seconds, though the last comes two seconds after the first.
            (level(900.0, 900.0), Arrivals::Burst, Some(2700), Some(3.0)),
            (level(10.0, 10.0), Arrivals::Constant, Some(25), Some(2.5)),
            (level(10.0, 10.0), Arrivals::Constant, None, None),
            (level(10.0, 10.0), Arrivals::Poisson, Some(25), None),
            (level(0.0, 10.0), Arrivals::Constant, Some(25), None),
            (level(0.0, 0.0), Arrivals::Constant, Some(25), None),
        ];
        for (stages, arrivals, requests, seconds) in table {
            let found = nominal(&Load::Open { stages, arrivals }, Nanos::from_secs(1), requests);
            assert_eq!(found, seconds.map(|s| Nanos::from_secs_f64(1.0 + s)), "{arrivals:?} {requests:?}");
        }
    }

    #[test]
    fn the_level_follows_the_stages() {
        let stage = |from, to| Stage { lasts: Nanos::from_secs(10), from, to };
        let load = Load::Open { stages: vec![stage(10.0, 20.0), stage(5.0, 5.0)], arrivals: Arrivals::Poisson };
        for (seconds, expected) in [(0, 10.0), (1, 10.0), (6, 15.0), (11, 5.0), (1000, 5.0)] {
            let found = level(&load, Nanos::from_secs(1), Nanos::from_secs(seconds));
            assert!((found - expected).abs() < 1e-9, "{seconds} s: {found}");
        }
    }

    #[test]
    fn ends_of_runs() {
        let stage = |seconds| Stage { lasts: Nanos::from_secs(seconds), from: 1.0, to: 1.0 };
        let (one, two) = (vec![stage(10)], vec![stage(10), stage(20)]);
        let table = [
            (&one, None, None, Some(15)),
            (&one, Some(5), None, None),
            (&one, None, Some(60), Some(65)),
            (&one, Some(5), Some(60), Some(65)),
            (&two, None, None, Some(35)),
            (&two, Some(5), None, Some(35)),
            (&two, None, Some(60), Some(65)),
        ];
        for (stages, requests, duration, expected) in table {
            let found = ends(stages, Nanos::from_secs(5), requests, duration.map(Nanos::from_secs));
            assert_eq!(found, expected.map(Nanos::from_secs), "{} stages, {requests:?}, {duration:?}", stages.len());
        }
        let endless = [Stage { lasts: Nanos::MAX, from: 1.0, to: 1.0 }, stage(1)];
        assert_eq!(ends(&endless, Nanos::from_secs(1), None, Some(Nanos::MAX)), Some(Nanos::MAX));
        assert_eq!(ends(&endless, Nanos::from_secs(1), None, None), Some(Nanos::MAX));
    }
}
