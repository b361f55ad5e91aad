//! What may be changed of a load while its run goes on.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Load, Plan};

/// A change of load, from one moment on, for all workers alike.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Open load: so many arrivals a second, in the place of what the stages still have in store.
    Rate(f64),
    /// Closed load: so many users, likewise.
    Users(u32),
    /// Nothing is due, until it goes on.
    Pause,
    /// The load goes on: at the rate or with the users it was changed to, else as its stages have it by now.
    Resume,
}

impl Change {
    /// Refuses what such a load does not have.
    ///
    /// # Errors
    /// What would be right.
    pub fn check(self, plan: &Plan) -> Result<(), String> {
        match (self, &plan.load) {
            _ if plan.hold.is_some() => Err("connections that are held have no load to change".into()),
            (Change::Rate(_) | Change::Users(_), _) if !plan.scenarios.is_empty() => {
                Err("a run of scenarios has no one load to change; pause it, or stop it".into())
            }
            (Change::Rate(_), Load::Closed { .. }) => Err("a run with users has no rate; change the users".into()),
            (Change::Users(_), Load::Open { .. }) => Err("a run with a rate has no users; change the rate".into()),
            (Change::Rate(rate), _) if !(rate.is_finite() && rate > 0.0) => {
                Err(format!("{rate}/s is no rate; choose one above zero, or pause"))
            }
            (Change::Users(0), _) => Err("0 users do nothing; choose one or more, or pause".into()),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::Rate(rate) => write!(f, "{rate}/s"),
            Change::Users(users) => write!(f, "{users} users"),
            Change::Pause => f.write_str("pause"),
            Change::Resume => f.write_str("resume"),
        }
    }
}
