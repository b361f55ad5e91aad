//! The part of a plan that differs between measurements: load and duration.

use brunt_measure::Nanos;
use serde::{Deserialize, Serialize};

use crate::{Arrivals, Load, Plan, Stage};

/// A single measurement of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The load model.
    pub load: Load,
    /// Number of requests after which the trial stops, not counting the warm-up.
    pub requests: Option<u64>,
    /// Time after which the trial stops, not counting the warm-up.
    pub duration: Option<Nanos>,
    /// Warm-up; requests whose intended time is within it are excluded from the results.
    pub warmup: Nanos,
    /// Seed of its random draws; `None` for that of the plan. Repeated trials with one seed would have the same arrivals,
    /// and say less than as many independent ones.
    pub seed: Option<u64>,
    /// Index of the scenario whose load this is; the others last as long, at their levels. `None` for the load of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<u16>,
}

impl Trial {
    /// Returns the trial described by a plan.
    pub fn from_plan(plan: &Plan) -> Trial {
        let Plan { requests, duration, warmup, .. } = *plan;
        Trial { load: plan.load.clone(), requests, duration, warmup, seed: None, scenario: None }
    }

    /// Creates a trial with arrivals at a constant rate.
    pub fn rate(per_s: f64, arrivals: Arrivals, lasts: Nanos) -> Trial {
        Trial::level(|stages| Load::Open { stages, arrivals }, per_s, lasts)
    }

    /// Creates a trial with this many users, each sending one request after another.
    pub fn users(users: u32, lasts: Nanos) -> Trial {
        let load = |stages| Load::Closed { stages, think: None, together: false };
        Trial::level(load, f64::from(users), lasts)
    }

    fn level(load: impl FnOnce(Vec<Stage>) -> Load, level: f64, lasts: Nanos) -> Trial {
        let load = load(vec![Stage { lasts, from: level, to: level }]);
        Trial { load, requests: None, duration: Some(lasts), warmup: Nanos::ZERO, seed: None, scenario: None }
    }

    /// Returns how long it takes: its warm-up and its duration; the warm-up alone if it is bounded by a number of requests.
    pub fn lasts(&self) -> Nanos {
        self.warmup.saturating_add(self.duration.unwrap_or_default())
    }

    /// Returns the plan with the load and duration of this trial.
    pub fn apply_to(&self, plan: &Plan) -> Plan {
        let Trial { load, requests, duration, warmup, seed, scenario } = self.clone();
        let applied = Plan { requests, duration, warmup, seed: seed.unwrap_or(plan.seed), ..plan.clone() };
        match scenario {
            Some(scenario) => applied.with_scenario_load(scenario.into(), load),
            None => Plan { load, ..applied },
        }
    }
}
