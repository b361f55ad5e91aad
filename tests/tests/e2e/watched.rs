//! Tests of the counters of services (`--watch`), of their logs (`--watch-log`), and of the findings from both.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU64, Ordering};

use brunt_tests::mariadb::Mariadb;
use brunt_tests::nginx::NginxProcess;
use brunt_tests::peer::ScriptedPeer;
use brunt_tests::postgres::PostgresProcess;
use brunt_tests::redis::RedisProcess;
use brunt_tests::report::report;
use brunt_tests::{TargetProcess, TestReport, brunt};

use crate::counters::{samples, tell};

fn rules(report: &TestReport) -> Vec<String> {
    let findings = report.at("diagnosis.findings").as_array().expect("a list").iter();
    findings.map(|found| format!("{} {}", found["rule"], found["proof"]).replace('"', "")).collect()
}

fn found(report: &TestReport, rule: &str) -> bool {
    rules(report).iter().any(|found| found == rule)
}

/// Returns `true` if the machine disturbed the generator, in which case there are no findings about the service.
fn disturbed(report: &TestReport) -> bool {
    found(report, "C1 proved")
}

#[test]
fn redis_that_turns_clients_away_says_so_itself() {
    let Some(redis) = RedisProcess::start(&["--maxclients", "12"]) else { return };
    let directory = tempfile::tempdir().expect("a folder");
    let record = directory.path().join("kept.jsonl");
    let (path, url, watch) = (record.display().to_string(), redis.url(0), format!("redis=127.0.0.1:{}", redis.port));
    let report = report(&["-c", "40", "-d", "2s", "--command", "GET a", "--watch", &watch, "--record", &path, &url]);
    assert!(rules(&report).contains(&"R2 proved".to_owned()), "{report}");
    let Some(samples) = samples(&record) else { return };
    let told = &samples[&watch];
    assert!(["redis.maxclients", "redis.cmdstat_get.calls", "redis.used_cpu_user"].iter().all(|name| tell(told, name)));
    // The source is a service, not a machine: it has no kernel counters, and its counters are
    // separate from those of the machine.
    assert!(!tell(told, "cpu.count") && samples.iter().filter(|(_, told)| tell(told, "cpu.count")).count() == 1);
}

#[test]
fn keys_that_redis_evicts_are_told_and_those_it_keeps_are_not() {
    for (options, wanted) in [(&["--maxmemory", "3mb", "--maxmemory-policy", "allkeys-lru"][..], true), (&[], false)] {
        let Some(redis) = RedisProcess::start(options) else { return };
        let watch = format!("redis=127.0.0.1:{}", redis.port);
        let url = redis.url(0);
        let report =
            report(&["-c", "4", "-n", "60000", "--command", "SET key:{counter} {random 100}", "--watch", &watch, &url]);
        assert!(found(&report, "R4 proved") == wanted || wanted && disturbed(&report), "{report}");
    }
}

#[test]
fn clients_that_leave_are_told_from_whatever_leaves_in_between() {
    let target = TargetProcess::healthy();
    let server = format!("access_log clients.log combined; location / {{ proxy_pass {}; }}", target.url("delay/400ms"));
    let Some(nginx) = NginxProcess::start("", "", &server) else { return };
    let log = nginx.file("clients.log").display().to_string();
    let run = |timeout: &str| report(&["-c", "4", "-d", "2s", "-t", timeout, "--watch-log", &log, &nginx.url()]);
    let given_up = run("100ms");
    assert!(found(&given_up, "P4 proved") || disturbed(&given_up), "{given_up}");
    let patient = run("5s");
    assert!(!rules(&patient).iter().any(|rule| rule.starts_with("P4")), "{patient}");
}

#[test]
fn a_proxy_without_its_service_says_so_in_its_log_and_a_healthy_one_is_not_blamed() {
    let server = "location / { return 204; } location /status { stub_status; } location /down { proxy_pass http://127.0.0.1:1; }";
    let Some(nginx) = NginxProcess::start("", "", server) else { return };
    let (url, log) = (nginx.url(), nginx.error_log().display().to_string());
    let status = format!("nginx={url}status");
    let run = |path: &str| {
        report(&["-c", "4", "-n", "300", "--watch", &status, "--watch-log", &log, &format!("{url}{path}")])
    };
    let down = run("down");
    assert!(rules(&down).contains(&"P5 proved".to_owned()), "{down}");
    let well = run("");
    assert!(!rules(&well).iter().any(|rule| rule.starts_with('P')), "{well}");
}

#[test]
fn the_password_of_a_watched_service_is_in_no_output() {
    let Some(redis) = RedisProcess::start(&[]) else { return };
    let directory = tempfile::tempdir().expect("a folder");
    let url = redis.url(0);
    for (n, place) in
        ["redis://default:hidden-in-watch@127.0.0.1", "default:hidden-in-watch@127.0.0.1"].iter().enumerate()
    {
        let record = directory.path().join(format!("{n}.jsonl")).display().to_string();
        let watch = format!("--watch=redis={place}:{}", redis.port);
        let line = ["-n", "20", "--command", "GET a", &watch, "--record", &record, "--format", "json", &url];
        let ended = brunt(line).with_code(0);
        let read = brunt(["report", &record, "--format", "json"]);
        for text in [&ended.out, &ended.err, &read.out] {
            assert!(!text.contains("hidden-in-watch"), "{text}");
        }
        assert!(read.out.contains("redis="), "the rest of it is there: {}", read.out);
    }
}

#[test]
fn who_tells_nothing_is_refused_before_anything_is_sent() {
    let target = TargetProcess::healthy();
    let url = target.url("");
    let hangs = TcpListener::bind("127.0.0.1:0").expect("a port");
    let silent = format!("redis={}", hangs.local_addr().expect("an address"));
    let page = format!("nginx={url}");
    for (option, value, said) in [
        ("--watch", "redis", "--watch: `redis` does not start with a kind of service"),
        ("--watch", &silent, "cannot be watched: it did not respond within 500 ms"),
        ("--watch", &page, "cannot be watched: this is not a stub_status page"),
        ("--watch-log", "/nowhere/error.log", "--watch-log: log=/nowhere/error.log cannot be watched: No such file"),
    ] {
        brunt(["-r", "50/s", "-d", "1s", option, value, &url]).with_code(64).containing(said);
    }
    let twice = ["-n", "1", "--watch", &silent, "--watch", &silent, &url];
    brunt(twice).with_code(64).containing("is given twice");
}

#[test]
fn mariadb_proves_what_limits_it_and_the_same_load_without_the_fault_has_no_finding() {
    let Some(server) = Mariadb::start(&["--max-connections=30"]) else { return };
    server.sql(
        "CREATE TABLE test.r (id INT PRIMARY KEY, n INT NOT NULL, name CHAR(200) CHARACTER SET latin1 NOT NULL); \
         INSERT INTO test.r SELECT seq, 0, 'x' FROM test.seq_1_to_50000; \
         CREATE TABLE test.s AS SELECT seq AS id, 0 AS n FROM test.seq_1_to_20000",
    );
    let url = server.url();
    let watch = format!("mysql=mysql://brunt:pass%3Aword@127.0.0.1:{}", server.port);
    let directory = tempfile::tempdir().expect("a folder");
    let record = directory.path().join("kept.jsonl");
    let path = record.display().to_string();
    let run = |users: &str, sql: &str| {
        report(&["-c", users, "-d", "3s", "--sql", sql, "--watch", &watch, "--record", &path, &url])
    };
    let found = |users: &str, sql: &str| rules(&run(users, sql));
    // If the machine disturbed the generator, there are rightly no findings about the database.
    let proved = |rules: &[String], rule: &str| rules.iter().any(|told| told == rule || told == "C1 proved");
    // The row is locked before the computation of its new value sleeps; other rows sleep in parallel.
    let hot = found("20", "UPDATE r SET n = n + 1 + SLEEP(0.01) WHERE id = 7");
    assert!(proved(&hot, "D2 proved"), "{hot:?}");
    let cold = found("20", "UPDATE r SET n = n + 1 + SLEEP(0.01) WHERE id = {counter}");
    assert!(!cold.iter().any(|rule| rule.starts_with('D')), "{cold:?}");
    let whole = found("5", "SELECT n FROM s WHERE n = -{random 1..9} LIMIT 5");
    assert!(proved(&whole, "D5 proved"), "{whole:?}");
    let narrow = found("5", "SELECT name FROM r WHERE id = {random 1..100}");
    assert!(!narrow.iter().any(|rule| rule.starts_with('D')), "{narrow:?}");
    let crowd = found("50", "SELECT 1");
    assert!(crowd.contains(&"D1 proved".to_owned()), "{crowd:?}");
    let Some(samples) = samples(&record) else { return };
    let told = &samples[&format!("mysql=127.0.0.1:{}", server.port)];
    assert!(["mysql.Questions", "mysql.variable.max_connections"].iter().all(|name| tell(told, name)));
    let kept = std::process::Command::new("zstdcat").arg(&record).output().expect("it ran a moment ago").stdout;
    let kept = String::from_utf8(kept).expect("text");
    assert!(!kept.contains("pass%3Aword") && !kept.contains("pass:word"), "the password is kept nowhere");
}

#[test]
fn a_service_that_is_lost_on_the_way_is_told_in_a_line_and_costs_no_trust() {
    let target = TargetProcess::healthy();
    let page = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\na_total 1\n";
    for lives in [2, u64::MAX] {
        let asked = AtomicU64::new(0);
        let peer = ScriptedPeer::new(move |mut connection| {
            if connection.request().is_some() && asked.fetch_add(1, Ordering::SeqCst) < lives {
                connection.send(page.as_bytes());
            }
        });
        let watch = format!("prometheus={}", peer.url());
        let ended = brunt(["-r", "50/s", "-d", "4s", "--watch", &watch, &target.address]).with_code(0);
        let told = ended.out.lines().filter(|line| line.contains("(watched) gave no reply in")).collect::<Vec<_>>();
        assert_eq!(told.is_empty(), lives > 2, "{ended:?}");
        assert!(told.iter().all(|line| line.contains("it closed the connection without a response")), "{told:?}");
    }
}

#[test]
fn postgres_proves_what_limits_it_and_the_same_load_without_the_fault_has_no_finding() {
    let Some(server) = PostgresProcess::start("scram-sha-256", "max_connections = 30") else { return };
    server.ask(
        "CREATE TABLE r (id INT PRIMARY KEY, n INT NOT NULL, name TEXT NOT NULL) WITH (fillfactor = 50); \
         INSERT INTO r SELECT n, 0, 'x' FROM generate_series(1, 50000) AS n; \
         CREATE TABLE s AS SELECT n AS id, 0 AS n FROM generate_series(1, 20000) AS n; ANALYZE",
    );
    let url = server.url("postgres:secret");
    let watch = format!("postgres={url}");
    let directory = tempfile::tempdir().expect("a folder");
    let record = directory.path().join("kept.jsonl");
    let path = record.display().to_string();
    let run = |users: &str, sql: &str| {
        report(&["-c", users, "-d", "5s", "--sql", sql, "--watch", &watch, "--record", &path, &url])
    };
    let found = |users: &str, sql: &str| rules(&run(users, sql));
    // If the machine disturbed the generator, there are rightly no findings about the database.
    let proved = |rules: &[String], rule: &str| rules.iter().any(|told| told == rule || told == "C1 proved");
    // The row is locked by the time its new value is returned, and sleeps until the statement ends; other rows sleep in
    // parallel.
    let hot = found("20", "UPDATE r SET n = n + 1 WHERE id = 7 RETURNING pg_sleep(0.01)");
    assert!(proved(&hot, "D2 proved"), "{hot:?}");
    let cold = found("20", "UPDATE r SET n = n + 1 WHERE id = {counter} RETURNING pg_sleep(0.01)");
    assert!(!cold.iter().any(|rule| rule.starts_with('D')), "{cold:?}");
    let whole = found("5", "SELECT n FROM s WHERE n = {random 1..9} LIMIT 5");
    assert!(proved(&whole, "D5 proved"), "{whole:?}");
    let narrow = found("5", "SELECT name FROM r WHERE id = {random 1..100}");
    assert!(!narrow.iter().any(|rule| rule.starts_with('D')), "{narrow:?}");
    let crowd = found("50", "SELECT 1");
    assert!(crowd.contains(&"D1 proved".to_owned()), "{crowd:?}");
    let Some(samples) = samples(&record) else { return };
    let told = &samples[&format!("postgres=127.0.0.1:{}/postgres", server.port)];
    for name in ["database.xact_commit", "activity.waiting_row", "tables.seq_tup_read", "setting.max_connections"] {
        assert!(tell(told, &format!("postgres.{name}")), "{name}");
    }
    let kept = std::process::Command::new("zstdcat").arg(&record).output().expect("it ran a moment ago").stdout;
    assert!(!String::from_utf8(kept).expect("text").contains("secret"), "the password is kept nowhere");
}

#[test]
fn postgres_is_asked_by_every_login_it_knows_and_says_what_it_hides() {
    for method in ["trust", "password", "md5", "scram-sha-256"] {
        let Some(server) = PostgresProcess::start(method, "") else { return };
        let (url, directory) = (server.url("postgres:secret"), tempfile::tempdir().expect("a folder"));
        let kept = |login: &str, name: &str| {
            let path = directory.path().join(name);
            let watch = format!("--watch=postgres={}", server.url(login));
            let run = report(&["-n", "20", "--sql", "SELECT 1", &watch, "--record", &path.display().to_string(), &url]);
            // Twenty requests finish so quickly that a busy machine may well disturb them.
            assert_eq!(run.requests(), [20, 20, 0, 0], "{method}: {run}");
            let kept = std::process::Command::new("zstdcat").arg(&path).output().expect("it runs").stdout;
            String::from_utf8(kept).expect("text")
        };
        let record = kept("postgres:secret", "all.jsonl");
        assert!(record.contains("postgres.activity.waiting_row") && !record.contains("pg_monitor"), "{method}");
        if method == "trust" {
            server.ask("CREATE ROLE little LOGIN");
            let hangs = "--sql=SELECT pg_sleep(1.5)";
            let path = directory.path().join("little.jsonl");
            let watch = format!("--watch=postgres={}", server.url("little"));
            report(&["-n", "2", "-c", "2", hangs, &watch, "--record", &path.display().to_string(), &url]);
            let kept = std::process::Command::new("zstdcat").arg(&path).output().expect("it runs").stdout;
            let kept = String::from_utf8(kept).expect("text");
            assert!(kept.contains("postgres.activity.waiting_row: ") && kept.contains("pg_monitor"), "{kept}");
        } else {
            let watch = format!("postgres={}", server.url("postgres:wrong"));
            brunt(["-n", "1", "--watch", &watch, &url]).with_code(64).containing("cannot be watched: it responded: ");
        }
    }
}
