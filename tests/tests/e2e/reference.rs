//! Tests of the reference client: its requests are counted separately, and nginx's log has those of the run, too.

use brunt_tests::nginx::NginxProcess;
use brunt_tests::program::until;
use brunt_tests::report::report;
use brunt_tests::{TestReport, prepare};
use rustix::process::Signal;

/// Returns how many requests of the client were scheduled, succeeded, failed and stayed unfinished.
fn client(report: &TestReport) -> [u64; 4] {
    let client = &report.json["reference"];
    ["scheduled", "succeeded", "failed", "unfinished"]
        .map(|key| client[key].as_u64().unwrap_or_else(|| panic!("{report}")))
}

#[test]
fn nginx_sees_the_load_and_the_client_beside_it_and_each_is_counted_once() {
    for load in [
        &["-n", "3000", "-c", "3", "--think", "1ms"][..],
        &["-r", "300/s", "-d", "2s"],
        &["-c", "2", "-d", "1s", "--processes", "2"],
    ] {
        let Some(nginx) = NginxProcess::start("", "", "location / { return 200 'page'; }") else { return };
        let url = nginx.url();
        let report = report(&[load, &["--reference", "50/s", &url]].concat());
        let ([due, finished, failed, open], [scheduled, succeeded, missed, cut]) = (report.requests(), client(&report));
        assert_eq!((due, failed, open, missed), (finished, 0, 0, 0), "{load:?}: {report}");
        assert_eq!(scheduled, succeeded + cut, "{load:?}: {report}");
        assert!(succeeded > 5 && cut <= 1, "{load:?}: {report}");
        let service = &report.json["reference"]["service"];
        assert_eq!(service["count"], succeeded, "{load:?}: {report}");
        let logged = nginx.stop_and_read_log().len() as u64;
        assert!((due + succeeded + 1..=due + scheduled + 1).contains(&logged), "{logged} logged, {load:?}: {report}");
    }
}

#[test]
fn a_stop_ends_the_client_with_the_run_and_the_record_tells_of_it() {
    let Some(nginx) = NginxProcess::start("", "", "location / { return 200 'page'; }") else { return };
    let (folder, url) = (tempfile::tempdir().expect("a folder"), nginx.url());
    let record = folder.path().join("run.jsonl").display().to_string();
    let line =
        ["-r", "500/s", "-d", "60s", "--reference", "100/s", "--record", &record, "--quiet", "--format", "json", &url];
    let running = prepare(line).start();
    // The client has sent a hundred requests by then.
    until("the run has begun", || nginx.logged() > 600);
    running.signal(Signal::INT);
    let live = TestReport::of(running.end()).with_code(21);
    let again = TestReport::of(brunt_tests::brunt(["report", "--format", "json", &record])).with_code(21);
    assert_eq!(client(&live), client(&again), "{live}");
    assert!(client(&live)[1] > 0, "{live}");
}

#[test]
fn a_client_that_could_time_nothing_or_is_a_load_is_refused() {
    let cases = [
        (
            &["--hold", "1s", "--data", "x", "--reference", "5/s", "ws://127.0.0.1:9/"][..],
            "--hold only holds connections",
        ),
        (&["--reference", "5000/s", "http://127.0.0.1:9/"], "--reference: 5000/s would be a load in itself"),
    ];
    for (line, said) in cases {
        let ended = brunt_tests::brunt(line);
        assert_eq!(ended.code, Some(64), "{line:?}");
        assert!(ended.err.contains(said), "{}", ended.err);
    }
}

#[test]
fn of_one_second_in_four_it_is_told_how_late_nginx_is_read() {
    let Some(nginx) = NginxProcess::start("", "", "location / { return 200 'page'; }") else { return };
    // Five seconds contain at least one of the sampled seconds in full.
    let report = report(&["-c", "1", "--think", "50ms", "-d", "5s", "--reference", "100/s", &nginx.url()]);
    let (stamped, [_, succeeded, ..]) = (report.count("reference.read_late.count"), client(&report));
    assert!(stamped > 0 && stamped < succeeded * 3 / 4, "{stamped} of {succeeded}: {report}");
}
