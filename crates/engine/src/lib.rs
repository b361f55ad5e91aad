//! The load engine: one worker per core, and the collector that merges them.
//!
//! The engine knows the contracts of [`wire`] and the events of [`record`]; it names no protocol, no report and no screen.
//! Nothing on the path of a request locks, allocates, or is shared between workers.

mod alarm;
mod api;
mod carrier;
mod collector;
mod connect;
mod exchange;
mod gather;
mod lookup;
mod message;
mod pace;
mod pool;
mod probe;
mod run;
#[cfg(any(test, feature = "simulation"))]
#[doc(hidden)]
pub mod simulation;
mod tally;
#[cfg(test)]
mod tests;
mod timers;
mod users;
mod worker;

pub use api::{PreparedRun, ProbeFailure, ProbeResult, Resolver, Runner, Setup, Stop};
pub use collector::readable;
pub use run::runner;
