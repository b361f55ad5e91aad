//! Users as plans describe them: paced while everything fails, first requests that leave no trace, and loads, loops and
//! captures in all their forms.

use brunt_tests::report::report;
use brunt_tests::{TargetProcess, TestReport, brunt};

/// Writes files into a folder; returns the folder and the path of the plan, which is the first file.
fn files(all: &[(&str, &str)]) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in all {
        let text = text.replace("FOLDER", &folder.path().display().to_string());
        std::fs::write(folder.path().join(name), text).expect("written");
    }
    let path = folder.path().join(all[0].0).display().to_string();
    (folder, path)
}

/// Runs a plan.
#[track_caller]
fn run(plan: &str, args: &[&str]) -> TestReport {
    let (_folder, path) = files(&[("plan.yaml", plan)]);
    report(&[&[&*path], args].concat())
}

/// Returns how many iterations of a scenario (`""` without scenarios) were started, succeeded, failed and were cut.
fn iterations(report: &TestReport, scenario: &str) -> [u64; 4] {
    let rows = report.json["iterations"].as_array().unwrap_or_else(|| panic!("no iterations: {report}"));
    let is_its = |row: &&serde_json::Value| row["scenario"].as_str().unwrap_or_default() == scenario;
    let row = rows.iter().find(is_its).unwrap_or_else(|| panic!("no {scenario}: {report}"));
    ["started", "succeeded", "failed", "cut"].map(|key| row[key].as_u64().expect("a count"))
}

/// Returns the codes of the findings.
fn findings(report: &TestReport) -> Vec<&str> {
    let found = report.json["trust"]["reasons"].as_array().unwrap_or_else(|| panic!("no findings: {report}"));
    found.iter().filter_map(|found| found["code"].as_str()).collect()
}

/// Checks users of every kind of plan against a server that answers everything with 404: none is faster than planned. A
/// busy machine may make them slower.
#[test]
fn paced_users_who_only_fail_are_no_flood() {
    let target = TargetProcess::healthy();
    let url = target.url("missing");
    let rest = format!("[{{url: '{url}'}}, {{url: '{url}'}}, {{pause: 100ms}}, {{pace: 500ms}}]");
    let scenario = "{users: 3, duration: 2s, graceful-stop: 0s";
    let plans = [
        format!("users: 3\nduration: 2s\ndrain: 0s\nflow: {rest}\n"),
        format!("users: 3\nduration: 2s\ndrain: 0s\nflows: {{x: {rest}}}\nflow: [call: x]\n"),
        format!("users: 3\nduration: 2s\nurl: '{url}'\nthink: 500ms\n"),
        format!("scenarios:\n  a: {scenario}, flow: {rest}}}\n"),
        format!("scenarios:\n  a: {scenario}, url: '{url}', think: 500ms}}\n"),
        format!("scenarios:\n  a: {scenario}, start: [{{url: '{url}', on-failure: go-on}}], flow: {rest}}}\n"),
    ];
    for plan in plans {
        let report = run(&plan, &[]);
        let [due, _, failed, _] = report.requests();
        // Four each in two seconds, and three in the start section.
        assert!((3..=15).contains(&due) && failed == due, "{plan}: {report}");
    }
    // A port where nobody listens refuses at once.
    let refusing = format!("http://127.0.0.1:{}/", brunt_tests::target::free_port());
    let plan = format!("users: 3\nduration: 2s\ndrain: 0s\nflow: [{url}, {refusing}, {{pace: 500ms}}]\n");
    let report = run(&plan.replace("missing", ""), &[]);
    assert!((3..=24).contains(&report.requests()[0]), "{report}");
    // Without any pause, they wait before they try again.
    let plan = format!("users: 3\nduration: 2s\ndrain: 0s\nflow: ['{url}', '{url}']\n");
    let report = run(&plan, &[]);
    assert!((3..=60).contains(&report.requests()[0]), "{report}");
}

#[test]
fn nothing_is_sent_before_the_load_that_the_load_would_notice() {
    let (_folder, path) = files(&[
        ("plan.yaml", "users: 2\niterations: 9\nflow: [{url: 'TARGET/{csv FOLDER/rows.csv.id unique}'}]\n"),
        ("rows.csv", "id\n1\n2\n3\n4\n"),
    ]);
    let target = TargetProcess::healthy();
    let text = std::fs::read_to_string(&path).expect("a plan").replace("TARGET", &target.url("bytes"));
    std::fs::write(&path, text).expect("written");
    let rows = report(&[&path]);
    assert_eq!((rows.requests(), rows.count("requests.probe"), target.requests()), ([4, 4, 0, 0], 0, 4), "{rows}");
    // Requests that may create something are not repeated either; others are, unless the plan forbids it.
    for (args, probes) in [
        (&["-X", "POST"][..], 0),
        (&["-X", "DELETE"], 0),
        (&["--data", "a=b"], 0),
        (&["-X", "HEAD"], 1),
        (&[], 1),
        (&["--no-preflight"], 0),
    ] {
        let target = TargetProcess::healthy();
        let report = report(&[&["-n", "5", "-c", "1", &*target.url("")], args].concat());
        assert_eq!((report.count("requests.probe"), target.requests()), (probes, 5 + probes), "{args:?}: {report}");
    }
    // The address is asked for a connection all the same.
    let nobody = format!("http://127.0.0.1:{}/", brunt_tests::target::free_port());
    let ended = brunt(["-n", "5", "-X", "POST", &nobody]);
    assert_eq!(ended.code, Some(30), "{}", ended.err);
}

#[test]
fn loads_and_loops_may_be_nothing_for_a_while() {
    let target = TargetProcess::healthy();
    let url = target.url("");
    let report = run(&format!("stages: [0s:20, 300ms:2, 300ms:0, 300ms:2, 0s:7]\nurl: '{url}'\n"), &[]);
    assert!(report.requests()[1] > 0, "{report}");
    let json = target.url("echo");
    let plan = format!(
        "users: 1\niterations: 4\nflow:\n  - {{url: '{json}', json: '{{\"n\": 3, \"ids\": [7, 8, 9]}}', \
         capture: {{n: 'regex \"n\": (\\d+)', ids: 'regex (\\[.*\\])'}}}}\n  - repeat: 0\n    steps: ['{url}?none']\n  \
         - repeat: \"{{n}}\"\n    steps: [{{url: '{url}', name: again}}]\n"
    );
    let report = run(&plan, &[]);
    assert_eq!(report.requests(), [16, 16, 0, 0], "{report}");
    let unknown = plan.replace("{n}", "{m}");
    let (_folder, path) = files(&[("plan.yaml", &unknown)]);
    let wrong = brunt([path]);
    assert!(wrong.code == Some(64) && wrong.err.contains("(repeat): no step captures `m`"), "{}", wrong.err);
}

#[test]
fn a_part_of_a_header_and_a_slice_of_a_list_are_captured() {
    let target = TargetProcess::healthy();
    let (header, plain) = (target.url("header/X-Link/next%3Fpage=17"), target.url("bytes/{page}"));
    let plan = format!(
        "users: 1\niterations: 2\nflow:\n  - {{url: '{header}', capture: {{page: 'header X-Link regex page=(\\d+)'}}}}\n  \
         - {{url: '{plain}', expect-header: 'Content-Length: 17'}}\n"
    );
    let found = run(&plan, &[]);
    assert_eq!(found.requests(), [4, 4, 0, 0], "{found}");
    let missed = run(&plan.replace("page=(", "side=("), &[]);
    assert_eq!(missed.requests(), [2, 0, 2, 0], "{missed}");
    assert!(missed.json.to_string().contains("its value is next"), "{missed}");
    let wrong = brunt([files(&[("plan.yaml", &plan.replace("X-Link regex", "X-Link like"))]).1]);
    assert_eq!(wrong.code, Some(64), "{}", wrong.err);
}

#[test]
fn scenarios_have_rows_options_and_objectives_of_their_own() {
    let target = TargetProcess::healthy();
    let plan = format!(
        "objectives: ['p99{{pay}}<60s', 'p99{{look}}<60s']\nscenarios:\n  a:\n    users: 1\n    iterations: 5\n    \
         header: 'X-From: a'\n    expect-body: 'X-From: a'\n    flow: [{{url: '{0}?{{csv FOLDER/r.csv.id random}}', name: pay}}]\n  \
         b:\n    users: 2\n    iterations: 9\n    flow:\n      - {{url: '{0}?{{csv FOLDER/r.csv.id unique}}', name: look, \
         timeout: 30s, at-most: 900/s, header: 'X-From: b', expect-body: 'X-From: b'}}\n",
        target.url("echo")
    );
    let (_folder, path) = files(&[("plan.yaml", &plan), ("r.csv", "id\n1\n2\n3\n4\n5\n6\n7\n8\n9\n")]);
    let both = report(&[&path]);
    assert_eq!((iterations(&both, "a"), iterations(&both, "b")), ([5, 5, 0, 0], [9, 9, 0, 0]), "{both}");
    let alone = brunt([&*path, "--scenario", "b"]);
    let said = "the objective `p99{pay}<60s` is about another scenario and is not judged";
    assert!(
        alone.code == Some(0) && format!("{}{}", alone.out, alone.err).contains(said),
        "{} {}",
        alone.out,
        alone.err
    );
    // Slots of one scenario must agree.
    let mixed = plan.replace("name: look", "name: look, data: 'x={csv FOLDER/r.csv.id random}'");
    let (_folder, path) = files(&[("plan.yaml", &mixed), ("r.csv", "id\n1\n")]);
    let wrong = brunt([path]);
    assert!(wrong.code == Some(64) && wrong.err.contains("are chosen in two ways"), "{}", wrong.err);
}

#[test]
fn time_without_pauses_has_objectives_and_what_is_cut_is_not_judged() {
    let target = TargetProcess::healthy();
    let plan = format!(
        "users: 1\niterations: 20\nobjectives: ['p50{{buy}}<100ms', 'p50{{buy active}}<100ms', 'max{{iteration active}}<60s']\n\
         flow: [{{group: buy, steps: ['{0}', {{pause: 110ms}}, '{0}']}}]\n",
        target.url("")
    );
    let report = run(&plan, &[]);
    let outcomes: Vec<bool> =
        report.json["objectives"].as_array().expect("objectives").iter().map(|one| one["met"] == true).collect();
    assert!(!outcomes[0] && outcomes[2], "{report}");
    let (_folder, path) = files(&[("plan.yaml", &plan.replace("p50{buy active}<100ms", "failed{buy active}<1%"))]);
    let wrong = brunt([path]);
    assert!(wrong.code == Some(64) && wrong.err.contains("only times differ without pauses"), "{}", wrong.err);
    let cut = format!("users: 3\nduration: 1s\ndrain: 0s\nflow: ['{}', {{pause: 30s}}]\n", target.url(""));
    let cut = run(&cut, &[]);
    assert_eq!(iterations(&cut, ""), [3, 0, 0, 3], "{cut}");
    assert!(findings(&cut).contains(&"no_iteration") && cut.json["trust"]["verdict"] != "trusted", "{cut}");
}
