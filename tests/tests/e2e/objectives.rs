//! Tests of objectives for intervals of a run, against nginx: evaluated during the run, and again from its record.

use brunt_tests::TestReport;
use brunt_tests::nginx::NginxProcess;

const SITE: &str = "location = /ok { return 200; } location = /broken { return 500; }";

fn objective(report: &TestReport) -> (bool, String) {
    let judged = &report.json["objectives"][0];
    (judged["met"] == true, judged["measured"].as_str().expect("what was measured").to_owned())
}

#[test]
fn an_objective_that_asks_for_it_stops_the_run_in_its_first_bad_stretch() {
    let Some(nginx) = NginxProcess::start("", "", SITE) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let record = folder.path().join("run.jsonl").display().to_string();
    let (ok, broken) = (format!("{}ok", nginx.url()), format!("{}broken", nginx.url()));
    let line = |objective| {
        [
            "-c",
            "2",
            "--think",
            "2ms",
            "-d",
            "60s",
            "--objective",
            objective,
            "--record",
            &record,
            "--quiet",
            "--format",
            "json",
            &ok,
            "-u",
            &broken,
        ]
        .map(str::to_owned)
    };
    let live = TestReport::of(brunt_tests::brunt(line("failed<5% for 1s stop"))).with_code(10);
    let (met, measured) = objective(&live);
    assert!(!met && measured.starts_with("failed "), "{measured}: {live}");
    let window = live.json["window_s"].as_f64().expect("a window");
    assert!(window < 30.0, "{live}");
    let codes: Vec<&str> =
        live.json["notices"].as_array().expect("notices").iter().filter_map(|n| n["code"].as_str()).collect();
    assert!(codes.contains(&"objective_stop"), "{live}");
    let again = TestReport::of(brunt_tests::brunt(["report", "--format", "json", &record])).with_code(10);
    assert_eq!(objective(&again), (met, measured), "{again}");
    let [due, finished, failed, open] = live.requests();
    assert_eq!(due, finished + failed + open, "{live}");
    // Requests in flight at the stop may have reached the server, or not.
    let logged = nginx.stop_and_read_log().len() as u64;
    assert!((due - open + 1..=due + 1).contains(&logged), "{logged} logged: {live}");
}
