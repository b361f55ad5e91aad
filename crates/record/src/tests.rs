//! A synthetic run for the tests of this crate.

use super::*;
use brunt_plan::{Arrivals, Load, NetKind, Stage, WeightedUrl};

fn plan() -> Plan {
    Plan {
        protocol: "http".into(),
        urls: vec![WeightedUrl::plain("http://127.0.0.1:1/")].into(),
        more_urls: 0,
        options: BTreeMap::from([("header".to_string(), vec!["A: b".to_string()])]),
        load: Load::Open {
            stages: vec![Stage { lasts: Nanos::from_secs(10), from: 5.0, to: 5.0 }],
            arrivals: Arrivals::Poisson,
        },
        flow: None,
        scenarios: Vec::new(),
        common: None,
        requests: None,
        duration: Some(Nanos::from_secs(10)),
        warmup: Nanos::ZERO,
        drain: Nanos::from_secs(5),
        timeout: Nanos::from_secs(10),
        connect_timeout: Nanos::from_secs(5),
        dns_refresh: None,
        max_connections: 10,
        workers: 1,
        pin: false,
        precise: false,
        slack: Nanos::ZERO,
        connect_rate: None,
        reference: None,
        trace: None,
        hold: None,
        heartbeat: None,
        net: NetKind::Auto,
        sources: Vec::new(),
        connect_to: Vec::new(),
        proxies: brunt_plan::ProxySettings::default(),
        unix_socket: None,
        tls: brunt_plan::Tls::default(),
        objectives: vec!["p99<50ms".into()],
        trust: Default::default(),
        seed: u64::MAX,
    }
}

/// Creates a second with numbers at their limits.
pub(crate) fn second(n: i64) -> RunEvent {
    let mut latency = Latency::default();
    latency.response.record(Nanos(123_456 + n as u64));
    latency.response_at_least.record(Nanos::MAX);
    RunEvent::Second(Box::new(Second {
        from_ns: n * 1_000_000_000,
        to_ns: (n + 1) * 1_000_000_000,
        due: 1 << 50,
        in_flight_ns: u128::from(u64::MAX),
        service_ns: -5,
        status: BTreeMap::from([("200".into(), 7)]),
        failures: vec![Failure { kind: "refused".into(), phase: "connect".into(), errno: None, count: 2 }],
        latency,
        ..Second::default()
    }))
}

/// Creates the events of a run: a start, a probe, the given number of seconds and an end.
pub(crate) fn a_run(seconds: i64) -> Vec<RunEvent> {
    let started = RunStarted {
        schema: SCHEMA.into(),
        brunt: "0.1.0".into(),
        unix_ms: 1,
        command: vec!["brunt".into(), "\u{1F980}\n".into()],
        plan: plan(),
        hosts: vec![GeneratorHost { cores: 1.5, ..GeneratorHost::default() }],
        net: "sim".into(),
        workers: 1,
        silent: Some(false),
        around: Vec::new(),
        agents: Vec::new(),
        checks: Vec::new(),
        names: Vec::new(),
    };
    let mut events = vec![RunEvent::Started(Box::new(started)), RunEvent::FirstResponse(FirstResponse::default())];
    events.extend((0..seconds).map(second));
    let window = Nanos::from_secs(seconds.unsigned_abs());
    events.push(RunEvent::Ended(RunEnd { reason: End::Completed, window, ..RunEnd::default() }));
    events
}

#[test]
fn the_schema_names_every_event_and_the_fields_of_a_line() {
    let schema: serde_json::Value = serde_json::from_str(&schema_json()).unwrap();
    let shapes = schema["oneOf"].as_array().unwrap();
    let names: Vec<&str> = shapes.iter().map(|s| s["properties"]["event"]["const"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "started",
            "probe",
            "began",
            "second",
            "changed",
            "counters",
            "reference",
            "joined",
            "example",
            "notice",
            "of_agent",
            "ended"
        ]
    );
    let line = serde_json::to_value(second(0)).unwrap();
    let known = schema["$defs"]["Second"]["properties"].as_object().unwrap();
    for field in line.as_object().unwrap().keys().filter(|k| *k != "event") {
        assert!(known.contains_key(field), "{field} is missing in the schema");
    }
}

#[test]
fn wide_numbers_out_of_range_are_refused() {
    let line = serde_json::to_string(&second(0)).unwrap();
    let line = line.replacen("\"in_flight_ns\":18446744073709551615", "\"in_flight_ns\":-1", 1);
    assert!(serde_json::from_str::<RunEvent>(&line).unwrap_err().to_string().contains("-1 is out of range"));
}

#[test]
fn codes_are_told_apart_up_to_a_bound_and_add_up() {
    let mut all = std::collections::BTreeMap::new();
    (0..10_000).for_each(|n| crate::add_code(&mut all, &format!("{n} {}", "é".repeat(500)), 3));
    crate::add_code(&mut all, "0 ", 1);
    assert_eq!((all.len(), all.values().sum::<u64>()), (crate::MAX_CODES + 1, 30_001));
    assert!(all.keys().all(|name| name.len() <= 64) && all[crate::OTHER_CODES] == 3 * (10_000 - 128) + 1);
}

#[test]
fn of_very_many_urls_the_first_are_listed_and_the_others_counted() {
    for (urls, listed, more) in [
        (vec![WeightedUrl::plain("http://a/"); 1000], 1000, 0),
        (vec![WeightedUrl::plain("http://a/"); 5000], 1000, 4000),
        (vec![WeightedUrl::plain("x".repeat(300_000)); 5], 3, 2),
        (vec![WeightedUrl::plain("x".repeat(3_000_000)); 2], 1, 1),
    ] {
        let count = urls.len();
        let whole = Plan { urls: urls.into(), ..plan() };
        let shown = whole.clone().listed();
        assert_eq!((shown.urls.len(), shown.more_urls, shown.count_urls()), (listed, more, count));
        assert_eq!((whole.urls.len(), shown.clone().listed()), (count, shown.clone()), "the plan itself is whole");
        let mut given = whole.clone();
        assert_eq!((given.take_urls(), given), (whole.urls, shown), "who takes them has all");
    }
}

#[test]
fn changes_of_load_are_written_in_plain_words() {
    for (change, written) in [
        (brunt_plan::Change::Rate(110.5), r#"{"rate":110.5}"#),
        (brunt_plan::Change::Users(7), r#"{"users":7}"#),
        (brunt_plan::Change::Pause, r#""pause""#),
        (brunt_plan::Change::Resume, r#""resume""#),
    ] {
        let event = RunEvent::Changed(crate::LoadChange { at_ns: -5, change });
        let line = serde_json::to_string(&event).unwrap();
        assert_eq!(line, format!(r#"{{"event":"changed","at_ns":-5,"change":{written}}}"#));
        assert_eq!(serde_json::from_str::<RunEvent>(&line).unwrap(), event);
    }
}

#[test]
fn records_that_name_one_machine_are_still_read() {
    let RunEvent::Started(started) = a_run(0).swap_remove(0) else { panic!("a run begins with its start") };
    let read = |line: &serde_json::Value| serde_json::from_str::<RunEvent>(&line.to_string());
    let line = serde_json::to_value(RunEvent::Started(started.clone())).unwrap();
    let mut older = line.clone();
    let hosts = older.as_object_mut().unwrap().remove("hosts").unwrap();
    assert!(read(&older).is_err(), "a run is generated somewhere");
    older["host"] = hosts[0].clone();
    let mut of_two = line.clone();
    of_two["hosts"] = serde_json::json!([hosts[0], hosts[0]]);
    for (line, machines) in [(line, 1), (older, 1), (of_two, 2)] {
        let Ok(RunEvent::Started(read)) = read(&line) else { panic!("{line}") };
        assert_eq!((read.host(), read.hosts.len()), (started.host(), machines));
    }
}

#[test]
fn records_with_the_first_names_of_the_counts_are_still_read() {
    let line = serde_json::to_string(&second(0)).unwrap();
    let names = ["scheduled", "succeeded", "unfinished", "succeeded_of_warmup"];
    assert!(names.iter().all(|name| line.contains(&format!("\"{name}\":"))), "{line}");
    let firsts = ["due", "finished", "censored", "finished_of_warmup"];
    let first = names
        .iter()
        .zip(firsts)
        .fold(line.clone(), |line, (name, first)| line.replace(&format!("\"{name}\":"), &format!("\"{first}\":")));
    assert_ne!(first, line);
    let read = |line: &str| serde_json::from_str::<RunEvent>(line).unwrap();
    assert_eq!(read(&first), read(&line));
}
