//! The load engine: one worker per core, and the collector that merges them.
//!
//! The engine knows the contracts of [`wire`] and the events of [`record`]; it names no protocol, no report and no screen.

mod api;

pub use api::{PreparedRun, ProbeFailure, ProbeResult, Resolver, Runner, Setup, Stop};
