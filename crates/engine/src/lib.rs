//! The load engine: one worker per core, and the collector that merges them.
//!
//! The engine knows the contracts of [`wire`] and the events of [`record`]; it names no protocol, no report and no screen.
//! Nothing on the path of a request locks, allocates, or is shared between workers.

mod api;
mod backend;
mod barrier;
mod recorder;
mod builder;

mod named_checks;
mod collector;
mod connections;
mod control;
mod conversation;
mod early_failures;
mod examples;
mod exchange;
mod failure_cause;
mod slot_values;
mod first_request;
mod in_flight;
mod frames;
mod holding_users;
mod ids;
mod limits;
mod links;
mod lookup;
mod lost_processes;
mod user_states;
mod worker_message;
mod name_rows;
mod resource_errors;
mod opening_timers;
mod outcome;
mod backoff;
mod pool;
mod population;
mod probe;
mod processes;
mod decode;
mod run;
#[cfg(any(test, feature = "simulation"))]
#[doc(hidden)]
pub mod simulation;
mod failure_class;
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
mod users;
mod used_values;
mod virtual_users;
mod single_pass;
mod due_request;
mod expect_continue;
mod worker;

pub use api::{AfterFailure, MakeScenario, OneShotFailure, ProbeFailure, ProbeResult, Resolver, Setup, Transcript};
pub use collector::readable;
pub use control::Control;
#[cfg(feature = "oracle")]
#[doc(hidden)]
pub use frames::oracle;
pub use resource_errors::{no_descriptors, no_thread};
pub use processes::{Assignment, Briefing, ClockOffset, ProcessHandle, Launcher, ProcessLink, Processes, Task, child};
pub use run::{PreparedRun, worker_count};
pub use stop::Stop;
pub use used_values::RequestValue;
pub use single_pass::{SkippedResources, FetchedResource, PassEvent};
