//! Tests against MariaDB, whose own counters verify ours: errors, deadlocks, lock waits and crashes as outcomes, TLS,
//! and the Unix socket.

use brunt_tests::certificates::Certificates;
use brunt_tests::mariadb::Mariadb;
use brunt_tests::mysql_go::MysqlGoServer;
use brunt_tests::program::until;
use brunt_tests::report::report;
use brunt_tests::{TestReport, brunt, prepare};

/// Returns how much each of these counters grew.
fn grown<const N: usize>(server: &Mariadb, names: [&str; N], during: impl FnOnce()) -> [u64; N] {
    let before = server.counters();
    during();
    let after = server.counters();
    names.map(|name| after[name] - before[name])
}

fn status(report: &TestReport, name: &str) -> u64 {
    report.json["status"][name].as_u64().unwrap_or(0)
}

#[test]
fn prepared_and_text_statements_are_counted_by_both_sides() {
    let Some(server) = Mariadb::start(&[]) else { return };
    server.sql("CREATE TABLE test.p AS SELECT seq AS id, REPEAT('x', 50) AS name FROM test.seq_1_to_1000");
    let url = server.url();
    // One request precedes the run, and each connection prepares its statement, including the
    // connection before the run.
    let select = "SELECT name FROM p WHERE id = {random 1..1000} LIMIT 1";
    let names = ["Com_stmt_execute", "Com_stmt_prepare", "Com_select", "Rows_sent"];
    let [executed, prepared, selected, rows] = grown(&server, names, || {
        let line = ["-c", "8", "-n", "3000", "-w", "2", "--sql", select, "--expect-rows", "1", &url];
        let report = report(&line).with_code(0);
        assert_eq!(report.requests(), [3000, 3000, 0, 0], "{report}");
        // A binary row: a byte, the NULL bits, a length and the text.
        assert_eq!(report.count("bytes.payload"), 3000 * 53, "{report}");
        assert_eq!(report.count("connections.opened"), 8, "{report}");
    });
    assert_eq!((executed, prepared, selected), (3001, 9, 3001));
    assert!(rows >= 3001, "{rows}");
    let [executed, selected, queries] = grown(&server, ["Com_stmt_execute", "Com_select", "Com_insert"], || {
        server.sql("CREATE TABLE test.i (id BIGINT PRIMARY KEY, name TEXT, n INT)");
        let both = [
            "--sql",
            "3x SELECT {counter}, 'a{user}'",
            "--sql",
            "INSERT INTO i VALUES ({counter}, 'it''s {random 5}', {user})",
        ];
        let line = [&["-c", "5", "-n", "2000", "--text"][..], &both, &[&url]].concat();
        let report = report(&line).with_code(0);
        assert_eq!(report.requests(), [2000, 2000, 0, 0], "{report}");
    });
    assert_eq!(executed, 0);
    assert_eq!(selected + queries, 2001);
    let kept: u64 =
        server.sql("SELECT COUNT(*) FROM test.i WHERE name RLIKE '^it.s [A-Za-z0-9]{5}$'").trim().parse().unwrap();
    assert_eq!(kept, queries);
    assert!((350..650).contains(&queries), "a quarter of 2000: {queries}");
}

#[test]
fn errors_are_outcomes_by_their_number() {
    let Some(server) = Mariadb::start(&["--innodb-lock-wait-timeout=1"]) else { return };
    let url = server.url();
    let line = [
        "-c",
        "4",
        "-n",
        "500",
        "--before",
        "CREATE TABLE d (id INT PRIMARY KEY)",
        "--sql",
        "INSERT INTO d VALUES ({random 1..100})",
        &url,
    ];
    let doubled = report(&line);
    let kept: u64 = server.sql("SELECT COUNT(*) FROM test.d").trim().parse().unwrap();
    let [due, finished, failed, censored] = doubled.requests();
    assert_eq!((due, finished, failed, censored), (500, kept, 500 - kept, 0), "{doubled}");
    assert_eq!(status(&doubled, "1062 duplicate entry"), failed, "{doubled}");
    assert_eq!(doubled.failures()["wrong_status"], failed, "{doubled}");
    assert!(doubled.to_string().contains("Duplicate entry"), "{doubled}");

    // Two rows locked in both orders: some transactions become deadlock victims, and none of those leaves a trace.
    server.sql("CREATE TABLE test.a (id INT PRIMARY KEY, n INT); INSERT INTO test.a VALUES (1, 0), (2, 0)");
    let one = "UPDATE a SET n = n + 1 WHERE id = 1; UPDATE a SET n = n + 1 WHERE id = 2";
    let other = "UPDATE a SET n = n + 1 WHERE id = 2; UPDATE a SET n = n + 1 WHERE id = 1";
    let line = ["-c", "8", "-n", "400", "--transaction", "--sql", one, "--sql", other, &url];
    let [commits, begins] = grown(&server, ["Com_commit", "Com_begin"], || {
        let locked = report(&line);
        let [due, finished, failed, _] = locked.requests();
        assert_eq!(
            (due, status(&locked, "1213 deadlock") + status(&locked, "1205 lock wait timeout")),
            (400, failed),
            "{locked}"
        );
        assert!(status(&locked, "1213 deadlock") > 0, "{locked}");
        let sums = server.sql("SELECT n FROM test.a");
        assert_eq!(sums, format!("{finished}\n{finished}\n"), "{locked}");
    });
    assert_eq!(begins, 400);
    assert!(commits < 400, "{commits}");

    let mut holder = server.sql_beside("BEGIN; UPDATE test.a SET n = n WHERE id = 1; DO SLEEP(60)");
    until("the row is locked", || {
        // InnoDB repeats its last status if it was asked less than a tenth of a second before.
        std::thread::sleep(std::time::Duration::from_millis(150));
        !server.sql("SELECT 1 FROM information_schema.innodb_trx").is_empty()
    });
    let waited = brunt(["-c", "2", "-n", "2", "--sql", "UPDATE a SET n = n + 1 WHERE id = 1", &url]);
    let _ = holder.kill();
    let _ = holder.wait();
    assert!(waited.err.contains("wrong_status") || waited.out.contains("1205 lock wait timeout"), "{waited:?}");
}

#[test]
fn a_server_that_crashes_and_comes_back_costs_exactly_what_was_lost() {
    let Some(mut server) = Mariadb::start(&["--innodb-flush-log-at-trx-commit=1"]) else { return };
    server.sql("CREATE TABLE test.c (id BIGINT PRIMARY KEY)");
    let insert = "INSERT INTO c VALUES ({counter})";
    let url = server.url();
    let line =
        ["-r", "300/s", "-d", "9s", "--max-connections", "10", "--quiet", "--format", "json", "--sql", insert, &url];
    let running = prepare(line).start();
    let rows = |server: &Mariadb| server.sql("SELECT COUNT(*) FROM test.c").trim().parse::<u64>().unwrap();
    until("the run has begun", || rows(&server) > 100);
    server.kill();
    server.start_again();
    let report = TestReport::of(running.end());
    let kept = rows(&server);
    let [due, finished, failed, censored] = report.requests();
    assert!(finished <= kept && kept <= finished + failed + censored, "{kept} rows: {report}");
    assert_eq!(due, finished + failed + censored, "{report}");
    assert!(failed > 0, "{report}");
    let last = report.json["seconds"].as_array().unwrap().iter().rfind(|s| s["part"] == "window").unwrap();
    assert!(last["succeeded"].as_u64().unwrap() > 0, "MariaDB is back and nobody noticed: {report}");
}

#[test]
fn logins_over_tls_and_unix_sockets() {
    let Some(certificates) = Certificates::make() else { return brunt_tests::skip("openssl is not installed") };
    let flags = ["ca.pem", "server.pem", "server.key"].map(|name| certificates.text(name));
    let flags =
        [format!("--ssl-ca={}", flags[0]), format!("--ssl-cert={}", flags[1]), format!("--ssl-key={}", flags[2])];
    let Some(server) = Mariadb::start(&flags.each_ref().map(String::as_str)) else { return };
    let url = server.url();
    let cacert = certificates.text("ca.pem");
    for trust in [&["-k"][..], &["--cacert", &cacert]] {
        let [accepted, selected] = grown(&server, ["Ssl_finished_accepts", "Com_select"], || {
            let line = [&["--ssl", "-c", "3", "-n", "90"], trust, &["--sql", "SELECT {counter}", &url]].concat();
            let report = report(&line).with_code(0);
            assert_eq!(report.requests(), [90, 90, 0, 0], "{report}");
            assert_eq!(report.count("connections.handshakes"), 3, "{report}");
        });
        assert_eq!((accepted, selected), (4, 91));
    }
    brunt(["--ssl", "-n", "1", &url]).with_code(30).containing("unknown issuer");
    server.sql("ALTER USER brunt@'%' REQUIRE SSL");
    assert_eq!(report(&["-n", "2", "-c", "1", &url]).requests()[2], 2);
    let watch = format!("--watch=mysql={}", server.url());
    let line = ["--ssl", "-n", "1", &url];
    brunt([&line[..], &["-k", &watch]].concat()).with_code(64).containing("cannot be watched");
    brunt([&line[..], &["-k", &format!("{watch}?ssl")]].concat()).with_code(0);

    let socket = server.socket();
    let url = "mysql://brunt:pass%3Aword@localhost/test";
    let line = ["--unix-socket", &socket, "-c", "2", "-n", "40", "--sql", "SELECT CURRENT_USER()", url];
    assert_eq!(report(&line).with_code(0).requests(), [40, 40, 0, 0]);
    let refused = brunt(["--unix-socket", &socket, "-n", "2", "-c", "1", "mysql://brunt:wrong@localhost/test"]);
    assert!(refused.err.contains("1045 access denied") || refused.out.contains("1045 access denied"), "{refused:?}");
}

#[test]
fn too_many_connections_are_named() {
    let Some(server) = Mariadb::start(&["--max-connections=10"]) else { return };
    let turned_away = |load: &[&str]| {
        let report = report(&[load, &["-d", "1s", "--sql", "DO SLEEP(0.01)", &server.url()]].concat());
        assert!(report.to_string().contains("1040 too many connections"), "{report}");
        assert!(report.requests()[1] > 0, "{report}");
        let findings = report.at("diagnosis.findings").as_array().expect("a list");
        assert!(findings.iter().any(|found| found["rule"] == "D1" && found["proof"] == "proved"), "{report}");
    };
    turned_away(&["-c", "40"]);
    // With a rate, arrivals wait for a connection, and none of them fails because of it.
    turned_away(&["-r", "2000/s", "--max-connections", "40"]);
}

#[test]
fn caching_sha2_tells_the_password_once_and_proves_it_then() {
    for secure in [&[][..], &["--ssl", "-k"]] {
        let Some(server) = MysqlGoServer::start() else { return };
        let url = server.url();
        let select = "SELECT a FROM t WHERE id = {counter} AND name = '{random 5}'";
        let line = [&["-c", "4", "-n", "200", "--sql", select], secure, &[&url]].concat();
        let prepared = report(&line).with_code(0);
        assert_eq!(prepared.requests(), [200, 200, 0, 0], "{prepared}");
        let text = report(&["-c", "2", "-n", "50", "--sql", "SELECT a FROM t", &url]).with_code(0);
        assert_eq!(text.requests(), [50, 50, 0, 0], "{text}");
        let doubled = report(&["-c", "1", "-n", "20", "--sql", "DUPLICATE", &url]);
        assert_eq!((doubled.requests()[2], status(&doubled, "1062 duplicate entry")), (20, 20), "{doubled}");
        // The connection before each run sent the password in full only if the server had not cached it.
        assert_eq!(server.counts(), [5 + 3 + 2, 1, 51 + 20, 201]);
    }
}
