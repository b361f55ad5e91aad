//! What may differ from one measurement to the next while everything else of a plan stays: the load and how long.

use measure::Nanos;

use crate::{Arrivals, Load, Plan, Stage};

/// One measurement of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// When requests are sent.
    pub load: Load,
    /// Stop after this many requests, not counting the warm-up.
    pub requests: Option<u64>,
    /// Stop after so long, warm-up not counted.
    pub duration: Option<Nanos>,
    /// Run and leave out of the figures, by intended time.
    pub warmup: Nanos,
}

impl Trial {
    /// As the plan has it.
    pub fn of(plan: &Plan) -> Trial {
        Trial { load: plan.load.clone(), requests: plan.requests, duration: plan.duration, warmup: plan.warmup }
    }

    /// Arrivals at a constant rate for so long.
    pub fn rate(per_s: f64, arrivals: Arrivals, lasts: Nanos) -> Trial {
        Trial::level(|stages| Load::Open { stages, arrivals }, per_s, lasts)
    }

    /// So many users, each one request after the other, for so long.
    pub fn users(users: u32, lasts: Nanos) -> Trial {
        let load = |stages| Load::Closed { stages, think: None, together: false };
        Trial::level(load, f64::from(users), lasts)
    }

    fn level(load: impl FnOnce(Vec<Stage>) -> Load, level: f64, lasts: Nanos) -> Trial {
        let load = load(vec![Stage { lasts, from: level, to: level }]);
        Trial { load, requests: None, duration: Some(lasts), warmup: Nanos::ZERO }
    }

    /// The plan with this in its place.
    pub fn over(&self, plan: &Plan) -> Plan {
        let Trial { load, requests, duration, warmup } = self.clone();
        Plan { load, requests, duration, warmup, ..plan.clone() }
    }
}
