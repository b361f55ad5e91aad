//! Tests of `brunt capacity` and `brunt lint`: what follows from numbers, without a run or from its record.

use std::fs;
use std::path::Path;

use brunt_tests::{TargetProcess, brunt, prepare};
use serde_json::Value;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn file(directory: &Path, name: &str, text: impl AsRef<[u8]>) -> String {
    let path = directory.join(name);
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn machines_are_computed_from_views_and_rounded_up() {
    let line = ["capacity", "--views", "30M", "--per-machine", "69/s"];
    let told = brunt(line).with_code(0).containing("29 machines for 1,388.89/s");
    told.containing("÷ (69/s × 0.7) = 28.76, rounded up to 29").containing("weakest: 69/s a machine was typed in");
    let full = brunt(line.iter().chain(&["--utilisation", "100%", "--spare", "1", "--format", "json"])).with_code(0);
    let document = json(&full.out);
    assert_eq!((&document["working_machines"], &document["machines"]), (&21.into(), &22.into()));
    brunt(line.iter().chain(&["--lang", "zh"])).with_code(0).containing("1,388.89/s 需要 29 台机器");
    brunt(["capacity"]).with_code(64).containing("needs the load; use --views 30M");
    brunt(["capacity", "--peak", "5/s", "--share", "80%"]).with_code(64).containing("--share: is about page views");
    brunt(["capacity", "--views", "30M", "--hours", "25"])
        .with_code(64)
        .containing("--hours: `25` is not a part of a day");
}

#[test]
fn a_record_is_a_capacity_only_if_its_objectives_were_met() {
    let target = TargetProcess::healthy();
    let directory = tempfile::tempdir().unwrap();
    let record = |name: &str| directory.path().join(name).display().to_string();
    let url = target.url("");
    let run = |path: &str, objective: &str| {
        brunt(["-r", "200/s", "-d", "5s", "--trust", "warn", "--objective", objective, "--record", path, &url])
    };
    let (met, missed) = (record("met.zst"), record("missed.zst"));
    run(&met, "p99<5s").with_code(0);
    run(&missed, "p99<1us").with_code(10);
    let of = |path: &str| brunt(["capacity", "--peak", "2000/s", "--per-machine", path, "--format", "json"]);
    let doubted = of(&missed).with_code(20);
    let doubts = json(&doubted.out)["inputs"]["doubts"].to_string();
    assert!(doubts.contains("it missed p99<1us"), "{doubts}");
    brunt(["capacity", "--peak", "2000/s", "--per-machine", &missed]).with_code(20).containing("were right");
    // Trust depends on how busy the machine is; the objective does not.
    let good = json(&of(&met).out);
    assert!(!good["inputs"]["doubts"].to_string().contains("p99<5s"), "{good}");
    assert!(good["in_flight"].as_f64().is_some_and(|flight| flight > 0.0), "{good}");
    let rate = good["inputs"]["per_machine_per_s"].as_f64().unwrap();
    assert!((100.0..=220.0).contains(&rate), "{good}");
    brunt(["capacity", "--peak", "5/s", "--per-machine", &record("none.zst")]).with_code(64).containing("none.zst");
}

#[test]
fn pasted_output_is_checked_from_a_file_and_from_standard_input() {
    let directory = tempfile::tempdir().unwrap();
    let wrong = "ab -n 3000 -c 300 http://10.1.2.3/\nRequests per second: 1448.86 [#/sec]\nTime per request: 69.020 [ms] (mean)\n";
    let path = file(directory.path(), "pasted.txt", wrong);
    let told = brunt(["lint", &path]).with_code(10).containing("1,448.86/s × 69.02 ms = 100 requests in flight");
    told.containing("to settle it: brunt -c 300 -d 30s --no-keepalive http://10.1.2.3/");
    let from_input = prepare(["lint", "-"]).input(fs::File::open(&path).unwrap()).run();
    from_input.with_code(10).containing("300 users");
    let document = json(&brunt(["lint", "--format", "json", &path]).with_code(10).out);
    assert_eq!((&document["schema"], &document["findings"][0]["check"]), (&"brunt-lint/1".into(), &"little".into()));
    let right = file(directory.path(), "right.txt", wrong.replace("-c 300", "-c 100"));
    brunt(["lint", &right]).with_code(0).containing("nothing wrong found").containing("checked: Little's law");
    brunt(["lint", "--lang", "zh", &right]).with_code(0).containing("没有发现问题");
    let empty = file(directory.path(), "empty.txt", "hello");
    brunt(["lint", &empty]).with_code(64).containing("has no output that can be checked; paste what ab");
    brunt(["lint", "/nowhere"]).with_code(64).containing("/nowhere: cannot be read");
    brunt(["lint"]).with_code(64).containing("needs the output; name a file");
    brunt(["lint", &path, &right]).with_code(64).containing("is a second file");
}

/// What was pasted may be a trap: nothing of it may reach the terminal as a command.
#[test]
fn pasted_text_does_not_act_on_a_terminal() {
    const ATTACK: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}\u{200b}";
    let directory = tempfile::tempdir().unwrap();
    let table = format!(
        "Label{ATTACK},Label,# Samples,Average,Median,90% Line,95% Line,99% Line,Min,Max,Error %,Throughput\n\
        a,{ATTACK}login,400,120,100,200,250,300,10,400,0.00%,4.0\na,list,600,60,50,100,125,150,5,200,5.00%,6.0\n\
        a,TOTAL,1000,84,60,500,500,500,5,400,9.00%,10.0\n\
        ab -n 10 -c 3 'http://a/{ATTACK}$(rm)'\nRequests per second: 10 [#/sec]\nTime per request: 100 [ms] (mean)\n"
    );
    let path = file(directory.path(), "attack.txt", table);
    for format in ["text", "json"] {
        let told = brunt(["lint", "--format", format, &path]).with_code(10);
        let acts = |c: char| c.is_control() && c != '\n' || matches!(c, '\u{200b}' | '\u{202e}');
        assert!(!told.out.contains(acts) && !told.out.contains("$(rm)"), "{:?}", told.out);
        assert!(told.out.contains("9.0 %") && told.out.contains("Little"), "{}", told.out);
    }
}
