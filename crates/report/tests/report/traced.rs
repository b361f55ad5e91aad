//! The slowest requests with their traces, in every format.

use brunt_record::{FailureExample, RunEvent, Second, TraceId, TracedRequest};
use brunt_report::Lang;

use crate::run_builder::{FillSecond, RunBuilder, ms, open, second};

fn id(digit: char, sampled: bool) -> TraceId {
    TraceId { id: digit.to_string().repeat(32), span: digit.to_string().repeat(16), sampled }
}

fn slow(digit: char, took_ms: u64, sampled: bool) -> TracedRequest {
    let ended_ns = 400_000_000 + took_ms as i64 * 1_000_000;
    let status = "200".to_owned();
    let (latency_ns, scheduled_ns, sent_ns) = (took_ms * 1_000_000, 400_000_000, 400_500_000);
    TracedRequest {
        trace: id(digit, sampled),
        status,
        latency_ns,
        scheduled_ns,
        sent_ns,
        ended_ns,
        ..TracedRequest::default()
    }
}

fn traced() -> RunBuilder {
    let with = |slowest: Vec<TracedRequest>| Second { slowest, ..second(0).answered(50, ms(5)) };
    let timed_out = TracedRequest { timed_out: true, status: String::new(), ..slow('c', 900, true) };
    open(50.0, 2)
        .second(with(vec![slow('a', 80, true), slow('b', 700, false)]))
        .second(with(vec![timed_out, slow('d', 10, true)]))
}

#[test]
fn the_slowest_stand_in_every_format_and_whether_they_can_be_looked_up() {
    let text = traced().written("text", Lang::En);
    let at = text.find("Slowest requests with their traces").unwrap_or_else(|| panic!("{text}"));
    let lines: Vec<Vec<&str>> =
        text[at..].lines().skip(2).take(4).map(|line| line.split_whitespace().collect()).collect();
    let [c, a, d, b] = ['c', 'a', 'd', 'b'].map(|digit| digit.to_string().repeat(32));
    assert_eq!(lines[0], ["≥", "900", "ms", "0.4", "s", "timed", "out", &c]);
    assert_eq!(lines[1], ["80.0", "ms", "0.4", "s", "200", &a]);
    assert_eq!(lines[2].last(), Some(&&*d));
    assert_eq!(lines[3], ["700", "ms", "0.4", "s", "200", &b, "(not", "sampled)"], "those behind the others");
    assert!(traced().written("markdown", Lang::Zh).contains(&format!("{b}（未采样）")));
    let json = traced().json();
    let ids: Vec<&str> =
        json["slowest"].as_array().expect("a list").iter().filter_map(|one| one["trace"]["id"].as_str()).collect();
    assert_eq!(ids, [&*c, &*b, &*a, &*d]);
    assert_eq!((&json["slowest"][2]["latency_us"], &json["slowest"][2]["ended_s"]), (&80_000.0.into(), &0.48.into()));
    assert!(open(50.0, 1).second(second(0)).json().get("slowest").is_none());
}

#[test]
fn the_example_of_a_failure_says_its_trace_and_the_values_it_was_made_of() {
    let used = |name: &str, value: Option<&str>| brunt_record::UsedValue {
        name: name.into(),
        value: value.map(str::to_owned),
    };
    let mut run = traced().example("wrong_status", "first_byte", None, ("GET /", ""));
    let failure = |second: &mut Second| {
        second.failures.push(brunt_record::Failure {
            kind: "wrong_status".into(),
            phase: "first_byte".into(),
            errno: None,
            count: 1,
        });
    };
    for event in &mut run.events {
        match event {
            RunEvent::Example(example) => {
                let values = vec![used("id", Some("7\n8")), used("page", None)];
                *example = FailureExample { trace: Some(id('e', false)), values, ..example.clone() };
            }
            RunEvent::Second(second) if second.failures.is_empty() => failure(second),
            _ => {}
        }
    }
    let text = run.written("text", Lang::En);
    assert!(text.contains(&format!("trace {} (not sampled)", "e".repeat(32))), "{text}");
    assert!(text.lines().any(|line| line.trim() == "values: id=7\\n8 · page (not known)"), "{text}");
    let example = &run.json()["failures"][0]["example"];
    assert_eq!(example["trace"]["sampled"], false);
    assert_eq!(example["values"][0], serde_json::json!({"name": "id", "value": "7\n8"}));
    assert!(example["values"][1]["value"].is_null(), "{example}");
}

#[test]
fn of_a_run_a_bounded_number_is_kept_and_texts_of_others_act_on_no_screen() {
    let hostile = |n: u64| TracedRequest {
        trace: TraceId { id: "\u{1b}[2J".repeat(100_000), span: String::new(), sampled: true },
        status: "\u{1b}[31m".into(),
        latency_ns: n,
        ..TracedRequest::default()
    };
    let run = (0..20).fold(open(50.0, 20), |run, n| {
        run.second(Second { slowest: (0..30).map(|i| hostile(n * 30 + i)).collect(), ..second(n as i64) })
    });
    assert_eq!(run.json()["slowest"].as_array().map(Vec::len), Some(32));
    for format in ["text", "markdown"] {
        assert!(!run.written(format, Lang::En).contains('\u{1b}'), "{format}");
    }
}
