//! Tests of the findings about the limits of a run: real causes in third-party servers, each with a healthy
//! counterpart.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use brunt_tests::daemon;
use brunt_tests::nginx::NginxProcess;
use brunt_tests::program::until;
use brunt_tests::report::report;
use brunt_tests::{TargetProcess, TestReport};

/// `tests/servers/queueing.py`, a server with a single limit.
struct QueueingServer {
    child: Child,
    port: u16,
}

impl QueueingServer {
    /// Starts the server under another program such as `prlimit`. Returns `None` without Python.
    fn start(under: &[&str], kind: &str) -> Option<QueueingServer> {
        let python = daemon::find("python3")?;
        let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/servers/queueing.py");
        let mut line: Vec<String> = under.iter().map(|word| (*word).to_owned()).collect();
        line.extend([python.display().to_string(), script.to_owned(), port.to_string()]);
        line.extend(kind.split(' ').map(str::to_owned));
        let mut command = Command::new(&line[0]);
        command.args(&line[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let server = QueueingServer { child: command.spawn().expect("it starts"), port };
        until("it listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
        Some(server)
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }
}

impl Drop for QueueingServer {
    fn drop(&mut self) {
        // An error only means that it has exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the rules with a finding, in order, each with its grade of proof.
fn found(report: &TestReport) -> Vec<(String, String)> {
    let word = |value: &serde_json::Value| value.as_str().expect("a word").to_owned();
    let findings = report.at("diagnosis.findings").as_array().expect("a list").iter();
    findings.map(|found| (word(&found["rule"]), word(&found["proof"]))).collect()
}

fn has(report: &TestReport, rule: &str, proof: &str) -> bool {
    found(report).contains(&(rule.to_owned(), proof.to_owned()))
}

/// Repeats the run until the generator was healthy, since a busy machine may need more than one attempt; returns the
/// last report.
fn undisturbed(line: &[&str]) -> TestReport {
    let mut last = report(line);
    for _ in 0..4 {
        if !has(&last, "C1", "proved") {
            break;
        }
        last = report(line);
    }
    last
}

#[test]
fn an_accept_queue_that_overflows_is_proved_by_its_counter() {
    let Some(server) = QueueingServer::start(&[], "backlog 5 20") else { return };
    let url = server.url();
    let report = report(&["-c", "60", "-d", "4s", "-t", "3s", "--no-keepalive", &url]);
    assert!(has(&report, "N2", "proved"), "{report}");
    assert!(!has(&report, "N1", "proved"), "what a listener drops is no loss of the network: {report}");
}

#[test]
fn a_service_without_descriptors_is_proved_by_its_process() {
    let Some(server) = QueueingServer::start(&["prlimit", "--nofile=64", "--"], "pool 1000 5") else { return };
    let url = server.url();
    let report = report(&["-c", "100", "-d", "3s", "-t", "2s", &url]);
    assert!(has(&report, "S10", "proved"), "{report}");
    assert!(!found(&report).iter().any(|(rule, _)| rule == "C4"), "it is not we who ran out: {report}");
}

/// Returns the size of the pool that the report names, if it names one.
fn pool_size(report: &TestReport) -> Option<u32> {
    let findings = report.at("diagnosis.findings").as_array().expect("a list");
    let pool = findings.iter().find(|found| found["rule"] == "S4")?;
    let claim = pool["claim"].as_str().expect("a sentence");
    claim.split("about ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok())
}

#[test]
fn a_pool_shows_its_size_and_a_service_without_one_shows_none() {
    let Some(pool) = QueueingServer::start(&[], "pool 8 40") else { return };
    let url = pool.url();
    // On a busy machine the first wave of responses is blurred, and no size is named: then it is tried again.
    let line = ["-c", "60", "-d", "5s", &url];
    let size = (0..5).find_map(|_| pool_size(&report(&line))).expect("a size in one of five runs");
    assert!((7..=12).contains(&size), "{size}");
    let varied = QueueingServer::start(&[], "varied 20").expect("the same Python");
    let url = varied.url();
    let report = undisturbed(&["-c", "60", "-d", "3s", &url]);
    let pools = found(&report).into_iter().filter(|(rule, _)| rule == "S4" || rule == "S3").count();
    assert_eq!(pools, 0, "{report}");
}

#[test]
fn a_limiter_that_says_so_is_proved_and_one_that_may_be_is_consistent() {
    let zone = "limit_req_zone $server_name zone=all:1m rate=50r/s;";
    for (status, proof) in [("429", "proved"), ("503", "consistent")] {
        // `return` would be evaluated before the limit; `try_files` is evaluated after it.
        let limited = format!("location / {{ limit_req zone=all; limit_req_status {status}; try_files /none @ok; }}");
        let server = format!("{limited} location @ok {{ return 204; }}");
        let Some(nginx) = NginxProcess::start(zone, "", &server) else { return };
        let url = nginx.url();
        let report = undisturbed(&["-r", "300/s", "-d", "2s", &url]);
        assert!(has(&report, "P7", proof), "{status} {report}");
    }
}

#[test]
fn a_rate_that_is_kept_meets_no_limit_and_an_old_record_is_judged_the_same() {
    let target = TargetProcess::healthy();
    let directory = tempfile::tempdir().expect("a folder");
    let record = directory.path().join("kept.jsonl").display().to_string();
    let url = target.url("delay/2ms");
    let line = ["-r", "100/s", "-d", "3s", "--record", &record, &url];
    let live = undisturbed(&line);
    let kept = std::fs::read(&record).expect("a record");
    assert!(!kept.is_empty());
    let again = TestReport::of(brunt_tests::brunt(["report", &record, "--format", "json"]));
    assert_eq!(again.at("diagnosis"), live.at("diagnosis"));
    if !has(&live, "C1", "proved") {
        assert_eq!(live.at("diagnosis.outcome"), "not_reached", "{live}");
        assert_eq!(live.at("diagnosis.observed"), "service", "{live}");
    }
}

#[test]
fn a_head_and_a_body_that_nagle_holds_apart_are_told_from_a_whole_response() {
    for (kind, wanted) in [("nagle", true), ("whole", false)] {
        let Some(server) = QueueingServer::start(&[], kind) else { return };
        let report = undisturbed(&["-c", "2", "-d", "3s", &server.url()]);
        let disturbed = wanted && has(&report, "C1", "proved");
        assert!(has(&report, "L3", "consistent") == wanted || disturbed, "{kind} {report}");
    }
}

#[test]
fn counters_take_no_descriptors_from_connections() {
    if daemon::find("prlimit").is_none() {
        return brunt_tests::skip("prlimit is not installed");
    }
    // Two files of /proc are open for each of its threads.
    let Some(server) = QueueingServer::start(&[], "threads 60") else { return };
    let line = ["-w", "1", "-c", "20", "-d", "2s", "--quiet", "--format", "json", &server.url()];
    let ended = brunt_tests::program::prepare_under(&["prlimit", "--nofile=60:60", "--"], line).run();
    let report = TestReport::of(ended);
    let [scheduled, succeeded, failed, _] = report.requests();
    assert!(scheduled > 100 && succeeded == scheduled && failed == 0, "{report}");
}

/// Compares a server that slowly reads bodies larger than the window of a connection with one that
/// reads smaller bodies at once but answers late.
#[test]
fn a_service_that_reads_slowly_is_told_and_one_that_answers_late_is_not() {
    let directory = tempfile::tempdir().expect("a folder");
    for (kind, bytes, wanted) in [("reads 500000", 2_000_000, true), ("takes 100", 40_000, false)] {
        let Some(server) = QueueingServer::start(&[], kind) else { return };
        let body = directory.path().join("body");
        std::fs::write(&body, vec![b'x'; bytes]).expect("a file");
        let file = body.display().to_string();
        let report = undisturbed(&["-c", "4", "-d", "6s", "--data-file", &file, &server.url()]);
        let disturbed = wanted && has(&report, "C1", "proved");
        assert!(has(&report, "N8", "proved") == wanted || disturbed, "{kind} {report}");
    }
}

#[test]
fn what_children_do_that_a_service_forks_is_its_doing() {
    let Some(server) = QueueingServer::start(&[], "forks 2") else { return };
    for more in [&["-c", "2"][..], &["-c", "2", "--no-keepalive"]] {
        let report = report(&[more, &["-w", "1", "-d", "4s", &server.url()]].concat());
        let (succeeded, seconds) = (report.requests()[1], report.number("window_s"));
        // Each response takes 2 ms of CPU on any machine; work before the first and after the last reading is not
        // counted.
        let cpu = report.number("diagnosis.shared.service_cores") * seconds;
        assert!(cpu > 0.6 * 0.002 * succeeded as f64, "{cpu} s of CPU for {succeeded} responses: {report}");
    }
}
