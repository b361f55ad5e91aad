//! The search for the highest load that keeps objectives: MLRsearch (RFC draft of FD.io, version 15) applied to requests
//! (`docs/measurement.md` 4.4).
//!
//! The *loss* of a trial is the share of due requests that did not meet an objective: late, failed, not sent, unfinished.
//! "p99 < 50 ms" allows a loss ratio of 0.01. [`classify`] decides from all trials at a load whether it is a bound;
//! [`Search`] says which trial to make next, and when enough is known.

mod goal;
mod known;
mod machine;
#[cfg(test)]
mod simulation;

pub use goal::{Bound, Goal, LossTrial, classify, conditional_throughput};
pub use known::{GoalBounds, GoalCount, TrialOutcome};
pub use machine::{Search, SearchEnd, SearchPlan, SearchResult, SearchStep};
