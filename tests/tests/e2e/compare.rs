//! Tests of `brunt compare A B`: a slower side, equal sides, sides with options of their own, and what it says of bad input.

use brunt_tests::program::until;
use brunt_tests::{TargetProcess, brunt, start};
use rustix::process::Signal;
use serde_json::Value;

fn compared(line: &[&str], code: i32) -> Value {
    let ended = brunt(["compare", "--format", "json"].iter().chain(line)).with_code(code);
    serde_json::from_str(&ended.out).expect("JSON")
}

fn verdict<'a>(found: &'a Value, figure: &str) -> &'a str {
    let all = found["changes"].as_array().expect("changes");
    all.iter().find(|one| one["name"] == figure).and_then(|one| one["verdict"].as_str()).expect("a verdict")
}

#[test]
fn a_side_of_twice_the_delay_is_worse_and_exits_11() {
    let (quick, slow) = (TargetProcess::with(&["--delay", "20ms"]), TargetProcess::with(&["--delay", "40ms"]));
    let found = compared(&["-c", "2", "-d", "1s", &quick.address, &slow.address], 11);
    assert_eq!([verdict(&found, "p50_us"), verdict(&found, "throughput_per_s")], ["worse", "worse"], "{found}");
    let sides = found["runs"].as_array().unwrap().iter().map(|run| run["side"].as_str().unwrap()).collect::<String>();
    assert_eq!(sides, "ABBAABBAABBA");
    let per_run = found["changes"][0]["medians"][0].as_f64().expect("a rate");
    assert!(quick.requests() as f64 > 5.0 * per_run, "all runs reach the server");
}

#[test]
fn equal_sides_are_no_regression() {
    let target = TargetProcess::with(&["--delay", "20ms"]);
    let line = ["-c", "2", "-d", "1s", "--runs", "4", "--margin", "30%", &target.address, &target.address];
    let found = compared(&line, 0);
    assert_eq!(verdict(&found, "p50_us"), "same", "{found}");
    assert_eq!(verdict(&found, "failed_share"), "same", "{found}");
}

#[test]
fn a_side_in_quotes_has_options_of_its_own_and_commands_run_around_it() {
    let target = TargetProcess::with(&["--delay", "10ms"]);
    let dir = tempfile::tempdir().expect("a directory");
    let log = dir.path().join("log");
    let note = format!("echo deployed >> {}", log.display());
    let two = format!("-c 2 {}", target.address);
    let line = ["compare", "-c", "1", "-d", "1s", "--runs", "2", "--before-b", &note, &target.address, &two];
    let ended = brunt(line).with_code(20);
    assert!(ended.out.contains("show a spread, but no interval"), "{ended:?}");
    assert!(ended.out.contains(&format!("{} (A) with -c 2 {} (B)", target.address, target.address)), "{ended:?}");
    let rates: Vec<&str> = ended.out.lines().filter(|line| line.contains("throughput  ")).collect();
    assert_eq!(rates.len(), 1, "{ended:?}");
    // Before the first answer, and before each of the two runs.
    assert_eq!(std::fs::read_to_string(log).expect("a log").lines().count(), 3);
}

#[test]
fn records_are_compared_as_by_report() {
    let target = TargetProcess::healthy();
    let dir = tempfile::tempdir().expect("a directory");
    let [a, b] = ["a", "b"].map(|name| dir.path().join(name).with_extension("bruntrec").display().to_string());
    for file in [&a, &b] {
        brunt(["-c", "1", "-n", "20", "--record", file, "--trust", "warn", &target.address]).with_code(0);
    }
    let [ours, theirs] = ["compare", "report"].map(|command| brunt([command, &a, &b]).with_code(0).out);
    assert_eq!(ours, theirs);
}

#[test]
fn an_interrupted_comparison_ends_with_what_is_known() {
    let target = TargetProcess::healthy();
    let running = start(["compare", "-d", "2s", "-r", "50/s", &target.address, &target.address]);
    until("the second run has begun", || target.requests() > 130);
    running.signal(Signal::INT);
    let ended = running.end().with_code(21);
    assert!(ended.out.contains("of 12 runs were made"), "{ended:?}");
}

#[test]
fn a_side_that_fails_every_request_is_worse() {
    let (good, bad) = (TargetProcess::healthy(), TargetProcess::with(&["--error-rate", "100%"]));
    let line = ["compare", "-c", "2", "-d", "500ms", "--runs", "4", &good.address, &bad.address];
    let ended = brunt(line).with_code(11);
    assert!(ended.out.contains("B is worse than A") && ended.out.contains("+100.00 points"), "{ended:?}");
}

#[test]
fn a_baseline_in_a_file_is_compared_with() {
    let (fast, slow) = (TargetProcess::with(&["--delay", "2ms"]), TargetProcess::with(&["--delay", "4ms"]));
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("perf.json").display().to_string();
    let line = |more: &[&str], url: &str| {
        let words = ["compare", "--baseline", &file, "-c", "2", "-d", "1s", "--runs", "4", "--trust", "warn"];
        brunt(words.iter().chain(more).copied().chain([url]))
    };
    let none = line(&[], &fast.address).with_code(64);
    assert!(none.err.contains("write it with --update"), "{none:?}");
    let written = line(&["--update"], &fast.address).with_code(0);
    assert!(written.out.contains("There is no baseline to compare with yet."), "{written:?}");
    assert!(written.out.contains(&format!("4 runs written to {file} as the baseline.")), "{written:?}");
    assert!(std::fs::metadata(&file).expect("written").len() < 20_000, "small enough for a repository");
    let slower = line(&[], &slow.address).with_code(11);
    assert!(slower.out.contains("B is worse than A") && slower.out.contains("A is the baseline of "), "{slower:?}");
    assert!(slower.out.contains("4 runs in"), "those of the baseline are not made again: {slower:?}");
    line(&["--update"], &slow.address).with_code(0);
    let same = line(&[], &slow.address);
    assert!(matches!(same.code, Some(0 | 20)) && same.out.contains("p50 (service time)  4."), "{same:?}");
    let other = brunt(["compare", "--baseline", &file, "-c", "3", "-d", "1s", &fast.address]).with_code(64);
    assert!(other.err.contains("--baseline: the file is of runs with another load"), "{other:?}");
}

#[test]
fn bad_input_is_one_sentence() {
    let url = "http://127.0.0.1:9/";
    let table: [(&[&str], &str); 8] = [
        (&["compare", "--update", url, url], "--update: needs the file to write"),
        (&["compare", "--baseline", "x", url, url], "--baseline: 2 sides given"),
        (&["compare", url], "compare: 1 given; name two sides"),
        (&["compare", url, url, url], "compare: 3 given; name two sides"),
        (&["compare", "--runs", "0", url, url], "--runs: `0` is not a number of runs; use 1 to 100"),
        (&["compare", "--margin", "5", url, url], "--margin: `5` is not a margin"),
        (&["compare", "--hold", "1s", url, url], "--hold: is for a single run, not for a comparison"),
        (&["compare", "-o", "/none/x.html", url, url], "-o: /none/x.html cannot be written"),
    ];
    for (line, said) in table {
        let ended = brunt(line).with_code(64);
        assert!(ended.err.contains(said) && ended.err.lines().count() == 1, "{line:?}: {ended:?}");
    }
}
