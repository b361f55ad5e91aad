//! The load engine: one worker per core, and the collector that merges them.
//!
//! The engine depends on the contracts of [`brunt_contract`] and the events of [`brunt_record`], but on no protocol,
//! report or user interface. Nothing on the path of a request locks, allocates, or is shared between workers.

mod api;
mod backend;
mod barrier;
mod builder;
mod recorder;

mod backoff;
mod collector;
mod connections;
mod control;
mod conversation;
mod decode;
mod due_request;
mod early_failures;
mod examples;
mod exchange;
mod expect_continue;
mod failure_cause;
mod failure_class;
mod first_request;
mod frames;
mod holding_users;
mod ids;
mod in_flight;
mod limits;
mod links;
mod lookup;
mod lost_processes;
mod name_rows;
mod named_checks;
mod opening_timers;
mod outcome;
mod own_delay;
mod pool;
mod population;
mod probe;
mod processes;
mod resource_errors;
mod run;
mod share_connections;
#[cfg(any(test, feature = "simulation"))]
#[doc(hidden)]
pub mod simulation;
mod single_pass;
mod slot_values;
mod source;
mod sources;
mod stop;
mod stragglers;
mod tables;
mod tally;
#[cfg(test)]
mod tests;
mod threads;
mod timers;
mod traces;
mod turn;
mod used_values;
mod user_states;
mod users;
mod virtual_users;
mod worker;
mod worker_message;

pub use api::{AfterFailure, MakeScenario, OneShotFailure, ProbeFailure, ProbeResult, Resolver, Setup, Transcript};
pub use collector::readable;
pub use control::Control;
#[cfg(feature = "oracle")]
#[doc(hidden)]
pub use frames::oracle;
pub use processes::{
    Assignment, BARRIERS, Briefing, ClockOffset, Launcher, PREPARED, ProcessHandle, ProcessLink, Processes,
    ShareOutput, ShareProcess, ShareReport, Task, child,
};
pub use resource_errors::{no_descriptors, no_thread};
pub use run::{PreparedRun, worker_count};
pub use share_connections::ShareConnections;
pub use single_pass::{FetchedResource, PassEvent, SkippedResources};
pub use stop::Stop;
pub use used_values::RequestValue;
