//! What limited a run, from its record: the load as it was kept, and the counters of the hosts while it went on.
//!
//! Pure: a rule is a function of a [`Case`], so that a report of a run made last year is judged by the rules of today. A rule
//! gives a [`Found`]: what is claimed, the counter that says so and by how much it moved, what to change, and one
//! experiment that would refute it. [`conclude`] ranks what was found by where on a request's way it stands and names
//! one principal limit, or that none was reached, or that it cannot be told.
//!
//! The rules and their thresholds are those of `docs/measurement.md`, «What limited the run».

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
