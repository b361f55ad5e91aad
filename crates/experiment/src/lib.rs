//! Experiments: questions that need more than one run.
//!
//! [`search`] finds the highest load that keeps objectives. It is arithmetic over the outcomes of trials: no clock, no
//! thread and no network, so that a search of minutes is simulated in milliseconds. [`find`] makes these trials, and tells
//! the result. [`runs`] compares repeated runs of two sides, which [`compare`] makes; [`laws`] are those of
//! capacity, against which [`sweep`] holds a table of runs, and [`ladder`] rungs. [`trend`] looks at the history of a test.
//!
//! What is asked is plain data ([`record::Experiment`]); a [`runner`] makes its runs with benches, or reads them from a record.
//! [`report`] writes what was found, in every format.

pub mod binomial;
pub mod compare;
pub mod find;
pub mod ladder;
pub mod laws;
pub mod record;
pub mod report;
pub mod runner;
pub mod runs;
#[cfg(feature = "schema")]
mod schema;
pub mod search;
pub mod sweep;
pub mod trend;
mod words;

#[cfg(feature = "schema")]
pub use schema::schema_json;
