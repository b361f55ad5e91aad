//! Tests against PostgreSQL, whose own tables and statistics verify our counts: every way to log in, simple and
//! prepared statements, transactions, errors, TLS, and a server that goes away.

use brunt_tests::certificates::Certificates;
use brunt_tests::postgres::PostgresProcess;
use brunt_tests::program::until;
use brunt_tests::report::report;
use brunt_tests::{TestReport, brunt, prepare};

/// Returns how often a status was counted.
fn status(report: &TestReport, word: &str) -> u64 {
    report.json["status"][word].as_u64().unwrap_or(0)
}

#[test]
fn every_insert_is_a_row_and_every_failure_is_none() {
    let Some(postgres) = PostgresProcess::start("trust", "") else { return };
    let url = postgres.url("postgres");
    for (n, way) in [&[][..], &["--text"], &["--transaction"]].into_iter().enumerate() {
        let table = format!("CREATE TABLE t{n} (id bigint PRIMARY KEY, name text)");
        let insert = format!("INSERT INTO t{n} VALUES ({{counter}}, 'it''s {{random 8}}')");
        let line = ["--before", &table, "--sql", &insert, "-n", "400", "-c", "4", "-w", "2", &url];
        let report = report(&[way, &line].concat()).with_code(0);
        // Nothing is inserted before the run.
        assert_eq!(report.requests(), [400, 400, 0, 0], "{report}");
        assert_eq!(postgres.ask(&format!("SELECT count(*) FROM t{n}")), "400", "{report}");
        let named = format!("SELECT count(*) FROM t{n} WHERE name ~ '^it''s [0-9A-Za-z]{{8}}$'");
        assert_eq!(postgres.ask(&named), "400");
    }
}

#[test]
fn errors_are_counted_by_their_sqlstate_and_leave_no_transaction_open() {
    let Some(postgres) = PostgresProcess::start("trust", "") else { return };
    postgres.ask("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)");
    let url = postgres.url("postgres");
    let sql = ["--sql", "INSERT INTO t VALUES ({random 2..1000000}); INSERT INTO t VALUES (1)", "--transaction"];
    let both = report(&[&sql[..], &["-n", "60", "-c", "3", &url]].concat());
    assert_eq!((both.requests(), status(&both, "23505 unique violation")), ([60, 0, 60, 0], 60), "{both}");
    assert_eq!(postgres.ask("SELECT count(*) FROM t"), "1");
    assert_eq!(postgres.ask("SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'"), "0");
    let example = both.at("failures.0.example.received").as_str().unwrap().to_owned();
    assert!(example.starts_with("ERROR 23505: duplicate key value violates unique constraint"), "{example}");
    for (sql, name) in [
        ("SELECT * FROM nowhere WHERE a = {counter}", "42P01 no such table"),
        ("SELEC 1", "42601 syntax error"),
        ("SELECT 1/0", "22012 division by zero"),
        ("COPY t FROM STDIN", "57014 query cancelled"),
    ] {
        let report = report(&["--sql", sql, "-n", "20", "-c", "2", &url]);
        assert_eq!((report.requests(), status(&report, name)), ([20, 0, 20, 0], 20), "{sql} {report}");
    }
}

#[test]
fn rows_are_counted_and_passed_over() {
    let Some(postgres) = PostgresProcess::start("trust", "") else { return };
    let url = postgres.url("postgres");
    let sql = ["--sql", "SELECT repeat('x', 1000) FROM generate_series(1, 500)", "--expect-rows", "500"];
    let report = report(&[&sql[..], &["-n", "40", "-c", "2", &url]].concat()).with_code(0);
    // Each row consists of the number of columns, the length of the only column, and its text.
    assert_eq!((report.requests(), report.count("bytes.payload")), ([40, 40, 0, 0], 40 * 500 * 1006), "{report}");
    let few = brunt_tests::report::report(&["--sql", "SELECT 1", "--expect-rows", "2..", "-n", "10", "-c", "1", &url]);
    assert_eq!((few.requests(), few.failures()["wrong_body"]), ([10, 0, 10, 0], 10), "{few}");
}

#[test]
fn passwords_are_proved_in_every_way_and_wrong_ones_refused() {
    for (method, configuration) in [("password", ""), ("md5", "password_encryption = md5"), ("scram-sha-256", "")] {
        let Some(postgres) = PostgresProcess::start(method, configuration) else { return };
        let line = ["--sql", "SELECT {counter}::bigint", "-n", "30", "-c", "3"];
        let report = report(&[&line[..], &[&postgres.url("postgres:secret")]].concat()).with_code(0);
        assert_eq!(report.requests(), [30, 30, 0, 0], "{method} {report}");
        let wrong = brunt([&line[..], &[&postgres.url("postgres:nonsense")]].concat());
        assert_ne!(wrong.code, Some(0), "{method} {wrong:?}");
        wrong.containing("the password is wrong (28P01)");
        let socket = postgres.socket();
        let over = ["--unix-socket", &socket, "postgres://postgres:secret@localhost/postgres"];
        let report = brunt_tests::report::report(&[&line[..], &over].concat()).with_code(0);
        assert_eq!(report.requests(), [30, 30, 0, 0], "{method} {report}");
    }
}

#[test]
fn postgres_speaks_tls_behind_its_own_request() {
    let Some(certificates) = Certificates::make() else { return brunt_tests::skip("openssl is not installed") };
    let Some(plain) = PostgresProcess::start("trust", "") else { return };
    let line = ["--sql", "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()", "-n", "20", "-c", "2"];
    let refused = brunt([&line[..], &["--ssl", &plain.url("postgres")]].concat());
    assert_ne!(refused.code, Some(0), "{refused:?}");
    refused.containing("the server does not support TLS");
    let directory = tempfile::tempdir().expect("a directory");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(directory.path(), open).expect("set");
    let key = PostgresProcess::key(&certificates.path("server.key"), directory.path());
    let cert = directory.path().join("server.pem");
    std::fs::copy(certificates.path("server.pem"), &cert).expect("copied");
    let tls = format!("ssl = on\nssl_cert_file = '{}'\nssl_key_file = '{}'", cert.display(), key.display());
    let Some(postgres) = PostgresProcess::start("scram-sha-256", &tls) else { return };
    let url = postgres.url("postgres:secret");
    let (watch, ca) = (format!("--watch=postgres={url}?sslmode=require"), certificates.text("ca.pem"));
    let report = report(&[&line[..], &["--ssl", "--cacert", &ca, &watch, &url]].concat()).with_code(0);
    brunt(["-n", "1", &watch, &url]).with_code(64).containing("trust its authority with --cacert");
    let without = format!("--watch=postgres={}?sslmode=require", plain.url("postgres"));
    brunt(["-n", "1", &without, &plain.url("postgres")]).with_code(64).containing("it does not support TLS");
    assert_eq!(report.requests(), [20, 20, 0, 0], "{report}");
    assert_eq!(report.count("connections.handshakes"), report.count("connections.opened"), "{report}");
}

#[test]
fn a_server_that_goes_away_leaves_every_request_accounted_for() {
    let Some(mut postgres) = PostgresProcess::start("trust", "") else { return };
    postgres.ask("CREATE TABLE t (id int)");
    let (url, line) = (postgres.url("postgres"), ["-r", "500/s", "-d", "2s", "--max-connections", "8", "-t", "1s"]);
    let sql = ["--sql", "INSERT INTO t VALUES ({counter})", "--quiet", "--format", "json", &url];
    let running = prepare(line.iter().chain(&sql)).start();
    until("the run has begun", || postgres.ask("SELECT count(*) > 200 FROM t") == "t");
    postgres.stop();
    let report = TestReport::of(running.end());
    let [due, finished, failed, _] = report.requests();
    assert!(finished >= 200 && failed > 100 && due > 800, "{report}");
}
