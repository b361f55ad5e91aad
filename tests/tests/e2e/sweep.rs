//! Tests of `brunt sweep`: a table of users and of rates against a service whose capacity is known, and bad input.

use brunt_tests::{TargetProcess, brunt};
use serde_json::Value;

/// Four servers of 5 ms hold 800/s at most.
const STATION: &str = "?station=4&service=5ms";

#[test]
fn users_beyond_the_places_of_a_service_only_wait() {
    let target = TargetProcess::healthy();
    let line = ["sweep", "-c", "1,2,4,16", "-d", "1s", "--format", "json", &target.url(STATION)];
    let found: Value = serde_json::from_str(&brunt(line).with_code(0).out).expect("JSON");
    let rate = |at: usize| found["cells"][at]["medians"]["throughput_per_s"].as_f64().expect("a rate");
    assert!(rate(1) > 1.6 * rate(0) && rate(3) < 1.4 * rate(2), "{found}");
    assert_eq!((&found["axes"][0]["option"], &found["cells"][3]["of"]["users"]), (&"users".into(), &"16".into()));
    let knee = found["curves"][0]["knee_users"].as_f64().expect("a knee");
    assert!((2.5..6.5).contains(&knee), "{found}");
}

#[test]
fn rates_and_an_option_make_a_table_of_two_axes() {
    let target = TargetProcess::healthy();
    let line = ["sweep", "-r", "100..1600/2", "--option", "no-keepalive=off,on", "-d", "1s", &target.url(STATION)];
    let ended = brunt(line).with_code(0);
    for said in [
        "Sweeping rate 100/s,1600/s × no-keepalive off,on: 4 runs",
        "With no-keepalive off: From 1,600/s on the rate is not sustained",
        "With no-keepalive on: From 1,600/s on the rate is not sustained",
        "One run of each cell is indicative only",
    ] {
        assert!(ended.out.contains(said), "{said}: {ended:?}");
    }
}

#[test]
fn bad_input_is_one_sentence() {
    let url = "http://127.0.0.1:9/";
    let table: [(&[&str], &str); 6] = [
        (&["sweep", "-c", "4", url], "sweep: 0 options have several values"),
        (&["sweep", "-c", "1,x", url], "-c: `1,x` is not a list of loads"),
        (&["sweep", "-r", "9..1/3", url], "-r: `9..1/3` is not a range of loads"),
        (&["sweep", "--option", "foo=1,2", url], "--option: there is no option --foo"),
        (&["sweep", "-c", "1,2", "--repeat", "0", url], "--repeat: `0` is not a number of runs"),
        (&["sweep", "-c", "1,2", "--stage", "1s:5", url], "--stage: is for a single run, not for a sweep"),
    ];
    for (line, said) in table {
        let ended = brunt(line).with_code(64);
        assert!(ended.err.contains(said) && ended.err.lines().count() == 1, "{line:?}: {ended:?}");
    }
}
