//! The capacity of a generator's machine, measured in advance against the built-in test server.

use serde::{Deserialize, Serialize};

/// Results of `brunt calibrate`: the CPU cost of brunt itself on this machine, and the lowest measurable latency.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Calibration {
    /// Version of brunt that was measured.
    pub version: String,
    /// Kernel and cores that it ran on.
    pub kernel: String,
    /// Cores available at the time.
    pub cores: f64,
    /// Time of the calibration, in seconds since 1970 (UTC).
    pub at_unix_s: u64,
    /// Users that sent back to back.
    pub users: u32,
    /// Worker threads.
    pub workers: u32,
    /// Rate that they reached, with the test server on the same cores (requests per second).
    pub reached_per_s: f64,
    /// CPU time of brunt's workers for each of these requests (microseconds).
    pub cpu_us: f64,
    /// Median service time of a single user (microseconds): the lowest that can be measured here.
    pub floor_p50_us: f64,
    /// 99th percentile of the same service time (microseconds).
    pub floor_p99_us: f64,
}

impl Calibration {
    /// Returns the maximum rate (requests per second) of `workers` threads with `cores` cores to themselves: the number
    /// of requests whose CPU time fits into a second, times the smaller of the two.
    pub fn at_most_per_s(&self, workers: u32, cores: f64) -> f64 {
        if self.cpu_us > 0.0 { f64::from(workers).min(cores) / self.cpu_us * 1e6 } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::Calibration;

    #[test]
    fn a_core_sends_what_fits_into_its_time() {
        let found = Calibration { cpu_us: 4.0, ..Calibration::default() };
        assert_eq!(found.at_most_per_s(1, 8.0), 250_000.0);
        assert_eq!(found.at_most_per_s(8, 1.5), 375_000.0, "no more than there are cores for");
        assert_eq!(Calibration::default().at_most_per_s(1, 1.0), 0.0);
    }
}
