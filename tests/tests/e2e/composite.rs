//! Tests of flows with several protocols: each server's own counts agree with ours, step by step.

use brunt_tests::grpc::ExternalGrpcServer;
use brunt_tests::mariadb::Mariadb;
use brunt_tests::nginx::NginxProcess;
use brunt_tests::postgres::PostgresProcess;
use brunt_tests::redis::RedisProcess;
use brunt_tests::report::report;
use brunt_tests::websocket::ExternalWebSocketServer;
use brunt_tests::{TestReport, brunt};

/// A site with a token per login; pages require one.
const SITE: &str = r#"
location = /login { default_type application/json; return 200 '{"data": {"token": "$request_id"}}'; }
location = /page { if ($http_authorization = "") { return 401; } return 202 'page $http_authorization'; }
"#;

/// Writes a plan file. Returns its folder and its path.
fn plan(text: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("flow.yaml");
    std::fs::write(&path, text).expect("written");
    let path = path.display().to_string();
    (folder, path)
}

/// Returns the numbers of started, succeeded, failed and cut iterations.
fn iterations(report: &TestReport) -> [u64; 4] {
    let row = &report.json["iterations"][0];
    ["started", "succeeded", "failed", "cut"].map(|key| row[key].as_u64().unwrap_or_else(|| panic!("{report}")))
}

/// Returns how many requests with this name were scheduled and succeeded.
fn named(report: &TestReport, name: &str) -> [u64; 2] {
    let rows = report.json["by_name"].as_array().expect("names");
    let row = rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name}: {report}"));
    ["scheduled", "succeeded"].map(|key| row[key].as_u64().expect("a count"))
}

fn login(nginx: &NginxProcess) -> String {
    format!("  - url: {}login\n    name: login\n    capture: {{token: json $.data.token}}\n", nginx.url())
}

#[test]
fn a_token_of_http_goes_through_redis_and_back_and_all_three_count_the_same() {
    for load in ["users: 5\niterations: 60", "users: 5\niterations: 60\nprocesses: 2", "rate: 300/s\niterations: 60"] {
        let (Some(nginx), Some(redis)) = (NginxProcess::start("", "", SITE), RedisProcess::start(&[])) else { return };
        let text = format!(
            "{load}\nflow:\n{login}  - url: {redis}\n    command: SET kept:{{token}} {{token}}\n    expect-body: OK\n  \
             - url: {redis}\n    name: read\n    command: \"MULTI; GET kept:{{token}}; EXEC\"\n    capture: {{back: 'json $[2][0]'}}\n  \
             - url: {page}page\n    name: page\n    header: 'Authorization: {{back}}'\n    expect-body: '{{token}}'\n",
            login = login(&nginx),
            redis = redis.url(1),
            page = nginx.url(),
        );
        let (_folder, path) = plan(&text);
        let report = report(&[&path]);
        assert_eq!(iterations(&report), [60, 60, 0, 0], "{load}: {report}");
        let names = ["login", "SET", "read", "page"];
        names.iter().for_each(|name| assert_eq!(named(&report, name), [60; 2], "{load} {name}: {report}"));
        assert_eq!(report.requests(), [240, 240, 0, 0], "{load}: {report}");
        assert_eq!(
            [redis.calls("", "set"), redis.calls("", "get"), redis.calls("", "exec")],
            [60; 3],
            "{load}: {report}"
        );
        let log = nginx.stop_and_read_log();
        let served = |status: &str| log.iter().filter(|line| line.starts_with(status)).count();
        // One login was sent before the run; pages are answered with 202.
        assert_eq!((served("200"), served("202")), (61, 60), "{load}: {report}");
    }
}

/// Returns a flow in which each user opens a WebSocket with its token, sends a message, and awaits its echo among other
/// messages.
fn chat(nginx: &NginxProcess, server: &ExternalWebSocketServer, load: &str) -> String {
    let url = server.url("push");
    format!(
        "{load}\nflow:\n{login}  - url: {url}\n    name: hello\n    header: 'X-Token: {{token}}'\n    data: '{{\"type\": \"hello\", \"token\": \"{{token}}\"}}'\n    \
         await: json $.type == \"hello\"\n    capture: {{mine: json $.token}}\n  \
         - url: {url}\n    name: say\n    data: '{{\"type\": \"said\", \"token\": \"{{mine}}\"}}'\n    one-way: true\n  \
         - url: {url}\n    name: hear\n    await: 'json $.token == \"{{token}}\"'\n    expect-body: said\n",
        login = login(nginx),
    )
}

#[test]
fn users_open_a_websocket_with_their_token_and_await_what_they_said_among_pushes() {
    for load in ["users: 5\niterations: 40", "rate: 200/s\niterations: 40"] {
        let (Some(nginx), Some(server)) = (NginxProcess::start("", "", SITE), ExternalWebSocketServer::node()) else {
            return;
        };
        let (_folder, path) = plan(&chat(&nginx, &server, load));
        let report = report(&[&path]);
        assert_eq!(iterations(&report), [40, 40, 0, 0], "{load}: {report}");
        let names = ["login", "hello", "say", "hear"];
        names.iter().for_each(|name| assert_eq!(named(&report, name), [40; 2], "{load} {name}: {report}"));
        assert_eq!(report.requests(), [160, 160, 0, 0], "{load}: {report}");
        assert_eq!(report.count("unsolicited"), 3 * 40, "three news on each connection: {load}: {report}");
        let counts = server.counts();
        // Each iteration has one connection, which is closed in an orderly way at the end.
        assert_eq!(
            (&counts["connections"], &counts["normal"], &counts["messages"]),
            (&40.into(), &40.into(), &80.into())
        );
    }
}

#[test]
fn what_is_awaited_in_vain_times_out_and_what_is_lost_with_a_connection_is_told() {
    let (Some(nginx), Some(server), Some(redis)) =
        (NginxProcess::start("", "", SITE), ExternalWebSocketServer::node(), RedisProcess::start(&[]))
    else {
        return;
    };
    let own = "$.tokn == \"{token}\"'\n    timeout: 300ms";
    let text = chat(&nginx, &server, "users: 2\niterations: 4\ntimeout: 30s").replace("$.token == \"{token}\"'", own);
    let (_folder, path) = plan(&text);
    let vain = report(&[&path]);
    assert_eq!((iterations(&vain), vain.failures().get("timeout")), ([4, 0, 4, 0], Some(&4)), "{vain}");
    assert!(vain.json.to_string().contains("no message matching json $.tokn == "), "{vain}");
    // `--debug` waits no longer than a run does, and reports what it was waiting for.
    let shown = brunt_tests::brunt(["--debug", &path]).with_code(20);
    let failed = "as failed: timeout: no message matching json $.tokn == \"{token}\" came within 300 ms";
    assert!(shown.out.contains(failed), "{}", shown.out);
    // The server ends the connection between two steps: its session is lost.
    let text = format!(
        "users: 1\niterations: 3\nflow:\n  - url: {url}\n    command: SET a 1\n  - url: {url}\n    command: QUIT\n  - pause: 20ms\n  \
         - url: {url}\n    name: after\n    command: GET a\n",
        url = redis.url(0)
    );
    let (_folder, path) = plan(&text);
    let lost = report(&[&path]);
    assert_eq!((iterations(&lost), named(&lost, "after")), ([3, 0, 3, 0], [3, 0]), "{lost}");
    assert!(lost.json.to_string().contains("the user's connection was closed before this step"), "{lost}");
}

#[test]
fn debug_shows_steps_of_all_protocols_on_connections_that_go_on() {
    let (Some(nginx), Some(server)) = (NginxProcess::start("", "", SITE), ExternalWebSocketServer::node()) else {
        return;
    };
    let (_folder, path) = plan(&chat(&nginx, &server, "users: 1\niterations: 1"));
    let shown = brunt(["--debug", "--keep-secrets", &path]);
    assert_eq!(shown.code, Some(0), "{}", shown.out);
    assert_eq!(shown.out.lines().filter(|line| line.starts_with("=== ")).count(), 4, "{}", shown.out);
    assert_eq!(shown.out.matches("Upgrade: websocket").count(), 2, "asked and agreed to once: {}", shown.out);
    let token = shown.out.lines().find_map(|line| line.strip_prefix("--- captured token=")).expect("a token");
    let token = token.split(' ').next().expect("its value");
    assert!(shown.out.contains(&format!("X-Token: {token}")), "{}", shown.out);
    assert_eq!(shown.out.matches(&format!("--- with token={token}\n")).count(), 2, "hello and hear: {}", shown.out);
    let masked = brunt(["--debug", &path]);
    assert!(
        masked.out.contains("--- with token=***\n") && masked.out.contains("--- with mine=***\n"),
        "{}",
        masked.out
    );
    assert!(
        shown.out.contains(&format!("* text, 61 bytes\n{{\"type\": \"said\", \"token\": \"{token}\"}}")),
        "{}",
        shown.out
    );
}

#[test]
fn what_no_step_can_do_is_said_before_anything_is_sent() {
    for (step, said) in [
        ("{url: 'redis://h', data: x}", "step 2, data: redis has no such option at a step; leave it out"),
        ("{url: 'redis://h', capture: {a: header X}}", "a Redis reply has no header; use one of body, element,"),
        ("{url: 'ws://h/'}", "neither sends nor awaits a message; write `data`, `await` or both"),
        ("{url: 'ws://h/', await: next}", "`next` is not a message to wait for; write any, json"),
        ("{url: 'ws://h/', data: x, one-way: true, await: any}", "awaits no message"),
        ("{url: 'redis://h', command: ['GET a', 'GET b']}", "has a step that picks one of several at random"),
    ] {
        let (_folder, path) = plan(&format!("flow:\n  - http://h/\n  - {step}\n"));
        let checked = brunt(["plan", "--check", &path]);
        assert!(checked.err.contains(said) && checked.code == Some(64), "{step}: {}", checked.err);
    }
}

#[test]
fn grpc_and_two_databases_give_values_to_each_other_within_transactions() {
    let (Some(grpc), Some(maria), Some(postgres)) =
        (ExternalGrpcServer::go(&[]), Mariadb::start(&[]), PostgresProcess::start("trust", ""))
    else {
        return;
    };
    maria.sql("CREATE TABLE test.accounts (id BIGINT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(80) UNIQUE)");
    postgres.ask("CREATE TABLE paid (account bigint, name text)");
    let call = grpc.url("brunt.Target/Unary");
    let (maria_url, postgres_url) = (maria.url(), postgres.url("postgres"));
    let text = format!(
        "users: 4\niterations: 40\nflow:\n  \
         - url: {call}\n    data: '{{\"text\": \"{{uuid}}\"}}'\n    capture: {{name: json $.text}}\n  \
         - url: {maria_url}\n    sql: BEGIN\n  \
         - url: {maria_url}\n    sql: INSERT INTO accounts (name) VALUES ('{{name}}')\n    expect-rows: 1\n  \
         - url: {maria_url}\n    sql: SELECT id, name, NULL AS nothing FROM accounts WHERE name = {{name}}\n    \
         capture: {{id: column id, found: rows, none: column nothing | default x}}\n  \
         - url: {maria_url}\n    sql: COMMIT\n  \
         - url: {postgres_url}\n    sql: INSERT INTO paid VALUES ({{id}}, {{name}}); INSERT INTO paid VALUES ({{id}}, 'b')\n  \
         - url: {postgres_url}\n    sql: SELECT name FROM paid WHERE account = {{id}} ORDER BY name = 'b'\n    \
         capture: {{same: column 1, last: column name | last, many: rows}}\n  \
         - if: same == name and last == 'b' and many == 2 and found == 1 and none == 'x'\n    steps:\n      \
         - url: {call}\n        name: end\n        data: '{{\"text\": \"{{same}}\"}}'\n        expect-json: $.count == 0\n"
    );
    let (_folder, path) = plan(&text);
    let report = report(&[&path]);
    assert_eq!(iterations(&report), [40, 40, 0, 0], "{report}");
    assert_eq!(named(&report, "end"), [40; 2], "{report}");
    assert_eq!(report.requests(), [8 * 40, 8 * 40, 0, 0], "{report}");
    assert_eq!(maria.sql("SELECT COUNT(DISTINCT name) FROM test.accounts").trim(), "40", "{report}");
    assert_eq!(postgres.ask("SELECT count(*) FROM paid"), "80", "{report}");
    // A column that does not exist is reported.
    let (_folder, path) = plan(&text.replace("column id", "column idd"));
    let said = brunt(["--debug", &path]);
    let why = "there is no such column; the response has 1 row of id, name, nothing";
    assert!(said.out.contains(why) || said.err.contains(why), "{}", said.out);
    // One call was made before the run, and one by `--debug`.
    assert_eq!(grpc.counts()["unary"], 82, "{report}");
}
