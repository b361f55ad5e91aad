//! Tests of the counters that a run collects of named services and of other hosts.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use brunt_tests::report::report;
use brunt_tests::target::free_port;
use brunt_tests::{TargetProcess, brunt};
use serde_json::Value;

/// Returns the samples in a record by host. Returns `None` if zstd is not installed.
pub fn samples(record: &Path) -> Option<BTreeMap<String, Vec<Value>>> {
    let Ok(output) = Command::new("zstdcat").arg(record).output() else {
        brunt_tests::skip("zstd is not installed (cargo xtask test installs it)");
        return None;
    };
    let text = String::from_utf8(output.stdout).expect("text");
    let mut found: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for event in text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line of JSON")) {
        if event["event"] == "counters" {
            found.entry(event["host"].as_str().expect("a name").to_owned()).or_default().push(event);
        }
    }
    Some(found)
}

/// Returns `true` if any of the samples has this counter.
pub fn tell(samples: &[Value], name: &str) -> bool {
    samples.iter().any(|sample| !sample["values"][name].is_null())
}

#[test]
fn a_service_that_is_named_is_counted_and_no_other() {
    let (target, other) = (TargetProcess::healthy(), TargetProcess::healthy());
    let directory = tempfile::tempdir().expect("a folder");
    let record = directory.path().join("kept.jsonl");
    let path = record.display().to_string();
    let (url, pid) = (target.url(""), other.id().to_string());
    let port = other.host().rsplit(':').next().expect("a port").to_owned();
    for (option, value) in [("--watch-pid", &pid), ("--watch-port", &port)] {
        report(&["-r", "50/s", "-d", "2s", "--record", &path, option, value, &url]);
        let Some(samples) = samples(&record) else { return };
        let told = samples.into_values().next().expect("this machine was counted");
        assert!(tell(&told, &format!("service.{pid}.cpu")), "{option}: {told:?}");
        assert!(!tell(&told, &format!("service.{}.cpu", target.id())), "{option}: {told:?}");
    }
}

#[test]
fn a_watched_process_that_ends_is_told() {
    let target = TargetProcess::healthy();
    // The test reaps the process only after the run, so it stays a zombie until then.
    let mut brief = Command::new("sleep").arg("1").spawn().expect("a process");
    let document = report(&["-r", "50/s", "-d", "3s", "--watch-pid", &brief.id().to_string(), &target.url("")]);
    brief.wait().expect("it ended");
    let notices = document.at("notices").as_array().expect("notices");
    assert!(notices.iter().any(|notice| notice["code"] == "service_ended"), "{notices:?}");
}

#[test]
fn what_cannot_be_watched_is_refused_before_anything_is_sent() {
    let target = TargetProcess::healthy();
    let url = target.url("");
    let port = free_port().to_string();
    for (option, value, said) in [
        ("--watch-pid", "4194304", "--watch-pid: process 4194304: there is no such process"),
        ("--watch-port", &port, &format!("--watch-port: port {port}: nothing listens there")),
    ] {
        brunt(["-r", "50/s", "-d", "1s", option, value, &url]).with_code(64).containing(said);
    }
    assert_eq!(target.requests(), 0);
}
