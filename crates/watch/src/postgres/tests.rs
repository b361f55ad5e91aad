use std::io::{Read, Write};
use std::net::TcpListener;

use super::*;
use crate::WatchedService;
use brunt_counters::Counters;

/// Returns a message of a server.
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

/// Returns the description of `count` columns ("RowDescription").
fn columns(count: usize) -> Vec<u8> {
    let one = [&b"column\0"[..], &[0; 18]].concat();
    message(b'T', &[&(count as u16).to_be_bytes()[..], &one.repeat(count)].concat())
}

/// Returns the encoding of a row with these values; `None` is NULL.
fn data(values: &[Option<&str>]) -> Vec<u8> {
    let mut body = (values.len() as u16).to_be_bytes().to_vec();
    for value in values {
        let length = value.map_or(-1, |text| text.len() as i32);
        body.extend_from_slice(&length.to_be_bytes());
        body.extend_from_slice(value.unwrap_or("").as_bytes());
    }
    message(b'D', &body)
}

/// Returns the answer to a query: columns, a row, the end of the rows, and the message that the server is ready.
fn told(values: &[&str]) -> Vec<u8> {
    let row = data(&values.iter().copied().map(Some).collect::<Vec<_>>());
    [columns(values.len()), row, message(b'C', b"SELECT 1\0"), ready()].concat()
}

fn ready() -> Vec<u8> {
    message(b'Z', b"I")
}

fn error(code: &str, words: &str) -> Vec<u8> {
    message(b'E', format!("SERROR\0C{code}\0M{words}\0\0").as_bytes())
}

fn authentication(code: u32, rest: &[u8]) -> Vec<u8> {
    message(b'R', &[&code.to_be_bytes(), rest].concat())
}

/// Returns the end of a login, with the parameters every server sends.
fn entered() -> Vec<u8> {
    [authentication(0, b""), message(b'S', b"TimeZone\0UTC\0"), message(b'K', &[0; 8]), ready()].concat()
}

const DATABASE: [&str; 10] = ["3", "1000", "2", "40", "50", "55", "60", "70", "1", "9"];
const ACTIVITY: [&str; 9] = ["8", "0", "0", "5", "1", "4", "3", "2", "1"];
const TABLES: [&str; 3] = ["11", "12", "13"];
const SETTINGS: [&str; 6] = ["100", "3", "0", "134217728", "1", "15.18 (Debian)"];

/// Returns an answer to each query.
fn all() -> Vec<(usize, Vec<u8>)> {
    [told(&DATABASE), told(&ACTIVITY), told(&TABLES), told(&SETTINGS)].map(|answer| (1, answer)).into()
}

/// Starts a server for one connection, which sends each of these answers once it has received the given number of
/// messages; its thread returns the messages received.
fn served(says: Vec<(usize, Vec<u8>)>) -> (String, std::thread::JoinHandle<Vec<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let option = format!("postgres=postgres://me:s%20t@{}/db", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut peer, _) = listener.accept().unwrap();
        let mut heard = Vec::new();
        for (count, answer) in says.into_iter().chain([(1, Vec::new())]) {
            for _ in 0..count {
                // The first has no type.
                let mut head = vec![0; if heard.is_empty() { 4 } else { 5 }];
                if peer.read_exact(&mut head).is_err() {
                    return heard;
                }
                let length = u32::from_be_bytes(head[head.len() - 4..].try_into().unwrap()) as usize;
                let mut body = vec![0; length - 4];
                peer.read_exact(&mut body).unwrap();
                heard.push([&head[..head.len() - 4], &body].concat());
            }
            // Sent in pieces that may end anywhere.
            for piece in answer.chunks(7) {
                let _ = peer.write_all(piece);
            }
        }
        heard
    });
    (option, server)
}

#[test]
fn four_questions_over_one_connection_that_is_closed_in_form() {
    let notice = message(b'N', b"SNOTICE\0\0");
    let (option, server) = served([vec![(1, [entered(), notice].concat())], all(), all()].concat());
    let mut watched = WatchedService::parse(&option).unwrap();
    for _ in 0..2 {
        let told = watched.ask().unwrap();
        for (name, value) in [
            ("database.numbackends", 3),
            ("database.xact_commit", 1000),
            ("database.xact_rollback", 2),
            ("database.blk_read_time", 55),
            ("database.deadlocks", 9),
            ("activity.clients", 8),
            ("activity.active", 5),
            ("activity.idle_in_transaction", 1),
            ("activity.waiting_lock", 4),
            ("activity.waiting_row", 3),
            ("activity.waiting_io", 2),
            ("activity.waiting_lwlock", 1),
            ("tables.seq_scan", 11),
            ("tables.seq_tup_read", 12),
            ("tables.idx_scan", 13),
            ("setting.max_connections", 100),
            ("setting.shared_buffers", 134_217_728),
            ("setting.track_io_timing", 1),
        ] {
            assert_eq!(told.get(&format!("postgres.{name}")), Some(value), "{name}");
        }
        assert_eq!(told.label("postgres.setting.server_version"), Some("15.18 (Debian)"));
        assert!(told.unobservable.is_empty() && told.get("postgres.activity.hidden").is_none(), "{told:?}");
    }
    drop(watched);
    let heard = server.join().unwrap();
    assert_eq!(heard.len(), 10, "a login, four questions twice, a farewell");
    let asks = b"\0\x03\0\0user\0me\0database\0db\0";
    assert!(heard[0].starts_with(asks), "{:?}", heard[0]);
    assert_eq!((&heard[1][1..heard[1].len() - 1], &heard[9][..]), (ALL[0].sql.as_bytes(), &b"X"[..]));
}

/// Returns the counters kept of these answers.
fn kept(answers: Vec<Vec<u8>>) -> Result<Counters, String> {
    let (option, server) =
        served([(1, entered())].into_iter().chain(answers.into_iter().map(|answer| (1, answer))).collect());
    let told = WatchedService::parse(&option).unwrap().ask();
    server.join().unwrap();
    told
}

#[test]
fn what_cannot_be_read_is_absent_and_named() {
    let denied = [error("42501", "permission denied for view pg_stat_activity"), ready()].concat();
    let nulls = [columns(3), data(&[Some("1"), None, Some("3")]), ready()].concat();
    let told = kept(vec![told(&DATABASE), denied.clone(), nulls, told(&SETTINGS)]).unwrap();
    assert!(!told.values.keys().any(|name| name.starts_with("postgres.activity.")), "{told:?}");
    let why = "it responded: permission denied for view pg_stat_activity (error 42501)";
    assert_eq!(told.unobservable[0], format!("postgres.activity: {why}"));
    assert_eq!(told.unobservable[1], "postgres.tables.seq_tup_read: the server does not report it");
    assert_eq!((told.get("postgres.tables.seq_scan"), told.get("postgres.tables.idx_scan")), (Some(1), Some(3)));
    // If every query fails, the result is the reason alone.
    assert_eq!(kept(vec![denied; 4]).unwrap_err(), why);
    assert_eq!(kept(vec![[message(b'C', b"SELECT 0\0"), ready()].concat(); 4]).unwrap_err(), "it returns no row");
}

#[test]
fn states_of_sessions_that_are_not_shown_are_never_zero() {
    let with = |at: usize, count| {
        let mut activity = ACTIVITY;
        activity[at] = count;
        kept(vec![told(&DATABASE), told(&activity), told(&TABLES), told(&SETTINGS)]).unwrap()
    };
    let hidden = with(1, "2");
    assert_eq!(hidden.get("postgres.activity.clients"), Some(8), "that they are there is shown");
    assert_eq!(hidden.values.keys().filter(|name| name.starts_with("postgres.activity.")).count(), 1);
    assert!(
        hidden
            .unobservable
            .iter()
            .any(|line| line.starts_with("postgres.activity.waiting_row: ") && line.contains("pg_monitor"))
    );
    let untracked = with(2, "1");
    assert_eq!(untracked.get("postgres.activity.waiting_lock"), Some(4), "waits are shown without states");
    assert_eq!(untracked.get("postgres.activity.active"), None);
}

#[test]
fn the_server_s_own_words_where_it_refuses() {
    for (says, said) in [
        (
            error("28P01", "password authentication failed for user \"me\"\x1b"),
            "it responded: password authentication failed for user \"me\"\\x1b (error 28P01)",
        ),
        (
            error("53300", "sorry, too many clients already"),
            "it responded: sorry, too many clients already (error 53300)",
        ),
        (authentication(7, b""), "it requires Kerberos, GSSAPI, SSPI or another unsupported login"),
        (authentication(10, b"OTHER\0\0"), "it offers no supported password authentication"),
        (
            authentication(12, b"v=AAAA"),
            "it does not speak the PostgreSQL protocol: the server's SCRAM-SHA-256 steps are out of order",
        ),
        (ready(), "it is ready before the login finished"),
        (
            b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
            "it does not speak the PostgreSQL protocol: a message that PostgreSQL does not send at this point",
        ),
    ] {
        let (option, server) = served(vec![(1, says)]);
        assert_eq!(WatchedService::parse(&option).unwrap().ask().unwrap_err(), said);
        server.join().unwrap();
    }
}

#[test]
fn a_password_is_told_as_the_server_asks_for_it_and_once() {
    let (option, server) = served([vec![(1, authentication(3, b"")), (1, entered())], all()].concat());
    assert!(WatchedService::parse(&option).unwrap().ask().is_ok());
    assert_eq!(server.join().unwrap()[1], b"ps t\0");
    let (option, server) = served([vec![(1, authentication(5, &[1, 2, 3, 4])), (1, entered())], all()].concat());
    assert!(WatchedService::parse(&option).unwrap().ask().is_ok());
    let heard = server.join().unwrap();
    assert!(heard[1].starts_with(b"pmd5") && heard[1].len() == 37, "{:?}", heard[1]);
    let (option, server) = served(vec![(1, authentication(3, b"")), (1, authentication(3, b""))]);
    assert_eq!(WatchedService::parse(&option).unwrap().ask().unwrap_err(), "it keeps asking for the password");
    server.join().unwrap();
    // Without a password the login fails.
    let (option, server) = served(vec![(1, authentication(10, b"SCRAM-SHA-256\0\0"))]);
    let said = WatchedService::parse(&option.replace(":s%20t", "")).unwrap().ask().unwrap_err();
    assert!(said.starts_with("it requires a password; use postgres://user:password@host"), "{said}");
    server.join().unwrap();
}

#[test]
fn a_server_that_leaves_out_its_proof_is_not_believed() {
    let (option, server) = served(vec![(1, authentication(10, b"SCRAM-SHA-256\0\0")), (1, entered())]);
    let said = WatchedService::parse(&option).unwrap().ask().unwrap_err();
    assert_eq!(said, "it accepts the login without its own SCRAM-SHA-256 proof");
    assert!(server.join().unwrap()[1].starts_with(b"pSCRAM-SHA-256\0\0\0\0\x1dn,,n=,r="));
}

#[test]
fn options_as_people_write_them() {
    let name = |text: &str| WatchedService::parse(text).map(|watched| watched.name().to_owned());
    assert_eq!(name("postgres=postgres://me:p%40@h/db").unwrap(), "postgres=h:5432/db");
    assert_eq!(name("postgres=postgresql://me@h:7").unwrap(), "postgres=h:7/me");
    assert_eq!(name("postgres=me:p@[::1]:7/").unwrap(), "postgres=[::1]:7/me");
    for (text, said) in [
        ("postgres=h:1/db", "has no user"),
        ("postgres=:p@h/db", "has no user"),
        ("postgres=me@/db", "has no host"),
        ("postgres=me@h:0", "is not a port"),
        ("postgres=https://me@h/db", "must start with postgres://"),
        ("postgres=postgres://me@h/db?sslmode=prefer", "is not supported"),
        ("postgres=me%00@h", "zero byte"),
    ] {
        let trouble = name(text).unwrap_err();
        assert!(trouble.contains(said), "{text}: {trouble}");
    }
}
