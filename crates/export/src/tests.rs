//! Tests of the exported figures and of their readers.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use brunt_measure::{Nanos, PackedHistogram};
use brunt_record::{
    CheckResults, End, Failure, NamedCounts, NamedFigures, RunEnd, RunEvent, RunListener, RunPart, RunStarted, Second,
    WindowStart,
};

use crate::catalogue::{NAMES, families};
use crate::{LingerOutcome, LiveFigures, PrometheusServer, text};

/// A plan as stored in a record; omitted fields have their defaults.
const PLAN: &str = r#"{"protocol": "http", "urls": [{"url": "http://127.0.0.1:1/", "weight": 1.0}], "options": {},
    "load": {"model": "closed", "stages": [{"lasts": 5000000000, "from": 7, "to": 7}], "think": null, "together": false}, "requests": null, "duration": 5000000000, "warmup": 0,
    "drain": 0, "timeout": 10000000000, "connect_timeout": 5000000000, "max_connections": 1, "workers": 1, "pin": false, "net": "auto", "sources": [],
    "connect_to": [], "unix_socket": null, "tls": {"insecure": false, "cacert": null, "cert": null, "key": null, "resume": true}, "objectives": [], "seed": 1}"#;

fn started(names: usize) -> RunEvent {
    let started = RunStarted {
        schema: brunt_record::SCHEMA.into(),
        brunt: "0.1.0".into(),
        unix_ms: 1000,
        command: Vec::new(),
        plan: serde_json::from_str(PLAN).expect("a plan"),
        hosts: Vec::new(),
        net: "sim".into(),
        workers: 1,
        silent: None,
        around: Vec::new(),
        agents: Vec::new(),
        checks: Vec::new(),
        names: (0..names).map(|n| format!("GET /{n}\"\\\n")).collect(),
    };
    RunEvent::Started(Box::new(started))
}

/// Creates a second with three successes of 2 ms and one failure; one request is still in flight.
fn second(n: i64, part: RunPart) -> Second {
    let mut second = Second {
        from_ns: n * 1_000_000_000,
        to_ns: (n + 1) * 1_000_000_000,
        part,
        due: 5,
        finished: 3,
        failed: 1,
        users: 7,
        in_flight: 1,
        failures: vec![Failure { kind: "closed".into(), phase: "transfer".into(), errno: None, count: 1 }],
        ..Second::default()
    };
    second.status.insert("200".into(), 3);
    second.latency.service.record_n(Nanos::from_millis(2), 3);
    second
}

fn run(events: impl IntoIterator<Item = RunEvent>) -> LiveFigures {
    let mut figures = LiveFigures::new();
    events.into_iter().for_each(|event| figures.observe(&event).expect("it takes all"));
    figures
}

fn told(figures: &LiveFigures) -> String {
    String::from_utf8(text::write(&families(&figures.read()))).expect("text")
}

#[test]
fn counts_are_those_of_the_window_and_what_is_open_is_neither_lost_nor_doubted() {
    let of = |n, part| RunEvent::Second(Box::new(second(n, part)));
    let figures = run([
        started(1),
        RunEvent::Began(WindowStart::default()),
        of(-1, RunPart::Warmup),
        of(0, RunPart::Window),
        of(1, RunPart::Window),
    ]);
    let said = told(&figures);
    for line in [
        "brunt_requests_scheduled_total 10",
        "brunt_requests_total{outcome=\"succeeded\"} 6",
        "brunt_requests_total{outcome=\"failed\"} 2",
        "brunt_requests_total{outcome=\"unfinished\"} 0",
        "brunt_requests_from_cache_total 0",
        "brunt_failures_total{kind=\"closed\",phase=\"transfer\",errno=\"\"} 2",
        "brunt_responses_total{code=\"200\"} 6",
        "brunt_service_seconds_bucket{le=\"0.001\"} 0",
        "brunt_service_seconds_bucket{le=\"0.0025\"} 6",
        "brunt_service_seconds_bucket{le=\"+Inf\"} 6",
        "brunt_service_seconds_sum 0.012",
        "brunt_service_seconds_count 6",
        "brunt_users 7",
        "brunt_offered_rate 5",
        "brunt_window_seconds 2",
        "brunt_run_part{part=\"window\"} 1",
        "brunt_run_part{part=\"ended\"} 0",
    ] {
        assert!(said.lines().any(|told| told == line), "{line} in\n{said}");
    }
    assert!(!said.contains("brunt_finding{code=\"accounting\"}"), "{said}");
}

#[test]
fn names_are_bounded_and_escaped_and_no_request_is_left_out() {
    let mut second = second(0, RunPart::Window);
    let counts = NamedCounts { finished: 2, from_cache: 3, ..NamedCounts::default() };
    let names = NAMES as u16 + 50;
    second.named = (0..names).map(|name| NamedFigures { name, counts, ..NamedFigures::default() }).collect();
    let said = told(&run([started(names.into()), RunEvent::Second(Box::new(second))]));
    let named: Vec<&str> = said.lines().filter(|line| line.starts_with("brunt_named_requests_total{")).collect();
    assert_eq!(named.len(), 3 * (NAMES + 1));
    assert!(named[0].starts_with("brunt_named_requests_total{name=\"GET /0\\\"\\\\\\n\",outcome="), "{}", named[0]);
    assert!(named.contains(&"brunt_named_requests_total{name=\"(others)\",outcome=\"succeeded\"} 100"));
    let mut cached = said.lines().filter(|line| line.starts_with("brunt_named_from_cache_total{"));
    assert_eq!(cached.clone().count(), NAMES + 1);
    assert_eq!(cached.next_back(), Some("brunt_named_from_cache_total{name=\"(others)\"} 150"));
}

#[test]
fn checks_are_counted_by_name_and_bounded_likewise() {
    let checks = NAMES as u16 + 3;
    let of = |part| {
        let checks = (0..checks).map(|check| CheckResults { check, passed: 4, failed: 1 }).collect();
        RunEvent::Second(Box::new(Second { checks, ..second(0, part) }))
    };
    let RunEvent::Started(mut begins) = started(1) else { panic!("it starts") };
    begins.checks = (0..checks).map(|check| format!("has {check}")).collect();
    let said = told(&run([RunEvent::Started(begins), of(RunPart::Warmup), of(RunPart::Window), of(RunPart::Drain)]));
    for line in [
        "brunt_checks_total{check=\"has 1\",outcome=\"passed\"} 8",
        "brunt_checks_total{check=\"has 1\",outcome=\"failed\"} 2",
        "brunt_checks_total{check=\"(others)\",outcome=\"passed\"} 24",
        "brunt_checks_total{check=\"(others)\",outcome=\"failed\"} 6",
    ] {
        assert!(said.lines().any(|told| told == line), "{line} in\n{said}");
    }
    assert_eq!(said.lines().filter(|line| line.starts_with("brunt_checks_total{")).count(), 2 * (NAMES + 1));
}

/// Creates a second in which brunt may have delayed 30 of 100 requests of 2 ms by 8 ms.
fn delayed() -> Second {
    let mut second = second(0, RunPart::Window);
    (second.due, second.finished, second.failed, second.away_ns) = (101, 100, 0, 50_000_000);
    second.generator.resolution_ns = 20_000;
    let latency = &mut second.latency;
    latency.service.record_n(Nanos::from_millis(2), 67);
    latency.service.record_n(Nanos::from_millis(10), 30);
    latency.service_delayed.record_n(Nanos::from_millis(10), 30);
    latency.service_undelayed.record_n(Nanos::from_millis(2), 30);
    let counts = NamedCounts { finished: 100, ..NamedCounts::default() };
    let packed = |ms, n| PackedHistogram::of(Nanos::from_millis(ms), n);
    let (latency, latency_delayed, latency_undelayed) = (packed(10, 100), packed(10, 100), packed(2, 100));
    second.named =
        vec![NamedFigures { counts, latency, latency_delayed, latency_undelayed, ..NamedFigures::default() }];
    second
}

#[test]
fn bands_and_outcomes_of_objectives_are_exported() {
    let RunEvent::Started(mut begins) = started(2) else { panic!("it starts") };
    begins.plan.objectives = ["p99<50ms", "p99<5ms", "p99<1ms"].map(str::to_owned).into();
    let said = told(&run([RunEvent::Started(begins), RunEvent::Second(Box::new(delayed()))]));
    let value = |of: &str| -> f64 {
        let line = said.lines().find_map(|line| line.strip_prefix(of)).unwrap_or_else(|| panic!("{of} in\n{said}"));
        line.trim().parse().expect("a number")
    };
    let near = |of: &str, wanted: f64| assert!((value(of) / wanted - 1.0).abs() < 0.005, "{of} {}", value(of));
    near("brunt_latency_band_seconds{quantile=\"0.5\",end=\"least\"}", 0.002);
    near("brunt_latency_band_seconds{quantile=\"0.95\",end=\"least\"}", 0.002);
    near("brunt_latency_band_seconds{quantile=\"0.95\",end=\"most\"}", 0.010);
    near("brunt_named_latency_band_seconds{name=\"GET /0\\\"\\\\\\n\",quantile=\"0.5\",end=\"least\"}", 0.002);
    near("brunt_generator_away_seconds_total", 0.05);
    near("brunt_generator_resolution_seconds", 20e-6);
    let outcome = |objective: &str, outcome: &str| {
        value(&format!("brunt_objective_outcome{{objective=\"{objective}\",outcome=\"{outcome}\"}}"))
    };
    for (objective, of) in [("p99<50ms", "met"), ("p99<5ms", "undecided"), ("p99<1ms", "missed")] {
        for one in ["met", "undecided", "missed"] {
            assert_eq!(outcome(objective, one), f64::from(u8::from(one == of)), "{objective} {one}");
        }
    }
    let quiet = told(&run([started(1), RunEvent::Second(Box::new(second(0, RunPart::Window)))]));
    assert!(!quiet.contains("latency_band"), "a record without bands has none");
}

#[test]
fn a_step_that_hangs_does_not_look_fast_by_name() {
    let counts = NamedCounts { finished: 2, censored: 1, ..NamedCounts::default() };
    let (latency, at_least) =
        (PackedHistogram::of(Nanos::from_millis(3), 2), PackedHistogram::of(Nanos::from_secs(2), 1));
    let mut second = second(0, RunPart::Window);
    second.named = vec![NamedFigures { name: 0, counts, latency, at_least, ..NamedFigures::default() }];
    let said = told(&run([started(2), RunEvent::Second(Box::new(second))]));
    let named: Vec<&str> = said.lines().filter(|line| line.starts_with("brunt_named_latency_seconds_")).collect();
    let of = |end: &str| named.iter().find(|line| line.contains(end)).and_then(|line| line.rsplit(' ').next());
    assert_eq!([of("le=\"1\""), of("le=\"2.5\""), of("_count{")], [Some("2"), Some("3"), Some("3")], "{named:?}");
}

#[test]
fn the_dashboard_shows_what_there_is() {
    let dashboard = include_str!("../../../docs/grafana.json");
    let is_part = |c: char| c.is_ascii_lowercase() || c == '_';
    let shown: BTreeSet<&str> = dashboard
        .match_indices("brunt_")
        .map(|(at, _)| dashboard[at..].split(|c| !is_part(c)).next().unwrap_or_default())
        .map(|name| ["_bucket", "_sum", "_count"].iter().fold(name, |name, end| name.strip_suffix(end).unwrap_or(name)))
        .collect();
    let figures = LiveFigures::new();
    let reading = figures.read();
    let mut known: BTreeSet<String> = families(&reading).iter().map(|family| family.prometheus_name()).collect();
    // Exported only under open load.
    known.insert("brunt_response_seconds".into());
    assert!(shown.len() > 15, "{shown:?}");
    assert!(shown.iter().all(|name| known.contains(*name)), "{shown:?} of {known:?}");
}

#[test]
fn the_dashboard_asks_for_native_histograms_beside_classic_ones() {
    let dashboard: serde_json::Value = serde_json::from_str(include_str!("../../../docs/grafana.json")).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    let quantiles: Vec<&str> = targets
        .filter_map(|target| target["expr"].as_str())
        .filter(|expr| expr.starts_with("histogram_quantile"))
        .collect();
    assert!(quantiles.len() >= 10, "{quantiles:?}");
    for expr in quantiles {
        let (classic, native) =
            expr.split_once(" or ").unwrap_or_else(|| panic!("{expr} is empty where only native ones are kept"));
        let twin = classic.replace("_bucket{", "{").replace(" by (le) ", " ").replace("by (le, ", "by (");
        assert_eq!(native, twin);
    }
}

fn get(prometheus: &PrometheusServer, request: &str) -> String {
    let mut stream = TcpStream::connect(prometheus.address()).expect("it listens");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut said = Vec::new();
    stream.read_to_end(&mut said).expect("it answers");
    String::from_utf8_lossy(&said).into_owned()
}

#[test]
fn the_final_figures_are_kept_until_they_were_fetched() {
    let mut figures = run([started(1), RunEvent::Second(Box::new(second(0, RunPart::Window)))]);
    let prometheus = PrometheusServer::listen("127.0.0.1:0".parse().unwrap(), figures.clone()).expect("a port");
    assert!(get(&prometheus, "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n").contains("part=\"ended\"} 0"));
    assert!(prometheus.is_awaited());
    figures.observe(&RunEvent::Ended(RunEnd { reason: End::Completed, ..RunEnd::default() })).unwrap();
    assert_eq!(prometheus.linger(Duration::ZERO, &|| false), LingerOutcome::NotFetched, "fetched before the end only");
    assert_eq!(prometheus.linger(Duration::from_secs(60), &|| true), LingerOutcome::NotFetched, "given up");
    let fetched = std::thread::scope(|scope| {
        let waits = scope.spawn(|| prometheus.linger(Duration::from_secs(60), &|| false));
        assert!(get(&prometheus, "GET /metrics HTTP/1.1\r\n\r\n").contains("part=\"ended\"} 1"));
        waits.join().unwrap()
    });
    assert_eq!(fetched, LingerOutcome::Fetched);
}

#[test]
fn what_is_no_scrape_is_answered_as_that() {
    let prometheus = PrometheusServer::listen("127.0.0.1:0".parse().unwrap(), LiveFigures::new()).expect("a port");
    for (request, status) in [
        ("GET / HTTP/1.1\r\n\r\n", "200 OK"),
        ("GET /other HTTP/1.1\r\n\r\n", "404 Not Found"),
        ("PUT /metrics HTTP/1.1\r\n\r\n", "405 Method Not Allowed"),
        ("nonsense\r\n\r\n", "400 Bad Request"),
    ] {
        let said = get(&prometheus, request);
        assert!(said.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{said}");
    }
    let asked = "GET /metrics HTTP/1.1\r\nAccept: application/vnd.google.protobuf\r\n\r\n";
    assert!(get(&prometheus, asked).contains("encoding=delimited"));
}

/// Compares an export with the bytes that opentelemetry-proto 0.33 produced for the same run, except for our version,
/// which both contain.
pub(crate) fn same_as(golden: &[u8], export: &[u8]) {
    let version = env!("CARGO_PKG_VERSION").as_bytes();
    let at = export.windows(version.len()).position(|bytes| bytes == version).expect("our version");
    assert_eq!((export.len(), version.len()), (golden.len(), 5));
    assert!(export[..at] == golden[..at] && export[at + 5..] == golden[at + 5..]);
}

#[test]
fn metrics_are_encoded_as_opentelemetry_encodes_them() {
    let of = |n, part| RunEvent::Second(Box::new(second(n, part)));
    let began = RunEvent::Began(WindowStart { clock_ns: 1, unix_ns: 1_700_000_000_000_000_000 });
    let figures = run([started(2), began, of(0, RunPart::Window), of(1, RunPart::Window)]);
    let resource = [("service.name".to_owned(), "b\u{e9}".to_owned())];
    let export = crate::otlp::metrics(&figures.read(), &resource);
    same_as(include_bytes!("golden/metrics.bin"), &export);
}
