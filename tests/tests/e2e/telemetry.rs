//! Tests of live metrics with Prometheus' own parser, and with a collector built from OpenTelemetry's own messages.

use std::process::Command;

use brunt_tests::external::{BuildOnce, ExternalServer, packages, sources};
use brunt_tests::program::until;
use brunt_tests::redis::RedisProcess;
use brunt_tests::report::report;
use brunt_tests::target::free_port;
use brunt_tests::{TargetProcess, TestReport, brunt, prepare};
use serde_json::{Value, json};

/// Returns the script that reads telemetry. Returns `None` if Python or pip is missing.
fn python(arguments: &[&str]) -> Option<Command> {
    static FETCHED: BuildOnce = BuildOnce::new();
    let packages = packages(&FETCHED, "telemetry-python")?;
    let mut command = Command::new("python3");
    command.arg(sources("telemetry-python").join("telemetry.py")).args(arguments).env("PYTHONPATH", packages);
    Some(command)
}

/// Returns the value of a point by its name and labels.
#[track_caller]
fn of(points: &Value, name: &str, labels: Value) -> Value {
    let all = points.as_array().expect("points");
    let found = all.iter().find(|point| point[0] == name && point[1] == labels);
    found.unwrap_or_else(|| panic!("{name} {labels} in {points}"))[2].clone()
}

#[test]
fn the_last_scrape_says_what_the_report_says() {
    let target = TargetProcess::with(&["--error-rate", "20%"]);
    let (folder, port) = (tempfile::tempdir().expect("a folder"), free_port().to_string());
    let file = folder.path().join("run.json");
    let Some(mut scrape) = python(&["scrape", &format!("http://127.0.0.1:{port}/metrics")]) else { return };
    let other = format!("{}status/404", target.address);
    let out = file.display().to_string();
    let line =
        ["--prometheus", &port, "-r", "400/s", "-d", "1s", "--warmup", "200ms", "-o", &out, &target.address, &other];
    let running = prepare(line).start();
    until("the report is written", || file.exists());
    let said = scrape.output().expect("python");
    let told: Value = serde_json::from_slice(&said.stdout).unwrap_or_else(|_| panic!("{said:?}"));
    // The final metrics have been scraped, so brunt ends.
    running.end();
    let (report, samples) = (TestReport::in_file(&file), &told["samples"]);
    for outcome in ["succeeded", "failed", "unfinished"] {
        let count = report.number(&format!("requests.{outcome}"));
        assert_eq!(of(samples, "brunt_requests_total", json!({ "outcome": outcome })), count, "{samples}: {report}");
        let named = of(samples, "brunt_named_requests_total", json!({ "name": "GET /status/404", "outcome": outcome }));
        assert_eq!(named, report.number(&format!("by_name.1.{outcome}")), "{report}");
    }
    assert_eq!(of(samples, "brunt_requests_scheduled_total", json!({})), report.number("requests.scheduled"));
    assert_eq!(of(samples, "brunt_requests_warmup_total", json!({})), report.number("requests.warmup"));
    for (code, count) in report.at("status").as_object().expect("codes") {
        assert_eq!(of(samples, "brunt_responses_total", json!({ "code": code })), count.as_f64().expect("a count"));
    }
    let count = report.number("latency.response.count");
    assert_eq!(of(samples, "brunt_response_seconds_count", json!({})), count, "{report}");
    assert_eq!(of(samples, "brunt_response_seconds_bucket", json!({ "le": "+Inf" })), count, "{report}");
    let mean = of(samples, "brunt_response_seconds_sum", json!({})).as_f64().expect("a sum") / count * 1e6;
    assert!((mean / report.number("latency.response.mean_us") - 1.0).abs() < 1e-3, "{mean}: {report}");
    assert_eq!(of(samples, "brunt_run_part", json!({ "part": "ended" })), 1.0);
    assert_eq!(told["types"]["brunt_response_seconds"], "histogram");
}

#[test]
fn a_collector_has_what_the_report_has() {
    let Some(mut collect) = python(&["collect"]) else { return };
    let (target, collector) = (TargetProcess::with(&["--error-rate", "20%"]), ExternalServer::start(&mut collect));
    let url = format!("http://127.0.0.1:{}/v1/metrics", collector.port);
    let line = ["--otlp", &url, "-c", "3", "-n", "2000", "--quiet", "--format", "json", &target.address];
    let set = prepare(line).env("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b").env("OTEL_SERVICE_NAME", "load");
    let report = TestReport::of(set.run());
    let told: Value = serde_json::from_str(&collector.counts()).expect("what it took");
    let points = &told["points"];
    assert_eq!((&told["key"], &told["resource"]["service.name"]), (&json!("a b"), &json!("load")), "{told}");
    for outcome in ["succeeded", "failed", "unfinished"] {
        let count = report.count(&format!("requests.{outcome}"));
        assert_eq!(of(points, "brunt.requests", json!({ "outcome": outcome })), count, "{report}");
    }
    assert!(report.count("requests.failed") > 0 && !report.notices().contains(&"otlp_away".into()), "{report}");
    let service = of(points, "brunt.service", json!({}));
    assert_eq!(service[0], report.count("latency.service.count"), "{report}");
    // The median of its buckets agrees with the report's, within the bucket widths of both.
    let (scale, offset) = (service[2].as_i64().expect("a scale"), service[4].as_i64().expect("an offset"));
    let counts: Vec<u64> = service[5].as_array().expect("buckets").iter().filter_map(Value::as_u64).collect();
    let mut below = 0;
    let rank = service[0].as_u64().expect("a count").div_ceil(2);
    let at = counts.iter().position(|n| {
        below += n;
        below >= rank
    });
    let index = offset as f64 + at.expect("a bucket") as f64 + 0.5;
    let median = (index * (-scale as f64).exp2()).exp2() * 1e6;
    let off = (median / report.number("latency.service.p50_us") - 1.0).abs();
    assert!(off < 0.004 + (-scale as f64).exp2(), "{median} at scale {scale}: {report}");
}

#[test]
fn a_collector_that_is_away_or_refuses_stops_no_run_and_is_told_of() {
    let target = TargetProcess::healthy();
    let Some(mut refuse) = python(&["collect", "refuse"]) else { return };
    let refusing = ExternalServer::start(&mut refuse);
    for (port, why) in [(free_port(), "refused"), (refusing.port, "503 Service Unavailable")] {
        let url = format!("http://ann:s3cret-word@127.0.0.1:{port}");
        let report = report(&["--otlp", &url, "-c", "2", "-n", "100", &target.address]);
        assert_eq!(report.requests(), [100, 100, 0, 0], "{report}");
        let notices = report.json["notices"].as_array().expect("notices");
        let notice = notices.iter().find(|notice| notice["code"] == "otlp_incomplete");
        let said = notice.unwrap_or_else(|| panic!("{report}")).to_string();
        assert!(
            said.contains(&format!("http://127.0.0.1:{port}")) && said.to_lowercase().contains(&why.to_lowercase()),
            "{said}"
        );
        assert!(!report.to_string().contains("s3cret-word"), "{report}");
    }
}

#[test]
fn what_cannot_be_exported_is_refused_before_anything_is_sent() {
    let taken = TargetProcess::healthy();
    let port = taken.address.trim_end_matches('/').rsplit(':').next().expect("a port").to_owned();
    let cases: [(&[&str], &str); 7] = [
        (&["--prometheus", &port], "--prometheus: cannot listen on 127.0.0.1:"),
        (&["--prometheus", "http://x"], "--prometheus: `http://x` is not an address to listen on"),
        (&["--linger", "5s"], "--linger: needs --prometheus"),
        (&["--otlp", "ftp://h"], "--otlp: `ftp://h` is not the URL of a collector"),
        (&["--otlp", "env"], "--otlp: env asks for OTEL_EXPORTER_OTLP_ENDPOINT, which is not set"),
        (&["--trace", "7"], "--trace: `7` is not a share of the traces"),
        (&["--trace", "1%", "-H", "TraceParent: x"], "--trace: sets the traceparent header, and so does -H"),
    ];
    for (line, said) in cases {
        brunt([line, &["-n", "1", &taken.address]].concat()).with_code(64).containing(said);
    }
    brunt(["--trace", "1%", "-n", "1", "redis://127.0.0.1:9"])
        .with_code(64)
        .containing("--trace: cannot be sent as a header with this protocol");
    assert_eq!(taken.requests(), 0);
}

#[test]
fn a_trace_goes_with_the_request() {
    let target = TargetProcess::healthy();
    let sent = brunt(["--debug", "--trace", "100%", "-H", "X-A: b", &target.address]).with_code(0).out;
    let line =
        sent.lines().find_map(|line| line.trim().strip_prefix("traceparent: ")).unwrap_or_else(|| panic!("{sent}"));
    let parts: Vec<usize> = line.split('-').map(str::len).collect();
    assert_eq!((parts, line.ends_with("-01")), (vec![2, 32, 16, 2], true), "{line}");
    // Slow and failed requests are reported by the ids that were sent.
    let failing = TargetProcess::with(&["--error-rate", "30%"]);
    let report = report(&["--trace", "100%", "-n", "200", "-c", "2", "--seed", "7", &failing.address]);
    let slowest = report.at("slowest").as_array().expect("a list");
    assert!(slowest.len() >= 8, "{report}");
    let text = |path| report.at(path).as_str().expect("a text").to_owned();
    let id = text("failures.0.example.trace.id");
    assert!(text("failures.0.example.sent").contains(&format!("traceparent: 00-{id}-")), "{report}");
}

#[test]
fn spans_of_brunt_carry_the_ids_that_the_service_heard() {
    let Some(mut collect) = python(&["collect"]) else { return };
    let collector = ExternalServer::start(&mut collect);
    let port = collector.port;
    let url = format!("http://127.0.0.1:{port}");
    let (good, bad) = (format!("{url}/"), format!("{url}/fail"));
    // The destination is taken from the environment, which is used only with the option.
    let line = ["--otlp", "env", "--trace", "50%", "-r", "60/s", "-n", "90", "--warmup", "0s", &good, &bad];
    let set = prepare([&line[..], &["--format", "json"]].concat())
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://ann:s3cret-word@127.0.0.1:9")
        .env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", format!("{url}/v1/traces"))
        .env("OTEL_METRICS_EXPORTER", "none");
    let said = set.run();
    assert!(said.err.contains(&format!("Sending spans to {url}/v1/traces")), "{}", said.err);
    let report = TestReport::of(said);
    let told: Value = serde_json::from_str(&collector.counts()).expect("what it took");
    let list = |name: &str| told[name].as_array().expect("a list").clone();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let heard: Vec<String> = list("heard").iter().map(text).collect();
    let (requests, children): (Vec<Value>, Vec<Value>) = list("spans").into_iter().partition(|span| span["kind"] == 3);
    let header = |span: &Value| format!("00-{}-{}-0{}", text(&span["trace"]), text(&span["span"]), span["flags"]);
    let sent: Vec<String> = requests.iter().map(header).collect();
    assert!(sent.iter().all(|header| heard.contains(header)), "{sent:?} {heard:?}");
    // One span for each sampled request, and one for each failed request.
    let failed = requests.iter().filter(|span| span["status"] == 2).count() as u64;
    assert!(
        heard
            .iter()
            .filter(|header| header.ends_with("-01"))
            .all(|header| sent.contains(header) || Some(header) == heard.first())
    );
    assert_eq!((failed, report.count("requests.failed") > 0), (report.count("requests.failed"), true), "{report}");
    for span in &requests {
        let known = |key: &str| span["attributes"][key].clone();
        let failed = span["status"] == 2;
        let path = if failed { "/fail" } else { "/" };
        assert_eq!(
            (known("http.request.method"), known("url.full")),
            (json!("GET"), json!(format!("{url}{path}"))),
            "{span}"
        );
        assert_eq!(known("http.response.status_code"), if failed { 503 } else { 200 });
        assert_eq!(known("error.type"), if failed { json!("503") } else { Value::Null });
        assert_eq!((known("server.address"), known("server.port")), (json!("127.0.0.1"), json!(port)));
        assert!(
            span["start"].as_u64() <= span["events"][0][1].as_u64()
                && span["events"][0][1].as_u64() < span["end"].as_u64()
        );
    }
    assert!(children.iter().all(|child| requests.iter().any(|span| span["span"] == child["parent"])));
    for slow in report.at("slowest").as_array().expect("a list") {
        assert!(requests.iter().any(|span| span["span"] == slow["trace"]["span"]), "{slow}");
    }
}

#[test]
fn requests_of_a_database_are_spans_of_its_client() {
    let (Some(mut collect), Some(redis)) = (python(&["collect"]), RedisProcess::start(&[])) else { return };
    let collector = ExternalServer::start(&mut collect);
    let url = format!("http://127.0.0.1:{}", collector.port);
    let commands = ["--command", "LPUSH list {counter}", "--command", "GET list"];
    let line = ["--otlp", &url, "--trace", "1", "-r", "60/s", "-n", "60", "--warmup", "0s", "--format", "json"];
    let report = TestReport::of(prepare([&line[..], &commands, &[&redis.url(3)]].concat()).run());
    let told: Value = serde_json::from_str(&collector.counts()).expect("what it took");
    let (requests, _): (Vec<&Value>, Vec<&Value>) =
        told["spans"].as_array().expect("a list").iter().partition(|span| span["kind"] == 3);
    assert_eq!(requests.len() as u64, report.count("requests.scheduled"), "{report}");
    let failed: Vec<&&Value> = requests.iter().filter(|span| span["status"] == 2).collect();
    assert_eq!(failed.len() as u64, report.count("requests.failed"));
    assert!(!failed.is_empty() && failed.len() < requests.len(), "{report}");
    for span in &requests {
        let known = |key: &str| span["attributes"][key].clone();
        let wrong = span["status"] == 2;
        let (operation, asked) = if wrong { ("GET", commands[3]) } else { ("LPUSH", commands[1]) };
        assert_eq!(
            [known("db.system.name"), known("db.namespace"), known("db.operation.name"), known("db.query.text")],
            ["redis", "3", operation, asked].map(Value::from),
            "{span}"
        );
        assert_eq!((&span["name"], known("server.port")), (&json!(operation), json!(redis.port)));
        assert_eq!(known("db.response.status_code"), if wrong { json!("WRONGTYPE") } else { Value::Null });
        assert_eq!(known("error.type"), known("db.response.status_code"));
    }
}
