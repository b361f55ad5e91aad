//! Latencies known from a formula, a distribution, or the target's log.

use std::path::Path;

use serde_json::Value;

use super::TruthSettings;
use super::check::{TruthCheck, accounted, number};
use crate::pair::{self, LoggedArrival, LoggingTarget};

/// The report of a run and the target's log.
struct LoggedRun {
    report: Value,
    /// The target's log, without the probe.
    log: Vec<LoggedArrival>,
    exit: i32,
}

fn run(
    setting: &TruthSettings,
    name: &str,
    target_options: &str,
    path: &str,
    options: &str,
) -> Result<LoggedRun, String> {
    let brunt: &Path = &setting.brunt;
    let target = LoggingTarget::start(brunt, name, target_options)?;
    let options = format!("{options} --net {}", setting.net);
    let (report, usage) = pair::generate(brunt, name, &target.url(path), &options, |_| {})?;
    let mut log = target.finish()?;
    if report.is_null() {
        return Err(format!("no report (exit {}); see {}", usage.exit, usage.output.display()));
    }
    let probes = number(&report, "requests.probe").unwrap_or(0.0) as usize;
    log.drain(..probes.min(log.len()));
    Ok(LoggedRun { report, log, exit: usage.exit })
}

impl LoggedRun {
    /// Returns a figure of `latency.response`, in seconds.
    fn response_s(&self, name: &str) -> Option<f64> {
        number(&self.report, &format!("latency.response.{name}_us")).map(|us| us / 1e6)
    }

    /// Returns a check that such a figure is close to one known from elsewhere.
    fn near(&self, name: &str, by: &str, known: f64, within: f64, or_by: f64) -> TruthCheck {
        TruthCheck::near(format!("{name} by {by} (s)"), self.response_s(name), known, within, or_by)
    }

    /// Returns the times that requests spent in the server, in seconds, in ascending order.
    fn server_times(&self) -> Vec<f64> {
        let answered = self.log.iter().filter(|arrival| arrival.answered > 0);
        sorted(answered.map(|arrival| (arrival.answered - arrival.arrived) as f64 / 1e9).collect())
    }

    /// Returns the checks for every complete run: all requests are accounted for, and the server
    /// counted as many.
    fn counts(&self) -> Vec<TruthCheck> {
        let finished = number(&self.report, "requests.succeeded");
        vec![accounted(&self.report), TruthCheck::equal("succeeded, against the log", finished, self.log.len() as f64)]
    }
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// Returns a quantile as a histogram does: the smallest value with at least a share `q` of all
/// values at or below it.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let rank = (q * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied().unwrap_or(f64::NAN)
}

/// Checks ten seconds at 1000/s with a stall of one second (MEASUREMENT.md 1.3): against the
/// formula q_p = T(1 − (1 − p)/f) with f = Tμ/((μ − λ)D), and against the log, whose answers are
/// matched to the due times in order.
pub(super) fn stall(setting: &TruthSettings) -> Result<Vec<TruthCheck>, String> {
    let (rate, seconds) = (1000.0, 10.0);
    let load = "-r 1000/s --arrivals constant -d 10s --max-connections 100";
    let pair = run(setting, "stall", "--stall 4s+1s", "/", load)?;
    let mut answered: Vec<u64> = pair.log.iter().map(|arrival| arrival.answered).collect();
    answered.sort_unstable();
    let gap = answered.windows(2).map(|two| two[1] - two[0]).max().unwrap_or(0) as f64 / 1e9;
    // No answer was early, so the schedule begins at the latest time at which none of them precedes
    // its due time.
    let offsets: Vec<f64> = answered.iter().enumerate().map(|(i, t)| *t as f64 / 1e9 - i as f64 / rate).collect();
    let start = offsets.iter().copied().fold(f64::INFINITY, f64::min);
    let by_log = sorted(offsets.iter().map(|offset| offset - start).collect());
    let mut checks = pair.counts();
    checks.push(TruthCheck::near("stall by the log (s)", Some(gap), 1.0, 0.02, 0.0));
    for (name, q) in [("p99", 0.99), ("p99_9", 0.999)] {
        // The target's μ is hundreds of times λ: f = T/D within a fraction of a percent, which the 2 % cover.
        let law = gap * (1.0 - (1.0 - q) / (gap / seconds));
        checks.push(pair.near(name, "the law", law, 0.02, 0.001));
        checks.push(pair.near(name, "the log", quantile(&by_log, q), 0.01, 0.001));
    }
    checks.push(pair.near("max", "the log", quantile(&by_log, 1.0), 0.01, 0.001));
    checks.push(TruthCheck::between("p50 (s): nothing waits outside the stall", pair.response_s("p50"), 0.0, 0.002));
    Ok(checks)
}

/// Checks one server with exponential service of mean 2 ms at half load: R_q = −ln(1 − q)/(μ − λ),
/// mean 4 ms. The sampling error is a few percent against the formula, but zero against the log.
pub(super) fn queue(setting: &TruthSettings) -> Result<Vec<TruthCheck>, String> {
    let (rate, capacity) = (250.0, 500.0);
    let load = "-r 250/s -d 40s --seed 11 --max-connections 500";
    let pair = run(setting, "queue", "--seed 5", "/?station=1&service=exponential:2ms", load)?;
    let times = pair.server_times();
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    let mut checks = pair.counts();
    checks.push(pair.near("mean", "the formula", 1.0 / (capacity - rate), 0.12, 0.0002));
    checks.push(pair.near("mean", "the log", mean, 0.02, 0.0003));
    for (name, q) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)] {
        let formula = -f64::ln(1.0 - q) / (capacity - rate);
        checks.push(pair.near(name, "the formula", formula, 0.20, 0.0002));
        checks.push(pair.near(name, "the log", quantile(&times, q), 0.02, 0.0003));
    }
    Ok(checks)
}

/// Checks that delays with a median of 10 ms and a sigma of 0.5 are measured as 10 ms · exp(0.5 z).
pub(super) fn lognormal(setting: &TruthSettings) -> Result<Vec<TruthCheck>, String> {
    let load = "-r 1000/s -d 15s --seed 3 --max-connections 500";
    let pair = run(setting, "lognormal", "--seed 9", "/delay/lognormal:10ms,0.5", load)?;
    let times = pair.server_times();
    let mut checks = pair.counts();
    for (name, q, z) in [("p50", 0.5, 0.0), ("p90", 0.9, 1.281_552), ("p95", 0.95, 1.644_854), ("p99", 0.99, 2.326_348)]
    {
        let known = 0.010 * f64::exp(0.5 * z);
        checks.push(pair.near(name, "the distribution", known, 0.05, 0.0003));
        checks.push(pair.near(name, "the log", quantile(&times, q), 0.015, 0.0003));
    }
    Ok(checks)
}

/// Checks a server that never answers: all requests are censored, quantiles are only lower bounds,
/// and the exit code is not zero.
pub(super) fn hang(setting: &TruthSettings) -> Result<Vec<TruthCheck>, String> {
    let load = "-r 100/s --arrivals constant -d 3s --drain 1s --timeout 60s --max-connections 500";
    let pair = run(setting, "hang", "", "/hang", load)?;
    let response = &pair.report["latency"]["response"];
    Ok(vec![
        accounted(&pair.report),
        TruthCheck::equal("succeeded", number(&pair.report, "requests.succeeded"), 0.0),
        TruthCheck::equal("unfinished", number(&pair.report, "requests.unfinished"), 300.0),
        TruthCheck::is("p50 is withheld", response.get("p50_us").is_none_or(Value::is_null)),
        TruthCheck::between("p50 is at least (µs)", response["p50_at_least_us"].as_f64(), 1e6, 4.1e6),
        TruthCheck::between("exit code", Some(f64::from(pair.exit)), 1.0, 255.0),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_ranks() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        let cases = [(0.0, 1.0), (0.5, 50.0), (0.99, 99.0), (0.991, 100.0), (1.0, 100.0)];
        for (q, expected) in cases {
            assert_eq!(quantile(&values, q), expected, "{q}");
        }
        assert!(quantile(&[], 0.5).is_nan());
    }
}
