//! Diagnosis of what limited a run, from its record: the results of the load, and the counters of the hosts during it.
//!
//! All functions are pure: a rule is a function of a [`Case`], so current rules can also judge runs recorded long ago.
//! A rule returns a [`LimitFinding`]: a claim, the counter that supports it and its increase, what to change, and one
//! experiment that would refute it. [`conclude`] ranks the findings by their position on the request path and names one
//! principal limit, or states that none was reached or that it is unknown.
//!
//! The rules and their thresholds are those of `docs/measurement.md`, "What limited the run".

mod case;
mod conclusion;
mod counter_summary;
pub mod doctor;
mod limit_finding;
mod load_results;
mod load_seconds;
mod repeat_command;
mod rules;
mod stated_bound;

pub use case::{Case, ServiceHost};
pub use conclusion::{Conclusion, CoreShares, CounterCoverage, DiagnosisOutcome, NextLoad, conclude};
pub use counter_summary::CounterSummary;
pub use limit_finding::{LimitFinding, PathStage, Proof};
pub use load_results::{
    DurationCounts, DurationStats, FailedAddresses, FailureCount, GeneratorDoubt, HeldConnections, LoadResults, Outage,
    RateShortfall, RejectionSign, SilentService, SilentStretch, WidenedFigure,
};
pub use load_seconds::{CurvePoint, Knee, SecondFigures};
pub use repeat_command::{ExperimentLoad, RepeatCommand, RepeatedPlan};
pub use rules::{CAPACITY, LimitRule, OWN_CONNECTIONS, rules};
