//! Tests against third-party gRPC servers, whose own counts verify ours; a run's counts exclude the pre-flight request.

use brunt_tests::certificates::Certificates;
use brunt_tests::grpc::ExternalGrpcServer;
use brunt_tests::report::report;
use brunt_tests::{TestReport, brunt};
use serde_json::Value;

/// Returns the number of calls that ended with this status, over all seconds.
fn ended_with(report: &TestReport, status: &str) -> u64 {
    let seconds = report.json["seconds"].as_array().expect("seconds").iter();
    seconds.filter_map(|second| second["status"][status].as_u64()).sum()
}

fn count(counts: &Value, name: &str) -> u64 {
    counts[name].as_u64().unwrap_or_else(|| panic!("{name} in {counts}"))
}

/// Checks all kinds of methods; the server's counts of calls and of messages both ways equal ours.
fn all_shapes(server: ExternalGrpcServer) {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("messages.jsonl");
    std::fs::write(&file, "{\"text\": \"one\"}\n{\"text\": \"two\"}\n\n{\"text\": \"three\"}\n").expect("written");
    let file = file.to_str().expect("UTF-8");
    let common = ["-n", "200", "-c", "4"];
    let run = |method: &str, options: &[&str]| {
        let url = server.url(method);
        let report = report(&[&common, options, &[&url]].concat()).with_code(0);
        assert_eq!(report.requests(), [200, 200, 0, 0], "{method}: {report}");
        assert_eq!(ended_with(&report, "OK"), 200, "{method}: {report}");
        report
    };
    let hello = ["--expect-json", "$.text == hello"];
    run("brunt.Target/Unary", &[&["--data", "{\"text\": \"hello\"}", "--streams", "2"], &hello[..]].concat());
    run("brunt.Target/ClientStream", &["--data-file", file, "--expect-json", "$.messages == 3"]);
    run("brunt.Target/ServerStream", &["--data", "{\"text\": \"x\", \"count\": 5}", "--streams", "4"]);
    run("brunt.Target/Bidi", &["--data-file", file]);
    run("brunt.Target/Bidi", &["--data-file", file, "--lockstep"]);
    run("grpc.health.v1.Health/Check", &[]);
    let counts = server.counts();
    let each = 200 + 1;
    assert_eq!(count(&counts, "unary"), each, "{counts}");
    assert_eq!(count(&counts, "client_stream"), each, "{counts}");
    assert_eq!(count(&counts, "server_stream"), each, "{counts}");
    assert_eq!(count(&counts, "bidi"), 2 * each, "{counts}");
    assert_eq!(count(&counts, "heard"), each * (1 + 3 + 1 + 2 * 3), "{counts}");
    assert_eq!(count(&counts, "said"), each * (1 + 1 + 5 + 2 * 3), "{counts}");
}

#[test]
fn every_shape_of_grpc_go_counted_by_itself() {
    if let Some(server) = ExternalGrpcServer::go(&[]) {
        all_shapes(server);
    }
}

#[test]
fn every_shape_of_the_c_core_counted_by_itself() {
    if let Some(server) = ExternalGrpcServer::python() {
        all_shapes(server);
    }
}

#[test]
fn services_are_read_from_files_and_from_the_server() {
    let Some(server) = ExternalGrpcServer::go(&[]) else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("shop.proto");
    // The same method with another type, which only the file defines.
    let text = "syntax = \"proto3\"; package brunt; message P { string words = 1; }\n\
                service Target { rpc Unary(P) returns (P); }";
    std::fs::write(&file, text).expect("written");
    let url = server.url("brunt.Target/Unary");
    let file = file.to_str().expect("UTF-8");
    let report = report(&["-n", "50", "-c", "2", "--proto", file, "--data", "{\"words\": \"abc\"}", &url]).with_code(0);
    assert_eq!(report.requests(), [50, 50, 0, 0], "{report}");
    brunt([server.url("grpc.health.v1.Healt/Check").as_str(), "-n", "1", "-c", "1"])
        .with_code(64)
        .containing("there is no service grpc.health.v1.Healt; use grpc.health.v1.Health");
    brunt([&format!("grpc://127.0.0.1:{}", server.port()), "-n", "1", "-c", "1"])
        .with_code(64)
        .containing("brunt.Target/ServerStream (server streaming)");
    let silent = ExternalGrpcServer::go(&["-reflection=false"]).expect("it was built");
    brunt([silent.url("some.Service/Do").as_str(), "-n", "1", "-c", "1"])
        .with_code(64)
        .containing("--proto: is missing, and the server offers no reflection");
    drop(silent);
    let gone = format!("grpc://127.0.0.1:{}/some.Service/Do", brunt_tests::target::free_port());
    brunt([gone.as_str(), "-n", "1", "-c", "1"]).with_code(30);
}

#[test]
fn statuses_are_outcomes_and_their_message_is_shown() {
    let Some(server) = ExternalGrpcServer::go(&[]) else { return };
    let url = server.url("brunt.Target/Unary");
    let failing = ["-n", "20", "-c", "2", "--data", "{\"text\": \"status 5 gone fishing\"}", url.as_str()];
    let failed = report(&failing);
    assert_eq!(failed.requests(), [20, 0, 20, 0], "{failed}");
    assert_eq!(failed.failures()["wrong_status"], 20, "{failed}");
    assert_eq!(ended_with(&failed, "NOT_FOUND"), 20, "{failed}");
    assert!(failed.json["failures"].to_string().contains("NOT_FOUND: gone fishing"), "{failed}");
    let wanted = report(&[&failing[..], &["--expect-status", "NOT_FOUND"]].concat()).with_code(0);
    assert_eq!(wanted.requests(), [20, 20, 0, 0], "{wanted}");
    let unknown = server.url("brunt.Target/Unary").replace("Unary", "Other");
    brunt([unknown.as_str(), "-n", "1", "-c", "1"])
        .with_code(64)
        .containing("there is no method of brunt.Target Other");
}

/// Uses a server that fails as the message requests, so it must have read the message.
#[test]
fn compressed_messages_are_read_by_the_server() {
    let Some(server) = ExternalGrpcServer::go(&[]) else { return };
    let url = server.url("brunt.Target/Unary");
    let line = ["--compress", "-n", "20", "-c", "2", "--data", "{\"text\": \"status 5 gone fishing\"}", url.as_str()];
    let failed = report(&line);
    assert_eq!(ended_with(&failed, "NOT_FOUND"), 20, "{failed}");
    let slots = ["--compress", "-n", "20", "-c", "2", "--data", "{\"text\": \"{uuid}\"}", url.as_str()];
    brunt(slots).with_code(64).containing("--compress: compresses messages before the run");
    let streamed = server.url("brunt.Target/Bidi");
    let data = ["--data", "{\"text\": \"a\"}", "--data", "{\"text\": \"b\"}"];
    let report = report(&[&["--compress", "--lockstep", "-n", "10", "-c", "2"][..], &data, &[&streamed]].concat());
    assert_eq!(report.with_code(0).requests(), [10, 10, 0, 0]);
}

#[test]
fn deadlines_and_metadata_arrive() {
    let Some(server) = ExternalGrpcServer::go(&[]) else { return };
    let url = server.url("brunt.Target/Unary");
    let late = ["--deadline", "30ms", "--data", "{\"text\": \"sleep 5s\"}"];
    let metadata = ["-H", "X-Brunt: yes", "-H", "trace-bin: AAEC"];
    let report = report(&[&late[..], &metadata, &["-n", "10", "-c", "5", &url]].concat());
    assert_eq!(report.requests(), [10, 0, 10, 0], "{report}");
    assert_eq!(ended_with(&report, "DEADLINE_EXCEEDED"), 10, "{report}");
    let counts = server.counts();
    assert_eq!([count(&counts, "unary"), count(&counts, "deadlines"), count(&counts, "metadata")], [11; 3], "{counts}");
    let Some(server) = ExternalGrpcServer::go(&[]) else { return };
    let text = format!(
        "users: 3\niterations: 30\nflow:\n  - url: {url}\n    data: '{{\"text\": \"hello\"}}'\n    expect-trailer: 'x-cost: 5'\n    \
         expect-header: 'x-served-by: grpc*'\n    capture: {{cost: trailer x-cost, by: header x-served-by, how: status}}\n  \
         - url: {url}\n    data: '{{\"text\": \"status 5 {{cost}} {{by}} {{how}}\"}}'\n    expect-status: NOT_FOUND\n    \
         expect-trailer: {{its words: 'grpc-message: 5 grpc-go OK'}}\n",
        url = server.url("brunt.Target/Unary"),
    );
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("flow.yaml");
    std::fs::write(&path, text).expect("written");
    let flow = brunt_tests::report::report(&[path.to_str().expect("UTF-8")]).with_code(0);
    assert_eq!(flow.requests(), [60, 60, 0, 0], "{flow}");
    let checks = flow.json["checks"].as_array().expect("checks");
    assert!(checks.len() == 4 && checks.iter().all(|check| check["passed"] == 30), "{flow}");
    assert!(checks.iter().any(|check| check["name"] == "its words"), "{flow}");
}

/// Returns a flow whose iteration has complete calls of every kind, and streams that are held open, the last of which
/// is never finished.
fn streams(server: &ExternalGrpcServer) -> String {
    let mut text = "users: 3\niterations: 30\nflow:\n".to_owned();
    let mut step = |method: &str, options: &str| {
        let url = server.url(&format!("brunt.Target/{method}"));
        text += &format!("  - {{url: \"{url}\", {options}}}\n");
    };
    step(
        "Bidi",
        "stream: chat, header: \"x-brunt: yes\", data: '{\"text\": \"a\"}', await: json $.text == a, capture: {heard: json $.text}",
    );
    step("Bidi", "stream: chat, data: '{\"text\": \"{heard}b\"}', one-way: true");
    step("Bidi", "stream: chat, data: '{\"text\": \"c\"}', await: json $.text == c");
    step("Bidi", "stream: chat, finish: true, expect-messages: 1, expect-json: '$[0].text == ab', expect-status: OK");
    step(
        "ServerStream",
        "data: '{\"text\": \"x\", \"count\": 5}', expect-messages: 5, expect-json: '$[-1].text == x', capture: {last: json $.text | last}",
    );
    step("ClientStream", "data: ['{\"text\": \"{last}\"}', '{\"text\": \"two\"}'], expect-json: $.messages == 2");
    step("ClientStream", "stream: up, data: '{\"text\": \"{last}\"}', one-way: true");
    step("ClientStream", "stream: up, data: '{\"text\": \"end\"}', finish: true, expect-json: $.messages == 2");
    step("Bidi", "stream: left, data: '{\"text\": \"left open\"}'");
    text
}

#[test]
fn streams_are_steps_of_a_flow_and_the_server_agrees_on_every_message() {
    let Some(server) = ExternalGrpcServer::go(&[]) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("flow.yaml");
    std::fs::write(&path, streams(&server)).expect("written");
    let path = path.to_str().expect("UTF-8");
    let flow = report(&[path]).with_code(0);
    assert_eq!(flow.requests(), [270, 270, 0, 0], "{flow}");
    assert_eq!(ended_with(&flow, "OK"), 4 * 30, "steps that end a stream or a call: {flow}");
    let checks = flow.json["checks"].as_array().expect("checks");
    let passed: Vec<u64> = checks.iter().filter_map(|check| check["passed"].as_u64()).collect();
    // Two steps with a client stream have the same check, and are counted together.
    assert_eq!(passed, [30, 30, 30, 30, 30, 60], "{flow}");
    // The pre-flight request, which is not part of the results, is that of the first step.
    let counts = server.counts();
    let shapes = ["bidi", "client_stream", "server_stream", "unary"].map(|shape| count(&counts, shape));
    assert_eq!(shapes, [60 + 1, 60, 30, 0], "{counts}");
    assert_eq!([count(&counts, "heard"), count(&counts, "said")], [30 * 9 + 1, 30 * 11 + 1], "{counts}");
    let Some(server) = ExternalGrpcServer::go(&[]) else { return };
    let text = streams(&server)
        .replace("$.text == c", "$.text == d, timeout: 100ms")
        .replace("iterations: 30", "iterations: 3");
    std::fs::write(path, text).expect("written");
    let failed = report(&[path]).with_code(20);
    assert_eq!(failed.requests(), [9, 6, 3, 0], "each iteration ends with the step that awaits in vain: {failed}");
    assert_eq!(failed.failures()["timeout"], 3, "{failed}");
    let shown = brunt(["run", "--debug", path]);
    assert!(shown.out.contains("{\"text\":\"ab\"}") && shown.out.contains("heard"), "{shown:?}");
}

#[test]
fn a_server_that_takes_fewer_streams_than_asked_for_gets_more_connections() {
    let Some(server) = ExternalGrpcServer::go(&["-streams=2"]) else { return };
    let url = server.url("brunt.Target/Unary");
    let report = report(&["-n", "300", "-c", "6", "--streams", "6", "-w", "1", &url]).with_code(0);
    assert_eq!(report.requests(), [300, 300, 0, 0], "{report}");
    let counts = server.counts();
    assert_eq!(count(&counts, "unary"), 301, "{counts}");
}

#[test]
fn over_tls() {
    let Some(certificates) = Certificates::make() else { return brunt_tests::skip("openssl is not here") };
    let (cert, key) = (certificates.text("server.pem"), certificates.text("server.key"));
    let Some(server) = ExternalGrpcServer::go(&["-cert", &cert, "-key", &key]) else { return };
    let url = format!("grpcs://localhost:{}/brunt.Target/Unary", server.port());
    let report = report(&["-n", "100", "-c", "4", "--streams", "2", "--cacert", &certificates.text("ca.pem"), &url]);
    let report = report.with_code(0);
    assert_eq!(report.requests(), [100, 100, 0, 0], "{report}");
    assert_eq!(count(&server.counts(), "unary"), 101);
}

#[test]
fn a_target_that_does_not_say_what_it_offers_because_it_is_gone_is_unreachable() {
    let closing = brunt_tests::ScriptedPeer::new(|mut connection| drop(connection.bytes()));
    let silent = brunt_tests::ScriptedPeer::new(|mut connection| connection.wait_for_close());
    for (peer, why) in [(closing, "closed the connection"), (silent, "did not respond within")] {
        let url = format!("grpc://{}/some.Service/Do", peer.host());
        let ended = brunt(["-t", "500ms", "-n", "1", "-c", "1", &url]).with_code(30);
        assert!(ended.err.contains(why) && !ended.err.contains("--help"), "{ended:?}");
    }
}
