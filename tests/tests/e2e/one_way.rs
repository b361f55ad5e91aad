//! One-way messages: those that succeeded were written, and the server counts as many; those that flow control holds back
//! wait with their users.

use std::fmt::Write as _;

use brunt_tests::program::until;
use brunt_tests::report::report;
use brunt_tests::{ScriptedPeer, TargetProcess, TestReport};

/// Writes a flow whose users send messages of about a thousand bytes on a stream, none of which is answered.
fn flow(address: &str, load: &str, messages: u32) -> tempfile::TempDir {
    let proto = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/http-family/src/grpc/proto/target.proto");
    let mut text = format!("{load}\nproto: {proto}\nflow:\n  - repeat: {messages}\n    steps:\n");
    let url = address.replace("http://", "grpc://");
    let data = "x".repeat(1000);
    let _ = writeln!(
        text,
        "      - {{url: \"{url}brunt.Target/ClientStream\", stream: up, one-way: true, data: '{{\"text\": \"{data}\"}}'}}"
    );
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("flow.yaml"), text).expect("written");
    folder
}

fn run(folder: &tempfile::TempDir, options: &[&str]) -> TestReport {
    let path = folder.path().join("flow.yaml");
    report(&[&[path.to_str().expect("UTF-8")], options].concat())
}

#[test]
fn messages_beyond_the_first_window_count_once_they_left() {
    let target = TargetProcess::healthy();
    // More than three windows of 64 KiB on each stream.
    let folder = flow(&target.address, "users: 4\niterations: 12", 200);
    for net in ["epoll", "uring"] {
        let heard = || target.stats()["grpc"]["heard"].as_u64().expect("a count");
        let before = heard();
        let report = run(&folder, &["--net", net]);
        assert_eq!(report.requests(), [2400, 2400, 0, 0], "{report}");
        let sent = 2400 + report.count("requests.probe");
        until("the target has read what was written", || heard() - before >= sent);
        assert_eq!(heard() - before, sent, "{net}");
    }
}

/// SETTINGS of a server: without entries, and with an initial window of nothing.
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
const NO_WINDOW: &[u8] = &[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0];
/// Number of messages that fit the window that every connection starts with, until the server's SETTINGS arrive.
const UNTIL_SETTINGS: u64 = 65_535 / 1_000;

#[test]
fn what_a_server_grants_no_window_for_has_not_been_sent() {
    // The pre-flight request gets the usual window.
    let peer = ScriptedPeer::new(|mut connection| {
        let settings = if connection.number == 0 { SETTINGS } else { NO_WINDOW };
        if connection.send(settings) {
            connection.wait_for_close();
        }
    });
    let folder = flow(&peer.url(), "users: 4\nduration: 1s", 200);
    let report = run(&folder, &["--drain", "100ms"]);
    let [due, succeeded, failed, unfinished] = report.requests();
    assert_eq!((failed, unfinished, due), (0, 4, succeeded + 4), "each user waits for one of its messages: {report}");
    assert!(succeeded <= 4 * UNTIL_SETTINGS, "{report}");
    let report = run(&folder, &["--timeout", "200ms", "--drain", "100ms"]);
    let [due, succeeded, failed, unfinished] = report.requests();
    assert_eq!(due, succeeded + failed + unfinished, "{report}");
    assert!(
        failed >= 4 && succeeded <= UNTIL_SETTINGS * (failed + unfinished),
        "one of each stream times out: {report}"
    );
}
