//! A machine under test that told its counters.

use serde::Serialize;

/// A machine under test that told its counters.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Probed<'a> {
    /// What it is called.
    host: &'a str,
    /// Where its probe was reached.
    probe: &'a str,
    /// Its kernel.
    kernel: &'a str,
    /// Its cores.
    cores: f64,
    /// The address under load is one of its own.
    holds_target: bool,
    /// It runs on the kernel of the generator.
    shares_kernel: bool,
    /// How far its clock was ahead of the generator's at the start (seconds), and by how much that may be wrong.
    clock_ahead_s: f64,
    /// See `clock_ahead_s`.
    clock_within_s: f64,
    /// The same at the end of the run; absent where it could not be compared again.
    #[serde(skip_serializing_if = "Option::is_none")]
    clock_ahead_at_end_s: Option<f64>,
    /// The same at the end of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    clock_within_at_end_s: Option<f64>,
}

impl<'a> Probed<'a> {
    pub fn of((first, last): &'a (record::ProbedHost, Option<record::ProbedHost>)) -> Probed<'a> {
        Probed {
            host: &first.host,
            probe: &first.probe,
            kernel: &first.kernel,
            cores: first.cores,
            holds_target: first.holds_target,
            shares_kernel: first.shares_kernel,
            clock_ahead_s: first.clock_ahead_ns as f64 / 1e9,
            clock_within_s: first.clock_within_ns as f64 / 1e9,
            clock_ahead_at_end_s: last.as_ref().map(|last| last.clock_ahead_ns as f64 / 1e9),
            clock_within_at_end_s: last.as_ref().map(|last| last.clock_within_ns as f64 / 1e9),
        }
    }
}
