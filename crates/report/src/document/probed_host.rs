//! A machine under test that reported its counters.

use serde::Serialize;

/// A machine under test that reported its counters.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct ProbedHostReport<'a> {
    /// Host name.
    host: &'a str,
    /// Address of its probe.
    probe: &'a str,
    /// Kernel version.
    kernel: &'a str,
    /// Number of cores.
    cores: f64,
    /// `true` if the address under load is one of its own.
    holds_target: bool,
    /// `true` if it runs on the same kernel as the generator.
    shares_kernel: bool,
    /// Lead of its clock over the generator's at the start (seconds); `clock_within_s` is the possible error.
    clock_ahead_s: f64,
    /// Possible error of `clock_ahead_s`, in seconds.
    clock_within_s: f64,
    /// Lead of its clock at the end of the run (seconds); absent if it could not be compared again.
    #[serde(skip_serializing_if = "Option::is_none")]
    clock_ahead_at_end_s: Option<f64>,
    /// Possible error of `clock_ahead_at_end_s`, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    clock_within_at_end_s: Option<f64>,
}

impl<'a> ProbedHostReport<'a> {
    pub fn of((first, last): &'a (brunt_record::ProbedHost, Option<brunt_record::ProbedHost>)) -> ProbedHostReport<'a> {
        ProbedHostReport {
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
