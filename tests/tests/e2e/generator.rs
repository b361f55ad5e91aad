//! Tests of an unhealthy generator, whose figures have wide bands, and of a server that stops answering: no figure of
//! such a run is trusted.

use std::time::Duration;

use brunt_tests::program::until;
use brunt_tests::report::report;
use brunt_tests::{ScriptedPeer, TargetProcess, TestReport, prepare};
use rustix::process::Signal;

/// Returns the grade of a reason in the verdict, if it is there.
fn grade<'a>(report: &'a TestReport, code: &str) -> Option<&'a str> {
    let reasons = report.at("trust.reasons").as_array().expect("reasons");
    reasons.iter().find(|reason| reason["code"] == code)?["grade"].as_str()
}

/// Returns the reasons concerning the generator that make the run fail.
fn troubles(report: &TestReport) -> Vec<&str> {
    let reasons = report.at("trust.reasons").as_array().expect("reasons").iter();
    let failing = reasons.filter(|reason| reason["grade"] == "fail").filter_map(|reason| reason["code"].as_str());
    failing.filter(|code| code.starts_with("generator_")).collect()
}

#[test]
fn a_generator_that_is_stopped_again_and_again_is_not_trusted_in_either_load() {
    for load in [&["-c", "10"][..], &["-r", "300/s"]] {
        let target = TargetProcess::healthy();
        let url = target.url("delay/2ms");
        // Whatever is brunt's own decides neither of these objectives.
        for (objectives, code) in [(&[][..], 20), (&["--objective", "p99<30s", "--objective", "failed<1%"], 0)] {
            let line = ["-d", "3s", "--quiet", "--format", "json", &url];
            let mut running = prepare(load.iter().chain(objectives).chain(&line)).start();
            let before = target.requests();
            until("the run has begun", || target.requests() > before + 20);
            while running.runs() {
                running.signal(Signal::STOP);
                std::thread::sleep(Duration::from_millis(300));
                running.signal(Signal::CONT);
                std::thread::sleep(Duration::from_millis(500));
            }
            let report = TestReport::of(running.end());
            assert_eq!(grade(&report, "generator_delays"), Some("fail"), "{load:?} {report}");
            assert_eq!(report.code, code, "{load:?} {report}");
        }
    }
}

#[test]
fn an_objective_that_stops_of_the_generator_decide_is_undecided() {
    let target = TargetProcess::healthy();
    let url = target.url("delay/2ms");
    let line = ["-r", "300/s", "-d", "3s", "--objective", "p90<100ms", "--quiet", "--format", "json", &url];
    let mut running = prepare(line).start();
    until("the run has begun", || target.requests() > 20);
    while running.runs() {
        running.signal(Signal::STOP);
        std::thread::sleep(Duration::from_millis(300));
        running.signal(Signal::CONT);
        std::thread::sleep(Duration::from_millis(500));
    }
    let report = TestReport::of(running.end());
    assert_eq!((report.at("objectives.0.outcome").as_str(), report.code), (Some("undecided"), 20), "{report}");
    let [least, most] = ["0", "1"].map(|end| report.number(&format!("latency.response.p90_band_us.{end}")));
    assert!(least < 100_000.0 && most > 100_000.0, "{report}");
}

#[test]
fn a_stop_that_lasts_beyond_the_window_is_seen_in_either_load() {
    for load in [&["-c", "10"][..], &["-r", "300/s"]] {
        let target = TargetProcess::healthy();
        let url = target.url("delay/2ms");
        let line = ["-d", "2s", "--quiet", "--format", "json", &url];
        let running = prepare(load.iter().chain(&line)).start();
        until("the run has begun", || target.requests() > 20);
        std::thread::sleep(Duration::from_millis(500));
        running.signal(Signal::STOP);
        std::thread::sleep(Duration::from_millis(2_500));
        running.signal(Signal::CONT);
        let report = TestReport::of(running.end());
        assert_eq!((report.code, grade(&report, "generator_delays")), (20, Some("fail")), "{load:?} {report}");
        assert_eq!(grade(&report, "outage"), None, "brunt was stopped, not the service: {report}");
    }
}

#[test]
fn short_stops_are_seen_where_answers_are_awaited_all_the_time() {
    let target = TargetProcess::healthy();
    let url = target.url("delay/2ms");
    let mut running = prepare(["-c", "10", "-d", "2s", "--quiet", "--format", "json", &url]).start();
    until("the run has begun", || target.requests() > 20);
    while running.runs() {
        running.signal(Signal::STOP);
        std::thread::sleep(Duration::from_millis(20));
        running.signal(Signal::CONT);
        std::thread::sleep(Duration::from_millis(80));
    }
    let report = TestReport::of(running.end());
    assert_eq!(report.code, 20, "{report}");
    assert!(!troubles(&report).is_empty(), "{report}");
}

#[test]
fn a_calibration_that_was_disturbed_is_not_kept() {
    let state = tempfile::tempdir().expect("a folder");
    let mut running = prepare(["calibrate", "-d", "2s", "-c", "4"]).env("XDG_STATE_HOME", state.path()).start();
    while running.runs() {
        running.signal(Signal::STOP);
        std::thread::sleep(Duration::from_millis(200));
        running.signal(Signal::CONT);
        std::thread::sleep(Duration::from_millis(200));
    }
    running.end().with_code(20).containing("Not saved");
    assert!(!state.path().join("brunt/calibration.json").exists());
}

#[test]
fn a_generator_kept_busy_by_its_own_checks_is_not_trusted() {
    let mut body = String::from("{\"v\":[1234567");
    (0..60_000).for_each(|n| body += &format!(",{n}"));
    body += "]}";
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let peer = ScriptedPeer::new(
        move |mut connection| while connection.request().is_some() && connection.send(answer.as_bytes()) {},
    );
    let checks = ["--expect-json", "$.v[0]==1234567"];
    let line = ["-w", "1", "-c", "20", "-d", "2s", &peer.url()];
    let report = report(&checks.iter().chain(&line).copied().collect::<Vec<_>>());
    assert_eq!(report.code, 20, "{report}");
    assert!(!troubles(&report).is_empty(), "{report}");
}

#[test]
fn a_server_that_dies_in_closed_load_leaves_no_trusted_figure() {
    // The target answers for two seconds, then never again: the users wait, and nothing else is sent.
    let target = TargetProcess::with(&["--stall", "2s+60s"]);
    let report = report(&["-c", "10", "-d", "4s", "--drain", "500ms", "-t", "30s", &target.url("delay/2ms")]);
    assert_eq!(report.code, 20, "{report}");
    assert_eq!(grade(&report, "outage"), Some("fail"), "{report}");
    assert_eq!(grade(&report, "users_stuck"), Some("fail"), "{report}");
}

#[test]
fn a_server_that_is_killed_in_closed_load_leaves_no_trusted_figure() {
    let mut target = TargetProcess::healthy();
    let running = prepare(["-c", "4", "-d", "4s", "--quiet", "--format", "json", &target.address]).start();
    until("the run has begun", || target.requests() > 100);
    target.kill();
    let report = TestReport::of(running.end());
    assert_eq!(report.code, 20, "{report}");
    assert_eq!(grade(&report, "outage"), Some("fail"), "{report}");
}
