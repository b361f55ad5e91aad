//! Flows against nginx: users log in, carry a token and a cookie, and are let in by them; its log counts what we count.

use e2e::nginx::Nginx;
use e2e::program::until;
use e2e::report::report;
use e2e::{Report, prepare};
use rustix::process::Signal;

/// A token and a session for each login; pages want both, and only from the login they came from.
const SITE: &str = r#"
location = /login { default_type application/json; add_header Set-Cookie "sid=$request_id; Path=/"; return 200 '{"data": {"token": "$request_id"}}'; }
location = /item { if ($http_authorization != "Bearer $cookie_sid") { return 403; } if ($cookie_sid = "") { return 401; } return 200 'item $arg_n'; }
location = /basket { if ($http_x_token != $cookie_sid) { return 403; } return 200 'basket'; }
location = /broken { return 500; }
"#;

/// A plan file in a folder that goes with it.
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

/// Iterations or a group: started, succeeded, failed, cut.
fn iterations(report: &Report, name: &str) -> [u64; 4] {
    let rows = report.json["iterations"].as_array().unwrap_or_else(|| panic!("no iterations: {report}"));
    let row = rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name}: {report}"));
    ["started", "succeeded", "failed", "cut"].map(|key| row[key].as_u64().expect("a count"))
}

/// Scheduled and succeeded of a name.
fn named(report: &Report, name: &str) -> [u64; 2] {
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
        let Some(nginx) = Nginx::start("", http, SITE) else { return };
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
    let Some(nginx) = Nginx::start("", "", SITE) else { return };
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
        let Some(nginx) = Nginx::start("", "", SITE) else { return };
        let (_folder, path) = plan(&shop(&nginx.url(), load));
        let running = prepare([path.as_str(), "--quiet", "--format", "json"]).start();
        until("the run has begun", || nginx.logged() > 200);
        running.signal(Signal::INT);
        let report = Report::of(running.end()).with_code(21);
        let [started, succeeded, failed, cut] = iterations(&report, "iteration");
        assert_eq!((started, failed), (succeeded + cut, 0), "{report}");
        assert!(succeeded > 0, "{report}");
        let [due, finished, failed, censored] = report.requests();
        assert_eq!(due, finished + failed + censored, "{report}");
    }
}

#[test]
fn objectives_may_name_a_step_a_group_or_iterations() {
    let Some(nginx) = Nginx::start("", "", SITE) else { return };
    let objectives = r#"objectives: ["failed{iteration}<1%", "p50{browse}<10s", "p50{item}<10s", "failed{basket}<1%"]"#;
    let (_folder, path) = plan(&shop(&nginx.url(), &format!("users: 2\niterations: 50\n{objectives}")));
    let judged = report(&[&path]);
    let met = judged.json["objectives"].as_array().expect("objectives").iter().filter(|o| o["met"] == true).count();
    assert_eq!(met, 4, "{judged}");
    let wrong = shop(&nginx.url(), "users: 2\niterations: 5\nobjectives: [\"p50{brows}<1s\"]");
    let (_folder, path) = plan(&wrong);
    let said = e2e::brunt(["plan", "--check", &path]);
    assert!(said.err.contains("write {browse} if you meant that"), "{}", said.err);
}

#[test]
fn debug_goes_through_a_flow_once_and_shows_what_nginx_gave_and_took() {
    let Some(nginx) = Nginx::start("", "", SITE) else { return };
    let text = shop(&nginx.url(), "users: 7\niterations: 100");
    let (_folder, path) = plan(&text);
    let shown = e2e::brunt(["--debug", "--keep-secrets", &path]);
    assert_eq!(shown.code, Some(0), "{}", shown.out);
    let headings: Vec<&str> = shown.out.lines().filter(|line| line.starts_with("=== ")).collect();
    assert_eq!(headings.len(), 6, "five requests and a pause: {headings:?}");
    let captured = shown.out.lines().find_map(|line| line.strip_prefix("--- captured token=")).expect("a token");
    let token = captured.split(' ').next().expect("its value");
    assert_eq!(shown.out.matches(&format!("Authorization: Bearer {token}")).count(), 3, "{}", shown.out);
    assert!(shown.out.contains(&format!("X-Token: {token}")), "{}", shown.out);
    // A step that fails ends it, with what was there.
    let (_folder, path) = plan(&text.replace("$.data.token", "$.data.tokn"));
    let shown = e2e::brunt(["--debug", &path]);
    assert_eq!(shown.code, Some(20), "{}", shown.out);
    assert!(shown.out.contains("json $.data.tokn found nothing") && !shown.out.contains("=== 2"), "{}", shown.out);
    // A condition that never changes does not keep it for ever.
    let endless = format!(
        "flow:\n  - while: not done\n    steps:\n      - url: {}login\n        capture: {{done: json $.none | default ''}}\n",
        nginx.url()
    );
    let (_folder, path) = plan(&endless);
    let shown = e2e::brunt(["--debug", &path]);
    assert!(shown.out.ends_with("=== stopped after 200 requests; a condition may never change\n"), "{}", shown.out);
    assert_eq!(nginx.stop_and_read_log().len(), 5 + 1 + 200, "and nothing else was sent");
}

#[test]
fn curl_commands_sent_as_a_flow_keep_what_nginx_set() {
    let Some(nginx) = Nginx::start(
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
