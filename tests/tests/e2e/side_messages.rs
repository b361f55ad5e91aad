//! Tests of logins on every connection, replies to unsolicited messages, and message numbers: against socket.io,
//! graphql-ws, mosquitto and quickfix, whose own counts verify ours. The commands are those of the guide.

use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use brunt_tests::certificates::Certificates;
use brunt_tests::daemon::Daemon;
use brunt_tests::external::{BuildOnce, ExternalServer};
use brunt_tests::guide::from_guide;
use brunt_tests::report::report;
use brunt_tests::target::free_port;
use brunt_tests::websocket::ExternalWebSocketServer;
use brunt_tests::{ScriptedPeer, TestReport, brunt};
use serde_json::Value;

static MESSAGING: BuildOnce = BuildOnce::new();
static FIX: BuildOnce = BuildOnce::new();

/// Number of connections, and of requests, before the run.
const PROBE: u64 = 1;

/// Runs the guide's worked example for this URL against the server at this port; `more` comes first.
#[track_caller]
fn run(url: &str, port: u16, more: &[&str]) -> TestReport {
    let line = from_guide(url, port).swap_remove(0);
    let line: Vec<&str> = more.iter().copied().chain(line.iter().map(String::as_str)).collect();
    report(&line)
}

#[track_caller]
fn all_succeeded(report: &TestReport) -> u64 {
    let [due, finished, failed, censored] = report.requests();
    // Requests in flight at the end of the run are cut off.
    assert_eq!((failed, due), (0, finished + censored), "{report}");
    assert!(finished > 0, "{report}");
    due
}

fn counts(server: ExternalServer) -> Value {
    let text = server.counts();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("no counts ({error}): {text}"))
}

fn count(counts: &Value, name: &str) -> u64 {
    counts[name].as_u64().unwrap_or_else(|| panic!("{name} is no count in {counts}"))
}

#[test]
fn socket_io_is_greeted_asked_and_its_pings_are_answered() {
    let Some(server) = ExternalServer::node(&MESSAGING, "messaging-node", "socketio.js") else { return };
    let report = run("ws://127.0.0.1:3000", server.port, &[]).with_code(0);
    let asked = all_succeeded(&report);
    let counts = counts(server);
    assert_eq!(count(&counts, "asked"), asked + PROBE, "{report}\n{counts}");
    let connections = report.count("connections.opened");
    assert_eq!(count(&counts, "introduced"), connections + PROBE, "{report}\n{counts}");
    assert_eq!(report.count("opening_messages"), connections, "40 on each; the other is the server's: {report}");
    assert!(report.count("replies") >= connections, "each was pinged in two seconds: {report}");
    assert_eq!(count(&counts, "pongs"), report.count("replies"), "{report}\n{counts}");
    assert_eq!((report.count("unsolicited"), report.count("connections.lost")), (0, 0), "{report}");
}

#[test]
fn socket_io_that_refuses_is_a_failure_with_what_it_said() {
    let Some(server) = ExternalServer::node(&MESSAGING, "messaging-node", "socketio.js") else { return };
    let url = format!("ws://127.0.0.1:{}/socket.io/?EIO=4&transport=websocket", server.port);
    let login = r#"40{"token":"wrong"}=>^40"#;
    let line = ["-c", "2", "-d", "500ms", "--on-connect", "=>^0", "--on-connect", login, "--data", "x", &url];
    let report = report(&line).with_code(20);
    assert_eq!(report.requests()[1], 0, "{report}");
    let failures = report.failures();
    assert!(failures["wrong_body"] > 0 && failures.len() == 1, "{report}");
    let text = report.to_string();
    assert!(text.contains("greeting") && text.contains("go away"), "{report}");
    assert!(report.count("opening_messages") > 0, "{report}");
    let counts = counts(server);
    assert_eq!((count(&counts, "introduced"), count(&counts, "asked")), (0, 0), "{counts}");
    assert!(count(&counts, "refused") >= report.count("opening_messages"), "{report}\n{counts}");
}

/// Holds connections that send nothing but keep-alive replies, without which the server would end them.
#[test]
fn socket_io_is_held_by_replies_alone() {
    let Some(server) = ExternalServer::node(&MESSAGING, "messaging-node", "socketio.js") else { return };
    let url = format!("ws://127.0.0.1:{}/socket.io/?EIO=4&transport=websocket", server.port);
    let opening = ["--on-connect", "=>^0", "--on-connect", "40=>^40", "--reply", "^2$=>3"];
    let report = report(&[&["-c", "20", "--hold", "1s"][..], &opening, &[&url]].concat()).with_code(0);
    let counts = counts(server);
    assert_eq!((report.count("opening_messages"), report.count("connections.lost")), (20, 0), "{report}");
    assert_eq!(
        (count(&counts, "introduced"), count(&counts, "pongs")),
        (20 + PROBE, report.count("replies")),
        "{report}"
    );
    assert!(report.count("replies") >= 20, "{report}");
}

#[test]
fn graphql_over_websocket_captures_what_pings_hold() {
    let Some(server) = ExternalServer::node(&MESSAGING, "messaging-node", "graphql.js") else { return };
    let report = run("ws://127.0.0.1:4000", server.port, &[]).with_code(0);
    let asked = all_succeeded(&report);
    let counts = counts(server);
    assert_eq!(count(&counts, "queries"), asked + PROBE, "{report}\n{counts}");
    let connections = report.count("connections.opened");
    assert_eq!(report.count("opening_messages"), connections, "{report}");
    assert_eq!(count(&counts, "connections"), connections + PROBE, "{report}\n{counts}");
    let replies = report.count("replies");
    assert!(replies >= connections, "each was pinged in two seconds: {report}");
    assert_eq!((count(&counts, "pongs"), count(&counts, "right")), (replies, replies), "{report}\n{counts}");
}

#[test]
fn graphql_that_closes_on_a_wrong_token_is_a_failure_with_its_code() {
    let Some(server) = ExternalServer::node(&MESSAGING, "messaging-node", "graphql.js") else { return };
    let url = format!("ws://127.0.0.1:{}/", server.port);
    let login = r#"{"type":"connection_init","payload":{"token":"{env BRUNT_TEST_TOKEN}"}}=>connection_ack"#;
    let line =
        ["-c", "2", "-d", "500ms", "--subprotocol", "graphql-transport-ws", "--on-connect", login, "--data", "x", &url];
    let ended = brunt_tests::prepare(line).env("BRUNT_TEST_TOKEN", "a-secret-that-nobody-sees").run().with_code(20);
    let said = [&*ended.out, &*ended.err].concat();
    assert!(said.contains("4403") && said.contains("Forbidden") && said.contains("greeting"), "{said}");
    assert!(!said.contains("a-secret-that-nobody-sees"), "{said}");
}

/// Starts mosquitto with a listener for MQTT and one for WebSocket. Returns their ports.
fn mosquitto() -> Option<(Daemon, [u16; 2])> {
    let ports = [free_port(), free_port()];
    let conf = format!(
        "per_listener_settings false\nallow_anonymous true\npersistence false\nlog_type all\nmax_queued_messages 0\n\
         listener {} 127.0.0.1\nlistener {} 127.0.0.1\nprotocol websockets\n",
        ports[0], ports[1]
    );
    let server = Daemon::start("mosquitto", &["-c", "{dir}/conf", "-v"], &[("conf", &conf)])?;
    let listens = |port: u16| TcpStream::connect(("127.0.0.1", port)).is_ok();
    Some((server.up(|_| ports.into_iter().all(listens)), ports))
}

/// Returns how often mosquitto logged this for clients of the run; the client before the run has the number 0.
fn logged(server: &Daemon, what: &str) -> u64 {
    let said = server.text("said");
    let of_run = |line: &&str| line.contains(what) && line.contains("brunt-") && !line.contains("brunt-0");
    said.lines().filter(of_run).count() as u64
}

#[track_caller]
fn agrees(server: &Daemon, what: &str, count: u64) {
    // The server writes its log shortly after its reply.
    brunt_tests::program::until(&format!("mosquitto logged {count} of {what}"), || logged(server, what) >= count);
    assert_eq!(logged(server, what), count, "{what}");
}

#[test]
fn mosquitto_over_tcp_counts_what_we_count() {
    let Some((server, [port, _])) = mosquitto() else { return };
    let report = run("tcp://127.0.0.1:1883", port, &[]).with_code(0);
    assert_eq!(report.requests(), [2000, 2000, 0, 0], "{report}");
    assert_eq!((report.count("opening_messages"), report.count("replies")), (8, 2000), "{report}");
    for (what, count) in [
        ("Received PUBLISH from", 2000),
        ("Received PUBACK from", 2000),
        ("Received SUBSCRIBE from", 4),
        ("Sending CONNACK to", 4),
    ] {
        agrees(&server, what, count);
    }
    assert!(server.text("said").contains("(200 bytes)"), "a length of two bytes was read");
}

#[test]
fn mosquitto_over_websocket_counts_what_we_count() {
    let Some((server, [_, port])) = mosquitto() else { return };
    let report = run("ws://127.0.0.1:9001", port, &[]).with_code(0);
    assert_eq!(report.requests(), [1000, 1000, 0, 0], "{report}");
    assert_eq!((report.count("opening_messages"), report.count("replies")), (4, 0), "{report}");
    agrees(&server, "Received PUBLISH from", 1000);
    agrees(&server, "Sending CONNACK to", 4);
}

/// Publishes at QoS 0, which is not answered; the broker still accepts or rejects the connection.
#[test]
fn mosquitto_accepts_before_anything_is_published_one_way() {
    let Some((server, [port, _])) = mosquitto() else { return };
    let url = format!("tcp://127.0.0.1:{port}");
    let connect = |version: &str| {
        format!(
            r"\x10{{length varint {{b}}}}{{b=\x00\x04MQTT{version}\x02\x00\x00{{length u16 {{i}}}}{{i=brunt-{{counter}}}}}}=>^\x20\x02\x00\x00"
        )
    };
    let publish = r"\x30{length varint {b}}{b=\x00\x01t{random 200}}";
    let line = |connect: &str| {
        [
            "-n",
            "500",
            "-c",
            "3",
            "--no-answer",
            "--until-length",
            "at 1, varint",
            "--on-connect",
            connect,
            "--send",
            publish,
            &url,
        ]
        .map(String::from)
    };
    let good = line(&connect(r"\x04"));
    let report = report(&good.each_ref().map(String::as_str)).with_code(0);
    assert_eq!((report.requests(), report.count("opening_messages")), ([500, 500, 0, 0], 3), "{report}");
    agrees(&server, "Received PUBLISH from", 500);
    // For an unsupported version, CONNACK returns 1 and the broker closes the connection.
    let refused = line(&connect(r"\x09")).map(|word| if word == "500" { "6".to_owned() } else { word });
    let ended = brunt(refused.iter().map(String::as_str).chain(["--force"])).with_code(20);
    assert!(ended.out.contains("greeting") && ended.out.contains("wrong_body"), "{ended:?}");
    assert_eq!(logged(&server, "Received PUBLISH from"), 500);
}

#[test]
fn an_acceptor_of_fix_finds_every_number_in_its_place() {
    let Some(server) = ExternalServer::go(&FIX, "fix-go", &[]) else { return };
    let report = run("tcp://127.0.0.1:9879", server.port, &[]).with_code(0);
    let orders = all_succeeded(&report);
    let counts = counts(server);
    let connections = report.count("connections.opened");
    assert_eq!((count(&counts, "refused"), connections), (0, 2), "{report}\n{counts}");
    assert_eq!(count(&counts, "logons"), connections + PROBE, "{report}\n{counts}");
    assert_eq!(count(&counts, "orders"), orders + PROBE, "{report}\n{counts}");
    assert_eq!(report.count("opening_messages"), connections, "{report}");
    assert!(report.count("replies") > 0, "it asks who is silent: {report}");
    assert_eq!(count(&counts, "answered"), report.count("replies"), "{report}\n{counts}");
}

/// Uses many more sequence numbers, with orders and their reports in quick succession.
#[test]
fn numbers_of_fix_stand_a_load() {
    let Some(server) = ExternalServer::go(&FIX, "fix-go", &[]) else { return };
    let mut line = from_guide("tcp://127.0.0.1:9879", server.port).swap_remove(0);
    let at = line.iter().position(|word| word == "--interval").expect("a pause");
    line.drain(at..at + 2);
    let at = line.iter().position(|word| word == "-d").expect("a time");
    line.splice(at..at + 2, ["-n".to_owned(), "3000".to_owned()]);
    let report = report(&line.iter().map(String::as_str).collect::<Vec<_>>()).with_code(0);
    assert_eq!(report.requests(), [3000, 3000, 0, 0], "{report}");
    let counts = counts(server);
    assert_eq!((count(&counts, "orders"), count(&counts, "refused")), (3000 + PROBE, 0), "{counts}");
}

/// Starts a server that answers the first line of each connection with a greeting and the fourth with a refusal, and
/// keeps the first lines.
fn lines() -> (ScriptedPeer, Arc<Mutex<Vec<String>>>) {
    let first = Arc::<Mutex<Vec<String>>>::default();
    let kept = Arc::clone(&first);
    let peer = ScriptedPeer::new(move |mut connection| {
        let mut count = 0;
        // One line at a time: each waits for the answer to the one before.
        while let Some(line) = connection.bytes() {
            count += 1;
            let answer = match count {
                1 => {
                    kept.lock().expect("no panic").push(String::from_utf8_lossy(&line).into_owned());
                    "hello\n"
                }
                4 => "no\n",
                _ => "ok\n",
            };
            if !connection.send(answer.as_bytes()) {
                return;
            }
        }
    });
    (peer, first)
}

#[test]
fn every_connection_is_opened_with_values_of_its_own() {
    for more in [&["-w", "2", "-n", "4", "-c", "4"][..], &["-w", "2", "-n", "8", "-c", "4", "--no-keepalive"]] {
        let (peer, first) = lines();
        let url = format!("tcp://{}", peer.host());
        let line = ["--until", "\\n", "--on-connect", "HI {counter} {user}\\n=>^hello", "--send", "GET\\n", &url];
        let report = report(&[more, &line].concat());
        let connections = report.count("connections.opened");
        assert_eq!(
            (report.count("opening_messages"), report.requests()[1]),
            (connections, report.requests()[0]),
            "{report}"
        );
        let mut said: Vec<(u64, u64)> = first
            .lock()
            .expect("no panic")
            .iter()
            .map(|line| {
                let mut words = line.split_whitespace().skip(1).map(|word| word.parse::<u64>().expect("a number"));
                (words.next().expect("a counter"), words.next().expect("a user"))
            })
            .collect();
        said.sort_unstable();
        said.dedup_by_key(|(counter, _)| *counter);
        assert_eq!(said.len() as u64, connections + PROBE, "no two have the same: {said:?}");
        assert_eq!(said[0], (0, 0), "the one before the run");
        assert!(said.iter().all(|(_, user)| *user < 4), "{said:?}");
        assert!((0..4).all(|user| said[1..].iter().any(|(_, other)| *other == user)), "{said:?}");
    }
}

/// Checks that the example of a failure shows the message that was sent, including its number.
#[test]
fn examples_show_the_number_that_was_sent() {
    let (peer, _) = lines();
    let url = format!("tcp://{}", peer.host());
    let opening = ["--on-connect", "HI {sequence}\\n=>^hello"];
    let line = ["-n", "3", "-c", "1", "--until", "\\n", "--expect-bytes", "ok", "--send", "GET {sequence}\\n", &url];
    let report = report(&[&opening[..], &line].concat());
    assert_eq!(report.requests(), [3, 2, 1, 0], "{report}");
    assert!(report.to_string().contains("GET 4") && !report.to_string().contains("GET 2"), "{report}");
}

/// Opens connections in each process, with numbers that are unique within the run; the server echoes the opening
/// messages.
#[test]
fn openings_over_tls_and_in_several_processes() {
    let Some(certificates) = Certificates::make() else { return brunt_tests::skip("openssl is not installed") };
    let tls = [certificates.text("server.pem"), certificates.text("server.key")];
    let Some(server) = ExternalWebSocketServer::go(&tls) else { return };
    let line =
        ["-k", "-c", "4", "-n", "40", "--processes", "2", "--data", "x{sequence}", "--expect-body", "x{sequence}"];
    let url = server.secure_url("echo");
    let report = report(&[&line[..], &["--on-connect", "hi {counter}=>^hi [0-9]$", &url]].concat()).with_code(0);
    assert_eq!(report.requests(), [40, 40, 0, 0], "{report}");
    assert_eq!((report.count("opening_messages"), report.count("connections.opened")), (4, 4), "{report}");
    let counts = server.counts();
    assert_eq!(count(&counts, "messages"), 40 + 4 + 2 * PROBE, "{report}\n{counts}");
    assert_eq!(count(&counts, "normal"), 4 + PROBE, "{report}\n{counts}");
}
