//! Tests against Redis, whose own counts of commands verify ours: every way to log in, both versions of the protocol,
//! pipelines, transactions, errors, a cluster, TLS, and a server that goes away.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use brunt_tests::certificates::Certificates;
use brunt_tests::program::until;
use brunt_tests::redis::RedisProcess;
use brunt_tests::report::report;
use brunt_tests::target::free_port;
use brunt_tests::{ScriptedPeer, TestReport, brunt, prepare};

/// Returns the number of requests sent before the run, which the server counts too.
fn probes(report: &TestReport) -> u64 {
    report.count("requests.probe")
}

/// Returns how often a status was counted.
fn status(report: &TestReport, word: &str) -> u64 {
    report.json["status"][word].as_u64().unwrap_or(0)
}

#[test]
fn redis_counts_what_we_count() {
    for load in [
        &["-c", "20", "-n", "5000"][..],
        &["-r", "2000/s", "-d", "1s"],
        &["-c", "4", "-n", "8000", "--pipeline", "16"],
        &["-r", "3000/s", "-d", "1s", "--pipeline", "4", "--resp", "3"],
    ] {
        let Some(redis) = RedisProcess::start(&[]) else { return };
        redis.ask("SET k 123");
        let report = report(&[load, &["--command", "GET k", &redis.url(0)]].concat()).with_code(0);
        let answered = redis.calls("", "get") - probes(&report);
        assert_eq!(report.requests(), [answered, answered, 0, 0], "{report}");
        assert_eq!((status(&report, "ok"), report.count("bytes.payload")), (answered, 3 * answered), "{report}");
    }
}

#[test]
fn redis_counts_weighted_commands_with_slots_apart() {
    let Some(redis) = RedisProcess::start(&[]) else { return };
    let line = ["--command", "3x SET key:{counter} {random 16}", "--command", "GET none:{random 1..9}", "-n", "4000"];
    let report = report(&[&line[..], &["-c", "8", "-w", "2", &redis.url(1)]].concat()).with_code(0);
    let (sets, gets) = (redis.calls("", "set"), redis.calls("", "get"));
    assert_eq!(sets + gets, 4000 + probes(&report), "{report}");
    assert_eq!(status(&report, "nil"), gets, "{report}");
    assert!((2700..3300).contains(&sets), "three of four: {sets}");
    // All keys differ, so each SET created one; the SET before the run may have used a number of the run.
    let keys: u64 = redis.ask("SELECT 1\r\nDBSIZE").split(':').nth(1).unwrap().lines().next().unwrap().parse().unwrap();
    assert!((sets - probes(&report)..=sets).contains(&keys), "{keys} of {sets}");
}

#[test]
fn a_transaction_is_one_exchange() {
    let Some(redis) = RedisProcess::start(&[]) else { return };
    let line = ["--command", "MULTI; INCR a; INCR b; EXEC", "-n", "500", "-c", "5", "--pipeline", "3"];
    let report = report(&[&line[..], &[&redis.url(0)]].concat()).with_code(0);
    assert_eq!(report.requests(), [500, 500, 0, 0], "{report}");
    let all = 500 + probes(&report);
    assert_eq!((redis.calls("", "exec"), redis.calls("", "multi"), redis.calls("", "incr")), (all, all, 2 * all));
}

#[test]
fn errors_are_counted_by_their_first_word() {
    let Some(redis) = RedisProcess::start(&[]) else { return };
    redis.ask("SET s text");
    let line = ["--command", "LPUSH s x", "--command", "NONSENSE", "--command", "GET s", "-n", "900", "-c", "6"];
    let report = report(&[&line[..], &[&redis.url(0)]].concat());
    let (wrong, unknown, good) = (status(&report, "WRONGTYPE"), status(&report, "ERR"), status(&report, "ok"));
    assert_eq!(report.requests(), [900, good, wrong + unknown, 0], "{report}");
    let first = probes(&report);
    assert_eq!((redis.calls("", "lpush"), redis.calls("", "get")), (wrong + first, good), "{report}");
    assert!(unknown > 200, "{report}");
    let example = report.at("failures.0.example.received").as_str().unwrap().to_owned();
    assert!(example.starts_with("-WRONGTYPE Operation") || example.starts_with("-ERR unknown command"), "{example}");
}

#[test]
fn what_is_said_once_before_and_after_is_in_no_figure() {
    let Some(redis) = RedisProcess::start(&[]) else { return };
    let once = ["--before", "SET s text", "--before", "HSET h a 1; HSET h b 2", "--after", "RENAME h g"];
    let report =
        report(&[&once[..], &["--command", "HLEN h", "-n", "50", "-c", "2", &redis.url(0)]].concat()).with_code(0);
    assert_eq!((report.requests(), status(&report, "ok")), ([50, 50, 0, 0], 50), "{report}");
    assert_eq!((redis.calls("", "set"), redis.calls("", "hset"), redis.calls("", "rename")), (1, 2, 1), "{report}");
    assert!(redis.ask("HGET g b").contains("\r\n2\r\n"));
    // A failure before the run ends it before it begins.
    let refused = brunt(["--before", "HSET s a 1", "--command", "HLEN g", "-n", "50", &redis.url(0)]);
    assert_ne!(refused.code, Some(0), "{refused:?}");
    refused.containing("WRONGTYPE");
    assert_eq!(redis.calls("", "hlen"), 50 + probes(&report));
}

#[test]
fn what_a_reply_must_hold_is_looked_for() {
    let Some(redis) = RedisProcess::start(&[]) else { return };
    redis.ask("HSET h field value");
    for (text, failed) in [("value", 0), ("other", 50)] {
        for resp in ["2", "3"] {
            let line = ["--command", "HGETALL h", "--expect-body", text, "-n", "50", "-c", "2", "--resp", resp];
            let report = report(&[&line[..], &[&redis.url(0)]].concat());
            assert_eq!(report.requests(), [50, 50 - failed, failed, 0], "{report}");
        }
    }
}

#[test]
fn redis_asks_who_we_are_and_is_told() {
    let Some(redis) = RedisProcess::start(&["--requirepass", "secret"]) else { return };
    let reader = "ACL SETUSER reader on >pw ~* +get +ping +select +hello +auth";
    redis.ask(&format!("AUTH secret\r\n{reader}"));
    let address = format!("127.0.0.1:{}", redis.port);
    for (login, resp) in [(":secret", "2"), ("default:secret", "3"), ("reader:pw", "2"), ("reader:pw", "3")] {
        let url = format!("redis://{login}@{address}/2");
        let report = report(&["--command", "GET k", "--resp", resp, "-n", "60", "-c", "3", &url]).with_code(0);
        assert_eq!((report.requests(), status(&report, "nil")), ([60, 60, 0, 0], 60), "{report}");
    }
    let denied = format!("redis://reader:pw@{address}");
    let denied = report(&["--command", "SET k 1", "-n", "20", "-c", "2", &denied]);
    assert_eq!((denied.requests(), status(&denied, "NOPERM")), ([20, 0, 20, 0], 20), "{denied}");
    // A rejected login fails every request, with the reason as text.
    let wrong = format!("redis://reader:nonsense@{address}");
    let wrong = brunt(["-n", "4", "-c", "2", &wrong]);
    assert_ne!(wrong.code, Some(0), "{wrong:?}");
    wrong.containing("name or password (WRONGPASS)");
    let nobody = format!("redis://{address}");
    brunt(["-n", "4", "-c", "2", &nobody])
        .with_code(20)
        .containing("the server requires a password; put it in the URL");
    assert_eq!(redis.calls("AUTH secret", "set"), 0);
}

#[test]
fn redis_speaks_tls() {
    let Some(certificates) = Certificates::make() else { return brunt_tests::skip("openssl is not installed") };
    let port = free_port();
    let (cert, key, ca) =
        (certificates.text("server.pem"), certificates.text("server.key"), certificates.text("ca.pem"));
    let tls = ["--tls-port", &port.to_string(), "--tls-cert-file", &cert, "--tls-key-file", &key];
    let options = [&tls[..], &["--tls-ca-cert-file", &ca, "--tls-auth-clients", "no"]].concat();
    let Some(redis) = RedisProcess::start(&options) else { return };
    let url = format!("rediss://localhost:{port}/1");
    let line = ["--cacert", &ca, "--command", "SET k {random 4000}", "-n", "300", "-c", "3", "--pipeline", "4"];
    let report = report(&[&line[..], &[&url]].concat()).with_code(0);
    assert_eq!(report.requests(), [300, 300, 0, 0], "{report}");
    assert_eq!(report.count("connections.handshakes"), report.count("connections.opened"), "{report}");
    assert_eq!(redis.calls("", "set"), 300 + probes(&report), "{report}");
    let watch = format!("--watch=redis={url}");
    let line = ["-n", "1", "--command", "PING", &watch, &url];
    brunt([&line[..], &["--cacert", &ca]].concat()).with_code(0);
    brunt([&line[..], &["-k"]].concat()).with_code(0);
}

#[test]
fn a_node_of_a_cluster_that_does_not_have_the_key_says_moved() {
    let buses = [free_port().to_string(), free_port().to_string()];
    let node = |bus: &str| {
        let cluster = ["--cluster-enabled", "yes", "--cluster-require-full-coverage", "no", "--cluster-port", bus];
        RedisProcess::start(&cluster)
    };
    let (Some(one), Some(other)) = (node(&buses[0]), node(&buses[1])) else { return };
    one.ask("CLUSTER ADDSLOTSRANGE 0 8191");
    other.ask("CLUSTER ADDSLOTSRANGE 8192 16383");
    one.ask(&format!("CLUSTER MEET 127.0.0.1 {} {}", other.port, buses[1]));
    // The slot of `foo` is 12182, and that of `bar` is 5061.
    until("the nodes know each other", || one.ask("GET foo").contains("MOVED 12182"));
    let line = ["--command", "GET foo", "--command", "GET bar", "-n", "200", "-c", "2"];
    let report = report(&[&line[..], &[&one.url(0)]].concat());
    let (moved, nil) = (status(&report, "MOVED"), status(&report, "nil"));
    assert_eq!(report.requests(), [200, nil, moved, 0], "{report}");
    assert!(moved > 50 && nil > 50, "{report}");
    let received = report.at("failures.0.example.received").as_str().unwrap().to_owned();
    assert_eq!(received, format!("-MOVED 12182 127.0.0.1:{}\r\n", other.port));
}

#[test]
fn a_server_that_goes_away_leaves_every_request_accounted_for() {
    let Some(mut redis) = RedisProcess::start(&[]) else { return };
    let (url, line) = (redis.url(0), ["-r", "2000/s", "-d", "2s", "--pipeline", "4", "--max-connections", "8"]);
    let running = prepare(line.iter().chain(&["--quiet", "--format", "json", "-t", "1s", &url])).start();
    until("the run has begun", || redis.calls("", "ping") > 500);
    redis.stop();
    let report = TestReport::of(running.end());
    let [due, finished, failed, _] = report.requests();
    assert!(finished >= 490 && failed > 500 && due > 3000, "{report}");
}

/// Counts of a server that does not answer every request.
#[derive(Default)]
struct PeerCounts {
    heard: AtomicU64,
    answered: AtomicU64,
}

const PING: &[u8] = b"*1\r\n$4\r\nPING\r\n";

/// Starts a server that answers everything on the connection before the run, but only the first `most` PINGs on each
/// other connection; then it closes the connection or stays silent.
fn sparing(most: u64, closes: bool) -> (ScriptedPeer, Arc<PeerCounts>) {
    let counts = Arc::<PeerCounts>::default();
    let mine = Arc::clone(&counts);
    let peer = ScriptedPeer::new(move |mut connection| {
        let probe = connection.number == 0;
        let (mut bytes, mut heard, mut answered) = (0, 0, 0);
        while let Some(piece) = connection.bytes() {
            bytes += piece.len();
            let new = (bytes / PING.len()) as u64 - heard;
            heard += new;
            let due = if probe { new } else { new.min(most - answered) };
            answered += due;
            if !probe {
                mine.heard.fetch_add(new, SeqCst);
                mine.answered.fetch_add(due, SeqCst);
            }
            if !connection.send(&b"+PONG\r\n".repeat(due as usize)) || (closes && !probe && answered == most) {
                return;
            }
        }
    });
    (peer, counts)
}

#[test]
fn a_server_that_hears_and_does_not_answer_leaves_every_request_accounted_for() {
    for (most, closes, load, timeout) in [
        // No answer at all, under closed and open load, completed and cut off.
        (0, false, &["-c", "2", "-n", "64"][..], "200ms"),
        (0, false, &["-c", "2", "-d", "500ms", "--drain", "100ms"], "5s"),
        (0, false, &["-r", "400/s", "-d", "500ms", "--max-connections", "2"], "200ms"),
        // Answers to half of the requests in flight, then silence or the end of the connection.
        (4, false, &["-c", "3", "-n", "96"], "200ms"),
        (4, false, &["-r", "400/s", "-d", "500ms", "--max-connections", "4"], "200ms"),
        (4, true, &["-c", "3", "-n", "96"], "2s"),
    ] {
        let (peer, counts) = sparing(most, closes);
        let url = format!("redis://{}", peer.host());
        let line = ["--pipeline", "8", "-w", "1", "-t", timeout, &url];
        let report = report(&[load, &line].concat());
        let [due, finished, failed, censored] = report.requests();
        let (heard, answered) = (counts.heard.load(SeqCst), counts.answered.load(SeqCst));
        assert_eq!((due, finished), (finished + failed + censored, answered), "{load:?}: {report}");
        // The server cannot know of requests that were never sent.
        assert!(answered <= heard && heard <= due, "{heard} of {due}, {load:?}: {report}");
        if load.contains(&"-n") && !closes {
            assert_eq!((heard, censored), (due, 0), "{load:?}: {report}");
            let kinds = report.failures();
            assert_eq!(kinds.get("timeout").copied().unwrap_or(0), failed, "{kinds:?}, {load:?}: {report}");
        }
        assert!(failed + censored > 0 && (most == 0 || finished > 0), "{load:?}: {report}");
    }
}
