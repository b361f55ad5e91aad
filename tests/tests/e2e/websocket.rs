//! Tests of WebSocket against gorilla/websocket (Go) and ws (Node), whose counts verify ours.

use brunt_tests::certificates::Certificates;
use brunt_tests::report::report;
use brunt_tests::websocket::ExternalWebSocketServer;
use brunt_tests::{ScriptedPeer, TestReport, brunt};
use serde_json::Value;

/// Returns the available ones of the two servers.
fn servers() -> Vec<ExternalWebSocketServer> {
    [ExternalWebSocketServer::go(&[]), ExternalWebSocketServer::node()].into_iter().flatten().collect()
}

fn count(counts: &Value, name: &str) -> u64 {
    counts[name].as_u64().unwrap_or_else(|| panic!("{name} is no count in {counts}"))
}

/// Checks that the server received every finished message, and one before the run.
#[track_caller]
fn agree(report: &TestReport, counts: &Value) {
    let [due, finished, failed, censored] = report.requests();
    assert_eq!((due, failed, censored), (finished, 0, 0), "{report}");
    assert_eq!(count(counts, "messages"), finished + 1, "{report}\n{counts}");
}

#[test]
fn servers_count_the_messages_we_count() {
    for load in [
        &["-c", "10", "-n", "3000", "--data", "hello", "--expect-body", "hello"][..],
        &["-c", "3", "-r", "1000/s", "-d", "1s", "--data", "{\"seq\":{counter}}", "--match-field", "seq"],
        &["-c", "4", "-n", "400", "--data-hex", "00ff", "-w", "2"],
        &["-c", "2", "-n", "20", "--data-file", "Cargo.toml"],
    ] {
        for server in servers() {
            let report = report(&[load, &[&server.url("echo")]].concat()).with_code(0);
            let counts = server.counts();
            agree(&report, &counts);
            let connections: u64 = load[1].parse().unwrap();
            assert_eq!(report.count("connections.opened"), connections, "{report}");
            assert_eq!(count(&counts, "connections"), connections + 1, "{counts}");
            // With a rate, connections are cut at the end of the run.
            if !load.contains(&"-r") {
                assert_eq!(count(&counts, "normal"), connections + 1, "each was closed with 1000: {counts}");
            }
        }
    }
}

#[test]
fn compressed_messages_are_counted_unpacked() {
    let text = "the same again ".repeat(100);
    for server in servers() {
        let url = server.url("echo");
        let report = report(&["-c", "2", "-n", "200", "--compress", "--data", &text, "--expect-body", &text, &url]);
        let counts = server.counts();
        agree(&report, &counts);
        assert_eq!(count(&counts, "compressed"), 3, "{counts}");
        assert_eq!(count(&counts, "bytes"), 201 * text.len() as u64, "{counts}");
        assert_eq!(report.count("bytes.payload"), 200 * text.len() as u64, "{report}");
        assert!(report.count("bytes.received") < 20 * text.len() as u64, "it was not compressed: {report}");
    }
}

#[test]
fn fragments_with_a_ping_between_them() {
    let Some(server) = ExternalWebSocketServer::node() else { return };
    let text = "\u{20ac}\u{20ac}\u{20ac}\u{20ac}";
    let report = report(&["-c", "2", "-n", "100", "--data", text, "--expect-body", text, &server.url("fragments")]);
    let counts = server.counts();
    agree(&report, &counts);
    assert_eq!(count(&counts, "pongs"), 101, "every ping was answered: {counts}");
}

#[test]
fn answers_out_of_turn_find_their_messages() {
    let Some(server) = ExternalWebSocketServer::go(&[]) else { return };
    let line = ["-c", "2", "-r", "500/s", "-d", "1s", "--data", "{\"id\":{\"n\":{counter}}}", "--match-field", "id.n"];
    let report = report(&[&line[..], &[&server.url("late")]].concat()).with_code(0);
    agree(&report, &server.counts());
}

#[test]
fn one_way_messages_have_no_latency_and_all_arrive() {
    for server in servers() {
        let report = report(&["-c", "5", "-n", "2000", "--one-way", "--data", "x", &server.url("sink")]).with_code(0);
        agree(&report, &server.counts());
    }
}

#[test]
fn one_way_messages_all_arrive_at_a_server_that_talks() {
    // What was not read when a connection ends must not reset it: at the end of a user, of an iteration, of the run.
    for load in ["users: 5", "rate: 50/s"] {
        for net in ["epoll", "uring"] {
            for server in servers() {
                let folder = tempfile::tempdir().expect("a folder");
                let path = folder.path().join("flow.yaml");
                let step = format!("{{url: \"{}\", one-way: true, data: {}}}", server.url("echo"), "x".repeat(2000));
                let text = format!("{load}\niterations: 20\nnet: {net}\nflow:\n  - repeat: 100\n    steps: [{step}]\n");
                std::fs::write(&path, text).expect("written");
                let report = report(&[path.to_str().expect("UTF-8")]).with_code(0);
                assert_eq!(report.requests(), [2000, 2000, 0, 0], "{report}");
                agree(&report, &server.counts());
            }
        }
    }
}

#[test]
fn pushes_are_counted_apart() {
    for server in servers() {
        let line = ["-c", "4", "-n", "40", "--push", "--data", "{\"seq\":1}", "--match-field", "seq"];
        let report = report(&[&line[..], &[&server.url("push")]].concat()).with_code(0);
        agree(&report, &server.counts());
        assert_eq!(report.count("unsolicited"), 12, "three on each connection: {report}");
    }
}

#[test]
fn a_refused_upgrade_is_a_failure_in_a_sentence() {
    let Some(server) = ExternalWebSocketServer::go(&[]) else { return };
    let words = ["-c", "2", "-d", "500ms", "--data", "x", &server.url("refuse"), "--force"];
    brunt(&words[..7]).with_code(30).containing("403 Forbidden; no load was sent");
    let ended = brunt(words).with_code(20);
    assert!(ended.err.contains("403 Forbidden") || ended.out.contains("403 Forbidden"), "{ended:?}");
    assert!(ended.out.contains("wrong_status"), "{ended:?}");
}

#[test]
fn a_server_that_leaves_is_followed_and_its_code_named() {
    let Some(server) = ExternalWebSocketServer::go(&[]) else { return };
    let report = report(&["-c", "2", "-n", "100", "--data", "x", &server.url("leave")]);
    let [due, finished, failed, censored] = report.requests();
    assert_eq!((due, finished + failed, censored), (100, 100, 0), "{report}");
    assert!(finished >= 80, "ten on each connection: {report}");
    assert!(report.count("connections.opened") >= 8, "{report}");
}

#[test]
fn over_tls_with_a_subprotocol_and_a_header() {
    let Some(certificates) = Certificates::make() else { return brunt_tests::skip("openssl is not installed") };
    let tls = [certificates.text("server.pem"), certificates.text("server.key")];
    let Some(server) = ExternalWebSocketServer::go(&tls) else { return };
    let line = ["-k", "-c", "2", "-n", "50", "--data", "x", "--subprotocol", "v1", "--subprotocol", "v2"];
    let report = report(&[&line[..], &["-H", "Cookie: a=b", &server.secure_url("echo")]].concat()).with_code(0);
    agree(&report, &server.counts());
    let Some(server) = ExternalWebSocketServer::go(&tls) else { return };
    let ended = brunt(["-k", "-d", "500ms", "--data", "x", "--subprotocol", "v1", &server.secure_url("echo")]);
    let told = [&*ended.err, &*ended.out].concat();
    assert!(told.contains("none of the offered subprotocols"), "{ended:?}");
}

#[test]
fn held_connections_show_signs_of_life() {
    for server in servers() {
        let url = server.url("echo");
        let line = ["-c", "20", "--connect-rate", "200/s", "--hold", "1s", "--ping", "250ms", "--data", "once", &url];
        let report = report(&line).with_code(0);
        let counts = server.counts();
        agree(&report, &counts);
        assert_eq!(report.requests()[1], 20, "each says it once: {report}");
        let answered = report.count("heartbeats.answered");
        assert!(answered >= 20 && count(&counts, "pings") >= answered, "{report}\n{counts}");
        assert_eq!(report.count("heartbeats.missed"), 0, "{report}");
        assert_eq!(count(&counts, "normal"), 21, "{counts}");
    }
}

#[test]
fn connections_are_held_without_a_word() {
    let Some(server) = ExternalWebSocketServer::go(&[]) else { return };
    let report = report(&["-c", "30", "--hold", "500ms", &server.url("echo")]);
    let counts = server.counts();
    assert_eq!((count(&counts, "connections"), count(&counts, "messages")), (31, 0), "{report}\n{counts}");
}

#[test]
fn a_server_that_lets_nobody_in_is_judged_though_nothing_was_to_be_said() {
    let peer = ScriptedPeer::new(|mut connection| connection.wait_for_close());
    let url = peer.url().replacen("http", "ws", 1);
    for length in [["-d", "1s"], ["--hold", "1s"]] {
        let line = ["-c", "3", "-t", "300ms", "--connect-timeout", "300ms", &url];
        let ended = brunt(line.iter().chain(&length)).with_code(20);
        let ended =
            ended.containing("none of the 3 connections could be opened").containing("Exit code 20: not trusted");
        assert!(!ended.out.contains("No request was scheduled"), "{}", ended.out);
    }
}
