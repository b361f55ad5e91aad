//! Tests of the record: it is written during the run, readable with standard tools, and can be rendered again later.

use std::io::Read as _;
use std::process::Command;

use base64::Engine as _;
use brunt_tests::program::until;
use brunt_tests::report::report;
use brunt_tests::{ScriptedPeer, TargetProcess, TestReport, brunt, prepare, start};
use rustix::process::Signal;
use serde_json::Value;

/// Returns the lines of a record, read with the standard tool zstdcat.
fn lines(path: &str) -> Option<Vec<Value>> {
    let output = Command::new("zstdcat").arg(path).output().ok()?;
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    // A truncated end is a line without a line feed.
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    Some(whole.map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect())
}

#[test]
fn zstdcat_shows_one_json_object_a_line() {
    let (target, directory) = (TargetProcess::healthy(), tempfile::tempdir().unwrap());
    let file = brunt_tests::target::text(directory.path(), "run.zst");
    let run = report(&["-n", "100", "-c", "2", "--record", &file, &target.address]).with_code(0);
    let Some(lines) = lines(&file) else { return brunt_tests::skip("zstd is not installed") };
    assert!(lines.iter().all(Value::is_object), "{lines:?}");
    let text = lines.iter().map(ToString::to_string).collect::<String>();
    assert!(lines[0].to_string().contains("\"schema\""), "the first line says its version: {}", lines[0]);
    assert!(text.contains("\"command\"") && lines.len() >= 4, "{text}");
    assert_eq!(run.count("requests.succeeded"), 100);
}

#[test]
fn a_record_prints_the_same_report_again_in_every_format() {
    let (target, directory) = (TargetProcess::healthy(), tempfile::tempdir().unwrap());
    let file = brunt_tests::target::text(directory.path(), "run.zst");
    for (format, mark) in [
        ("json", "\"schema\""),
        ("csv", ","),
        ("markdown", "### Service time at 3 users"),
        ("junit", "<testsuite"),
        ("text", "Service time at 3 users"),
        ("html", "id=\"lines\">eN"),
    ] {
        let document = brunt_tests::target::text(directory.path(), format);
        let objective = ["--objective", "failed<1%", "--objective", "p50<10s"];
        let line = ["-n", "100", "-c", "3", "--record", &file, "--format", format, "-o", &document, &target.address];
        brunt(objective.iter().chain(&line)).with_code(0);
        let first = std::fs::read_to_string(&document).unwrap();
        assert!(first.contains(mark), "{format}:\n{first}");
        let again = brunt_tests::target::text(directory.path(), "again");
        brunt(["report", &file, "--format", format, "-o", &again]).with_code(0);
        assert_eq!(first, std::fs::read_to_string(&again).unwrap(), "{format}");
        if format != "text" {
            assert_eq!(brunt(["report", &file, "--format", format]).with_code(0).out, first, "{format}");
        }
    }
}

/// Returns the lines that a page draws, unpacked as a browser does.
fn drawn(page: &str) -> Vec<Value> {
    let text = page.split_once("id=\"lines\">").and_then(|(_, rest)| rest.split_once("</script>")).expect("its data").0;
    let packed = base64::engine::general_purpose::STANDARD.decode(text).expect("base64");
    let mut all = String::new();
    flate2::read::ZlibDecoder::new(&*packed).read_to_string(&mut all).expect("deflate");
    all.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn records_are_laid_over_each_other_on_a_page() {
    let (target, directory) = (TargetProcess::healthy(), tempfile::tempdir().unwrap());
    let file = |name: &str| brunt_tests::target::text(directory.path(), name);
    for name in ["a.zst", "b.zst"] {
        brunt(["-n", "50", "-c", "2", "--record", &file(name), "--quiet", &target.address]).with_code(0);
    }
    let page = file("compare.html");
    brunt(["report", &file("a.zst"), &file("b.zst"), "-o", &page, "--quiet"]).with_code(0);
    let drawn = drawn(&std::fs::read_to_string(&page).unwrap());
    let heads: Vec<&Value> = drawn.iter().filter(|line| line["run"] == 1).collect();
    for (head, name) in heads.iter().zip(["a.zst", "b.zst"]) {
        let told = TestReport::of(brunt(["report", &file(name), "--format", "json"]).with_code(0)).json;
        assert_eq!(head["report"]["unix_ms"], told["unix_ms"], "{name}");
        for figure in ["requests", "throughput_per_s", "latency", "status"] {
            assert_eq!(head["report"][figure], told[figure], "{figure} of {name}");
        }
    }
    let succeeded: Vec<u64> = drawn
        .split(|line| line["run"] == 1)
        .skip(1)
        .map(|lines| lines.iter().filter_map(|line| line["s"][5].as_u64()).sum())
        .collect();
    assert_eq!(succeeded, [50, 50], "seconds of each run");
    // Text, JSON and the page agree about the same pair.
    let records = [file("a.zst"), file("b.zst")];
    let compared = |more: &[&str]| {
        let line = ["report", &records[0], &records[1]].into_iter().chain(more.iter().copied());
        brunt(line)
    };
    let json: Value = serde_json::from_str(&compared(&["--format", "json"]).with_code(0).out).expect("JSON");
    assert_eq!(drawn[0]["compared"], json["compared"], "the page draws what the JSON has");
    assert_eq!(json["runs"][1]["name"], *records[1]);
    let text = compared(&[]).with_code(0).out;
    let figures = json["compared"][0]["figures"].as_array().expect("figures");
    let table = text.split_once("B against A").expect("a table").1.lines().skip(2);
    for (figure, row) in figures.iter().zip(table) {
        let word = figure["verdict"].as_str().expect("a word").replace('_', " ");
        assert!(row.ends_with(&format!("  {word}")), "{row}: {word}");
    }
    let said = "FILE: several records cannot be compared as csv";
    let ended = compared(&["--format", "csv"]).with_code(64);
    assert!(ended.err.contains(said), "{ended:?}");
    let many = vec![file("a.zst"); 7];
    let line = ["report", "-o", &page].into_iter().chain(many.iter().map(String::as_str));
    let ended = brunt(line).with_code(64);
    assert!(ended.err.contains("7 records are too many to compare; name two to six"), "{ended:?}");
}

#[test]
fn a_run_that_is_killed_keeps_all_but_its_last_second() {
    let (target, directory) = (TargetProcess::healthy(), tempfile::tempdir().unwrap());
    let file = brunt_tests::target::text(directory.path(), "run.zst");
    let running = start(["-r", "500/s", "--arrivals", "constant", "-d", "60s", "--record", &file, &target.address]);
    until("two seconds have passed for the target", || target.requests() > 1_250);
    running.signal(Signal::KILL);
    let ended = running.end();
    assert_eq!(ended.code, None, "a signal ended it");
    let shown = brunt(["report", &file]).with_code(21);
    assert!(shown.out.contains("Response time"), "{}", shown.out);
    let kept = TestReport::of(brunt(["report", &file, "--format", "json"]).with_code(21));
    assert_eq!(kept.at("ended"), "cut_off", "{kept}");
    assert!(kept.count("requests.succeeded") >= 490, "only {kept}");
}

#[test]
fn the_last_run_is_kept_by_itself() {
    let (target, home) = (TargetProcess::healthy(), tempfile::tempdir().unwrap());
    let none = prepare(["report"]).env("XDG_STATE_HOME", home.path()).run().with_code(64);
    assert!(none.err.contains("no run has been saved yet"), "{none:?}");
    prepare(["-n", "77", "-c", "7", "--quiet", &target.address]).env("XDG_STATE_HOME", home.path()).run().with_code(0);
    let last = prepare(["report"]).env("XDG_STATE_HOME", home.path()).run().with_code(0);
    assert!(last.out.contains("77 succeeded"), "{}", last.out);
}

#[test]
fn what_is_no_record_is_said_in_a_sentence() {
    let directory = tempfile::tempdir().unwrap();
    for (name, content) in [("text", &b"no record"[..]), ("empty", b""), ("half", &[0x28, 0xb5, 0x2f, 0xfd, 0, 0])] {
        let file = brunt_tests::target::text(directory.path(), name);
        std::fs::write(&file, content).unwrap();
        let ended = brunt(["report", &file]);
        assert!(matches!(ended.code, Some(64 | 21)), "{name}: {ended:?}");
        assert!(!ended.err.contains("panicked"), "{ended:?}");
        assert!(ended.err.lines().count() <= 1, "{ended:?}");
    }
    let missing = brunt(["report", "/no/such/file"]).with_code(64);
    assert_eq!(missing.err.lines().count(), 1, "{missing:?}");
}

#[test]
fn a_full_disk_costs_the_record_and_not_the_run() {
    let target = TargetProcess::healthy();
    let report = report(&["-n", "200", "-c", "2", "--record", "/dev/full", &target.address]);
    assert_eq!(report.requests(), [200, 200, 0, 0], "{report}");
    assert!(report.notices().contains(&"disk_full".to_string()), "{report}");
    // This is reported even if nobody watches the screen.
    assert!(report.err.contains("--record /dev/full is not complete"), "{report}");
    report.with_code(21);
}

#[test]
fn a_disk_that_fills_up_during_the_run_keeps_what_it_could() {
    let directory = tempfile::tempdir().unwrap();
    let mounted = brunt_tests::is_root()
        && Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=16k", "none"])
            .arg(directory.path())
            .status()
            .is_ok_and(|status| status.success());
    if !mounted {
        return brunt_tests::skip("only root can mount a small file system");
    }
    let target = TargetProcess::healthy();
    let file = brunt_tests::target::text(directory.path(), "run.zst");
    let line = ["-r", "4000/s", "-d", "3s", "--record", &file, "--quiet", "--format", "json", &target.address];
    let ended = prepare(line).run();
    let kept = prepare(["report", &file, "--format", "json"]).run();
    let unmounted = Command::new("umount").arg(directory.path()).status();
    assert!(unmounted.is_ok_and(|status| status.success()));
    let run = TestReport::of(ended);
    assert!(run.count("requests.succeeded") > 1000, "{run}");
    if run.notices().contains(&"disk_full".to_string()) {
        let kept = TestReport::of(kept).with_code(21);
        assert!(kept.count("requests.succeeded") <= run.count("requests.succeeded"), "{kept}");
    }
}

#[test]
fn objectives_are_judged_and_named_in_junit() {
    let target = TargetProcess::with(&["--delay", "20ms"]);
    let directory = tempfile::tempdir().unwrap();
    let file = brunt_tests::target::text(directory.path(), "run.xml");
    let rules = ["--objective", "p99<10s", "--objective", "p50<1ms", "--objective", "failed<0.1%"];
    let line = ["-n", "100", "-c", "10", "--format", "junit", "-o", &file, "--quiet", &target.address];
    let ended = brunt(rules.iter().chain(&line));
    // A machine that disturbs the run makes it untrusted, which takes precedence over an objective.
    assert!(matches!(ended.code, Some(10 | 20)), "{ended:?}");
    let xml = std::fs::read_to_string(&file).unwrap();
    // One test case for each objective, and one for the trust in all of them.
    assert_eq!(xml.matches("<testcase").count(), 4, "{xml}");
    assert_eq!(xml.matches("<failure").count(), if ended.code == Some(10) { 1 } else { 2 }, "{xml}");
    assert!(xml.contains("p99&lt;10s") && xml.contains("p50&lt;1ms"), "{xml}");
    let met = report(&["-n", "100", "-c", "10", "--objective", "rate>=1/s", "--objective", "max<10s", &target.address]);
    let met = met.with_code(0);
    assert!(met.json["objectives"].as_array().unwrap().iter().all(|o| o["met"] == true), "{met}");
    let missed = report(&["-n", "100", "-c", "10", "--objective", "rate>=1000000/s", &target.address]);
    assert!(matches!(missed.code, 10 | 20), "{missed}");
    assert_eq!(missed.at("objectives.0.met"), false, "{missed}");
}

#[test]
fn failures_miss_a_latency_objective_however_fast_they_were() {
    let target = TargetProcess::healthy();
    let report = report(&["-n", "50", "-c", "2", "--objective", "p99<10s", &target.url("status/500")]);
    assert!(matches!(report.code, 10 | 20), "{report}");
    assert_eq!(report.at("objectives.0.met"), false, "{report}");
}

#[test]
fn secrets_are_in_no_output_unless_asked() {
    let directory = tempfile::tempdir().unwrap();
    let run = |keep: &[&str]| {
        let peer = ScriptedPeer::answering("HTTP/1.1 500 Oh\r\nSet-Cookie: s=hush-set\r\nContent-Length: 0\r\n\r\n");
        let (file, document) = (directory.path().join("run.zst"), directory.path().join("run.json"));
        let url = format!("http://me:hush-user@{}/?token=hush-query", peer.host());
        let secrets = ["-H", "Cookie: s=hush-cookie", "-H", "X-Api-Key: hush-key"];
        let line = ["-n", "4", "-c", "1", "--format", "json", "-o", document.to_str().unwrap()];
        let record = ["--record", file.to_str().unwrap(), &url];
        let ended = brunt(secrets.iter().chain(keep).chain(&line).chain(&record));
        let events = lines(file.to_str().unwrap()).map(|lines| Value::Array(lines).to_string()).unwrap_or_default();
        // All secrets must have been sent.
        let heard = String::from_utf8_lossy(&peer.received()[0]).into_owned();
        assert!(heard.contains("hush-cookie") && heard.contains("hush-query") && heard.contains("hush-key"), "{heard}");
        [ended.out, ended.err, std::fs::read_to_string(&document).unwrap(), events]
    };
    for (place, text) in ["standard output", "standard error", "the document", "the record"].iter().zip(run(&[])) {
        let at = text.find("hush").map(|at| &text[at.saturating_sub(80)..(at + 20).min(text.len())]);
        assert_eq!(at, None, "a secret in {place}");
        // base64("me:hush-user")
        assert!(!text.contains("bWU6aHVzaC11c2Vy"), "the encoded password in {place}");
    }
    let kept = run(&["--keep-secrets"]);
    assert!(kept[2].contains("hush-query") && kept[2].contains("hush-cookie"), "{}", kept[2]);
}

#[test]
fn a_record_whose_counts_were_changed_contradicts_itself_and_is_no_bug_of_ours() {
    let (target, directory) = (TargetProcess::healthy(), tempfile::tempdir().unwrap());
    let file = brunt_tests::target::text(directory.path(), "run.zst");
    report(&["-n", "100", "-c", "2", "--record", &file, &target.address]).with_code(0);
    let Some(mut lines) = lines(&file) else { return brunt_tests::skip("zstd is not installed") };
    let second = lines.iter_mut().find(|line| line["event"] == "second").expect("a second");
    second["failed"] = 7.into();
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(&file, text).unwrap();
    let ended = brunt(["report", &file]).with_code(64);
    assert!(ended.err.contains("contradicts itself: 100 scheduled, but 100 succeeded, 7 failed"), "{ended:?}");
    assert_eq!(ended.err.lines().count(), 1, "{ended:?}");
}
