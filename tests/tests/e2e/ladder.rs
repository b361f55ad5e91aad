//! Tests of `brunt ladder`: rungs whose costs are known, and bad input.

use brunt_tests::{TargetProcess, brunt};
use serde_json::Value;

#[test]
fn a_pool_and_a_lock_are_told_by_what_they_allow() {
    let target = TargetProcess::healthy();
    // Eight places of 20 ms, and one of 10 ms.
    let [pool, lock] = ["?station=8&service=20ms", "?station=1&service=10ms"].map(|query| target.url(query));
    let rungs = [format!("empty={}", target.address), format!("pool={pool}"), format!("lock={lock}")];
    let line = ["ladder", "-d", "1s", "--up-to", "32", "--pool", "8", "--format", "json", &rungs[0], &rungs[1]];
    let found: Value = serde_json::from_str(&brunt(line).out).expect("JSON");
    let step = &found["rungs"][1]["step"];
    assert_eq!((&step["cost"], step["at_once"].as_f64()), (&"pool".into(), Some(8.0)), "{found}");
    let added = step["added_s"].as_f64().expect("a time");
    assert!((0.018..0.026).contains(&added), "{found}");
    let line = ["ladder", "-d", "1s", "--up-to", "8", &rungs[0], &rungs[2]];
    let ended = brunt(line);
    for said in ["Climbing empty → lock: 1, 2, 4 … users", "serves one request at a time", "lock  1 user "] {
        assert!(ended.out.contains(said), "{said}: {ended:?}");
    }
}

#[test]
fn a_rung_that_answers_nothing_is_not_climbed() {
    let (good, bad) = (TargetProcess::healthy(), TargetProcess::with(&["--error-rate", "100%"]));
    let (a, b) = (format!("a={}", good.url("?delay=5ms")), format!("b={}", bad.url("/")));
    let ended = brunt(["ladder", "-d", "500ms", "--up-to", "4", &a, &b]);
    assert!(ended.out.contains("b: cannot be told") && !ended.out.contains("b was still rising"), "{ended:?}");
    assert!(!ended.out.contains("b  2 users"), "{ended:?}");
}

#[test]
fn bad_input_is_one_sentence() {
    let [url, other] = ["a=http://127.0.0.1:9/", "b=http://127.0.0.1:9/"];
    let table: [(&[&str], &str); 5] = [
        (&["ladder", url, url], "ladder: two rungs are named `a`"),
        (&["ladder", url], "ladder: 1 given; name 2 to 12 rungs"),
        (&["ladder", "-c", "4", url, other], "-c: is set by the ladder"),
        (&["ladder", "--up-to", "x", url, other], "--up-to: `x` is not a number of users"),
        (&["ladder", "-o", "/none/x.csv", url, other], "-o: /none/x.csv cannot be written"),
    ];
    for (line, said) in table {
        let ended = brunt(line).with_code(64);
        assert!(ended.err.contains(said) && ended.err.lines().count() == 1, "{line:?}: {ended:?}");
    }
}
