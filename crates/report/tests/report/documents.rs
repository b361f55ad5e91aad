//! Documents for machines: JSON against its schema, CSV, JUnit, Markdown.

use brunt_measure::{Histogram, Nanos};
use brunt_record::Second;
use brunt_report::comparison::ComparedRun;
use brunt_report::formats::run_comparison::writer;
use brunt_report::{FORMATS, Lang, Style, schema_json};
use serde_json::Value;

use crate::run_builder::{FillSecond, RunBuilder, closed, ms, open, second};

fn mixed() -> RunBuilder {
    open(1000.0, 2)
        .second(second(0).answered(990, ms(2)).failing(10, "wrong_status", "transfer", None))
        .second(second(1).answered(995, ms(3)).unfinished(5, ms(4_000)))
        .example("wrong_status", "transfer", None, ("GET / HTTP/1.1\r\n", "HTTP/1.1 503 \"<&>,\r\n"))
        .objectives(&["p99<50ms", "failed<0.1%"])
        .notice("only_redirects", &[("status", "302")])
}

/// Asserts that the schema describes every key of a value, at every depth, and that every required key is present.
fn conforms(value: &Value, schema: &Value, root: &Value, path: &str) {
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        return conforms(value, root.pointer(target.trim_start_matches('#')).unwrap(), root, path);
    }
    if let Some(either) = schema.get("anyOf").and_then(Value::as_array) {
        if !value.is_null() {
            conforms(value, either.iter().find(|s| s["type"] != "null").unwrap(), root, path);
        }
        return;
    }
    match value {
        Value::Object(fields) => {
            let known = schema.get("properties").and_then(Value::as_object);
            for (key, inner) in fields {
                match known.and_then(|k| k.get(key)).or_else(|| schema.get("additionalProperties")) {
                    Some(inner_schema) => conforms(inner, inner_schema, root, &format!("{path}.{key}")),
                    // A tagged choice lists its fields under oneOf.
                    None => assert!(schema.get("oneOf").is_some(), "{path}.{key} is not in the schema"),
                }
            }
            for key in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
                assert!(fields.contains_key(key.as_str().unwrap()), "{path} lacks {key}");
            }
        }
        Value::Array(items) => items.iter().for_each(|item| {
            if let Some(inner) = schema.get("items") {
                conforms(item, inner, root, &format!("{path}[]"));
            }
        }),
        _ => {}
    }
}

#[test]
fn json_holds_what_its_schema_says() {
    let schema: Value = serde_json::from_str(&schema_json()).unwrap();
    for run in [mixed(), closed(3, 1).second(second(0).answered(3, ms(1))), open(1.0, 1).ended(None)] {
        conforms(&run.json(), &schema, &schema, "report");
    }
}

#[test]
fn the_standard_deviation_is_that_of_what_is_ranked_and_of_nothing_that_did_not_end() {
    let two = |more: Second| closed(2, 1).second(more.answered(100, ms(100)).answered(100, ms(300)));
    let of = |run: &RunBuilder| run.json()["latency"]["service"]["standard_deviation_us"].as_f64();
    let deviation = of(&two(second(0))).expect("a figure");
    assert!((deviation - 100_000.0).abs() < 500.0, "{deviation}");
    assert_eq!(of(&two(second(0).timed_out(1, ms(500)))), None);
    let text = two(second(0)).written("text", Lang::En);
    assert!(text.lines().any(|line| line.split_whitespace().eq(["stdev", "100", "ms"])), "{text}");
}

#[test]
fn a_comparison_holds_what_its_schema_says() {
    let runs = [mixed(), mixed(), closed(3, 1).second(second(0).answered(3, ms(1)))];
    let (summaries, seconds) = (runs.each_ref().map(RunBuilder::summary), runs.each_ref().map(RunBuilder::seconds));
    let all = summaries.iter().zip(&seconds).zip(["a.zst", "b.zst", "c.zst"]);
    let all: Vec<ComparedRun<'_>> =
        all.map(|((summary, seconds), name)| ComparedRun { name, summary, seconds }).collect();
    let mut written = Vec::new();
    writer("json").expect("JSON")(&all, Style::default(), &mut written).expect("written");
    let json: Value = serde_json::from_slice(&written).expect("JSON");
    let schema: Value = serde_json::from_str(&brunt_report::formats::run_comparison::schema_json()).expect("a schema");
    conforms(&json, &schema, &schema, "comparison");
    assert_eq!((json["runs"].as_array().map(Vec::len), json["compared"].as_array().map(Vec::len)), (Some(3), Some(2)));
    assert_eq!((&json["schema"], &json["compared"][1]["differs"][0]), (&"brunt-comparison/1".into(), &"load".into()));
    assert!(json["compared"][0]["figures"].as_array().is_some_and(|figures| figures.len() > 3), "{json}");
}

#[test]
fn json_has_the_fields_people_rely_on() {
    let json = mixed().json();
    for pointer in [
        "/schema",
        "/mode",
        "/window_s",
        "/elapsed_s",
        "/exit",
        "/requests/scheduled",
        "/requests/succeeded",
        "/requests/failed",
        "/requests/unfinished",
        "/requests/warmup",
        "/requests/probe",
        "/throughput_per_s",
        "/bytes/sent",
        "/bytes/received",
        "/status/200",
        "/status/503",
        "/failures/0/kind",
        "/failures/0/phase",
        "/failures/0/count",
        "/failures/0/example/sent",
        "/connections/opened",
        "/connections/failed",
        "/connections/reused",
        "/seconds/1/latency/response/p99_us",
        "/host/cores",
        "/command/0",
        "/plan/urls/0/url",
        "/trust/verdict",
        "/objectives/0/met",
        "/phases/first_byte/p50_us",
        "/notices/0/code",
    ] {
        assert!(json.pointer(pointer).is_some_and(|v| !v.is_null()), "{pointer}");
    }
    assert!(json.pointer("/failures/0/errno").is_some_and(Value::is_null));
    assert_eq!((&json["schema"], &json["mode"]), (&"brunt-report/1".into(), &"open".into()));
    for kind in ["response", "service", "wait_conn", "gen_late"] {
        let figures = &json["latency"][kind];
        for key in ["min_us", "mean_us", "p50_us", "p90_us", "p95_us", "p99_us", "p99_9_us", "max_us", "histogram"] {
            assert!(figures.get(key).is_some(), "latency.{kind}.{key}");
        }
    }
}

#[test]
fn the_encoded_histogram_gives_the_figures_again() {
    let json = mixed().json();
    let h: Histogram = serde_json::from_value(json["latency"]["response"]["histogram"].clone()).unwrap();
    assert_eq!((h.count(), h.min(), h.max()), (1985, 2_000_000, 3_000_000));
    let merged = json["seconds"].as_array().unwrap().iter().fold(Histogram::new(), |mut all, s| {
        all.merge(&serde_json::from_value(s["latency"]["response"]["histogram"].clone()).unwrap());
        all
    });
    assert_eq!(merged, h, "the seconds add up to the run");
}

#[test]
fn json_breaks_lines_where_people_look() {
    let text = mixed().written("json", Lang::En);
    assert!(text.starts_with("{\n  \"schema\": \"brunt-report/1\",\n  \"brunt\": "), "{}", &text[..80]);
    assert!(text.ends_with("\n  ]\n}\n"));
    assert_eq!(text.lines().filter(|l| l.starts_with("    {\"from_s\"")).count(), 2, "a line a second");
    let chinese = mixed().written("json", Lang::Zh);
    assert_eq!(text, chinese, "documents for machines do not depend on the language");
}

#[test]
fn csv_has_a_row_a_second() {
    let text = mixed().written("csv", Lang::Zh);
    let rows: Vec<Vec<&str>> = text.lines().map(|l| l.split(',').collect()).collect();
    assert_eq!(rows.len(), 3);
    assert!(rows.iter().all(|r| r.len() == rows[0].len()));
    let cell = |row: usize, name: &str| rows[row][rows[0].iter().position(|n| *n == name).unwrap()];
    assert_eq!((cell(1, "from_s"), cell(1, "to_s"), cell(1, "part")), ("0", "1", "window"));
    assert_eq!((cell(1, "succeeded"), cell(1, "failed"), cell(1, "throughput_per_s")), ("990", "10", "990"));
    assert_eq!((cell(1, "p50_us"), cell(1, "p99_9_us"), cell(1, "max_us")), ("2000", "", "2000"));
    assert_eq!((cell(1, "status"), cell(1, "failures")), ("200:990 503:10", "wrong_status/transfer:10"));
    assert_eq!((cell(2, "unfinished"), cell(2, "max_us")), ("5", ">=4000000"));
}

#[test]
fn the_users_of_a_run_that_counts_requests_are_those_asked_for() {
    // No users are left at the end of such a run.
    let mut run = closed(5, 1).second(second(0).answered(300, ms(2)));
    (run.plan.requests, run.plan.duration) = (Some(300), None);
    for format in ["text", "markdown"] {
        let text = run.written(format, Lang::En);
        assert!(text.contains("Service time at 5 users (300 requests)"), "{format}: {text}");
    }
}

#[test]
fn markdown_is_well_formed_whatever_it_is_about() {
    let odd = "http://127.0.0.1:8080/a|b_c*<d>`e`[f](g)~~";
    let mut several = mixed();
    several.plan.urls = (0..7).map(|_| brunt_plan::WeightedUrl::plain(odd)).collect();
    let nothing = RunBuilder { probe: None, events: Vec::new(), ..open(1.0, 0) };
    let strange =
        open(1.0, 1).notice("never_heard_of", &[("a|b", "<c>\n")]).second(second(0).failing(1, "x", "y", None));
    for run in [mixed(), several, nothing, strange, closed(1, 1).ended(None)] {
        for lang in [Lang::En, Lang::Zh] {
            let text = run.written("markdown", lang);
            for block in text.split("\n\n").filter(|block| block.starts_with('|')) {
                let columns = |line: &str| line.replace("\\|", "").matches('|').count();
                let wanted = columns(block.lines().next().unwrap());
                assert!(block.lines().nth(1).is_some_and(|rule| rule.chars().all(|c| " |:-".contains(c))), "{block}");
                assert!(block.lines().all(|line| columns(line) == wanted && line.starts_with('|')), "{block}");
            }
            assert!(!text.contains("\n\n\n") && text.starts_with("## brunt"), "{text}");
        }
    }
}

#[test]
fn junit_has_a_case_an_objective_and_one_for_trust() {
    let text = mixed().written("junit", Lang::En);
    assert!(
        text.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"3\" failures=\"1\""),
        "{text}"
    );
    assert!(text.contains("name=\"p99&lt;50ms\""), "{text}");
    assert!(text.contains("<failure message=\"failed 0.75 %; 1,985 of 2,000 met it\"/>"), "{text}");
    assert!(text.contains("name=\"trust\""), "{text}");
    let mut reader = quick_xml::Reader::from_str(&text);
    let mut cases = 0;
    loop {
        match reader.read_event().unwrap() {
            quick_xml::events::Event::Start(e) if e.name().as_ref() == "testcase" => cases += 1,
            quick_xml::events::Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!(cases, 3);
}

#[test]
fn junit_fails_an_untrusted_and_an_interrupted_run() {
    let hung = open(100.0, 1).second(second(0).unfinished(100, ms(5_000)));
    assert!(hung.written("junit", Lang::En).contains("<failure message=\"NOT TRUSTED because no request succeeded"));
    let stopped = open(100.0, 1).second(second(0).answered(100, ms(5))).ended(Some("interrupted"));
    assert!(stopped.written("junit", Lang::En).contains("<failure message=\"Exit code 21: interrupted\"/>"));
    let ended = open(100.0, 1).second(second(0).answered(100, ms(5))).objectives(&["p99<1ms stop"]);
    let ended = ended.notice("objective_stop", &[("objective", "p99<1ms stop")]).ended(Some("interrupted"));
    let text = ended.written("junit", Lang::En);
    assert!(text.contains("failures=\"1\"") && !text.contains("Exit code"), "the objective alone: {text}");
    let good = open(100.0, 1).second(second(0).answered(100, ms(5)));
    assert!(!good.written("junit", Lang::En).contains("<failure"));
}

#[test]
fn every_format_writes_every_run_in_every_language() {
    let nothing = RunBuilder { probe: None, events: Vec::new(), ..open(1.0, 0) };
    let strange = open(1.0, 1).notice("never_heard_of", &[("a|b", "<c>\n")]).second(second(0).answered(1, Nanos(0)));
    for run in [mixed(), nothing, strange, closed(1, 1).ended(None)] {
        for format in FORMATS {
            for lang in [Lang::En, Lang::Zh] {
                let text = run.written(format.name(), lang);
                assert!(!text.contains("NaN") && !text.contains("inf,"), "{}: {text}", format.name());
                assert!(text.ends_with('\n'), "{}", format.name());
            }
        }
    }
}
