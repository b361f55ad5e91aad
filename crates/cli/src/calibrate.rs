//! `brunt calibrate`: the cost of brunt itself on this machine, and the lowest latency that can be measured here.
//!
//! The built-in target answers at once, so that only the cost of brunt, the kernel and the loopback remains. Users that
//! send back to back give the CPU time per request at full load, and with it the maximum rate of a core; a single user
//! gives the lowest latency measurable here. Both are saved, and later runs of HTTP/1.1 without TLS show their
//! headroom.

use std::sync::Arc;

use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use brunt_cause::complaint;
use brunt_contract::{Protocol, UsageError};
use brunt_measure::quantile::rank_of;
use brunt_plan::Trial;
use brunt_record::{Calibration, GeneratorHost};
use brunt_report::{Grade, Lang, Summary, numbers};

use crate::demo::parse_run;
use crate::run::CommandResult;
use crate::second_process::SecondProcess;
use crate::signals::Interrupts;
use crate::worker::SelfLauncher;
use crate::{kept_runs, messages, preflight, screen};
use brunt_bench::{Bench, WorkerPlaces};
use brunt_config::{CalibrateSettings, Defaults};

/// The version whose cost is measured; other versions may differ.
const VERSION: &str = env!("CARGO_PKG_VERSION");
const FILE: &str = "calibration.json";
/// Maximum size of a calibration file that is read.
const LONGEST: u64 = 64 * 1024;

/// Measures, saves and shows the cost of brunt on this machine.
///
/// If the machine was disturbed, reports that, saves nothing and returns exit code 20.
///
/// # Errors
/// Returns an error if the second process does not start, nothing is answered, or the settings are
/// invalid.
pub fn calibrate(
    asked: &CalibrateSettings,
    protocols: &[Arc<dyn Protocol>],
    defaults: &Defaults,
    host: &GeneratorHost,
    interrupts: &Interrupts,
) -> CommandResult {
    let lang = asked.language.unwrap_or_else(Lang::from_env);
    let second = SecondProcess::start("calibrate")?;
    let length = preflight::span(asked.duration).replace(' ', "");
    let users = asked.users.to_string();
    // Measures the built-in target; returns the number of workers as well.
    let measure = |users: &str, workers: Option<u32>| -> Result<(Summary, u32), UsageError> {
        let workers = workers.map(|workers| workers.to_string());
        let mut words = vec!["-c", users, "-d", &length, &second.url];
        if let Some(workers) = &workers {
            words.extend(["-w", workers]);
        }
        let mut intent = parse_run("calibrate", &words, protocols, defaults)?;
        let protocol = &*protocols[intent.protocol];
        let bench = Bench::prepare(&mut intent, protocol, host, WorkerPlaces::here(SelfLauncher))?;
        let summary = bench.measure(&Trial::from_plan(&intent.plan), interrupts.stop(), &mut [])?;
        Ok((summary, intent.plan.workers))
    };
    let (full, workers) = measure(&users, asked.workers)?;
    let (alone, _) = measure("1", Some(1))?;
    if interrupts.stop().requested() {
        return Ok(brunt_report::Exit::Interrupted.code());
    }
    let Some(found) = found(&full, &alone, (asked.users, workers), host) else {
        return Err(UsageError::new(
            "calibrate",
            complaint!(
                "the built-in target did not respond; try `brunt demo`",
                "内置服务没有响应；请试试 `brunt demo`"
            ),
        ));
    };
    let mut page = result_text(&found, lang);
    // A single user needs little of the machine: if even that run was disturbed, so was the other one.
    // A quantile beside the median may be widened by others: what is kept are the latencies without brunt's own delays.
    let was_away = alone.throughput_per_s() < MOSTLY_THERE * alone.throughput_at_most_per_s();
    let is_vague = was_away || alone.headline().quantile(0.5).grade() == Grade::Fail;
    if let Some(disturbed) = alone.trust.against().find(|found| is_vague || !found.is_of_band()) {
        page += &lang.fill(messages::CALIBRATION_DISTURBED, &[("why", &disturbed.sentence(lang))]);
        return Ok(screen::print(&format!("{page}\n"), brunt_report::Exit::NotTrusted.code(), lang));
    }
    let kept = file().map(|file| write(&file, &found).map(|()| file));
    match kept {
        Some(Ok(file)) => page += &lang.fill(messages::CALIBRATION_KEPT, &[("file", &file.display().to_string())]),
        Some(Err(why)) => page += &lang.fill(messages::CALIBRATION_NOT_KEPT, &[("why", &why.to_string())]),
        None => {
            page += &lang.fill(messages::CALIBRATION_NOT_KEPT, &[("why", "neither XDG_STATE_HOME nor HOME is set")])
        }
    }
    Ok(screen::print(&format!("{page}\n"), 0, lang))
}

/// Share of the time for which brunt must have been there for its user's responses.
const MOSTLY_THERE: f64 = 0.6;

/// Combines both measurements; `None` if one of them has no answers.
fn found(full: &Summary, alone: &Summary, (users, workers): (u32, u32), host: &GeneratorHost) -> Option<Calibration> {
    let requests = full.totals.finished_in_window;
    let headline = alone.headline();
    let undelayed = headline.undelayed();
    let service = undelayed.as_ref().unwrap_or(headline.finished);
    let quantile = |q: f64| service.at_rank(rank_of(service.count(), q)).map(|ns| ns.0 as f64 / 1e3);
    let worked = full.totals.cpu_ns.saturating_sub(full.totals.spun_ns);
    (requests > 0 && worked > 0).then_some(())?;
    Some(Calibration {
        version: VERSION.into(),
        kernel: host.kernel.clone(),
        cores: host.cores,
        at_unix_s: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
        users,
        workers,
        reached_per_s: full.throughput_per_s(),
        cpu_us: worked as f64 / 1e3 / requests as f64,
        floor_p50_us: quantile(0.5)?,
        floor_p99_us: quantile(0.99)?,
    })
}

fn result_text(found: &Calibration, lang: Lang) -> String {
    let duration = |us: f64| numbers::duration(brunt_measure::Nanos((us * 1e3) as u64));
    let facts = [
        ("rate", &*numbers::rate(found.reached_per_s)),
        ("users", &*found.users.to_string()),
        ("workers", &*found.workers.to_string()),
        ("cpu", &*duration(found.cpu_us)),
        ("most", &*numbers::rate(found.at_most_per_s(1, 1.0))),
        ("p50", &*duration(found.floor_p50_us)),
        ("p99", &*duration(found.floor_p99_us)),
    ];
    lang.fill(messages::CALIBRATION, &facts)
}

/// Returns the path of the saved calibration.
fn file() -> Option<PathBuf> {
    Some(kept_runs::directory()?.parent()?.join(FILE))
}

fn write(file: &Path, found: &Calibration) -> std::io::Result<()> {
    let Some(directory) = file.parent() else { return Ok(()) };
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let text = serde_json::to_string_pretty(found)?;
    // A concurrent reader sees either the old file or the new one.
    let fresh = file.with_extension(format!("{}.new", std::process::id()));
    let mut out = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
    let written = out.write_all(text.as_bytes()).and_then(|()| std::fs::rename(&fresh, file));
    written.inspect_err(|_| drop(std::fs::remove_file(&fresh)))
}

/// Returns the saved calibration, if the machine and the version are still the same.
pub fn known(host: &GeneratorHost) -> Option<Calibration> {
    known_in(&file()?, host)
}

fn known_in(file: &Path, host: &GeneratorHost) -> Option<Calibration> {
    let size = std::fs::metadata(file).ok()?.len();
    let text = (size <= LONGEST).then(|| std::fs::read_to_string(file).ok())??;
    let found: Calibration = serde_json::from_str(&text).ok()?;
    let same = found.version == VERSION && found.kernel == host.kernel && found.cores == host.cores;
    (same && found.cpu_us > 0.0).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_is_known_again_on_the_same_machine_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("brunt").join(FILE);
        let host = GeneratorHost { kernel: "Linux 6".into(), cores: 2.0, ..GeneratorHost::default() };
        assert_eq!(known_in(&file, &host), None);
        let found = Calibration {
            version: VERSION.into(),
            kernel: "Linux 6".into(),
            cores: 2.0,
            cpu_us: 4.5,
            ..Calibration::default()
        };
        write(&file, &found).unwrap();
        assert_eq!(known_in(&file, &host), Some(found.clone()));
        assert_eq!(known_in(&file, &GeneratorHost { cores: 1.0, ..host.clone() }), None);
        write(&file, &Calibration { version: "0.0.1".into(), ..found }).unwrap();
        assert_eq!(known_in(&file, &host), None);
        std::fs::write(&file, "{").unwrap();
        assert_eq!(known_in(&file, &host), None);
        assert_eq!(std::fs::read_dir(file.parent().unwrap()).unwrap().count(), 1, "nothing else is left there");
    }
}
