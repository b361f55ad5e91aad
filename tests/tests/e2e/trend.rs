//! Tests of `brunt trend`: records of a directory as one history, and bad input.

use brunt_tests::console::ConsoleProcess;
use brunt_tests::program::{prepare, until};
use brunt_tests::{TargetProcess, brunt};
use serde_json::{Value, json};

#[test]
fn records_of_a_directory_are_a_history_by_time_and_test() {
    let target = TargetProcess::healthy();
    let dir = tempfile::tempdir().expect("a directory");
    let record = |name: &str, users: &str| {
        let file = dir.path().join(name).with_extension("bruntrec").display().to_string();
        brunt(["-c", users, "-n", "40", "--record", &file, "--trust", "warn", &target.address]).with_code(0);
    };
    record("c", "3");
    record("b", "2");
    record("a", "2");
    let path = dir.path().display().to_string();
    let found: Value =
        serde_json::from_str(&brunt(["trend", "--format", "json", &path]).with_code(0).out).expect("JSON");
    let names: Vec<&str> = found["runs"].as_array().unwrap().iter().map(|run| run["name"].as_str().unwrap()).collect();
    assert_eq!(found["others"], 1, "another number of users is another test: {found}");
    let sound = names.len() + found["doubtful"].as_u64().unwrap() as usize;
    assert_eq!(sound, 2, "{found}");
    assert!(names.windows(2).all(|pair| pair[0] > pair[1]), "b ran before a: {found}");
    let text = brunt(["trend", &path]).with_code(0).out;
    assert!(text.contains("too few to find a change") && text.contains("1 record is of another test"), "{text}");
}

#[test]
fn a_test_of_the_library_is_named_by_a_word() {
    let (target, home) = (TargetProcess::healthy(), tempfile::tempdir().expect("a directory"));
    let console = ConsoleProcess::start(home.path());
    let url = target.url("/bytes/10");
    for name in ["nightly shop", "other"] {
        let plan = format!("urls: ['{url}']\nusers: 1\nrequests: 20\ntrust: warn\n");
        let begun = console.post("/api/v1/runs", &json!({ "plan": plan, "name": name })).with(201).json();
        let id = begun["id"].as_str().expect("an id").to_owned();
        until("the run is over", || console.run(&id)["state"] == "over");
    }
    let trend = |words: &[&str]| {
        prepare(["trend", "--format", "json"].iter().chain(words)).env("XDG_STATE_HOME", home.path()).run()
    };
    let count = |words: &[&str]| {
        let found: Value = serde_json::from_str(&trend(words).with_code(0).out).expect("JSON");
        found["runs"].as_array().map_or(0, Vec::len) + found["doubtful"].as_u64().unwrap_or(0) as usize
    };
    assert_eq!((count(&["nightly"]), count(&["bytes"]), count(&[])), (1, 2, 2));
    let none = trend(&["weekly"]).with_code(64);
    assert!(none.err.contains("TEST: `weekly` is no file, and in no name, tag or target"), "{none:?}");
}

#[test]
fn bad_input_is_one_sentence() {
    let dir = tempfile::tempdir().expect("a directory");
    let empty = dir.path().display().to_string();
    let table: [(&[&str], &str); 3] = [
        (&["trend", &empty], "FILE: 0 records are named"),
        (&["trend", "/nowhere/x.bruntrec"], "/nowhere/x.bruntrec"),
        (&["trend", "-o", "/none/x.csv", &empty], "-o: /none/x.csv cannot be written"),
    ];
    for (line, said) in table {
        let ended = brunt(line).with_code(64);
        assert!(ended.err.contains(said) && ended.err.lines().count() == 1, "{line:?}: {ended:?}");
    }
}
