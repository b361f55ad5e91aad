//! Tests of misbehaving servers: nothing panics, nothing is lost, and no failure looks like a good result.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use brunt_tests::program::until;
use brunt_tests::report::report;
use brunt_tests::target::free_port;
use brunt_tests::{ScriptedPeer, TargetProcess, brunt, prepare, start};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

#[test]
fn a_server_that_hangs_leaves_lower_bounds_and_exit_20() {
    let target = TargetProcess::healthy();
    let line = ["-r", "100/s", "--arrivals", "constant", "-d", "500ms", "--drain", "100ms", &target.url("hang")];
    let report = report(&[&line[..], &["-t", "2s"]].concat()).with_code(20);
    let [due, finished, failed, censored] = report.requests();
    assert_eq!([due, finished, failed, censored], [50, 0, 0, 50], "{report}");
    assert!(report.at("latency.response.p50_us").is_null(), "{report}");
    assert!(report.number("latency.response.p50_at_least_us") > 0.0, "{report}");
    assert_eq!(report.at("trust.verdict"), "not_trusted", "{report}");
}

#[test]
fn a_server_that_hangs_now_and_then_shows_at_the_quantiles_it_decides() {
    // Every tenth connection of the peer never answers: more than 1 in 100 requests, fewer than 1 in 2.
    let peer = ScriptedPeer::new(|mut connection| {
        while connection.request().is_some() {
            if connection.number % 10 == 9 {
                return connection.wait_for_close();
            }
            connection.send(OK);
        }
    });
    let line = ["-c", "40", "--no-keepalive", "-d", "500ms", "--drain", "50ms", &peer.url()];
    let report = report(&line).with_code(20);
    assert!(report.count("requests.unfinished") >= 1, "{report}");
    let censored = report.count("requests.unfinished") as f64 / report.count("requests.scheduled") as f64;
    if censored > 0.01 {
        assert!(report.at("latency.service.p99_us").is_null(), "{report}");
        assert!(report.number("latency.service.p99_at_least_us") > 0.0, "{report}");
    }
}

#[test]
fn a_target_that_is_down_is_one_sentence_and_exit_30() {
    let url = format!("http://127.0.0.1:{}/", free_port());
    let ended = brunt(["-n", "10", &url]).with_code(30);
    let lines: Vec<&str> = ended.err.lines().collect();
    assert_eq!(lines.len(), 1, "{ended:?}");
    assert!(lines[0].starts_with("brunt: ") && lines[0].contains(&url) && lines[0].contains("refused"), "{ended:?}");
}

#[test]
fn a_redirect_to_a_place_that_is_down_says_what_was_sent() {
    let location =
        format!("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{}/\r\nContent-Length: 0\r\n\r\n", free_port());
    let peer = ScriptedPeer::new(move |mut connection| {
        while connection.request().is_some() {
            connection.send(location.as_bytes());
        }
    });
    let ended = brunt(["-n", "10", "-L", &peer.url()]).with_code(30);
    assert!(ended.err.contains("redirects to a place that cannot be reached"), "{ended:?}");
    assert!(ended.err.contains("only this first request was sent"), "{ended:?}");
}

#[test]
fn a_redirect_loop_is_named() {
    let peer = ScriptedPeer::new(|mut connection| {
        while connection.request().is_some() {
            connection.send(b"HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n");
        }
    });
    let report = report(&["-n", "10", "-c", "1", "-L", &peer.url()]);
    let said = report.at("failures").to_string();
    assert!(
        said.contains("too_many_redirects") && said.contains("a redirect loop: redirects lead back to"),
        "{report}"
    );
}

#[test]
fn a_target_that_is_down_leaves_its_document_too() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("run.json");
    let url = format!("http://127.0.0.1:{}/", free_port());
    let line = ["-n", "10", &url, "--format", "json", "-o", file.to_str().unwrap()];
    brunt(line).with_code(30);
    let report = brunt_tests::TestReport::in_file(&file).with_code(30);
    assert_eq!(report.requests(), [0, 0, 0, 0], "{report}");
}

#[test]
fn a_host_that_does_not_exist_is_one_sentence_and_exit_30() {
    let ended = brunt(["-n", "10", "http://no-such-host.invalid/"]).with_code(30);
    assert_eq!(ended.err.lines().count(), 1, "{ended:?}");
}

#[test]
fn a_target_that_dies_and_comes_back_is_met_again() {
    let mut first = TargetProcess::healthy();
    let address = first.host().to_string();
    let running = prepare(["-r", "200/s", "-d", "3s", "--quiet", "--format", "json", &first.address]).start();
    until("the run has begun", || first.requests() > 50);
    first.kill();
    // There is no server for a while: until the kernel has refused at least one connection.
    let refused = std::time::Instant::now();
    until("a moment without a server", || refused.elapsed().as_millis() > 300);
    let second = TargetProcess::at(&address, &[]);
    let report = brunt_tests::TestReport::of(running.end());
    let [_, finished, failed, _] = report.requests();
    assert!(failed > 0 && finished > 0, "{report}");
    assert!(second.requests() > 0, "{report}");
    assert!(report.failures().contains_key("refused"), "{report}");
    assert_ne!(report.at("status.200"), 0);
}

/// A reply, the allowed kinds of failure, and whether any request may finish.
type BrokenAnswer = (&'static str, &'static [u8], &'static [&'static str]);

const BROKEN: &[BrokenAnswer] = &[
    ("garbage", b"\x00\x01\x02 this is no HTTP at all \xff\xfe\r\n\r\n", &["broken_protocol"]),
    ("another protocol", b"SSH-2.0-OpenSSH_9.6\r\n", &["broken_protocol"]),
    ("a status that is none", b"HTTP/1.1 2x0 OK\r\nContent-Length: 0\r\n\r\n", &["broken_protocol"]),
    ("two lengths", b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", &["broken_protocol"]),
    ("a length that is none", b"HTTP/1.1 200 OK\r\nContent-Length: -4\r\n\r\nabcd", &["broken_protocol"]),
    (
        "a chunk size that is none",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        &["broken_protocol"],
    ),
    ("a short body", b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nonly this", &["closed"]),
    ("half a chunk", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n50\r\nonly this", &["closed"]),
    ("half a head", b"HTTP/1.1 200 OK\r\nContent-Le", &["closed"]),
    ("nothing", b"", &["closed"]),
];

#[test]
fn broken_answers_are_failures_of_their_kind_and_never_a_good_figure() {
    for (name, bytes, kinds) in BROKEN {
        let peer = ScriptedPeer::answering_once(*bytes);
        let report = report(&["-n", "20", "-c", "2", &peer.url()]);
        assert_ne!(report.code, 0, "{name}: {report}");
        assert_eq!(report.requests(), [20, 0, 20, 0], "{name}: {report}");
        assert_eq!(report.failures().into_keys().collect::<Vec<_>>(), *kinds, "{name}: {report}");
        let example = report.at("failures.0.example");
        assert!(example["sent"].as_str().unwrap().starts_with("GET / HTTP/1.1"), "{name}: {report}");
        if *kinds == ["broken_protocol"] {
            assert!(!example["received"].as_str().unwrap().is_empty(), "{name}: {report}");
        }
    }
}

/// Starts a server that sends this after the first bytes it receives, and then closes the connection.
fn saying(first: &'static [u8]) -> ScriptedPeer {
    ScriptedPeer::new(move |mut connection| {
        if connection.bytes().is_some() && connection.send(first) {
            connection.half_close();
            connection.wait_for_close();
        }
    })
}

/// Alert that TLS servers send to clients that do not use TLS.
const ALERT: &[u8] = &[0x15, 3, 3, 0, 2, 2, 10];
/// First frame of an HTTP/2 server.
const SETTINGS: &[u8] = &[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 100];

#[test]
fn a_wrong_scheme_is_answered_with_the_right_one() {
    let table: [(&[u8], &str, &[&str], &str); 8] = [
        (ALERT, "http", &[], "use https://"),
        (ALERT, "http", &["--http2"], "https://"),
        (ALERT, "grpc", &["grpc.health.v1.Health/Check"], "grpcs://"),
        (ALERT, "ws", &["--data", "x"], "use wss://"),
        (ALERT, "redis", &[], "use rediss://"),
        (SETTINGS, "http", &[], "add --http2"),
        (SETTINGS, "ws", &["--data", "x"], "uses HTTP/2"),
        (b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", "http", &["--http2"], "leave out --http2"),
    ];
    for (first, scheme, options, hint) in table {
        let peer = saying(first);
        let (path, options) = if scheme == "grpc" { (options[0], &[][..]) } else { ("", options) };
        let url = format!("{scheme}://{}/{path}", peer.host());
        let words = [&["-c", "1", "-d", "300ms"], options, &[&url]].concat();
        // Nothing but the pre-flight request is sent unless it is forced.
        brunt(&words).with_code(30).containing(hint);
        let report = report(&words).with_code(20);
        assert!(report.at("failures").to_string().contains(hint), "{scheme} {options:?}: {report}");
        assert!(report.at("probe.failure").to_string().contains(hint), "{scheme} {options:?}: {report}");
    }
    // Nothing is sent on these connections: the greeting alone identifies the protocol.
    let peer = saying(ALERT);
    brunt(["-c", "1", "--hold", "200ms", "--run-timeout", "1s", &format!("ws://{}/", peer.host())])
        .with_code(30)
        .containing("every request would fail: the response is broken: the server uses TLS on this port; use wss://")
        .containing("--force");
}

#[test]
fn tls_where_none_is_spoken_is_told_as_that_and_so_is_a_port_that_closes_without_a_word() {
    for (first, hint) in [
        (
            &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
            "it responded in plain HTTP; use a scheme without TLS (http://, ws://)",
        ),
        (SETTINGS, "plain HTTP/2; use a scheme without TLS (http:// with --http2, grpc://)"),
        (b"", "closed during the TLS handshake; if this port does not use TLS, use a scheme without TLS"),
    ] {
        let peer = saying(first);
        for scheme in ["https", "wss"] {
            brunt(["-d", "300ms", "-c", "1", &format!("{scheme}://{}/", peer.host())]).with_code(30).containing(hint);
        }
    }
    let silent = saying(b"");
    let hint = "closed without a response; if this port uses TLS, use a scheme with TLS";
    brunt(["-n", "3", "-c", "1", &silent.url()]).with_code(20).containing(hint);
}

#[test]
fn endless_headers_end_the_connection_and_not_the_memory() {
    let target = TargetProcess::healthy();
    let report = report(&["-n", "4", "-c", "2", &target.url("endless-headers")]).with_code(20);
    assert_eq!(report.requests(), [4, 0, 4, 0], "{report}");
    assert_eq!(report.failures().into_keys().collect::<Vec<_>>(), ["broken_protocol"], "{report}");
}

#[test]
fn the_misbehaviour_of_the_built_in_target_is_seen_as_what_it_is() {
    let target = TargetProcess::healthy();
    let table = [("garbage", "broken_protocol"), ("short/100", "closed"), ("cut/20", "closed"), ("reset", "reset")];
    for (path, kind) in table {
        let report = report(&["-n", "10", "-c", "2", &target.url(path)]);
        assert_ne!(report.code, 0, "{path}: {report}");
        assert_eq!(report.requests(), [10, 0, 10, 0], "{path}: {report}");
        assert_eq!(report.failures().into_keys().collect::<Vec<_>>(), [kind], "{path}: {report}");
    }
}

#[test]
fn a_close_at_every_position_of_an_answer_is_one_failure_each() {
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: y\r\n\r\nhello";
    let peer = ScriptedPeer::new(move |mut connection| {
        if connection.request().is_some() {
            let cut = connection.number as usize % answer.len();
            connection.send(&answer[..cut]);
        }
    });
    let n = (answer.len() * 2).to_string();
    let report = report(&["-n", &n, "-c", "1", &peer.url()]).with_code(20);
    let [due, finished, failed, _] = report.requests();
    assert_eq!((finished, failed), (0, due), "{report}");
    assert_eq!(report.failures().into_keys().collect::<Vec<_>>(), ["closed"], "{report}");
    assert_eq!(peer.requests(), due + 1, "{report}");
}

#[test]
fn a_chunked_answer_closed_at_every_position_is_one_failure_each() {
    let answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nT: u\r\n\r\n";
    let peer = ScriptedPeer::new(move |mut connection| {
        if connection.request().is_some() {
            connection.send(&answer[..connection.number as usize % answer.len()]);
        }
    });
    let report = report(&["-n", &answer.len().to_string(), "-c", "1", &peer.url()]).with_code(20);
    assert_eq!((report.requests()[1], report.requests()[2]), (0, answer.len() as u64), "{report}");
}

#[test]
fn bytes_after_the_body_are_not_taken_for_the_next_answer() {
    let mut answer = OK.to_vec();
    answer.extend_from_slice(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let peer = ScriptedPeer::answering(answer);
    let report = report(&["-n", "50", "-c", "2", &peer.url()]).with_code(20);
    assert_eq!(report.requests()[0], 50, "{report}");
    // Two responses to each request: matched by order alone, any of them may belong to another request.
    assert_eq!((report.count("strays"), report.count("unsolicited")), (50, 50), "{report}");
    // Each request on the wire is one request in the document: no unsolicited response was counted as an answer.
    assert_eq!(peer.requests(), 51, "{report}");
}

#[test]
fn a_long_body_of_the_built_in_target_is_not_silent() {
    let target = TargetProcess::healthy();
    let report = report(&["-n", "20", "-c", "2", &target.url("long/100")]);
    assert_eq!(report.requests()[0], 20, "{report}");
    assert!(report.count("requests.failed") + report.count("unsolicited") > 0, "{report}");
}

#[test]
fn resets_are_named_with_their_errno() {
    let peer = ScriptedPeer::new(|mut connection| {
        if connection.request().is_some() {
            connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
            connection.reset();
        }
    });
    let report = report(&["-n", "20", "-c", "2", &peer.url()]).with_code(20);
    assert_eq!(report.requests(), [20, 0, 20, 0], "{report}");
    let kinds = report.failures();
    assert!(kinds.contains_key("reset"), "{report}");
    let reset = report.json["failures"].as_array().unwrap().iter().find(|f| f["kind"] == "reset").unwrap();
    assert_eq!(reset["errno"], "ECONNRESET", "{report}");
}

#[test]
fn only_errors_never_exit_0_and_are_told_within_the_first_second() {
    let target = TargetProcess::healthy();
    let ended = brunt(["-c", "2", "-d", "1500ms", &target.url("status/500")]);
    assert_ne!(ended.code, Some(0), "{ended:?}");
    let told = ended.out.find("Every request failed").expect(&ended.out);
    let second_row = ended.out.find("\n   2s").or_else(|| ended.out.find("1.5s")).unwrap_or(ended.out.len());
    assert!(told < second_row, "told only after the second second:\n{}", ended.out);
    assert_eq!(ended.out.matches("Every request failed").count(), 1, "said once: {}", ended.out);
    assert!(ended.out.contains(" × wrong_status."), "{}", ended.out);
}

#[test]
fn a_server_without_answers_is_told_within_the_first_second_too() {
    let peer = ScriptedPeer::answering_once("");
    let ended = brunt(["-c", "2", "-d", "1500ms", &peer.url()]);
    assert_ne!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.contains("Every request failed"), "{}", ended.out);
}

#[test]
fn timeouts_are_failures_and_their_time_is_in_no_good_figure() {
    let target = TargetProcess::healthy();
    let report = report(&["-n", "6", "-c", "3", "-t", "100ms", &target.url("hang")]).with_code(20);
    assert_eq!(report.requests(), [6, 0, 6, 0], "{report}");
    assert_eq!(report.failures().into_iter().collect::<Vec<_>>(), [("timeout".to_string(), 6)], "{report}");
    // They are ranked by the time for which they are known to have waited.
    assert_eq!(report.count("latency.service.unanswered"), 6, "{report}");
    assert!(report.at("latency.service.p50_us").is_null(), "{report}");
    assert!(report.number("latency.service.p50_at_least_us") >= 100_000.0, "{report}");
    assert!(report.number("latency.failed.min_us") >= 100_000.0, "{report}");
}

#[test]
fn a_share_of_errors_is_counted_as_the_server_counts_it() {
    let target = TargetProcess::with(&["--error-rate", "20%", "--seed", "5"]);
    let report = report(&["-n", "500", "-c", "4", &target.address]);
    let stats = target.stats();
    let failed = report.count("requests.failed");
    let probe_failed = u64::from(report.at("probe.status") == "500");
    assert_eq!(stats["status"]["500"].as_u64().unwrap(), failed + probe_failed, "{report}");
    assert!(failed > 0, "{report}");
    assert_eq!(report.json["status"]["500"].as_u64(), Some(failed), "{report}");
}

#[test]
fn a_share_of_closed_connections_is_one_failure_each() {
    let target = TargetProcess::with(&["--close-rate", "20%", "--seed", "3"]);
    let report = report(&["-n", "500", "-c", "4", &target.address]);
    let stats = target.stats();
    let [due, finished, failed, _] = report.requests();
    assert_eq!((due, finished + failed), (500, 500), "{report}");
    // The pre-flight request is counted in addition.
    let heard = stats["requests"]["heard"].as_u64().unwrap();
    assert_eq!(heard, due + 1, "nothing was retried in silence: {stats} {report}");
    let withheld = stats["requests"]["withheld"].as_u64().unwrap();
    assert!(withheld.abs_diff(failed) <= 1, "{stats} {report}");
}

#[test]
fn few_descriptors_bound_a_table_and_not_the_run() {
    if std::process::Command::new("prlimit").arg("--version").output().is_err() {
        return brunt_tests::skip("prlimit is not installed");
    }
    let target = TargetProcess::healthy();
    let line = ["-c", "100", "-n", "1000", "--format", "json", "--quiet", &target.address];
    let ended = brunt_tests::program::prepare_under(&["prlimit", "--nofile=40:40", "--"], line).run();
    let report = brunt_tests::TestReport::of(ended).with_code(0);
    assert_eq!(report.requests(), [1000, 1000, 0, 0], "{report}");
    assert_eq!(report.count("connections.opened"), 100, "{report}");
    assert!(report.count("generator.workers") > 4, "a worker for each table: {report}");
}

#[test]
fn no_ports_left_is_a_failure_with_its_name() {
    if !brunt_tests::is_root() {
        return brunt_tests::skip("only root can make a network with few ports");
    }
    // A network namespace with a range of ten ports; the loopback must be brought up first. Without a given source
    // address, brunt would spread the connections over several addresses.
    let script = "ip link set lo up && echo 40000 40009 > /proc/sys/net/ipv4/ip_local_port_range || exit 99\n\
                  $0 target 127.0.0.1:8080 > target.out 2>&1 & target=$!\n\
                  while kill -0 $target && ! grep -q listening target.out; do sleep 0.01; done\n\
                  $0 -c 30 -d 500ms -w 1 --source 127.0.0.1 --quiet --format json http://127.0.0.1:8080/; code=$?\n\
                  kill $target; exit $code";
    let directory = tempfile::tempdir().unwrap();
    let outcome = std::process::Command::new("unshare")
        .args(["--net", "bash", "-c", script])
        .arg(brunt_tests::program::path())
        .current_dir(directory.path())
        .env("XDG_STATE_HOME", directory.path())
        .output();
    let Ok(output) = outcome else { return brunt_tests::skip("unshare is not installed") };
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.code() == Some(99) || err.contains("unshare:") {
        return brunt_tests::skip(&format!("no namespaces here: {err}"));
    }
    let report = brunt_tests::TestReport::of(brunt_tests::ProgramOutput::of(&output, directory.path()));
    assert_ne!(report.code, 0, "{report}");
    let failure = report.json["failures"].as_array().unwrap().iter().find(|f| f["kind"] == "no_ports");
    assert_eq!(failure.map(|f| f["errno"].clone()), Some("EADDRNOTAVAIL".into()), "{report}");
    assert!(report.count("requests.succeeded") > 0, "{report}");
}

#[test]
fn a_server_that_stops_reading_and_writing_for_a_while_loses_nothing() {
    let target = TargetProcess::with(&["--stall", "300ms+400ms/1s"]);
    let report = report(&["-r", "200/s", "--arrivals", "constant", "-d", "1500ms", &target.address]);
    assert_eq!(report.requests(), [300, 300, 0, 0], "{report}");
    // Arrivals during the stall waited, and the slowest waited nearly as long as the stall.
    assert!(report.number("latency.response.max_us") > 200_000.0, "{report}");
}

#[test]
fn a_server_that_ends_while_connections_stand_ends_in_failures_and_not_in_a_hang() {
    let gone = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&gone);
    let peer = ScriptedPeer::new(move |mut connection| {
        while connection.request().is_some() {
            if seen.load(Ordering::SeqCst) {
                return;
            }
            connection.send(OK);
        }
    });
    let running = start(["-c", "4", "-d", "1s", "--quiet", "--format", "json", &peer.url()]);
    until("the run has begun", || peer.requests() > 50);
    gone.store(true, Ordering::SeqCst);
    let report = brunt_tests::TestReport::of(running.end());
    assert!(report.count("requests.failed") > 0 && report.count("requests.succeeded") > 0, "{report}");
    assert_ne!(report.code, 70, "{report}");
}

#[test]
fn a_web_socket_that_is_closed_at_once_is_not_waited_for() {
    let target = TargetProcess::healthy();
    let host = target.host().to_owned();
    let peer = ScriptedPeer::new(move |mut connection| {
        let (Some(request), Ok(mut other)) = (connection.request(), TcpStream::connect(&host)) else { return };
        let mut head = vec![0; 4096];
        let read = other.write_all(&request).and_then(|()| other.read(&mut head));
        // The upgrade response, then a close frame with 1013 (try again later); the connection stays open.
        connection.send(&[&head[..read.unwrap_or(0)], &[0x88, 2, 0x03, 0xf5]].concat());
        connection.wait_for_close();
    });
    let url = peer.url().replace("http://", "ws://");
    let began = std::time::Instant::now();
    let ended = brunt(["--debug", "-t", "90s", "--connect-timeout", "90s", "--data", "x", &url]);
    assert!(began.elapsed().as_secs() < 45, "{ended:?}");
    assert!(ended.err.contains("1013"), "{ended:?}");
}

#[test]
fn a_refused_login_is_no_broken_answer() {
    let peer = ScriptedPeer::new(|mut connection| {
        while connection.bytes().is_some() {
            connection.send(b"-WRONGPASS invalid username-password pair\r\n");
        }
    });
    let url = format!("redis://ann:pw@{}", peer.host());
    for options in [&["--debug"][..], &["-n", "1", "-c", "1"], &["-n", "1", "-c", "1", "--before", "PING"]] {
        let ended = brunt(options.iter().chain(&["-t", "2s", "--command", "PING", &url]));
        assert!(!ended.out.contains("response is broken") && !ended.err.contains("response is broken"), "{ended:?}");
        assert!(ended.out.contains("rejected") || ended.err.contains("rejected"), "{ended:?}");
    }
}

/// Checks that a broken response is shown and counts as a faulty response, as in a run.
#[test]
fn debug_of_a_broken_response_shows_it_and_is_no_missing_server() {
    let peer = ScriptedPeer::new(|mut connection| {
        connection.request();
        connection.send(b"HTTP/1.1 200 OK\r\nno field at all\r\n\r\n");
        connection.wait_for_close();
    });
    let ended = brunt(["--debug", &peer.url()]).with_code(20);
    ended.containing("no field at all").containing("broken_protocol");
}

/// Checks that a proxy that reached the target is not blamed.
#[test]
fn a_silent_target_behind_a_proxy_is_the_one_that_is_named() {
    let proxy = ScriptedPeer::new(|mut connection| {
        connection.bytes();
        connection.send(b"HTTP/1.1 200 Connection established\r\n\r\n");
        connection.wait_for_close();
    });
    let line = ["--connect-timeout", "300ms", "-n", "1", "-k", "-x", &proxy.url(), "https://127.0.0.1:9/"];
    let ended = brunt(line).with_code(30);
    let named = format!("127.0.0.1:9 behind {}", proxy.url().trim_end_matches('/'));
    assert!(ended.err.contains(&named) && !ended.err.contains("the proxy"), "{ended:?}");
}

#[test]
fn what_is_not_there_is_refused_with_what_is() {
    let ended = brunt(["--before", "PING", "http://127.0.0.1:9/"]).with_code(64);
    let said = "--before: is an option for redis, mysql, postgres and raw, and the URL is http";
    assert!(ended.err.contains(said), "{ended:?}");
}

#[test]
fn a_first_response_that_fails_a_check_is_not_called_by_its_good_status() {
    let target = TargetProcess::healthy();
    let ended = brunt(["-n", "10", "-c", "1", "--expect-body", "nope", &target.url("")]).with_code(20);
    assert!(!ended.out.contains("The first response is 200"), "{}", ended.out);
    ended.containing("The first response failed; expect the same under load.");
    let plain = brunt(["-n", "10", "-c", "1", &target.url("status/400")]).with_code(20);
    plain
        .containing("If this port uses TLS, use https://")
        .containing("use --expect-status 400")
        .containing("failed responses:");
}

#[test]
fn a_reset_is_told_as_a_reset_before_the_run_as_in_it() {
    let target = TargetProcess::healthy();
    let ended = brunt(["-n", "3", "-c", "1", &target.url("reset")]);
    ended
        .containing("First request: the connection was lost before the response was complete")
        .containing("ECONNRESET");
}
