//! Figures by name: separate rows in every format that add up to the run, and objectives on single names.

use brunt_measure::{Nanos, PackedHistogram};
use brunt_record::{FailureExample, NamedCounts, NamedFigures, RunEvent, Second};
use brunt_report::Lang;

use crate::run_builder::{FillSecond, RunBuilder, closed, ms, open, second};

/// Creates a run with the names `fast` (5 ms), `GET /slow/{id}` (80 ms, some failed with a 503, one hung) and
/// `idle`, which had no requests.
fn several() -> RunBuilder {
    let named = |name, finished, failed, censored, took: Nanos| NamedFigures {
        name,
        counts: NamedCounts {
            due: finished + failed + censored,
            finished,
            failed,
            censored,
            payload: 10 * finished,
            ..NamedCounts::default()
        },
        status: [("200".to_owned(), finished), ("503".to_owned(), failed)]
            .into_iter()
            .filter(|(_, n)| *n > 0)
            .collect(),
        latency: PackedHistogram::of(took, finished),
        at_least: PackedHistogram::of(ms(9_000), censored),
        ..NamedFigures::default()
    };
    let whole = |n| second(n).answered(900, ms(5)).answered(85, ms(80)).failing(15, "wrong_status", "first_byte", None);
    let with = |second: Second, hung| Second {
        named: vec![named(0, 900, 0, 0, ms(5)), named(1, 85, 15, hung, ms(80))],
        ..second
    };
    let mut run = open(1000.0, 2).second(with(whole(0), 0)).second(with(whole(1).unfinished(1, ms(9_000)), 1));
    run.names = ["fast", "GET /slow/{id}", "idle"].map(String::from).to_vec();
    run.events.push(RunEvent::Example(FailureExample {
        kind: "wrong_status".into(),
        phase: "first_byte".into(),
        detail: "the backend is gone".into(),
        sent: "GET /slow/7".into(),
        status: "503".into(),
        name: Some(1),
        at_ns: Some(1_500_000_000),
        ..FailureExample::default()
    }));
    run
}

#[test]
fn every_format_for_people_shows_a_row_for_each_name() {
    for (format, heading) in [("text", "By name"), ("markdown", "### By name"), ("junit", "<system-out>name")] {
        let written = several().written(format, Lang::En);
        assert!(written.contains(heading), "{format}: {written}");
        let row = |name: &str| {
            written.lines().find(|line| line.contains(name)).unwrap_or_else(|| panic!("{name}: {written}"))
        };
        let words = |name| row(name).split_whitespace().filter(|word| *word != "|").collect::<Vec<_>>().join(" ");
        assert!(words("fast").contains("1,800 1,800 0 0 900"), "{}", words("fast"));
        assert!(words("fast").contains("5.00 ms 5.00 ms 5.00 ms 5.00 ms 5.00 ms 5.00 ms"), "{}", words("fast"));
        let slow = words("GET /slow/{id}");
        assert!(slow.contains("201 170 30 1 85.0"), "{slow}");
        assert!(slow.contains("80.0 ms ≥ 80.0 ms") || slow.contains("80.0 ms"), "{slow}");
        assert!(slow.contains("≥ 9.00 s") && slow.contains("200:170 503:30"), "{slow}");
        assert!(words("idle").contains("idle 0 0 0 0 0"), "{}", words("idle"));
        assert!(format == "junit" || written.contains("the backend is gone"), "{format}: {written}");
    }
    assert!(several().written("text", Lang::Zh).contains("按名称"));
}

#[test]
fn what_a_server_says_by_name_acts_on_no_screen() {
    let mut run = several();
    let bad = "\u{1b}[2J\r";
    for event in &mut run.events {
        if let RunEvent::Second(second) = event {
            second.named.iter_mut().for_each(|named| named.status = [(bad.to_owned(), 1)].into());
        }
    }
    // A second example, in addition to the first of its sort, which is kept separately.
    let Some(RunEvent::Example(mut example)) = run.events.last().cloned() else { panic!("an example") };
    (example.detail, example.status) = (bad.into(), bad.into());
    run.events.push(RunEvent::Example(example));
    for format in ["text", "markdown", "junit", "csv"] {
        let written = run.written(format, Lang::En);
        assert!(!written.contains(['\u{1b}', '\r']), "{format}: {written}");
        assert!(format == "junit" || written.contains("x1b"), "{format}: {written}");
    }
}

#[test]
fn a_run_of_one_name_shows_none() {
    let mut run = closed(10, 1).second(second(0).answered(900, ms(5)));
    let without: Vec<String> =
        ["text", "markdown", "junit", "csv"].map(|format| run.written(format, Lang::En)).to_vec();
    run.names = vec!["GET /".into()];
    let with: Vec<String> = ["text", "markdown", "junit", "csv"].map(|format| run.written(format, Lang::En)).to_vec();
    assert_eq!(with, without);
    assert_eq!(run.json()["by_name"], serde_json::json!([]));
}

#[test]
fn csv_has_a_row_for_each_name_below_each_second() {
    let csv = several().written("csv", Lang::En);
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let at = |column: &str| lines[0].iter().position(|name| *name == column).unwrap();
    assert_eq!(lines.len(), 1 + 2 * 3);
    assert!(lines.iter().all(|line| line.len() == lines[0].len()), "{csv}");
    let slow = &lines[3];
    assert_eq!((slow[at("name")], slow[at("scheduled")], slow[at("p50_us")]), ("GET /slow/{id}", "100", "80000"));
    assert_eq!((slow[at("sent")], slow[at("status")]), ("", "200:85 503:15"));
    assert_eq!(lines[1][at("name")], "");
}

#[test]
fn json_has_everything_of_each_name_and_names_add_up_to_the_run() {
    let json = several().json();
    let rows = json["by_name"].as_array().unwrap();
    for key in ["scheduled", "succeeded", "failed", "unfinished"] {
        let sum: u64 = rows.iter().map(|row| row[key].as_u64().unwrap()).sum();
        assert_eq!(Some(sum), json["requests"][key].as_u64(), "{key}");
    }
    let slow = &rows[1];
    assert_eq!((&slow["name"], &slow["latency"]["count"]), (&"GET /slow/{id}".into(), &171.into()));
    assert_eq!(slow["latency"]["max_at_least_us"], 9_000_000.0);
    assert_eq!(slow["examples"][0]["status"], "503");
    assert_eq!(slow["examples"][0]["at_s"], 1.5);
    assert_eq!(rows[0]["payload"], 18_000);
}

#[test]
fn objectives_of_a_name_are_judged_on_its_own_requests() {
    let table = [
        ("p99<50ms", false),
        ("p99{fast}<50ms", true),
        ("p90{GET /slow/{id}}<50ms", false),
        ("p50{ GET /slow/{id} } <= 90ms", true),
        ("failed{fast}<=0%", true),
        ("failed{GET /slow/{id}}<1%", false),
        ("rate{fast}>=900/s", true),
        ("rate{fast}>900/s", false),
        ("max{fast}<6ms", true),
        ("mean{GET /slow/{id}}<1h", false),
        ("p99{idle}<1h", false),
        ("p99{nobody}<1h", false),
    ];
    let run = several().objectives(&table.map(|(text, _)| text));
    let judged: Vec<(String, bool)> =
        run.summary().objectives.into_iter().map(|o| (o.objective.clone(), o.is_met())).collect();
    assert_eq!(judged, table.map(|(text, met)| (text.to_owned(), met)));
}

#[test]
fn the_one_name_of_a_run_is_the_run() {
    let mut run =
        closed(10, 1).second(second(0).answered(900, ms(5))).objectives(&["p99{checkout}<6ms", "p99{other}<1h"]);
    run.names = vec!["checkout".into()];
    assert_eq!(run.summary().objectives.iter().map(|o| o.is_met()).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn what_a_record_that_stops_left_open_is_unfinished_by_name_too() {
    let mut run = several().ended(None);
    let RunEvent::Second(last) = &mut run.events[1] else { panic!("a second") };
    last.due += 7;
    last.named[0].counts.due += 7;
    let summary = run.summary();
    let rows: Vec<u64> = summary.by_name().map(|row| row.totals.counts.censored).collect();
    assert_eq!(rows, [7, 1, 0]);
    assert_eq!(rows.iter().sum::<u64>(), summary.totals.censored);
}

#[test]
fn only_failures_of_the_whole_run_judge_its_failures() {
    let of_name = several().objectives(&["failed{fast}<5%"]).summary();
    let of_all = several().objectives(&["failed<5%"]).summary();
    assert_eq!((of_name.failures_are_judged(), of_all.failures_are_judged()), (false, true));
}

#[test]
fn names_of_a_record_from_elsewhere_take_no_memory_without_bound() {
    let named = |name| NamedFigures {
        name,
        counts: NamedCounts { due: 1, ..NamedCounts::default() },
        ..NamedFigures::default()
    };
    let mut run = closed(1, 1).second(Second { named: vec![named(3), named(60_000)], ..second(0) });
    run.names = vec!["a".into(), "b".into()];
    assert_eq!(run.summary().by_name().count(), 2);
}

#[test]
fn many_names_are_cut_to_those_asked_most_in_text_and_whole_in_documents() {
    let named = |name: u16| NamedFigures {
        name,
        counts: NamedCounts {
            due: u64::from(name),
            finished: u64::from(name),
            failed: u64::from(name < 13),
            ..NamedCounts::default()
        },
        ..NamedFigures::default()
    };
    let mut run = closed(1, 1).second(Second { named: (0..100).map(named).collect(), ..second(0) });
    run.names = (0..100).map(|n| format!("/page{n}/")).collect();
    let (text, markdown) = (run.written("text", Lang::En), run.written("markdown", Lang::En));
    assert!(text.contains("/page99/") && !text.contains("/page79/") && text.contains("and 80 more names"), "{text}");
    assert!((0..100).all(|n| markdown.contains(&format!("/page{n}/"))));
    for name in 0..13 {
        run.events.push(RunEvent::Example(FailureExample {
            kind: "wrong_status".into(),
            name: Some(name),
            ..FailureExample::default()
        }));
    }
    let text = run.written("text", Lang::En);
    assert!(text.contains("and 3 more kinds of failure: see --format markdown or --format json for all"), "{text}");
}

#[test]
fn failures_are_told_by_status_and_name_where_their_counts_add_up() {
    let told = several().json();
    assert_eq!(
        told["failures"][0]["parts"],
        serde_json::json!([{ "status": "503", "count": 30, "by_name": { "GET /slow/{id}": 30 } }])
    );
    let head = crate::html::lines(&several().written("html", Lang::En)).swap_remove(0);
    let part = &head["words"]["en"]["failures"][0]["parts"][0];
    assert_eq!(part["what"], "503 Service Unavailable");
    assert_eq!(part["names"], serde_json::json!([["GET /slow/{id}", 30]]));
    // A status that no example shows to be a failure leaves the count of the sort.
    let mut unknown = several();
    unknown.events.pop();
    let told = unknown.json();
    assert_eq!(told["failures"][0]["parts"][0]["status"], serde_json::Value::Null);
    assert_eq!(told["failures"][0]["parts"][0]["by_name"], serde_json::json!({ "GET /slow/{id}": 30 }));
}
