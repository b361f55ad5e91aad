//! The dated line that a benchmark appends to `benches/history.jsonl`, with the machine, the kernel and the commit, so
//! that it can be interpreted later.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::process::Command;

use serde_json::{Value, json};

use super::BenchSettings;
use crate::{places, shell};

/// Appends the results of one scenario.
pub(super) fn keep(scenario: &str, results: Value, settings: &BenchSettings, together: f64) -> Result<(), String> {
    let line = json!({
        "date": date()?,
        "scenario": scenario,
        "rounds": settings.rounds,
        "seconds": settings.seconds,
        "commit": commit(),
        "kernel": first_line("/proc/sys/kernel/osrelease"),
        "cpu": cpu_model(),
        "two_cores_speed": (together * 100.0).round() / 100.0,
        "results": results,
    });
    let path = places::root().join("benches").join("history.jsonl");
    let told = |e| format!("cannot write {}: {e}", path.display());
    fs::create_dir_all(places::root().join("benches")).map_err(told)?;
    let mut file = OpenOptions::new().create(true).append(true).open(&path).map_err(told)?;
    writeln!(file, "{line}").map_err(told)
}

/// Returns the current date as `2026-01-31T12:00:00Z`.
fn date() -> Result<String, String> {
    Ok(shell::capture(Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ"]))?.trim().to_owned())
}

fn first_line(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().lines().next().unwrap_or_default().to_owned()
}

fn cpu_model() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find(|line| line.starts_with("model name"));
    model.and_then(|line| line.split_once(':')).map(|(_, name)| name.trim().to_owned()).unwrap_or_default()
}

/// Returns the measured commit, with `+` if the tree differs from it.
fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).current_dir(places::root()).output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short", "HEAD"]).unwrap_or_default();
    let changed = git(&["status", "--porcelain", "--untracked-files=no", "crates", "Cargo.lock"]);
    if changed.is_some_and(|changed| !changed.is_empty()) { format!("{commit}+") } else { commit }
}
