//! What follows from numbers alone, without a run: the machines that a load needs ([`capacity`]), and what contradicts
//! itself in the output of load testing tools ([`lint`]).
//!
//! Everything here is pure: text and numbers in, findings out. Reading files and records is the caller's part.

pub mod capacity;
mod figures;
pub mod lint;
mod ports;
#[cfg(feature = "schema")]
mod schema;

pub use ports::DEFAULT_PORTS;
#[cfg(feature = "schema")]
pub use schema::{capacity_schema_json, lint_schema_json};
