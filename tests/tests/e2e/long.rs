//! A run of hours: its report takes no more memory than that of a few seconds.

use std::path::Path;
use std::time::Instant;

use e2e::{Target, brunt};
use record::{Ended, Reader, RunEvent, Second, Writer};

/// What a report of two hours may take.
const BOUND: u64 = 50 << 20;
const SECONDS: usize = 7_200;
const NAMES: usize = 3;
const S: i64 = 1_000_000_000;

/// The record of a run that went on like this one for so many seconds more.
fn lengthened(short: &Path, long: &Path, seconds: usize) {
    let events: Vec<RunEvent> = Reader::open(short).unwrap().map(Result::unwrap).collect();
    let mut writer = Writer::create(long).unwrap();
    let before = events.iter().take_while(|event| !matches!(event, RunEvent::Second(_)));
    before.for_each(|event| writer.write(event).unwrap());
    let full = events.iter().filter_map(|event| match event {
        RunEvent::Second(second) if second.named.len() == NAMES => Some(second),
        _ => None,
    });
    for (n, second) in full.cycle().take(seconds).enumerate() {
        let (from_ns, to_ns) = (n as i64 * S, (n as i64 + 1) * S);
        // What began in one second and ended in the next is counted where it ended.
        let due = second.finished + second.failed + second.censored;
        let second = Second { from_ns, to_ns, due, part: record::Part::Window, ..(**second).clone() };
        writer.write(&RunEvent::Second(Box::new(second))).unwrap();
    }
    let rest = events.iter().filter(|event| matches!(event, RunEvent::Example(_) | RunEvent::Notice(_)));
    rest.for_each(|event| writer.write(event).unwrap());
    let window = measure::Nanos::from_secs(seconds as u64);
    let reason =
        events.iter().find_map(|event| if let RunEvent::Ended(e) = event { Some(e.reason.clone()) } else { None });
    writer.write(&RunEvent::Ended(Ended { reason: reason.unwrap(), window, elapsed: window })).unwrap();
}

#[test]
fn reports_of_two_hours_with_names_and_failures_are_written_within_50_megabytes() {
    let (target, directory) = (Target::healthy(), tempfile::tempdir().unwrap());
    let file = |name: &str| e2e::target::text(directory.path(), name);
    let urls = ["", "bytes/2000", "status/503"].map(|path| target.url(path));
    let line = ["-r", "1000/s", "-d", "3s", "--record", &file("short.zst")];
    brunt(line.into_iter().chain(urls.iter().map(String::as_str)));
    lengthened(file("short.zst").as_ref(), file("long.zst").as_ref(), SECONDS);
    for (format, row) in [("json", "    {\"from_s\": "), ("csv", "")] {
        let (document, began) = (file(format), Instant::now());
        let ended = brunt(["report", &file("long.zst"), "--format", format, "-o", &document]);
        let text = std::fs::read_to_string(&document).unwrap_or_else(|error| panic!("{error}: {ended:?}"));
        println!("{format}: {} MB held, {} MB written in {:?}", ended.peak >> 20, text.len() >> 20, began.elapsed());
        assert!(ended.peak > 0 && ended.peak <= BOUND, "{format}: {} MB", ended.peak >> 20);
        let rows = text.lines().filter(|line| line.starts_with(row)).count();
        // CSV has a heading, and below each second a row for each of the names in it.
        let wanted = if format == "csv" { 1 + (1 + NAMES) * SECONDS } else { SECONDS };
        assert_eq!(rows, wanted, "{format}");
        assert!(text.contains("status/503") && text.contains("wrong_status"), "{format}");
    }
}
