//! Tests of results by name: the names of requests, totals over names, and objectives for names.

use brunt_tests::report::report;
use brunt_tests::{TargetProcess, TestReport, brunt};

/// Returns the name of each row, with how many of its requests were due, finished, failed and stayed unfinished.
fn rows(report: &TestReport) -> Vec<(String, [u64; 4])> {
    let rows = report.at("by_name").as_array().expect("a list");
    let count = |row: &serde_json::Value, key: &str| row[key].as_u64().expect("a count");
    rows.iter()
        .map(|row| {
            let name = row["name"].as_str().expect("a name").to_owned();
            (name, ["scheduled", "succeeded", "failed", "unfinished"].map(|key| count(row, key)))
        })
        .collect()
}

fn names(report: &TestReport) -> Vec<String> {
    rows(report).into_iter().map(|(name, _)| name).collect()
}

fn file(directory: &std::path::Path, name: &str, text: &str) -> String {
    let path = brunt_tests::target::text(directory, name);
    std::fs::write(&path, text).expect("a file can be written");
    path
}

#[test]
fn names_add_up_to_the_run_in_threads_and_in_processes() {
    let (target, directory) = (TargetProcess::healthy(), tempfile::tempdir().unwrap());
    let [fast, slow, bad] = ["", "delay/3ms", "status/503"].map(|path| target.url(path));
    let urls =
        format!("urls:\n  - url: {fast}\n    name: home\n    weight: 2\n  - {slow}\n  - {bad}\n  - {slow}?again\n");
    let plan = file(directory.path(), "plan.yaml", &urls);
    for processes in [&[][..], &["--processes", "2"][..]] {
        let report = report(&[&["-n", "600", "-c", "8", "-w", "2", &plan][..], processes].concat());
        let rows = rows(&report);
        assert_eq!(names(&report), ["home", "GET /delay/3ms", "GET /status/503"], "{report}");
        let sums = [0, 1, 2, 3].map(|at| rows.iter().map(|(_, counts)| counts[at]).sum::<u64>());
        assert_eq!(sums, report.requests(), "{report}");
        assert_eq!(rows[2].1[2], report.count("status.503"), "{report}");
        assert!(rows[0].1[2] + rows[1].1[2] == 0 && rows[2].1[1] == 0, "{report}");
        assert!(report.number("by_name.1.latency.min_us") >= 3000.0, "{report}");
        assert_eq!(report.at("by_name.2.examples.0.status"), "503", "{report}");
        assert!(report.at("by_name.2.examples.0.sent").as_str().unwrap().contains("GET /status/503"), "{report}");
    }
}

#[test]
fn requests_are_called_what_was_said_or_what_they_ask() {
    let (target, directory) = (TargetProcess::healthy(), tempfile::tempdir().unwrap());
    let [home, echo] = ["", "echo"].map(|path| target.url(path));
    let commands = format!(
        "# name: front page\ncurl {home}\n# what a visitor does\ncurl {echo} -d a=1\ncurl '{echo}?again' -d a=2 # name: again\n"
    );
    let shop = file(directory.path(), "shop.sh", &commands);
    let report = report(&["-n", "90", "-c", "3", "--curl-file", &shop]);
    assert_eq!(names(&report), ["front page", "POST /echo", "again"], "{report}");
}

#[test]
fn slots_stay_unfilled_in_a_name() {
    let target = TargetProcess::healthy();
    let report = report(&["-n", "40", "-c", "2", &target.url("bytes/{counter}?page={random 1..9}"), &target.url("")]);
    assert_eq!(names(&report), ["GET /bytes/{counter}", "GET /"], "{report}");
}

#[test]
fn commands_of_other_protocols_have_names_too() {
    let target = TargetProcess::healthy();
    let url = format!("redis://{}", target.host());
    let commands = ["--command", "SET key {counter}", "--command", "GET key", "--command", "set other 1"];
    let report = report(&[&["-n", "90", "-c", "3", &url][..], &commands].concat());
    assert_eq!(names(&report), ["SET", "GET"], "{report}");
    let rows = rows(&report);
    assert_eq!(rows[0].1[0] + rows[1].1[0], 90, "{report}");
}

#[test]
fn a_run_of_one_name_has_no_rows_and_its_objectives_may_name_it() {
    let target = TargetProcess::healthy();
    let rule = "failed{checkout}<1%";
    let report = report(&["-n", "50", "--name", "checkout", "--objective", rule, &target.url("")]);
    assert!(names(&report).is_empty(), "{report}");
    assert_eq!(report.at("objectives.0.met"), true, "{report}");
    let text = brunt(["-n", "50", &target.url("?a=1"), &target.url("?a=2")]);
    assert!(!text.out.contains("By name"), "{}", text.out);
}

#[test]
fn objectives_of_names_decide_the_exit_code_and_unknown_names_are_refused() {
    let target = TargetProcess::healthy();
    let urls = [target.url("status/503"), target.url("")];
    let judged = |rule: &str| brunt(["-v", "-n", "200", "--objective", rule, &urls[0], &urls[1]]);
    judged("failed{GET /}<1%").with_code(0).containing("GET /status/503 · wrong_status");
    judged("failed{GET /status/503}<1%").with_code(10).containing("By name");
    let right = "this run has no request named `GET /statsu/503`; write {GET /status/503} if you meant that";
    judged("failed{GET /statsu/503}<1%").with_code(64).containing(right);
    let two = brunt(["-n", "2", "--name", "both", &urls[0], &urls[1]]);
    two.with_code(64).containing("--name: is for a single URL, and there are 2");
}
