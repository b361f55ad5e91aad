//! Tests of a target with every protocol that it supports: its counts for each protocol agree with
//! those of the runs.

use brunt_tests::report::report;
use brunt_tests::{TargetProcess, brunt};

fn of(target: &TargetProcess, protocol: &str, what: &str) -> u64 {
    target.stats()["protocols"][protocol][what].as_u64().unwrap_or(0)
}

#[test]
fn http2_streams_are_answered_each_in_its_time() {
    let target = TargetProcess::healthy();
    // Ten users on two connections: a waiting stream does not block others.
    let run = report(&["--http2", "-c", "10", "--streams", "5", "-n", "300", &target.url("delay/uniform:1ms..9ms")])
        .with_code(0);
    assert_eq!(run.count("requests.succeeded"), 300, "{run}");
    let probes = run.count("requests.probe");
    assert_eq!(of(&target, "http2", "messages"), 300 + probes);
    let large = report(&["--http2", "-c", "2", "-n", "20", &target.url("bytes/300000")]).with_code(0);
    assert_eq!(large.count("bytes.payload"), 20 * 300_000, "{large}");
}

#[test]
fn faults_in_http2_fail_the_request_and_not_its_neighbours() {
    let target = TargetProcess::healthy();
    for path in ["reset", "cut/20", "short/1000", "long/1000"] {
        let run = report(&["--http2", "-c", "4", "--streams", "4", "-n", "40", &target.url(path)]);
        assert_eq!(run.count("requests.failed"), 40, "{path}: {run}");
    }
    let requests = &target.stats()["requests"];
    let count = |name: &str| requests[name].as_u64().unwrap();
    assert_eq!(count("spoiled") + count("withheld"), count("heard"), "{requests}");
    assert_eq!(count("abandoned"), 0, "{requests}");
    // An invalid frame ends the connection, and with it all other requests on it.
    let run = report(&["--http2", "-c", "4", "--streams", "4", "-n", "40", &target.url("garbage")]);
    assert_eq!(run.count("requests.failed"), 40, "{run}");
}

#[test]
fn http2_over_tls_is_chosen_by_alpn() {
    let target = TargetProcess::with(&["--tls"]);
    let run = report(&["-k", "--http", "2", "-c", "8", "--streams", "4", "-n", "400", &target.url("")]).with_code(0);
    assert_eq!(run.count("requests.succeeded"), 400, "{run}");
}

#[test]
fn web_sockets_hear_their_messages_back() {
    let target = TargetProcess::healthy();
    let url = target.url("chat").replace("http://", "ws://");
    let run = report(&["-c", "10", "-n", "500", "--data", "hello", &url]).with_code(0);
    assert_eq!(run.count("requests.succeeded"), 500, "{run}");
    assert_eq!(of(&target, "websocket", "messages"), 500 + run.count("requests.probe"));
    let secured = TargetProcess::with(&["--tls"]);
    let url = secured.url("chat").replace("https://", "wss://");
    let run = report(&["-k", "-c", "5", "-n", "200", "--data", "hello", &url]).with_code(0);
    assert_eq!(run.count("requests.succeeded"), 200, "{run}");
}

/// Returns the number of matching lines in a log of arrivals, once the target has ended.
fn logged(target: TargetProcess, file: &str, path: &str) -> u64 {
    target.stop();
    let text = std::fs::read_to_string(file).expect("a log");
    text.lines().filter(|line| line.ends_with(path)).count() as u64
}

/// Verifies the counts by the log of arrivals, because the counters are reachable only over TLS.
#[test]
fn every_protocol_over_tls_agrees_with_the_log_of_arrivals() {
    let directory = tempfile::tempdir().expect("a directory");
    let cases: [(&str, &str, &[&str]); 4] = [
        ("https://", "bytes/100", &["--http", "2", "--streams", "4"]),
        ("https://", "delay/1ms", &["--http", "auto", "--streams", "2"]),
        (
            "grpcs://",
            "brunt.Target/Bidi",
            &["--streams", "4", "--data", "{\"text\": \"a\"}\n{\"text\": \"b\"}", "--lockstep"],
        ),
        ("wss://", "chat", &["--data", "hello"]),
    ];
    for (at, (scheme, path, options)) in cases.iter().enumerate() {
        let file = brunt_tests::target::text(directory.path(), &format!("{at}.log"));
        let target = TargetProcess::with(&["--tls", "--log-arrivals", &file]);
        let url = target.url(path).replace("https://", scheme);
        let run = report(&[&["-k", "-c", "8", "-n", "400"][..], options, &[&url]].concat()).with_code(0);
        assert_eq!(run.requests(), [400, 400, 0, 0], "{url}: {run}");
        assert_eq!(logged(target, &file, path), 400 + run.count("requests.probe"), "{url}");
    }
}

fn calls(target: &TargetProcess, what: &str) -> u64 {
    target.stats()["grpc"][what].as_u64().expect("a count")
}

#[test]
fn calls_of_every_shape_agree_with_the_target() {
    let target = TargetProcess::healthy();
    let three = "{\"text\": \"one\"}\n{\"text\": \"two\"}\n{\"text\": \"three\"}";
    let cases: [(&str, &[&str], u64, u64); 6] = [
        ("brunt.Target/Unary", &["--data", "{\"text\": \"hello\"}", "--streams", "2"], 1, 1),
        ("brunt.Target/ClientStream", &["--data", three], 3, 1),
        ("brunt.Target/ServerStream", &["--data", "{\"text\": \"x\", \"count\": 5}", "--streams", "4"], 1, 5),
        ("brunt.Target/Bidi", &["--data", three], 3, 3),
        ("brunt.Target/Bidi", &["--data", three, "--lockstep", "--streams", "2"], 3, 3),
        ("grpc.health.v1.Health/Check", &[], 1, 1),
    ];
    for (method, options, heard, said) in cases {
        let before = ["calls", "heard", "said"].map(|what| calls(&target, what));
        let url = target.url(method).replace("http://", "grpc://");
        let run = report(&[&["-n", "200", "-c", "4"], options, &[&url]].concat()).with_code(0);
        assert_eq!(run.requests(), [200, 200, 0, 0], "{method}: {run}");
        let after = ["calls", "heard", "said"].map(|what| calls(&target, what));
        let all = 200 + run.count("requests.probe");
        let each: Vec<u64> = after.iter().zip(before).map(|(after, before)| after - before).collect();
        assert_eq!(each, [all, all * heard, all * said], "{method}");
    }
    let stats = target.stats();
    assert_eq!(stats["requests"]["waiting"], 0, "{stats}");
    assert_eq!(stats["requests"]["answered"], stats["requests"]["heard"], "{stats}");
}

#[test]
fn calls_are_delayed_and_spoiled_by_their_metadata() {
    let target = TargetProcess::healthy();
    let run = |wish: &str, options: &[&str]| {
        let wish = format!("brunt-path: {wish}");
        let url = target.url("brunt.Target/Unary").replace("http://", "grpc://");
        report(&[&["-n", "20", "-c", "2", "--streams", "2", "-H", &wish], options, &[&url]].concat())
    };
    let slow = run("/delay/20ms", &[]).with_code(0);
    assert_eq!(slow.requests(), [20, 20, 0, 0], "{slow}");
    assert!(slow.number("latency.service.min_us") >= 20_000.0, "{slow}");
    for (wish, kind) in [
        ("/reset", "wrong_status"),
        ("/cut/3", "wrong_status"),
        ("/short/100", "broken_protocol"),
        ("/long/100", "broken_protocol"),
        ("/?grpc-status=5", "wrong_status"),
        ("/status/503", "wrong_status"),
    ] {
        let failed = run(wish, &[]);
        assert_eq!(failed.requests(), [20, 0, 20, 0], "{wish}: {failed}");
        assert_eq!(failed.failures()[kind], 20, "{wish}: {failed}");
    }
    let late = run("/hang", &["--deadline", "30ms"]);
    assert!(late.json["failures"].to_string().contains("DEADLINE_EXCEEDED"), "{late}");
}

#[test]
fn the_target_tells_its_services_by_reflection() {
    let target = TargetProcess::healthy();
    let url = target.url("").replace("http://", "grpc://");
    let listed = brunt([url.as_str(), "-n", "1", "-c", "1"]).with_code(64);
    for method in [
        "brunt.Target/Unary (unary)",
        "brunt.Target/Bidi (bidirectional streaming)",
        "grpc.health.v1.Health/Watch (server streaming)",
        "grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    ] {
        assert!(listed.err.contains(method), "{method} in {}", listed.err);
    }
    brunt([format!("{url}brunt.Targe/Unary").as_str(), "-n", "1", "-c", "1"])
        .with_code(64)
        .containing("there is no service brunt.Targe; use brunt.Target");
}
