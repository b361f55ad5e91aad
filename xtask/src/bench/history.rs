//! The dated line a bench leaves in `benches/history.jsonl`, with what is needed to judge it later: the machine, the
//! kernel and the state of the repository.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::Settings;
use crate::places;

/// Appends the results of one scenario.
pub(super) fn keep(scenario: &str, results: Value, settings: &Settings, together: f64) -> Result<(), String> {
    let line = json!({
        "date": date(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs())),
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

/// `2026-01-31T12:00:00Z` of seconds since 1970 (days to civil date after H. Hinnant, chrono-compatible algorithms).
fn date(unix: u64) -> String {
    let (days, rest) = (unix / 86_400 + 719_468, unix % 86_400);
    let era_day = days % 146_097;
    let year_of_era = (era_day - era_day / 1_460 + era_day / 36_524 - era_day / 146_096) / 365;
    let day_of_year = era_day - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + days / 146_097 * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

fn first_line(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().lines().next().unwrap_or_default().to_owned()
}

fn cpu_model() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find(|line| line.starts_with("model name"));
    model.and_then(|line| line.split_once(':')).map(|(_, name)| name.trim().to_owned()).unwrap_or_default()
}

/// The commit that was measured; `+` where the tree differs from it.
fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).current_dir(places::root()).output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short", "HEAD"]).unwrap_or_default();
    let changed = git(&["status", "--porcelain", "--untracked-files=no", "crates", "Cargo.lock"]);
    if changed.is_some_and(|changed| !changed.is_empty()) { format!("{commit}+") } else { commit }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        let cases = [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (1_767_268_800, "2026-01-01T12:00:00Z"),
        ];
        for (unix, expected) in cases {
            assert_eq!(date(unix), expected);
        }
    }
}
