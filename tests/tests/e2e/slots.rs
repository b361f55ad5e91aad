//! Tests of placeholders in requests, verified by the servers' counts.

use std::collections::HashSet;

use brunt_tests::nginx::NginxProcess;
use brunt_tests::report::report;
use brunt_tests::{ScriptedPeer, TargetProcess, brunt, prepare};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Returns the bodies of requests, after checking their lengths against their heads.
fn bodies(heard: &[Vec<u8>]) -> Vec<String> {
    let body = |request: &Vec<u8>| {
        let text = String::from_utf8(request.clone()).expect("text");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).expect("a length");
        assert_eq!(length.parse(), Ok(body.len()), "{text}");
        body.to_owned()
    };
    heard.iter().map(body).collect()
}

/// Covers the pre-flight request and every request of two workers, in one process or two.
#[test]
fn no_two_requests_of_a_run_have_the_same_number() {
    for processes in [&[][..], &["--processes", "2"]] {
        let peer = ScriptedPeer::answering(OK);
        let url = format!("{}a/{{counter}}", peer.url());
        let asked = ["-n", "300", "-c", "4", "-w", "2", "--data", "{\"id\":{counter},\"u\":\"{uuid}\"}", &url];
        let report = report(&[&asked[..], processes].concat()).with_code(0);
        assert_eq!(report.requests(), [300, 300, 0, 0], "{report}");
        let heard = peer.received();
        let bodies = bodies(&heard);
        let different: HashSet<&String> = bodies.iter().collect();
        assert_eq!((bodies.len(), different.len()), (300, 300), "{processes:?}");
        let lines: HashSet<&[u8]> =
            heard.iter().map(|request| request.split(|b| *b == b'\r').next().unwrap()).collect();
        assert_eq!(lines.len(), 300, "the path has the number too");
    }
}

/// Checks that the example of a failure shows the request that failed, with its secrets masked.
#[test]
fn an_example_shows_what_was_sent_and_no_secret() {
    let peer = ScriptedPeer::answering("HTTP/1.1 500 No\r\nContent-Length: 19\r\n\r\nno such sesame-4711");
    let directory = tempfile::tempdir().expect("a folder");
    let document = directory.path().join("report.json").display().to_string();
    let token = ["-o", &document, "-H", "Authorization: Bearer {env BRUNT_TEST_TOKEN}"];
    let asked = ["-n", "3", "-c", "1", "--data", "number {counter}", &peer.url()].map(str::to_owned);
    let run = prepare(token.map(str::to_owned).into_iter().chain(asked)).env("BRUNT_TEST_TOKEN", "sesame-4711").run();
    let said = run.out + &run.err + &std::fs::read_to_string(&document).expect("a report");
    assert!(said.contains("number 1") && !said.contains("sesame"), "{said}");
    assert!(peer.received().iter().all(|request| String::from_utf8_lossy(request).contains("Bearer sesame-4711")));
}

#[test]
fn what_is_wrong_with_a_slot_is_said_before_anything_is_sent() {
    let peer = ScriptedPeer::answering(OK);
    for (asked, wanted) in [
        (["--data", "{countr}"], "--data: {countr} is not a slot; use {counter}"),
        (["-H", "X: {env BRUNT_NO_SUCH_VARIABLE}"], "--header: {env BRUNT_NO_SUCH_VARIABLE} is not set"),
    ] {
        let run = brunt([&asked[..], &["-n", "1", &peer.url()]].concat());
        assert!(run.err.contains(wanted), "{}", run.err);
        assert_eq!(run.code, Some(64), "{}", run.err);
    }
    assert!(peer.received().is_empty());
}

#[test]
fn curl_commands_and_lists_of_urls_have_slots() {
    let directory = tempfile::tempdir().expect("a folder");
    let peer = ScriptedPeer::answering(OK);
    let commands = directory.path().join("commands.sh");
    let url = format!("{}i/{{counter}}?r={{random 3..3}}", peer.url());
    let text = format!("curl '{url}' -H 'X-User: u{{user}}' --json '{{\"a\":{{\"n\":{{counter}}}}}}'\n");
    std::fs::write(&commands, text).expect("written");
    report(&["-n", "2", "-c", "1", "--curl-file", commands.to_str().expect("a path")]).with_code(0);
    let heard: Vec<String> =
        peer.received().iter().map(|request| String::from_utf8_lossy(request).into_owned()).collect();
    let last = heard.last().expect("a request");
    assert!(last.starts_with("POST /i/2?r=3 HTTP/1.1\r\n") && last.contains("\r\nX-User: u0\r\n"), "{last}");
    assert!(last.ends_with("\r\n\r\n{\"a\":{\"n\":2}}"), "{last}");
    let list = directory.path().join("urls.txt");
    std::fs::write(&list, format!("{url} 3\n")).expect("written");
    report(&["-n", "2", "-c", "1", "--urls", list.to_str().expect("a path")]).with_code(0);
    let last = String::from_utf8_lossy(&peer.received().pop().expect("a request")).into_owned();
    assert!(last.starts_with("GET /i/2?r=3 HTTP/1.1\r\n"), "{last}");
}

/// Checks that each row is used once, for any number of workers and processes and under closed and open load, and that
/// the run then ends with every request accounted for.
#[test]
fn each_row_of_a_data_file_is_taken_once() {
    let directory = tempfile::tempdir().expect("a folder");
    let file = directory.path().join("users.csv");
    std::fs::write(&file, (0..400).fold("name\n".to_owned(), |all, n| all + &format!("u{n}\n"))).expect("written");
    let body = |words: &str| format!("{{csv {}.name {words}}}", file.display());
    for (words, load) in [
        // Users are not distributed evenly to the workers, nor rows to the users.
        ("unique", &["-c", "3", "-d", "60s", "-w", "2"][..]),
        ("shuffle stop", &["-c", "7", "-d", "60s", "-w", "4", "--processes", "2"]),
        ("unique", &["-r", "1000/s", "-d", "60s", "-w", "3"]),
        ("unique", &["-r", "1000/s", "--arrivals", "constant", "-d", "60s", "-w", "2"]),
    ] {
        let peer = ScriptedPeer::answering(OK);
        let report = report(&[load, &["--data", &body(words), &peer.url()]].concat()).with_code(0);
        assert_eq!(report.requests(), [400, 400, 0, 0], "{load:?}: {report}");
        // Nothing is sent before the run, which would use up a row.
        let rows = bodies(&peer.received());
        let different: HashSet<&String> = rows.iter().collect();
        assert_eq!((rows.len(), different.len()), (400, 400), "{load:?}");
    }
    let run = brunt(["--warmup", "1s", "--data", &body("stop"), "127.0.0.1:9"]);
    assert!(run.err.contains("--warmup: needs rows from a data file"), "{}", run.err);
    each_scenario_ends_with_its_rows(directory.path(), &body("unique"));
}

/// Runs two scenarios, of which only one has rows that are used once; the run reports which of them ends, and why.
fn each_scenario_ends_with_its_rows(directory: &std::path::Path, row: &str) {
    let (peer, plan) = (ScriptedPeer::answering(OK), directory.join("plan.yaml"));
    let step = |path: &str| format!("[{{url: \"{}{path}\"}}]", peer.url());
    let (rows, others) = (step(&format!("rows?u={row}")), step("others"));
    let text = format!(
        "workers: 2\nscenarios:\n  shop: {{users: 3, duration: 60s, flow: {rows}}}\n  \
         other: {{users: 1, iterations: 5, duration: 60s, flow: {others}}}\n"
    );
    std::fs::write(&plan, text).expect("written");
    let report = report(&[plan.to_str().expect("a path")]).with_code(0);
    let heard: Vec<String> =
        peer.received().iter().map(|request| String::from_utf8_lossy(request).into_owned()).collect();
    let rows: Vec<&str> = heard.iter().filter_map(|r| r.strip_prefix("GET /rows?u=")?.split(' ').next()).collect();
    let different: HashSet<_> = rows.iter().collect();
    assert_eq!((rows.len(), different.len()), (400, 400), "{report}");
    assert_eq!(report.requests(), [405, 405, 0, 0], "{report}");
    let notices = report.json["notices"].as_array().expect("notices");
    let ends = notices.iter().find(|notice| notice["code"] == "data_end_scenario").expect("who ends, and of what");
    assert_eq!(ends["facts"]["scenarios"], "shop (400)", "{report}");
}

/// Covers gRPC, HTTP/2 and WebSocket against the built-in target, which counts the messages it decoded.
#[test]
fn every_protocol_fills_its_slots() {
    let target = TargetProcess::healthy();
    let at = |scheme: &str, path: &str| format!("{scheme}://{}/{path}", target.host());
    let table: [(&[&str], String); 3] = [
        (
            &[
                "--http2",
                "--streams",
                "4",
                "--data",
                "{\"id\":{counter},\"u\":\"{uuid}\"}",
                "--expect-body",
                "\"u\":\"",
                "-H",
                "X-Id: {counter}",
            ],
            at("http", "echo?n={random 1..9}"),
        ),
        (
            &["--data", "{\"text\":\"u{user} {counter}\",\"count\":{counter below 3}}", "-H", "x-id: {uuid}"],
            at("grpc", "brunt.Target/Unary"),
        ),
        (&["--data", "{\"seq\":{counter},\"a\":{\"b\":{}}}", "--match-field", "seq"], at("ws", "")),
    ];
    for (options, url) in table {
        let report = report(&[options, &["-n", "300", "-c", "4", "-w", "2", &url]].concat()).with_code(0);
        assert_eq!(report.requests(), [300, 300, 0, 0], "{url}: {report}");
    }
}

/// Uses nginx, which reads every body completely, and whose log must contain each path once.
#[test]
fn nginx_sees_each_number_once() {
    let Some(nginx) = NginxProcess::start(
        "log_format paths \"$uri\";",
        "",
        "access_log access.log paths; location / { return 200 ok; }",
    ) else {
        return;
    };
    let url = format!("{}i/{{counter}}", nginx.url());
    let report = report(&["-n", "500", "-c", "4", "-w", "2", "--data", "{\"a\":\"{uuid}{random 1..99999}\"}", &url])
        .with_code(0);
    assert_eq!(report.requests(), [500, 500, 0, 0], "{report}");
    let log = nginx.stop_and_read_log();
    let paths: HashSet<&str> =
        log.iter().filter_map(|line| line.split_whitespace().find(|word| word.starts_with("/i/"))).collect();
    assert_eq!((log.len(), paths.len()), (500, 500));
}
