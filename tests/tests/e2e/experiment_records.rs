//! Tests of the records of experiments: told again in every format, gone on with after Ctrl-C or a crash, and what cannot be.

use brunt_tests::program::{prepare, until};
use brunt_tests::{TargetProcess, brunt, start};
use rustix::process::Signal;
use serde_json::Value;

/// A sweep of three cells of a second each.
const SWEEP: [&str; 6] = ["sweep", "-c", "1,2,4", "-d", "1s", "--trust=warn"];

fn line<'a>(more: &[&'a str]) -> Vec<&'a str> {
    SWEEP.iter().chain(more).copied().collect()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn a_record_is_told_again_in_every_format() {
    let (target, dir) = (TargetProcess::healthy(), tempfile::tempdir().expect("a directory"));
    let file = |name: &str| dir.path().join(name).display().to_string();
    let (record, url) = (file("s.bruntexp"), target.url("?delay=2ms"));
    let made = brunt(line(&["--record", &record, "--format", "json", &url])).with_code(0);
    let again = brunt(["report", "--format", "json", &record]).with_code(0);
    assert_eq!(again.out, made.out);
    let kept = ["s.csv", "s.md", "s.xml", "s.html", "s.txt"].map(file);
    let mut asked = vec!["report", &record];
    kept.iter().for_each(|file| asked.extend(["-o", file]));
    let shown = brunt(asked).with_code(0);
    assert!(shown.out.contains("3 runs in") && shown.out.contains("users 4"), "{shown:?}");
    let read = |file: &String| std::fs::read_to_string(file).expect("written");
    let [csv, markdown, junit, html, text] = kept.each_ref().map(read);
    assert_eq!(csv.lines().count(), 4, "{csv}");
    assert!(csv.starts_with("users,runs,throughput_per_s,"), "{csv}");
    assert!(markdown.starts_with("## Sweep of http://127.0.0.1"), "{markdown}");
    assert!(junit.contains("tests=\"3\" failures=\"0\" errors=\"0\""), "{junit}");
    assert!(html.starts_with("<!doctype html>") && !html.contains("<link"), "a page that loads nothing");
    assert!(text.contains("efficiency"), "{text}");
    let run = brunt(["report", "--run", "2", "--format", "json", &record]).with_code(0);
    assert_eq!(json(&run.out)["plan"]["load"]["stages"][0]["from"], 2.0, "the second run has two users");
    let zh = brunt(["report", "--lang", "zh", &record]).with_code(0);
    assert!(zh.out.contains("共 3 次运行"), "{zh:?}");
}

#[test]
fn what_was_stopped_goes_on_where_it_was() {
    let (target, dir) = (TargetProcess::healthy(), tempfile::tempdir().expect("a directory"));
    let (record, url) = (dir.path().join("s.bruntexp").display().to_string(), target.url("?delay=2ms"));
    let running = start(line(&["--record", &record, &url]));
    // Users of 2 ms: a second of one and a tenth of another are 550 requests at most, with those of the first answers.
    until("the second run goes on", || target.requests() > 700);
    running.signal(Signal::INT);
    let stopped = running.end().with_code(21);
    assert!(stopped.out.contains("Not finished: 1 of 3 runs were made."), "{stopped:?}");
    assert!(stopped.out.contains(&format!("--resume {record}")), "{stopped:?}");
    let shown = brunt(["report", &record]).with_code(21);
    assert!(shown.out.contains("Not finished: 1 of 3 runs were made."), "{shown:?}");
    let before = json(&brunt(["report", "--format", "json", &record]).with_code(21).out);
    let whole = brunt(line(&["--resume", &record, "--format", "json", &url])).with_code(0);
    let whole = json(&whole.out);
    assert_eq!(whole["runs"], 3);
    assert_eq!(whole["cells"][0], before["cells"][0], "what was made is not made again");
    for other in [&["-t", "5s"][..], &["--repeat", "2"], &["-H", "X: y"]] {
        let other = brunt(line(&[other, &["--resume", &record, &url]].concat())).with_code(64);
        assert!(other.err.contains("--resume: ") && other.err.contains("is of another experiment"), "{other:?}");
    }
}

#[test]
fn what_ran_out_of_time_goes_on_by_the_same_command_line() {
    let (target, dir) = (TargetProcess::healthy(), tempfile::tempdir().expect("a directory"));
    let (record, url) = (dir.path().join("s.bruntexp").display().to_string(), target.url("?delay=2ms"));
    let late = brunt(line(&["--run-timeout", "2s", "--record", &record, &url])).with_code(21);
    assert!(late.out.contains("No run begins that would end after 2 s."), "{late:?}");
    let mut made = json(&brunt(["report", "--format", "json", &record]).with_code(21).out)["runs"].as_u64();
    while made < Some(3) {
        let before = made;
        brunt(line(&["--run-timeout", "2s", "--resume", &record, &url]));
        made = json(&brunt(["report", "--format", "json", &record]).out)["runs"].as_u64();
        assert!(made > before, "{made:?}");
    }
    brunt(["report", &record]).with_code(0);
}

#[test]
fn what_is_kept_without_a_name_is_the_last_one() {
    let (target, home) = (TargetProcess::healthy(), tempfile::tempdir().expect("a directory"));
    let url = target.url("?delay=2ms");
    prepare(line(&[&url])).env("XDG_STATE_HOME", home.path()).run().with_code(0);
    let shown = prepare(["report"]).env("XDG_STATE_HOME", home.path()).run().with_code(0);
    assert!(shown.out.contains("3 runs in"), "{shown:?}");
}

#[test]
fn bad_input_is_one_sentence() {
    let dir = tempfile::tempdir().expect("a directory");
    let odd = dir.path().join("odd.bruntexp").display().to_string();
    std::fs::write(&odd, "text").expect("written");
    let url = "http://127.0.0.1:9/";
    let table: [(&[&str], &str); 5] = [
        (&["sweep", "-c", "1,2", "--resume", &odd, url], "--resume: "),
        (&["sweep", "-c", "1,2", "--resume", "x", "--record", "y", url], "--resume: goes on writing the record"),
        (&["sweep", "-c", "1,2", "--record", "/none/x", url], "--record: /none/x cannot be written"),
        (&["report", "--run", "0", &odd], "--run: `0` is not the number of a run"),
        (&["report", &odd], "FILE: "),
    ];
    for (line, right) in table {
        let ended = brunt(line).with_code(64);
        assert!(
            ended.err.starts_with(&format!("brunt: {right}")) && ended.err.lines().count() == 1,
            "{line:?}: {ended:?}"
        );
    }
}
