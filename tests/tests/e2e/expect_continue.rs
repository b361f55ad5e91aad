//! Tests of `Expect: 100-continue` against servers that ask for a body, that decline it, and that do not support it.

use std::process::Command;

use brunt_tests::external::{ExternalServer, sources};
use brunt_tests::nginx::NginxProcess;
use brunt_tests::report::report;
use brunt_tests::{ScriptedPeer, TargetProcess, brunt};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn python() -> Option<ExternalServer> {
    if Command::new("python3").arg("--version").output().is_err() {
        brunt_tests::skip("python3 is not installed");
        return None;
    }
    Some(ExternalServer::start(Command::new("python3").arg(sources("sessions.py"))))
}

#[test]
fn a_server_that_asks_for_bodies_gets_each() {
    let Some(server) = python() else { return };
    let url = format!("http://127.0.0.1:{}/echo", server.port);
    let line =
        ["--expect-continue", "--data", "{\"id\":{counter}}", "--expect-body", "{\"id\":{counter}}", "-n", "100"];
    let report = report(&[&line[..], &["-c", "4", "--continue-wait", "1m", &url]].concat()).with_code(0);
    assert_eq!(report.requests(), [100, 100, 0, 0], "{report}");
    assert_eq!((report.count("requests.declined"), report.count("requests.released")), (0, 0), "{report}");
    assert_eq!(report.count("connections.opened"), 4, "kept: {report}");
    assert_eq!(server.counts().split_whitespace().last(), Some("100"), "asked for; the pre-flight sends no body");
}

#[test]
fn a_body_that_is_declined_is_not_sent_and_its_connection_carries_nothing_more() {
    let Some(server) = python() else { return };
    let body = "x".repeat(50_000);
    let url = format!("http://127.0.0.1:{}/refuse", server.port);
    let line = ["--expect-continue", "--data", &body, "--expect-status", "413", "-n", "40", "-c", "4", &url];
    let report = report(&line).with_code(0);
    assert_eq!(report.requests(), [40, 40, 0, 0], "{report}");
    assert_eq!((report.count("requests.declined"), report.count("connections.opened")), (40, 40), "{report}");
    assert!(report.count("bytes.sent") < 40 * 1000, "no body: {report}");
}

/// Allows nginx to close after its 413 or to read on; brunt closes the connection either way.
#[test]
fn nginx_declines_what_is_too_large_and_asks_for_the_rest() {
    let limit = "client_max_body_size 1k; location / { default_type text/plain; return 200 x; }";
    for (size, declined) in [(500, 0), (5000, 60)] {
        let Some(nginx) = NginxProcess::start("", "", limit) else { return };
        let body = "x".repeat(size);
        let line = ["--expect-continue", "--continue-wait", "1m", "--data", &body, "--expect-status", "200,413"];
        let report = report(&[&line[..], &["-n", "60", "-c", "3", &nginx.url()]].concat()).with_code(0);
        assert_eq!(report.requests(), [60, 60, 0, 0], "{report}");
        assert_eq!(report.count("requests.declined"), declined, "{report}");
        let log = nginx.stop_and_read_log();
        let status = if declined > 0 { "413" } else { "200" };
        assert_eq!(log.iter().filter(|line| line.starts_with(status)).count(), 60, "{log:?}");
    }
}

#[test]
fn a_failure_by_a_response_instead_of_leave_says_so_in_both_languages() {
    let peer = ScriptedPeer::new(|mut connection| {
        connection.bytes();
        connection.send(b"HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n");
        connection.wait_for_close();
    });
    let line = ["-n", "5", "-c", "1", "--expect-continue", "--data", "x", &peer.url()];
    let said = brunt([&line[..], &["--lang", "en"]].concat()).with_code(20);
    let said = said.containing("a response came instead of 100 Continue, so the body was not sent");
    said.containing("5 bodies were not sent, because a response came instead of 100 Continue");
    let said = brunt([&line[..], &["--lang", "zh"]].concat()).with_code(20);
    let said = said.containing("服务器没有返回 100 Continue，而是直接给出了响应，因此正文未发送");
    said.containing("5 个请求的正文未发送");
}

#[test]
fn a_server_that_knows_nothing_of_it_gets_the_body_after_the_wait() {
    let peer = ScriptedPeer::answering(OK);
    let line = ["-n", "6", "-c", "2", "--expect-continue", "--continue-wait", "20ms", "--data", "hello", &peer.url()];
    let report = report(&line).with_code(0);
    assert_eq!(report.requests(), [6, 6, 0, 0], "{report}");
    assert_eq!(report.count("requests.released"), 6, "{report}");
    assert!(report.number("latency.service.min_us") >= 20_000.0, "the wait is part of it: {report}");
    assert_eq!((peer.requests(), peer.connections()), (6, 3), "kept, and one opened before the load");
    assert!(peer.received().iter().all(|request| request.ends_with(b"\r\n\r\nhello")));
}

/// Compares with curl, which sends `Expect` above 1 MiB.
#[test]
fn a_curl_command_waits_where_curl_does() {
    let target = TargetProcess::healthy();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("large");
    std::fs::write(&file, vec![b'x'; (1 << 20) + 1]).expect("written");
    let url = target.url("echo");
    let command = format!("curl -T {} {url}", file.display());
    let said = brunt(["--debug", "--curl", &command]).with_code(0);
    said.containing("\nExpect: 100-continue").containing("HTTP/1.1 100 Continue");
    let command = format!("curl -H 'Expect: 100-continue' -d hello {url}");
    brunt(["--debug", "--curl", &command]).with_code(0).containing("HTTP/1.1 100 Continue");
    let report = report(&["-n", "20", "-c", "2", "--curl", &command]).with_code(0);
    let counts = ["succeeded", "declined", "released"].map(|name| report.count(&format!("requests.{name}")));
    assert_eq!(counts, [20, 0, 0], "{report}");
}
