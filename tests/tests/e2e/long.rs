//! A test that the report of a run of hours takes no more memory than that of a run of seconds.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::process::Command;
use std::time::Instant;

use brunt_tests::{TargetProcess, brunt};
use serde_json::{Value, json};

/// Maximum memory for the report of a run of two hours.
const BOUND: u64 = 50 << 20;
const SECONDS: usize = 7_200;
const NAMES: usize = 3;
const S: u64 = 1_000_000_000;

/// Extends the record of a run to this many seconds, as plain lines. Returns `None` if zstdcat is missing.
fn lengthened(short: &str, long: &str, seconds: usize) -> Option<()> {
    let output = Command::new("zstdcat").arg(short).output().ok()?;
    let text = String::from_utf8(output.stdout).unwrap();
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut out = BufWriter::new(File::create(long).unwrap());
    let mut write = |event: &Value| writeln!(out, "{event}").unwrap();
    events.iter().take_while(|event| event["event"] != "second").for_each(&mut write);
    let full = |event: &&Value| event["named"].as_array().is_some_and(|named| named.len() == NAMES);
    for (n, second) in events.iter().filter(full).cycle().take(seconds).enumerate() {
        let mut second = second.clone();
        (second["from_ns"], second["to_ns"]) = (json!(n as u64 * S), json!((n as u64 + 1) * S));
        second["part"] = "window".into();
        // Requests that began in one second and ended in the next are counted in the latter.
        let count = |name: &str| second[name].as_u64().unwrap();
        second["scheduled"] = (count("succeeded") + count("failed") + count("unfinished")).into();
        write(&second);
    }
    events.iter().filter(|event| event["event"] == "example").for_each(&mut write);
    let mut ended = events.last().unwrap().clone();
    (ended["window"], ended["elapsed"]) = (json!(seconds as u64 * S), json!(seconds as u64 * S));
    write(&ended);
    Some(())
}

#[test]
fn reports_of_two_hours_with_names_and_failures_are_written_within_50_megabytes() {
    let (target, directory) = (TargetProcess::healthy(), tempfile::tempdir().unwrap());
    let file = |name: &str| brunt_tests::target::text(directory.path(), name);
    let urls = ["", "bytes/2000", "status/503"].map(|path| target.url(path));
    let line = ["-r", "1000/s", "-d", "3s", "--record", &file("short.zst")];
    brunt(line.into_iter().chain(urls.iter().map(String::as_str)));
    let Some(()) = lengthened(&file("short.zst"), &file("long.jsonl"), SECONDS) else {
        return brunt_tests::skip("zstd is not installed");
    };
    for (format, row) in [("json", "    {\"from_s\": "), ("csv", "")] {
        let (document, began) = (file(format), Instant::now());
        let ended = brunt(["report", &file("long.jsonl"), "--format", format, "-o", &document]);
        let text = std::fs::read_to_string(&document).unwrap_or_else(|error| panic!("{error}: {ended:?}"));
        println!("{format}: {} MB held, {} MB written in {:?}", ended.peak >> 20, text.len() >> 20, began.elapsed());
        assert!(ended.peak > 0 && ended.peak <= BOUND, "{format}: {} MB", ended.peak >> 20);
        let rows = text.lines().filter(|line| line.starts_with(row)).count();
        // CSV has a heading and, for each second, a row for the total and one for each name.
        let wanted = if format == "csv" { 1 + (1 + NAMES) * SECONDS } else { SECONDS };
        assert_eq!(rows, wanted, "{format}");
        assert!(text.contains("status/503") && text.contains("wrong_status"), "{format}");
    }
}
