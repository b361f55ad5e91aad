//! brunt's counts against nginx's access log: finished ≤ log ≤ finished + failed + censored, with equality if no
//! connection was cut. The probe is in the log too, and is subtracted.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use super::TruthSettings;
use super::check::{TruthCheck, accounted, number};
use crate::measure;
use crate::nginx::{Nginx, NginxConfig};
use crate::{pair, places};

/// The counts of a run and of nginx's log.
struct CountedRun {
    report: Value,
    /// Requests answered by nginx, without the probe.
    answered: f64,
    /// Requests whose connection nginx closed on purpose.
    cut: f64,
    exit: i32,
}

impl CountedRun {
    fn of(&self, name: &str) -> f64 {
        number(&self.report, &format!("requests.{name}")).unwrap_or(f64::NAN)
    }

    /// Returns the checks that hold for every run.
    fn bounds(&self) -> Vec<TruthCheck> {
        let most = self.of("succeeded") + self.of("failed") + self.of("unfinished");
        let seen = self.answered + self.cut;
        vec![
            accounted(&self.report),
            TruthCheck::between("the log's requests", Some(seen), self.of("succeeded"), most),
            TruthCheck::between("succeeded", Some(self.of("succeeded")), 1.0, f64::INFINITY),
        ]
    }

    /// Returns the checks for a run in which no connection was cut: all counts are equal.
    fn equal(&self) -> Vec<TruthCheck> {
        let mut checks = self.bounds();
        checks.push(TruthCheck::equal("succeeded, against the log", Some(self.of("succeeded")), self.answered));
        checks.push(TruthCheck::equal("failed", Some(self.of("failed")), 0.0));
        checks.push(TruthCheck::equal("unfinished", Some(self.of("unfinished")), 0.0));
        checks.push(TruthCheck::equal("exit code", Some(f64::from(self.exit)), 0.0));
        checks
    }
}

/// Runs brunt against an nginx with a log; `meanwhile` may act on nginx or on the generator.
fn run(
    setting: &TruthSettings,
    name: &str,
    cut_percent: u32,
    options: &str,
    mut meanwhile: impl FnMut(measure::ProcessSample, &NginxConfig, &mut Option<Nginx>),
) -> Result<CountedRun, String> {
    let log: PathBuf = places::scratch("nginx")?.join(format!("{name}.log"));
    // Removes the lines of an earlier run, if there are any.
    let _ = fs::remove_file(&log);
    let mut setup = NginxConfig::plain()?;
    setup.access_log = Some(log.clone());
    setup.cut_percent = cut_percent;
    let mut server = Some(Nginx::start(&setup)?);
    let url = server.as_ref().map(Nginx::url).unwrap_or_default();
    let options = format!("{options} --net {}", setting.net);
    let (report, usage) =
        pair::generate(&setting.brunt, name, &url, &options, |look| meanwhile(look, &setup, &mut server))?;
    if let Some(server) = server {
        server.stop();
    }
    if report.is_null() {
        return Err(format!("no report (exit {}); see {}", usage.exit, usage.output.display()));
    }
    let text = fs::read_to_string(&log).map_err(|e| format!("cannot read {}: {e}", log.display()))?;
    let with = |status: &str| text.lines().filter(|line| line.starts_with(status)).count() as f64;
    let probes = number(&report, "requests.probe").unwrap_or(0.0);
    let (answered, cut) = (with("200"), with("444"));
    // The probe may have been cut instead of answered; it is the first line.
    let probe_was_cut = text.starts_with("444");
    let (answered, cut) = if probe_was_cut { (answered, cut - probes) } else { (answered - probes, cut) };
    Ok(CountedRun { report, answered, cut, exit: usage.exit })
}

/// Checks a closed load on a healthy server.
pub(super) fn healthy(setting: &TruthSettings) -> Result<Vec<TruthCheck>, String> {
    Ok(run(setting, "log", 0, "-c 50 -d 3s", |_, _, _| {})?.equal())
}

/// Checks an open load with a number of requests on a healthy server.
pub(super) fn open(setting: &TruthSettings) -> Result<Vec<TruthCheck>, String> {
    let counted = run(setting, "log-open", 0, "-r 3000/s -n 10000", |_, _, _| {})?;
    let mut checks = counted.equal();
    checks.push(TruthCheck::equal("scheduled", Some(counted.of("scheduled")), 10_000.0));
    Ok(checks)
}

/// Checks a server that closes every tenth connection instead of answering: each is exactly one
/// failure.
pub(super) fn cut(setting: &TruthSettings) -> Result<Vec<TruthCheck>, String> {
    let counted = run(setting, "cut", 10, "-c 20 -n 20000", |_, _, _| {})?;
    let mut checks = counted.bounds();
    checks.push(TruthCheck::equal("succeeded, against the log", Some(counted.of("succeeded")), counted.answered));
    checks.push(TruthCheck::equal("failed, against the log", Some(counted.of("failed")), counted.cut));
    Ok(checks)
}

/// Checks a run in the middle of which nginx is stopped, and restarted half a second later.
pub(super) fn restart(setting: &TruthSettings) -> Result<Vec<TruthCheck>, String> {
    let mut told = None;
    let counted = run(setting, "restart", 0, "-r 2000/s -d 5s --max-connections 50", |look, setup, server| {
        if look.since > Duration::from_secs(2) && look.since < Duration::from_millis(2_400) {
            if let Some(running) = server.take() {
                running.stop();
            }
        } else if look.since > Duration::from_millis(2_500) && server.is_none() && told.is_none() {
            match Nginx::start(setup) {
                Ok(again) => *server = Some(again),
                Err(why) => told = Some(why),
            }
        }
    })?;
    if let Some(why) = told {
        return Err(why);
    }
    let mut checks = counted.bounds();
    checks.push(TruthCheck::between("failed while nginx was down", Some(counted.of("failed")), 1.0, f64::INFINITY));
    let seconds = counted.report["seconds"].as_array().map(Vec::as_slice).unwrap_or_default();
    checks.push(TruthCheck::between("seconds in the report", Some(seconds.len() as f64), 5.0, 6.0));
    // In the fourth second, nginx is back and the run is not yet near its end.
    let back = seconds.get(3).and_then(|second| number(second, "succeeded"));
    checks.push(TruthCheck::between("succeeded in the fourth second, after the restart", back, 1.0, f64::INFINITY));
    Ok(checks)
}

/// Checks a run interrupted by Ctrl-C: its report is written, is marked as interrupted, and counts
/// everything.
pub(super) fn interrupt(setting: &TruthSettings) -> Result<Vec<TruthCheck>, String> {
    let mut sent = false;
    let counted = run(setting, "interrupt", 0, "-c 50 -d 20s", |look, _, _| {
        if !sent && look.since > Duration::from_secs(2) {
            measure::signal(look.process, libc::SIGINT);
            sent = true;
        }
    })?;
    let mut checks = counted.bounds();
    checks.push(TruthCheck::equal("exit code", Some(f64::from(counted.exit)), 21.0));
    checks.push(TruthCheck::between("elapsed (s)", number(&counted.report, "elapsed_s"), 1.0, 9.0));
    Ok(checks)
}
