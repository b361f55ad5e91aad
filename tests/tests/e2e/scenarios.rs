//! Tests of scenarios in parallel: the servers' logs agree with the counts of each scenario.

use brunt_tests::grpc::ExternalGrpcServer;
use brunt_tests::mariadb::Mariadb;
use brunt_tests::nginx::NginxProcess;
use brunt_tests::postgres::PostgresProcess;
use brunt_tests::redis::RedisProcess;
use brunt_tests::report::report;
use brunt_tests::websocket::ExternalWebSocketServer;
use brunt_tests::{TestReport, brunt};

/// A site whose log distinguishes the scenarios by status.
const SITE: &str = "
location = /shop { return 200 'shop'; }
location = /admin { return 201 'admin'; }
location = /page { return 202 'page'; }
";

/// Returns a plan with visitors who arrive at a rate, a user who works in the background, and plain pages.
fn plan(url: &str, rest: &str) -> (tempfile::TempDir, String) {
    let text = format!(
        r#"{rest}
scenarios:
  shop:
    rate: 100/s
    duration: 1s
    arrivals: constant
    flow:
      - url: {url}shop
        name: shop
      - pause: 5ms
      - group: again
        steps: [{{url: {url}shop, name: shop}}]
  admin:
    users: 3
    iterations: 60
    flow:
      - url: {url}admin
        name: admin
        expect-status: {{is admin: 201}}
  pages:
    users: 2
    iterations-per-user: 25
    think: 1ms..2ms
    urls: [{{url: {url}page, expect-status: 202}}]
"#
    );
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("plan.yaml");
    std::fs::write(&path, text).expect("written");
    let path = path.display().to_string();
    (folder, path)
}

/// Returns how often a scenario's iterations, or one of its groups, were started, succeeded, failed, and were cut and
/// dropped.
fn iterations(report: &TestReport, scenario: &str, name: &str) -> [u64; 5] {
    let rows = report.json["iterations"].as_array().unwrap_or_else(|| panic!("no iterations: {report}"));
    let row = rows.iter().find(|row| row["scenario"] == scenario && row["name"] == name);
    let row = row.unwrap_or_else(|| panic!("no {scenario} {name}: {report}"));
    ["started", "succeeded", "failed", "cut", "dropped"].map(|key| row[key].as_u64().expect("a count"))
}

/// Returns how many requests of a scenario were scheduled, succeeded, failed and stayed unfinished.
fn requests(report: &TestReport, scenario: &str) -> [u64; 4] {
    let rows = report.json["scenarios"].as_array().unwrap_or_else(|| panic!("no scenarios: {report}"));
    let row = rows.iter().find(|row| row["name"] == scenario).unwrap_or_else(|| panic!("no {scenario}: {report}"));
    ["scheduled", "succeeded", "failed", "unfinished"].map(|key| row[key].as_u64().expect("a count"))
}

#[test]
fn the_log_of_nginx_agrees_with_what_is_counted_of_each_scenario() {
    for split in ["workers: 1", "workers: 2", "workers: 2\nprocesses: 2"] {
        let Some(nginx) = NginxProcess::start("", "", SITE) else { return };
        let (_folder, path) = plan(&nginx.url(), split);
        let report = report(&[&path]);
        for (name, all, each) in [("shop", 200, 100), ("admin", 60, 60), ("pages", 50, 50)] {
            assert_eq!(requests(&report, name), [all, all, 0, 0], "{split} {name}: {report}");
            assert_eq!(iterations(&report, name, "iteration"), [each, each, 0, 0, 0], "{split} {name}: {report}");
        }
        assert_eq!(iterations(&report, "shop", "again"), [100, 100, 0, 0, 0], "{split}: {report}");
        assert_eq!(report.requests(), [310, 310, 0, 0], "{split}: {report}");
        let log = nginx.stop_and_read_log();
        let answered = |status: &str| log.iter().skip(1).filter(|line| line.starts_with(status)).count();
        assert_eq!(["200", "201", "202"].map(answered), [200, 60, 50], "{split}: {report}");
    }
}

#[test]
fn one_of_them_runs_alone_and_objectives_name_it() {
    let Some(nginx) = NginxProcess::start("", "", SITE) else { return };
    let objectives = r#"objectives: ["failed{scenario admin}<1%", "p50{iteration admin}<10s", "p50{again}<10s", "failed{check is admin}<1%"]"#;
    let (_folder, path) = plan(&nginx.url(), objectives);
    let judged = report(&[&path]);
    let met = judged.json["objectives"].as_array().expect("objectives").iter().filter(|o| o["met"] == true).count();
    assert_eq!(met, 4, "{judged}");
    let checks = &judged.json["checks"];
    assert_eq!(
        checks[0],
        serde_json::json!({"name": "is admin", "passed": 60, "failed": 0, "failed_share": 0.0}),
        "{judged}"
    );
    assert_eq!(checks[1]["passed"], 50, "the pages: {judged}");
    // Each response is checked, and a check that fails too often misses its objective.
    let (_folder, path) = plan(&nginx.url(), "objectives: ['failed{check is admin}<1%']\nworkers: 2\nprocesses: 2");
    let wrong = std::fs::read_to_string(&path).expect("a plan").replace("is admin: 201", "is admin: 200");
    std::fs::write(&path, wrong).expect("written");
    let missed = report(&[&path]);
    assert_eq!((missed.code, missed.json["checks"][0]["failed"].as_u64()), (10, Some(60)), "{missed}");
    let (_folder, path) = plan(&nginx.url(), "");
    let alone = report(&[&path, "--scenario", "admin"]);
    assert_eq!(
        (alone.requests(), alone.json["scenarios"].as_array().map(Vec::len)),
        ([60, 60, 0, 0], Some(1)),
        "{alone}"
    );
    let wrong = brunt([&*path, "--scenario", "admn"]);
    assert_eq!((wrong.code, wrong.err.contains("use admin")), (Some(64), true), "{}", wrong.err);
    let shown = brunt(["--debug", &path, "--scenario", "shop"]);
    assert_eq!(shown.out.lines().filter(|line| line.starts_with("=== ")).count(), 3, "{}", shown.out);
    let which = brunt(["--debug", &path]);
    assert!(which.code == Some(64) && which.err.contains("--scenario"), "{}", which.err);
}

/// Returns a plan with a scenario for each protocol, two of which have their own start and end; all of them use the
/// values that `setup` captured.
fn every_protocol(at: [&str; 6]) -> String {
    let [web, redis, maria, postgres, call, socket] = at;
    format!(
        r#"workers: 2
setup:
  - url: {web}setup
    capture: {{key: json $.key}}
teardown: ['{web}teardown?{{key}}']
flows:
  look: [{{url: '{web}look?{{key}}&{{what}}', name: look, expect-status: 202}}]
scenarios:
  web:
    users: 3
    iterations-per-user: 4
    start: [{{url: '{web}login', expect-status: 201, capture: {{who: status}}}}]
    end: [{{url: '{web}logout?{{who}}', expect-status: 203}}]
    flow: [{{call: look, with: {{what: socks}}}}]
  chat:
    users: 2
    iterations: 10
    flow:
      - {{url: '{socket}', data: 'hello {{key}}', await: any}}
      - {{call: look, with: {{what: hats}}}}
  store:
    rate: 50/s
    duration: 1s
    arrivals: constant
    flow:
      - {{url: '{redis}', command: 'INCR {{key}}'}}
      - {{url: '{redis}', command: 'GET {{key}}'}}
  rows:
    users: 2
    iterations: 20
    start: [{{url: '{maria}', sql: "INSERT INTO begun VALUES ('{{key}}')"}}]
    flow: [{{url: '{maria}', sql: "INSERT INTO paid VALUES ('{{key}}')", expect-rows: 1}}]
  books:
    users: 2
    iterations: 30
    flow: [{{url: '{postgres}', sql: 'INSERT INTO paid VALUES ({{key}})'}}]
  calls:
    rate: 40/s
    duration: 1s
    arrivals: constant
    flow: [{{url: '{call}', data: '{{"text": "{{key}}"}}', capture: {{said: json $.text}}, expect-json: "$.text == 'abc'"}}, {{if: "said != 'abc'", steps: ['{web}wrong']}}]
"#
    )
}

#[test]
fn scenarios_of_every_protocol_run_side_by_side_and_each_server_counts_the_same() {
    let site = "
location = /setup { default_type application/json; return 200 '{\"key\": \"abc\"}'; }
location = /login { return 201 'in'; }
location = /look { return 202 'look'; }
location = /logout { return 203 'out'; }
location = /teardown { return 204; }
";
    let (Some(nginx), Some(redis), Some(maria), Some(postgres), Some(grpc), Some(socket)) = (
        NginxProcess::start("", "", site),
        RedisProcess::start(&[]),
        Mariadb::start(&[]),
        PostgresProcess::start("trust", ""),
        ExternalGrpcServer::go(&[]),
        ExternalWebSocketServer::node(),
    ) else {
        return;
    };
    maria.sql("CREATE TABLE test.begun (k VARCHAR(80)); CREATE TABLE test.paid (k VARCHAR(80))");
    postgres.ask("CREATE TABLE paid (k text)");
    let (call, socket_url) = (grpc.url("brunt.Target/Unary"), socket.url(""));
    let text =
        every_protocol([&nginx.url(), &redis.url(1), &maria.url(), &postgres.url("postgres"), &call, &socket_url]);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("plan.yaml");
    std::fs::write(&path, text).expect("written");
    let report = report(&[&path.display().to_string()]);
    for (name, all, each) in
        [("web", 18, 12), ("chat", 20, 10), ("store", 100, 50), ("rows", 22, 20), ("books", 30, 30), ("calls", 40, 40)]
    {
        assert_eq!(requests(&report, name), [all, all, 0, 0], "{name}: {report}");
        assert_eq!(iterations(&report, name, "iteration"), [each, each, 0, 0, 0], "{name}: {report}");
    }
    assert_eq!(report.requests(), [230, 230, 0, 0], "{report}");
    let log = nginx.stop_and_read_log();
    let answered = |status: &str| log.iter().filter(|line| line.starts_with(status)).count();
    // `setup` and `teardown` ran once; the very first request was also the pre-flight request.
    assert_eq!(["200", "201", "202", "203", "204"].map(answered), [1, 3 + 1, 22, 3, 1], "{log:?}");
    assert_eq!(["incr", "get"].map(|command| redis.calls("", command)), [50; 2], "{report}");
    let many = |table: &str| maria.sql(&format!("SELECT COUNT(*) FROM test.{table} WHERE k = 'abc'")).trim().to_owned();
    assert_eq!([many("begun"), many("paid")], ["2", "20"], "{report}");
    assert_eq!(postgres.ask("SELECT count(*) FROM paid WHERE k = 'abc'"), "30", "{report}");
    assert_eq!((&grpc.counts()["unary"], &socket.counts()["messages"]), (&40.into(), &10.into()), "{report}");
}
