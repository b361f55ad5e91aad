//! Tests of `--cookie-jar` against servers that keep sessions, and count both sessions and their
//! requests.

use std::process::Command;

use brunt_tests::external::{ExternalServer, sources};
use brunt_tests::nginx::NginxProcess;
use brunt_tests::report::report;
use brunt_tests::{ScriptedPeer, TestReport};

fn sessions() -> Option<ExternalServer> {
    if Command::new("python3").arg("--version").output().is_err() {
        brunt_tests::skip("python3 is not installed");
        return None;
    }
    Some(ExternalServer::start(Command::new("python3").arg(sources("sessions.py"))))
}

/// Returns the numbers of sessions begun, of requests in them, and of unknown cookies.
fn counted(server: ExternalServer) -> [u64; 3] {
    let told = server.counts();
    let mut numbers = told.split_whitespace().map(|n| n.parse().expect("a number"));
    std::array::from_fn(|_| numbers.next().expect("three counts"))
}

fn succeeded(report: &TestReport, requests: u64) {
    assert_eq!(report.requests(), [requests, requests, 0, 0], "{report}");
}

#[test]
fn each_user_has_one_session_whatever_its_connections() {
    for more in [&[][..], &["--no-keepalive"], &["--cookie", "theme={user}"], &["-w", "2", "--processes", "2"]] {
        let Some(server) = sessions() else { return };
        let url = format!("http://127.0.0.1:{}/", server.port);
        let report = report(&[&["--cookie-jar", "-c", "6", "-n", "120"], more, &[&url]].concat()).with_code(0);
        succeeded(&report, 120);
        // One session for each user, and one for the pre-flight request.
        assert_eq!(counted(server), [7, 120 - 6, 0], "{more:?}: {report}");
    }
    let Some(server) = sessions() else { return };
    let url = format!("http://127.0.0.1:{}/", server.port);
    succeeded(&report(&["-c", "6", "-n", "120", &url]).with_code(0), 120);
    assert_eq!(counted(server), [121, 0, 0], "without it every request is a stranger's");
}

/// Follows the redirect of a login to a page that only its session may see.
#[test]
fn redirects_carry_the_cookies_of_the_answer_that_led_to_them() {
    for load in [&["-c", "5", "-n", "50"][..], &["-r", "100/s", "-n", "50"]] {
        let Some(server) = sessions() else { return };
        let url = format!("http://127.0.0.1:{}/login", server.port);
        let report = report(&[load, &["--cookie-jar", "-L", &url]].concat()).with_code(0);
        assert_eq!((report.count("requests.failed"), report.count("requests.hops")), (0, 50), "{report}");
        assert_eq!(report.count("status.200"), 50, "{report}");
        assert_eq!(counted(server), [51, 51, 0], "a session and a page each, and the first answer's: {report}");
    }
}

/// Checks that with a rate, each arrival is a new visitor.
#[test]
fn a_visit_begins_without_cookies() {
    let Some(server) = sessions() else { return };
    let url = format!("http://127.0.0.1:{}/", server.port);
    let report = report(&["--cookie-jar", "-r", "200/s", "-n", "60", &url]).with_code(0);
    succeeded(&report, 60);
    assert_eq!(counted(server), [61, 0, 0], "{report}");
}

#[test]
fn nginx_sees_its_cookie_again_in_both_versions() {
    let server = "add_header Set-Cookie \"visit=$request_id; Path=/\" always; location / { default_type text/plain; \
        if ($cookie_visit = '') { return 202 x; } return 200 $cookie_visit$cookie_own; }";
    for (listen, version) in [("", "1.1"), ("http2", "2")] {
        let Some(nginx) = NginxProcess::start("", listen, server) else { return };
        let streams = if version == "2" { "--streams=3" } else { "--streams=1" };
        let line =
            ["--http", version, streams, "--cookie-jar", "--cookie", "own=1", "-c", "6", "-n", "300", &nginx.url()];
        let report = report(&line).with_code(0);
        succeeded(&report, 300);
        // A 202 is a request without a cookie: one per user.
        assert_eq!((report.count("status.202"), report.count("status.200")), (6, 294), "{report}");
        // The body is one byte, or 33 with the 32 digits of the cookie.
        assert_eq!(report.count("bytes.payload"), 6 + 294 * 33, "{report}");
    }
}

#[test]
fn an_example_of_a_failure_shows_the_cookies_that_were_sent() {
    let peer = ScriptedPeer::new(|mut connection| {
        let mut answers = ["200 OK\r\nSet-Cookie: page=1", "500 Oops\r\nSet-Cookie: page=2"].iter().cycle();
        while connection.request().is_some() {
            let answer = answers.next().expect("for ever");
            if !connection.send(format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\n\r\n").as_bytes()) {
                return;
            }
        }
    });
    let report = report(&["--cookie-jar", "--keep-secrets", "-c", "1", "-n", "2", &peer.url()]);
    let sent = report.at("failures.0.example.sent").to_string();
    assert!(sent.contains("Cookie: page=1\\r\\n") && !sent.contains("page=2"), "{report}");
}
