//! Tests of `brunt find`: the search of a service whose capacity is known, its ends, and what it says of bad input.

use brunt_tests::nginx::NginxProcess;
use brunt_tests::program::until;
use brunt_tests::{TargetProcess, brunt, skip, start};
use rustix::process::Signal;
use serde_json::Value;

/// Four servers of 2 ms hold 2000/s at most, whatever the objective.
const STATION: &str = "?station=4&service=exponential:2ms";
const CAPACITY: f64 = 2000.0;

#[test]
fn bounds_close_in_on_what_a_station_holds() {
    let target = TargetProcess::healthy();
    let url = target.url(STATION);
    let ended = brunt(["find", "p99<60ms", "-r", "250/s", "-d", "1s", "--width", "20%", "--format", "json", &url]);
    let ended = ended.with_code(0);
    let found: Value = serde_json::from_str(&ended.out).expect("JSON");
    let [lower, upper] = ["lower", "upper"].map(|end| found["bounds"][end].as_f64().expect("a bound"));
    assert!((0.5 * CAPACITY..=1.1 * CAPACITY).contains(&lower), "{found}");
    assert!(upper > lower && upper <= 1.2 * lower, "{found}");
    let trials = found["trials"].as_array().expect("trials");
    assert_eq!((found["end"].as_str(), trials[0]["load"].as_f64()), (Some("found"), Some(250.0)));
    assert!(found["elapsed_s"].as_f64().is_some_and(|s| s < 60.0), "{found}");
    for said in ["Searching the highest rate that keeps p99<60ms", "exit code 0"] {
        assert!(ended.err.contains(said), "{said}: {ended:?}");
    }
}

#[test]
fn a_limiter_is_found_at_its_rate_and_named() {
    let zone = "limit_req_zone $server_name zone=all:1m rate=300r/s;";
    let limited = "location / { limit_req zone=all burst=30 nodelay; limit_req_status 429; try_files /none @ok; }\n\
                   location @ok { return 200 ok; }";
    let Some(nginx) = NginxProcess::start(zone, "", limited) else { return skip("nginx is not installed") };
    let (url, log) = (nginx.url(), nginx.error_log().display().to_string());
    let line = [
        "find",
        "failed<1%",
        "-r",
        "50/s",
        "-d",
        "2s",
        "--width",
        "20%",
        "--watch-log",
        &log,
        "--format",
        "json",
        &url,
    ];
    let ended = brunt(line).with_code(0);
    let found: Value = serde_json::from_str(&ended.out).expect("JSON");
    let lower = found["bounds"]["lower"].as_f64().expect("a bound");
    assert!((240.0..330.0).contains(&lower), "{found}");
    assert_eq!(found["limit"]["rule"], "P7", "{found}");
}

#[test]
fn an_objective_that_no_load_keeps_exits_10() {
    let target = TargetProcess::with(&["--delay", "30ms"]);
    let ended = brunt(["find", "p95<10ms", "-r", "100/s", "-d", "1s", &target.address]).with_code(10);
    assert!(ended.out.contains("Not even 100/s, the first load, keeps p95<10ms"), "{ended:?}");
}

#[test]
fn what_was_found_is_the_capacity_of_a_machine() {
    let (target, dir) = (TargetProcess::healthy(), tempfile::tempdir().expect("a directory"));
    let record = dir.path().join("f.bruntexp").display().to_string();
    let line = ["find", "p50<1s", "-r", "200/s", "--up-to", "200/s", "-d", "1s", "--record", &record, &target.address];
    brunt(line).with_code(0);
    let line = ["capacity", "--peak", "1000/s", "--utilisation", "100%", "--per-machine", &record, "--format", "json"];
    let found: Value = serde_json::from_str(&brunt(line).with_code(0).out).expect("JSON");
    assert_eq!(found["machines"]["needed"].as_u64().or_else(|| found["machines"].as_u64()), Some(5), "{found}");
    let trend = brunt(["trend", &record]).with_code(64);
    assert!(trend.err.contains("is the record of an experiment; show it with `brunt report"), "{trend:?}");
}

#[test]
fn how_requests_fail_is_said() {
    let target = TargetProcess::with(&["--close-rate", "100%"]);
    let ended = brunt(["find", "p95<1s", "-r", "100/s", "-d", "1s", &target.address]).with_code(10);
    assert!(ended.out.contains("At 100/s, 100.0 % of the requests failed; most: "), "{ended:?}");
    let few = TargetProcess::healthy();
    let line = ["find", "p99.9<1s", "-r", "10/s", "--up-to", "20/s", "-d", "1s", &few.address];
    let ended = brunt(line).with_code(20);
    assert!(ended.out.contains("are too few to show p99.9<1s: it takes 2,995."), "{ended:?}");
}

#[test]
fn a_highest_load_that_is_held_is_said() {
    let target = TargetProcess::healthy();
    let line = ["find", "p50<1s", "-c", "1", "--up-to", "3", "-d", "1s", "--lang", "zh", &target.address];
    let ended = brunt(line).with_code(0);
    assert!(ended.out.contains("所试的最高负载 3 个用户 仍满足 p50<1s"), "{ended:?}");
}

#[test]
fn an_interrupted_search_ends_with_what_is_known() {
    let target = TargetProcess::healthy();
    let running = start(["find", "p50<1s", "-r", "100/s", "-d", "4s", &target.address]);
    // The warm-up and the first trial are about 330 requests.
    until("the second trial has begun", || target.requests() > 430);
    running.signal(Signal::INT);
    let ended = running.end().with_code(21);
    assert!(ended.out.contains("Not finished. So far "), "{ended:?}");
    assert!(ended.out.contains("00/s seems to keep p50<1s."), "{ended:?}");
}

#[test]
fn the_load_of_one_scenario_is_searched_beside_the_others() {
    let target = TargetProcess::healthy();
    let (dir, station) = (tempfile::tempdir().expect("a directory"), target.url("?station=4&service=constant:10ms"));
    let plan = dir.path().join("day.yaml").display().to_string();
    // The staff takes a third of the station: 100/s of 400/s.
    let of = |name: &str, load: &str| format!("  {name}: {{{load}, duration: 1s, urls: ['{station}']}}\n");
    let text = format!("scenarios:\n{}{}", of("shop", "rate: 50/s"), of("staff", "users: 1, think: 0ms"));
    std::fs::write(&plan, text).expect("written");
    let line = ["find", "p95{scenario shop}<60ms", "--vary", "shop", "--width", "20%", "--format", "json", &plan];
    let found: Value = serde_json::from_str(&brunt(line).with_code(0).out).expect("JSON");
    let lower = found["bounds"]["lower"].as_f64().expect("a bound");
    assert!((180.0..400.0).contains(&lower), "{found}");
    assert_eq!(found["load"], "rate");
}

#[test]
fn bad_input_is_one_sentence() {
    let url = "http://127.0.0.1:9/";
    let table: [(&[&str], &str); 4] = [
        (&["find", url], "find: no objective is named; put one in front of the URL"),
        (&["find", "rate>=5/s", url], "find: `rate>=5/s` is not judged by counting requests over a trial"),
        (&["find", "p99<1s", "-o", "/none/x.html", url], "-o: /none/x.html cannot be written"),
        (&["find", "p99<1s", "--prometheus", "x", url], "--prometheus: is for a single run, not for a search"),
    ];
    for (line, said) in table {
        let ended = brunt(line).with_code(64);
        assert!(ended.err.contains(said) && ended.err.lines().count() == 1, "{line:?}: {ended:?}");
    }
}
