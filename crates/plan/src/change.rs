//! Changes of load during a run.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Load, Plan};

/// A change of load that takes effect for all workers at the same moment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Open load: this many arrivals per second, instead of the remaining stages.
    Rate(f64),
    /// Closed load: this many users, instead of the remaining stages.
    Users(u32),
    /// Pauses: nothing is scheduled until it resumes.
    Pause,
    /// Resumes the load: at the rate or number of users last set, otherwise at the current level of its stages.
    Resume,
    /// Schedules nothing more and ends the window; requests in flight can finish within the drain.
    Drain,
}

impl Change {
    /// Maximum number of arrivals per second, more than any machine can reach.
    pub const MOST_RATE: f64 = 1e9;
    /// Maximum number of users.
    pub const MOST_USERS: u32 = 10_000_000;

    /// Clamps a change received from another process to these limits.
    #[must_use]
    pub fn clamped(self) -> Change {
        match self {
            Change::Rate(rate) => Change::Rate(rate.min(Change::MOST_RATE)),
            Change::Users(users) => Change::Users(users.min(Change::MOST_USERS)),
            Change::Pause | Change::Resume | Change::Drain => self,
        }
    }

    /// Checks that the load of the plan supports this change.
    ///
    /// # Errors
    /// The load does not support the change; the error says what to do instead.
    pub fn check(self, plan: &Plan) -> Result<(), String> {
        match (self, &plan.load) {
            _ if plan.hold.is_some() => Err("connections that are held have no load to change".into()),
            (Change::Rate(_) | Change::Users(_), _) if !plan.scenarios.is_empty() => {
                Err("a run of scenarios has no single load to change; pause it, or stop it".into())
            }
            (Change::Rate(_), Load::Closed { .. }) => Err("a run with users has no rate; change the users".into()),
            (Change::Users(_), Load::Open { .. }) => Err("a run with a rate has no users; change the rate".into()),
            (Change::Rate(rate), _) if !(rate.is_finite() && rate > 0.0) => {
                Err(format!("{rate}/s is not a rate; choose one above zero, or pause"))
            }
            (Change::Rate(rate), _) if rate > Change::MOST_RATE => {
                let most = Change::MOST_RATE;
                Err(format!("{rate:e}/s is more than brunt can send ({most}/s); choose a lower rate"))
            }
            (Change::Users(users), _) if users > Change::MOST_USERS => {
                let most = Change::MOST_USERS;
                Err(format!("{users} users are more than brunt can run ({most}); choose {most} or fewer"))
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
            Change::Drain => f.write_str("drain"),
        }
    }
}
