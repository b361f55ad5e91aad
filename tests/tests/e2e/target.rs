//! Tests of the built-in target: its counters, its log and its faults agree with the results of a run.

use brunt_tests::report::report;
use brunt_tests::target::get;
use brunt_tests::{TargetProcess, brunt};

#[test]
fn every_path_answers_what_it_says() {
    let target = TargetProcess::healthy();
    for (path, status, length) in [
        ("/", "200", 3),
        ("/bytes/1000", "200", 1000),
        ("/status/503", "503", 0),
        ("/bytes/0", "200", 0),
        ("/close/77", "200", 77),
    ] {
        let (head, body) = get(target.host(), path);
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {head}");
        if length > 0 {
            assert_eq!(body.len(), length, "{path}");
        }
    }
    let (head, _) = get(target.host(), "/header/x-cache/hit");
    assert!(head.to_lowercase().contains("\r\nx-cache: hit\r\n"), "{head}");
    let (head, body) = get(target.host(), "/no-such-path");
    assert!(
        head.starts_with("HTTP/1.1 404 ") && String::from_utf8_lossy(&body).contains("brunt target --help"),
        "{head}"
    );
}

#[test]
fn the_log_of_arrivals_has_a_line_for_every_request() {
    let directory = tempfile::tempdir().unwrap();
    let file = brunt_tests::target::text(directory.path(), "arrivals.log");
    let target = TargetProcess::with(&["--log-arrivals", &file, "-w", "2"]);
    let report = report(&["-n", "300", "-c", "5", &target.address]).with_code(0);
    target.stop();
    let log = std::fs::read_to_string(&file).unwrap();
    let lines = log.lines().filter(|line| !line.starts_with('#')).count() as u64;
    let wanted = report.count("requests.succeeded") + report.count("requests.probe");
    assert!(lines == wanted || lines == wanted + 1, "{lines} lines (perhaps a heading) for {wanted} requests");
}

#[test]
fn a_constant_delay_comes_back_as_the_least_latency() {
    let target = TargetProcess::with(&["--delay", "30ms"]);
    let report = report(&["-n", "40", "-c", "4", &target.address]).with_code(0);
    assert!(report.number("latency.service.min_us") >= 30_000.0, "{report}");
}

#[test]
fn an_address_in_use_is_one_sentence() {
    let target = TargetProcess::healthy();
    let ended = brunt(["target", target.host()]);
    assert_ne!(ended.code, Some(0));
    assert_eq!(ended.err.lines().count(), 1, "{ended:?}");
    assert!(ended.err.contains(target.host()), "{ended:?}");
}

#[test]
fn a_station_serves_first_come_first_served() {
    let target = TargetProcess::healthy();
    // Ten users at one server of 5 ms: each waits for the nine others.
    let url = target.url("?station=1&service=5ms");
    let report = report(&["-n", "60", "-c", "10", &url]).with_code(0);
    assert!(report.number("latency.service.p50_us") >= 45_000.0, "{report}");
}

#[test]
fn the_demo_leaves_no_target_behind() {
    let ended = brunt(["demo", "-d", "300ms"]);
    let url = ended.out.split_whitespace().find(|word| word.starts_with("http://127.0.0.1:")).expect(&ended.out);
    let host = url.trim_start_matches("http://").trim_end_matches([':', '.']).trim_end_matches('/').to_string();
    assert!(std::net::TcpStream::connect(&host).is_err(), "{host} still listens");
}

#[test]
fn a_machine_that_was_calibrated_tells_the_headroom_of_runs_in_clear() {
    let state = tempfile::tempdir().unwrap();
    let run =
        |line: &[&str]| brunt_tests::program::prepare(line).env("XDG_STATE_HOME", state.path()).run().with_code(0);
    let target = TargetProcess::healthy();
    let line = ["-n", "20", "-c", "1", &target.address];
    assert!(!run(&line).out.contains("headroom"));
    run(&["calibrate", "-d", "300ms", "-c", "4"])
        .containing("a core sends at most")
        .containing("min latency")
        .containing("calibration.json");
    run(&line).containing("headroom: brunt can send up to about");
    run(&[&line[..], &["--format", "json"]].concat()).containing("\"headroom\": ");
    let ended = run(&["-n", "20", "-c", "1", "--http", "2", &target.address]);
    assert!(!ended.out.contains("headroom"), "{ended:?}");
    brunt(["calibrate", "-c", "0"]).with_code(64).containing("-c");
}

#[test]
fn a_target_with_a_certificate_of_its_own_speaks_tls() {
    let target = TargetProcess::with(&["--tls"]);
    assert!(target.address.starts_with("https://"), "{}", target.address);
    let sound = report(&["-k", "-n", "200", "-c", "4", &target.url("bytes/100000")]).with_code(0);
    assert_eq!(sound.count("requests.succeeded"), 200);
    assert_eq!(sound.count("bytes.payload"), 200 * 100_000);
    let unsound = report(&["-k", "-n", "10", "-c", "1", &target.url("cut/20")]);
    assert_eq!(unsound.count("requests.failed"), 10, "{unsound}");
    let ended = brunt(["target", "--cert", "/etc/hostname"]);
    assert!(ended.code == Some(64) && ended.err.contains("--key"), "{ended:?}");
}
