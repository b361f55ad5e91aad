//! One target, every protocol it speaks: what runs saw agrees with what it counted of each.

use e2e::Target;
use e2e::report::report;

fn of(target: &Target, protocol: &str, what: &str) -> u64 {
    target.stats()["protocols"][protocol][what].as_u64().unwrap_or(0)
}

#[test]
fn http2_streams_are_answered_each_in_its_time() {
    let target = Target::healthy();
    // Ten users on two connections: a stream that waits holds up no other.
    let run = report(&["--http2", "-c", "10", "--streams", "5", "-n", "300", &target.url("delay/uniform:1ms..9ms")])
        .with_code(0);
    assert_eq!(run.count("requests.finished"), 300, "{run}");
    let probes = run.count("requests.probe");
    assert_eq!(of(&target, "http2", "messages"), 300 + probes);
    let large = report(&["--http2", "-c", "2", "-n", "20", &target.url("bytes/300000")]).with_code(0);
    assert_eq!(large.count("bytes.payload"), 20 * 300_000, "{large}");
}

#[test]
fn faults_in_http2_fail_the_request_and_not_its_neighbours() {
    let target = Target::healthy();
    for path in ["reset", "cut/20", "short/1000", "long/1000"] {
        let run = report(&["--http2", "-c", "4", "--streams", "4", "-n", "40", &target.url(path)]);
        assert_eq!(run.count("requests.failed"), 40, "{path}: {run}");
    }
    let requests = &target.stats()["requests"];
    let count = |name: &str| requests[name].as_u64().unwrap();
    assert_eq!(count("spoiled") + count("withheld"), count("heard"), "{requests}");
    assert_eq!(count("abandoned"), 0, "{requests}");
    // What is no frame ends the connection, and with it whatever else was asked on it.
    let run = report(&["--http2", "-c", "4", "--streams", "4", "-n", "40", &target.url("garbage")]);
    assert_eq!(run.count("requests.failed"), 40, "{run}");
}

#[test]
fn http2_over_tls_is_chosen_by_alpn() {
    let target = Target::with(&["--tls"]);
    let run = report(&["-k", "--http", "2", "-c", "8", "--streams", "4", "-n", "400", &target.url("")]).with_code(0);
    assert_eq!(run.count("requests.finished"), 400, "{run}");
}

#[test]
fn web_sockets_hear_their_messages_back() {
    let target = Target::healthy();
    let url = target.url("chat").replace("http://", "ws://");
    let run = report(&["-c", "10", "-n", "500", "--data", "hello", &url]).with_code(0);
    assert_eq!(run.count("requests.finished"), 500, "{run}");
    assert_eq!(of(&target, "websocket", "messages"), 500 + run.count("requests.probe"));
    let secured = Target::with(&["--tls"]);
    let url = secured.url("chat").replace("https://", "wss://");
    let run = report(&["-k", "-c", "5", "-n", "200", "--data", "hello", &url]).with_code(0);
    assert_eq!(run.count("requests.finished"), 200, "{run}");
}
