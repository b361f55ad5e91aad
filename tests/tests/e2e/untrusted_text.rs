//! Tests that text from servers, records and plans cannot control a terminal, a spreadsheet or a wiki.

use std::io::Write;
use std::process::{Command, Stdio};

use brunt_tests::{ScriptedPeer, brunt};
use serde_json::{Value, json};

/// Text that clears a screen, names a window, reverses the text direction, hides a tag and begins a new line.
const ATTACK: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}\u{2066}\u{200b}\u{2028}\u{e0041}\r\nTrust: TRUSTED 请求 👩\u{200d}💻";

const FORMATS: [&str; 5] = ["text", "json", "csv", "markdown", "junit"];

/// Checks that no part of the attack is active, and that readable text remains.
#[track_caller]
fn harmless(text: &str) {
    let acts = |c: char| {
        c.is_control() && c != '\n'
            || matches!(c, '\u{200b}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
    };
    assert!(!text.contains(acts), "{text:?}");
    assert!(!text.lines().any(|line| line.starts_with("Trust: TRUSTED 请求")), "{text}");
}

/// Returns a record with the attack appended to every free-form text.
fn poisoned(record: &str) -> Option<String> {
    let unpacked = Command::new("zstdcat").arg(record).output().ok()?;
    let mut lines: Vec<Value> =
        String::from_utf8(unpacked.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    lines.insert(1, json!({"event": "notice", "code": "oh", "facts": {"why": "x"}}));
    lines.insert(2, json!({"event": "notice", "code": "only_errors", "facts": {"kind": "x", "count": "=1+1"}}));
    for line in &mut lines {
        poison(line, "");
    }
    let poisoned = format!("{record}.poisoned");
    let mut zstd =
        Command::new("zstd").args(["-q", "-f", "-o", &poisoned]).stdin(Stdio::piped()).spawn().expect("zstd is there");
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    zstd.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(zstd.wait().unwrap().success());
    Some(poisoned)
}

fn poison(value: &mut Value, name: &str) {
    // These are words of the format itself.
    let words = ["event", "schema", "part", "model", "arrivals", "net_kind", "reason", "latency"];
    match value {
        Value::String(text) if !(words.contains(&name) || name == "net" && text == "auto") => text.push_str(ATTACK),
        Value::Array(items) => items.iter_mut().for_each(|item| poison(item, name)),
        Value::Object(entries) if name != "latency" => {
            entries.iter_mut().for_each(|(name, value)| poison(value, name));
            if name == "status" {
                entries.insert(format!("+cmd|' /C calc'{ATTACK}"), json!(1));
            }
        }
        _ => {}
    }
}

#[test]
fn a_foreign_record_is_shown_without_acting_in_every_format() {
    let peer = ScriptedPeer::answering("HTTP/1.1 500 Oh\r\nContent-Length: 2\r\n\r\nno");
    let directory = tempfile::tempdir().unwrap();
    let record = brunt_tests::target::text(directory.path(), "run.zst");
    brunt(["-n", "5", "-c", "1", "--objective", "p50<10s", "--record", &record, &peer.url()]);
    let Some(poisoned) = poisoned(&record) else { return brunt_tests::skip("zstd is not installed") };
    for format in FORMATS {
        let ended = brunt(["report", &poisoned, "--format", format]);
        assert!(ended.out.lines().count() > 1 || format == "csv", "{ended:?}");
        harmless(&ended.out);
        harmless(&ended.err);
        match format {
            "json" => {
                let report: Value = serde_json::from_str(&ended.out).unwrap();
                let url = report["plan"]["urls"][0]["url"].as_str().unwrap();
                assert!(url.ends_with(ATTACK), "JSON loses nothing: {url:?}");
            }
            "csv" => {
                let cell = ended.out.split(',').find(|cell| cell.contains("+cmd")).unwrap();
                assert!(cell.trim_start_matches('"').starts_with('\''), "{cell}");
            }
            "markdown" => assert!(ended.out.contains("+cmd\\|") && !ended.out.contains("+cmd|"), "{}", ended.out),
            _ => assert!(ended.out.contains("请求 👩\u{200d}💻"), "{}", ended.out),
        }
    }
}

#[test]
fn a_server_that_answers_with_escapes_is_shown_without_acting() {
    let answer = format!(
        "HTTP/1.1 500 {0}\r\nX-{0}: a\r\nContent-Length: {1}\r\n\r\n{0}",
        ATTACK.replace("\r\n", ""),
        ATTACK.len() - 2
    );
    let peer = ScriptedPeer::answering(answer);
    for line in [&["-n", "3", "-c", "1"][..], &["--debug"], &["-n", "3", "-c", "1", "--format", "json"]] {
        let ended = brunt(line.iter().copied().chain([&*peer.url()]));
        // HTTP lines end with CR LF.
        harmless(&(ended.out + &ended.err).replace("\r\n", "\n"));
    }
}

#[test]
fn keys_and_values_of_a_plan_are_quoted_without_acting() {
    let directory = tempfile::tempdir().unwrap();
    let plan = directory.path().join("run.yaml");
    for text in [
        "\"no\\x1b[2J\\u202ekey\": 1\nurl: http://127.0.0.1:9\n",
        "url: \"http://127.0.0.1:9/\\x1b[2J\\u202e\"\nusers: \"\\x1b[31m\"\n",
        "url: http://127.0.0.1:9\nheader: \"X\\x1b[2J: a\"\n",
    ] {
        std::fs::write(&plan, text).unwrap();
        let ended = brunt(["plan", "--check", plan.to_str().unwrap()]).with_code(64);
        harmless(&(ended.out + &ended.err));
    }
    std::fs::write(&plan, "url: http://127.0.0.1:9\ndata: \"\\x1b[2J\\u202e\\u200b请求\"\n").unwrap();
    let shown = brunt(["plan", plan.to_str().unwrap()]).with_code(0);
    harmless(&shown.out);
    // The output is parsed as the same plan again.
    let again = directory.path().join("again.yaml");
    std::fs::write(&again, &shown.out).unwrap();
    assert_eq!(brunt(["plan", again.to_str().unwrap()]).with_code(0).out, shown.out);
}
