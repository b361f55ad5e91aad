//! Tests of flows against nginx: users log in, and then send a token and a cookie to get access;
//! nginx's log verifies our counts.

use brunt_tests::nginx::NginxProcess;
use brunt_tests::program::until;
use brunt_tests::report::report;
use brunt_tests::{TestReport, prepare};
use rustix::process::Signal;

/// A site with a token and a session per login; pages require both, and from the same login.
const SITE: &str = r#"
location = /login { default_type application/json; add_header Set-Cookie "sid=$request_id; Path=/"; return 200 '{"data": {"token": "$request_id"}}'; }
location = /item { if ($http_authorization != "Bearer $cookie_sid") { return 403; } if ($cookie_sid = "") { return 401; } return 200 'item $arg_n'; }
location = /basket { if ($http_x_token != $cookie_sid) { return 403; } return 200 'basket'; }
location = /broken { return 500; }
"#;

/// Writes a plan file. Returns its folder and its path.
fn plan(text: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("flow.yaml");
    std::fs::write(&path, text).expect("written");
    let path = path.display().to_string();
    (folder, path)
}

fn shop(url: &str, load: &str) -> String {
    format!(
        r#"{load}
cookie-jar: true
flow:
  - url: {url}login
    name: login
    capture:
      token: json $.data.token
  - pause: 1ms..3ms
  - group: browse
    steps:
      - repeat: 3
        steps:
          - url: {url}item?n={{random 1..9}}
            name: item
            header: "Authorization: Bearer {{token}}"
            expect-body: item
  - if: token != '' and not token contains 'z'
    steps:
      - url: {url}basket
        name: basket
        header: "X-Token: {{token}}"
    else:
      - {url}broken
"#
    )
}

/// Returns how often iterations, or a group, were started, succeeded, failed and were cut.
fn iterations(report: &TestReport, name: &str) -> [u64; 4] {
    let rows = report.json["iterations"].as_array().unwrap_or_else(|| panic!("no iterations: {report}"));
    let row = rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name}: {report}"));
    ["started", "succeeded", "failed", "cut"].map(|key| row[key].as_u64().expect("a count"))
}

/// Returns how many requests with this name were scheduled and succeeded.
fn named(report: &TestReport, name: &str) -> [u64; 2] {
    let rows = report.json["by_name"].as_array().expect("names");
    let row = rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name}: {report}"));
    ["scheduled", "succeeded"].map(|key| row[key].as_u64().expect("a count"))
}

#[test]
fn nginx_lets_in_who_carries_what_it_gave_and_counts_every_step() {
    for (load, http) in [
        ("users: 7\niterations: 100", ""),
        ("users: 7\niterations: 100\nprocesses: 2\nworkers: 2", ""),
        ("rate: 200/s\niterations: 100", ""),
        ("users: 7\niterations: 100\nhttp2: true", "http2"),
    ] {
        let Some(nginx) = NginxProcess::start("", http, SITE) else { return };
        let (_folder, path) = plan(&shop(&nginx.url(), load));
        let report = report(&[&path]);
        assert_eq!(iterations(&report, "iteration"), [100, 100, 0, 0], "{load}: {report}");
        assert_eq!(iterations(&report, "browse"), [100, 100, 0, 0], "{load}: {report}");
        let names = [("login", 100), ("item", 300), ("basket", 100)];
        names.iter().for_each(|(name, count)| assert_eq!(named(&report, name), [*count; 2], "{load} {name}: {report}"));
        assert_eq!(report.requests(), [500, 500, 0, 0], "{load}: {report}");
        let log = nginx.stop_and_read_log();
        let answered = log.iter().skip(1).filter(|line| line.starts_with("200")).count();
        assert_eq!((answered, log.len()), (500, 501), "{load}: {report}");
    }
}

#[test]
fn a_step_that_fails_is_told_with_what_was_there_instead() {
    let Some(nginx) = NginxProcess::start("", "", SITE) else { return };
    let text = shop(&nginx.url(), "users: 2\niterations: 20").replace("$.data.token", "$.data.tokn");
    let (_folder, path) = plan(&text);
    let report = report(&[&path]);
    assert_eq!(iterations(&report, "iteration"), [20, 0, 20, 0], "{report}");
    assert_eq!(report.requests(), [20, 0, 20, 0], "{report}");
    let text = report.json.to_string();
    assert!(text.contains("json $.data.tokn found nothing; the body is"), "{report}");
}

#[test]
fn an_interrupted_flow_cuts_its_iterations_and_loses_none() {
    for load in ["users: 8\nduration: 60s", "rate: 100/s\nduration: 60s"] {
        let Some(nginx) = NginxProcess::start("", "", SITE) else { return };
        let (_folder, path) = plan(&shop(&nginx.url(), load));
        let running = prepare([path.as_str(), "--quiet", "--format", "json"]).start();
        until("the run has begun", || nginx.logged() > 200);
        running.signal(Signal::INT);
        let report = TestReport::of(running.end()).with_code(21);
        let [started, succeeded, failed, cut] = iterations(&report, "iteration");
        assert_eq!((started, failed), (succeeded + cut, 0), "{report}");
        assert!(succeeded > 0, "{report}");
        let [due, finished, failed, censored] = report.requests();
        assert_eq!(due, finished + failed + censored, "{report}");
    }
}

#[test]
fn objectives_may_name_a_step_a_group_or_iterations() {
    let Some(nginx) = NginxProcess::start("", "", SITE) else { return };
    let objectives = r#"objectives: ["failed{iteration}<1%", "p50{browse}<10s", "p50{item}<10s", "failed{basket}<1%"]"#;
    let (_folder, path) = plan(&shop(&nginx.url(), &format!("users: 2\niterations: 50\n{objectives}")));
    let judged = report(&[&path]);
    let met = judged.json["objectives"].as_array().expect("objectives").iter().filter(|o| o["met"] == true).count();
    assert_eq!(met, 4, "{judged}");
    let wrong = shop(&nginx.url(), "users: 2\niterations: 5\nobjectives: [\"p50{brows}<1s\"]");
    let (_folder, path) = plan(&wrong);
    let said = brunt_tests::brunt(["plan", "--check", &path]);
    assert!(said.err.contains("write {browse} if you meant that"), "{}", said.err);
}

#[test]
fn debug_goes_through_a_flow_once_and_shows_what_nginx_gave_and_took() {
    let Some(nginx) = NginxProcess::start("", "", SITE) else { return };
    let text = shop(&nginx.url(), "users: 7\niterations: 100");
    let (_folder, path) = plan(&text);
    let shown = brunt_tests::brunt(["--debug", "--keep-secrets", &path]);
    assert_eq!(shown.code, Some(0), "{}", shown.out);
    let headings: Vec<&str> = shown.out.lines().filter(|line| line.starts_with("=== ")).collect();
    assert_eq!(headings.len(), 6, "five requests and a pause: {headings:?}");
    let captured = shown.out.lines().find_map(|line| line.strip_prefix("--- captured token=")).expect("a token");
    let token = captured.split(' ').next().expect("its value");
    assert_eq!(shown.out.matches(&format!("Authorization: Bearer {token}")).count(), 3, "{}", shown.out);
    assert!(shown.out.contains(&format!("X-Token: {token}")), "{}", shown.out);
    // A failed step ends the output, which shows the captures so far.
    let (_folder, path) = plan(&text.replace("$.data.token", "$.data.tokn"));
    let shown = brunt_tests::brunt(["--debug", &path]);
    assert_eq!(shown.code, Some(20), "{}", shown.out);
    assert!(shown.out.contains("json $.data.tokn found nothing") && !shown.out.contains("=== 2"), "{}", shown.out);
    // A condition that never changes must not loop forever.
    let endless = format!(
        "flow:\n  - while: not done\n    steps:\n      - url: {}login\n        capture: {{done: json $.none | default ''}}\n",
        nginx.url()
    );
    let (_folder, path) = plan(&endless);
    let shown = brunt_tests::brunt(["--debug", &path]);
    assert!(
        shown.out.ends_with("=== stopped after 200 requests; its loop condition may never change\n"),
        "{}",
        shown.out
    );
    assert_eq!(nginx.stop_and_read_log().len(), 5 + 1 + 200, "and nothing else was sent");
}

#[test]
fn curl_commands_sent_as_a_flow_keep_what_nginx_set() {
    let Some(nginx) = NginxProcess::start(
        "",
        "",
        "location = /in { add_header Set-Cookie \"sid=7; Path=/\"; return 200; } location = /page { if ($cookie_sid != 7) { return 403; } return 200; }",
    ) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("flow.sh");
    let url = nginx.url();
    std::fs::write(&file, format!("curl {url}in\ncurl {url}page\n")).expect("written");
    let file = file.display().to_string();
    let report = report(&["--curl-file", &file, "--as-flow", "--iterations", "30", "-c", "3"]);
    assert_eq!(iterations(&report, "iteration"), [30, 30, 0, 0], "{report}");
    assert_eq!((report.requests(), nginx.stop_and_read_log().len()), ([60, 60, 0, 0], 61), "{report}");
}

#[test]
fn lists_are_gone_over_by_a_flow_that_is_called_and_a_failure_may_end_the_run() {
    const LIST: &str = r#"
location = /list { default_type application/json; return 200 '{"items": [{"id": "a,1"}, {"id": "b"}, {"id": "c d"}]}'; }
location = /item { if ($arg_id = "a,1") { return 201; } if ($arg_id = "b") { return 202; } if ($arg_id = "c%20d") { return 203; } return 404; }
location = /broken { return 500; }
"#;
    let Some(nginx) = NginxProcess::start("", "", LIST) else { return };
    let url = nginx.url();
    let flow = |last: &str| {
        format!(
            r#"
flow:
  - url: {url}list
    name: list
    capture: {{ids: "json $.items[*].id | all"}}
  - for-each: id
    in: ids
    steps:
      - call: show
        with: {{label: "item {{id}}"}}
{last}
flows:
  show:
    - url: {url}item?id={{id}}
      name: item
"#
        )
    };
    let (_folder, path) = plan(&format!("users: 3\niterations: 20\n{}", flow("")));
    let counted = report(&[&path]);
    assert_eq!(iterations(&counted, "iteration"), [20, 20, 0, 0], "{counted}");
    assert_eq!((named(&counted, "list"), named(&counted, "item")), ([20; 2], [60; 2]), "{counted}");
    // The pre-flight request has the value of the first item, too.
    let each =
        format!("flow: [{{for-each: id, in: [b, 'c d'], steps: [{{url: \"{url}item?id={{id}}\", name: item}}]}}]");
    let (_folder, path) = plan(&format!("users: 1\niterations: 2\n{each}"));
    let first = report(&[&path]);
    assert_eq!(
        (first.requests(), &first.json["probe"]["failure"]),
        ([4, 4, 0, 0], &serde_json::Value::Null),
        "{first}"
    );
    let last = format!("  - url: {url}broken\n    name: broken\n    on-failure: stop-run");
    for processes in ["", "processes: 2\nworkers: 2\n"] {
        let (_folder, path) = plan(&format!("users: 2\nduration: 60s\n{processes}{}", flow(&last)));
        let stopped =
            TestReport::of(prepare([path.as_str(), "--quiet", "--format", "json"]).start().end()).with_code(10);
        assert_eq!(iterations(&stopped, "iteration"), [2, 0, 2, 0], "{stopped}");
        let text = stopped.json.to_string();
        assert!(text.contains("step_stop") && text.contains("broken"), "{stopped}");
    }
    let log = nginx.stop_and_read_log();
    let answered = |status: &str| log.iter().filter(|line| line.starts_with(status)).count();
    assert!(["201", "202", "203"].iter().all(|status| answered(status) >= 24) && answered("404") == 0, "{log:?}");
}

/// A plan whose setup captures a token that items require.
const SET_UP: &str = r#"
location = /setup { default_type application/json; return 201 '{"token": "all of them"}'; }
location = /item { if ($http_x_token != "all of them") { return 403; } return 200 'item'; }
location = /teardown { if ($http_x_token != "all of them") { return 403; } return 204; }
location = /start { return 202; }
location = /end { return 203; }
location = /broken { return 500; }
"#;

fn set_up(url: &str, load: &str, setup: &str) -> String {
    format!(
        r#"{load}
setup:
  - url: {url}{setup}
    name: make
    capture: {{token: json $.token}}
start: [{{url: "{url}start", name: start}}]
flow:
  - batch:
      at-most: 2
      requests:
        - {{url: "{url}item?1", name: item, header: "X-Token: {{token}}"}}
        - {{url: "{url}item?2", name: item, header: "X-Token: {{token}}"}}
        - {{url: "{url}item?3", name: item, header: "X-Token: {{token}}"}}
end: [{{url: "{url}end", name: end}}]
teardown:
  - {{url: "{url}teardown", method: DELETE, header: "X-Token: {{token}}", expect-status: 204}}
"#
    )
}

#[test]
fn what_is_set_up_once_is_known_to_all_users_of_all_processes_and_torn_down_once() {
    for load in ["users: 4\niterations: 40", "users: 4\niterations: 40\nprocesses: 2\nworkers: 2"] {
        let Some(nginx) = NginxProcess::start("", "", SET_UP) else { return };
        let (_folder, path) = plan(&set_up(&nginx.url(), load, "setup"));
        let report = report(&[&path]);
        assert_eq!(iterations(&report, "iteration"), [40, 40, 0, 0], "{load}: {report}");
        assert_eq!(["item", "start", "end"].map(|name| named(&report, name)[1]), [120, 4, 4], "{load}: {report}");
        assert_eq!(report.requests(), [128, 128, 0, 0], "{load}: {report}");
        assert!(!report.json.to_string().contains("all of them"), "no value is in the report");
        let rows = report.json["by_name"].as_array().expect("names");
        assert_eq!(rows.len(), 3, "what is done once has no figures: {rows:?}");
        let log = nginx.stop_and_read_log();
        let answered = |status: &str| log.iter().filter(|line| line.starts_with(status)).count();
        // A user's first request was also sent as the pre-flight request.
        assert_eq!(["201", "200", "202", "203", "204"].map(answered), [1, 120, 5, 4, 1], "{load}: {log:?}");
        assert_eq!(log.len(), 128 + 3, "{load}: {log:?}");
    }
}

#[test]
fn an_interrupted_run_is_torn_down_and_one_that_cannot_be_set_up_does_not_begin() {
    let Some(nginx) = NginxProcess::start("", "", SET_UP) else { return };
    let (_folder, path) = plan(&set_up(&nginx.url(), "users: 2\nduration: 60s", "setup"));
    let running = prepare([path.as_str(), "--quiet", "--format", "json"]).start();
    until("the run has begun", || nginx.logged() > 50);
    running.signal(Signal::INT);
    TestReport::of(running.end()).with_code(21);
    let (_folder, path) = plan(&set_up(&nginx.url(), "users: 2\nduration: 60s", "broken"));
    let failed = brunt_tests::brunt([path.as_str()]);
    assert_eq!(failed.code, Some(30), "{}", failed.err);
    assert!(failed.err.contains("setup failed: `make` failed: wrong_status (500); no load was sent"), "{}", failed.err);
    let (_folder, path) = plan(&set_up(&nginx.url(), "users: 2\nduration: 60s", "setup"));
    let shown = brunt_tests::brunt(["--debug", "--keep-secrets", &path]);
    let parts = ["=== setup", "/setup", "/start", "/item?1", "/item?2", "/item?3", "/end", "=== teardown", "/teardown"];
    let places: Vec<usize> =
        parts.iter().map(|part| shown.out.find(part).unwrap_or_else(|| panic!("{part}: {}", shown.out))).collect();
    assert!(places.is_sorted(), "{places:?}: {}", shown.out);
    let log = nginx.stop_and_read_log();
    assert_eq!(log.iter().filter(|line| line.starts_with("204")).count(), 2, "{log:?}");
    let broken = log.iter().position(|line| line.starts_with("500")).expect("it was asked");
    assert!(log[broken + 1].starts_with("201"), "nothing came between: {}", log[broken + 1]);
}
