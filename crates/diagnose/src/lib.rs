//! Diagnosis of what limited a run, from its record: the results of the load, and the counters of the hosts during it.
//!
//! All functions are pure: a rule is a function of a [`Case`], so that a report of a run made last year is judged by
//! today's rules. A rule returns a [`Found`]: a claim, the counter that supports it with its increase, what to change,
//! and one experiment that would refute it. [`conclude`] ranks the findings by their position on the request path and
//! names one principal limit, or states that none was reached or that it is unknown.
//!
//! The rules and their thresholds are those of `docs/measurement.md`, "What limited the run".

mod case;
mod conclusion;
mod counted;
pub mod doctor;
mod found;
mod rules;
mod run;

pub use case::{Case, Elsewhere};
pub use conclusion::{Conclusion, Outcome, Seen, Shared, conclude};
pub use counted::Counted;
pub use found::{Found, Proof, Stage};
pub use rules::{Rule, rules};
pub use run::{Failures, GeneratorDoubt, Outage, Run, Spread, Times};
