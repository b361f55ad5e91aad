use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread::JoinHandle;
use std::time::Duration;

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rsa::{KeySize, OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, PrivateDecryptingKey};
use base64::Engine as _;

use super::*;
use crate::WatchedService;

/// Returns the greeting of MariaDB 10.11, except for its random bytes.
fn greeting() -> Vec<u8> {
    let mut greeting = b"\x0a5.5.5-10.11.6-MariaDB\0".to_vec();
    greeting.extend_from_slice(&[7, 0, 0, 0]);
    greeting.extend_from_slice(b"12345678\0");
    greeting.extend_from_slice(&[0xfe, 0xf7, 45, 2, 0, 0xff, 0x81, 21]);
    greeting.extend_from_slice(&[0; 10]);
    greeting.extend_from_slice(b"901234567890\0mysql_native_password\0");
    greeting
}

/// Returns a packet with its header.
fn packet(number: u8, bytes: &[u8]) -> Vec<u8> {
    let [a, b, c, ..] = (bytes.len() as u32).to_le_bytes();
    [&[a, b, c, number], bytes].concat()
}

fn counted(text: &str) -> Vec<u8> {
    [&[text.len() as u8], text.as_bytes()].concat()
}

/// Returns the answer to a query, as rows of two columns, without a packet between columns and rows
/// (CLIENT_DEPRECATE_EOF).
fn answer(rows: &[(&str, &str)]) -> Vec<u8> {
    let column = |name| [&b"\x03def\0\0\0"[..], &counted(name), b"\0\x0c\x2d\0\0\0\0\0\xfd\0\0\0\0\0"].concat();
    let mut all: Vec<Vec<u8>> = vec![vec![2], column("Variable_name"), column("Value")];
    all.extend(rows.iter().map(|(name, value)| [counted(name), counted(value)].concat()));
    all.push(vec![0xfe, 0, 0, 2, 0, 0, 0]);
    (1..).zip(all).flat_map(|(number, bytes)| packet(number, &bytes)).collect()
}

/// Starts a server for one connection, which sends a greeting and then the next of these answers after each request;
/// its thread returns the input received.
fn served(greeting: Vec<u8>, answers: Vec<Vec<u8>>) -> (String, JoinHandle<Vec<Vec<u8>>>) {
    slowly_served(Duration::ZERO, greeting, answers)
}

/// Like `served`, with a delay before each answer.
fn slowly_served(time: Duration, greeting: Vec<u8>, answers: Vec<Vec<u8>>) -> (String, JoinHandle<Vec<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let option = format!("mysql=mysql://me:s%20t@{}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut peer, _) = listener.accept().unwrap();
        std::thread::sleep(time);
        peer.write_all(&packet(0, &greeting)).unwrap();
        let mut heard = Vec::new();
        for answer in answers.into_iter().map(Some).chain([None]) {
            let mut head = [0; 4];
            if peer.read_exact(&mut head).is_err() {
                break;
            }
            let mut body = vec![0; usize::from(u16::from_le_bytes([head[0], head[1]]))];
            peer.read_exact(&mut body).unwrap();
            heard.push(body);
            std::thread::sleep(time);
            answer.into_iter().for_each(|answer| peer.write_all(&answer).unwrap());
        }
        heard
    });
    (option, server)
}

#[test]
fn counters_and_settings_over_one_connection_that_is_closed_in_form() {
    let status = answer(&[("Threads_connected", "3"), ("Uptime", "9"), ("Innodb_x", "0.5"), ("Rpl_status", "AUTH")]);
    let settings = answer(&[("max_connections", "151"), ("version", "10.11.6-MariaDB")]);
    let ok = packet(2, &[0, 0, 0, 2, 0, 0, 0]);
    let twice = [status.clone(), settings.clone(), status, settings];
    let (option, server) = served(greeting(), [vec![ok], twice.to_vec()].concat());
    let mut watched = WatchedService::parse(&option).unwrap();
    for _ in 0..2 {
        let told = watched.ask().unwrap();
        assert_eq!(told.get("mysql.Threads_connected"), Some(3));
        assert_eq!(told.get("mysql.variable.max_connections"), Some(151));
        assert_eq!(told.values[&*"mysql.Innodb_x".to_owned()], brunt_record::CounterValue::Real(0.5));
        assert_eq!(told.label("mysql.variable.version"), Some("10.11.6-MariaDB"));
        assert!(!told.values.contains_key("mysql.Rpl_status"));
    }
    drop(watched);
    let heard = server.join().unwrap();
    assert_eq!(heard.len(), 6, "a login, two questions twice, a farewell");
    assert!(heard[0][32..].starts_with(b"me\0\x14"), "{:?}", heard[0]);
    assert!(!heard[0].windows(3).any(|three| three == b"s t"), "the password is never told");
    assert_eq!((&heard[1][1..], &heard[5][..]), (STATUS.as_bytes(), &[1][..]));
}

/// Each step of a login has its own timeout, so that a login of many steps works over a slow network.
#[test]
fn whoever_is_far_away_is_waited_for_at_each_step() {
    let ok = packet(2, &[0, 0, 0, 2, 0, 0, 0]);
    let answers = vec![ok, answer(&[("Uptime", "1")]), answer(&[])];
    let (option, server) = slowly_served(Duration::from_millis(300), greeting(), answers);
    let mut watched = WatchedService::parse(&option).unwrap();
    assert_eq!(watched.ask().unwrap().get("mysql.Uptime"), Some(1));
    drop(watched);
    server.join().unwrap();
}

#[test]
fn the_server_s_own_words_where_it_refuses() {
    let refused = packet(2, b"\xff\x15\x04#28000Access denied for user 'me'@'h'\x1b");
    let (option, server) = served(greeting(), vec![refused]);
    let said = WatchedService::parse(&option).unwrap().ask().unwrap_err();
    assert_eq!(said, "it responded: Access denied for user 'me'@'h'\\x1b (error 1045)");
    server.join().unwrap();
    let (option, server) = served(b"\xff\x10\x04Too many connections".to_vec(), vec![]);
    assert_eq!(
        WatchedService::parse(&option).unwrap().ask().unwrap_err(),
        "it responded: Too many connections (error 1040)"
    );
    server.join().unwrap();
}

#[test]
fn another_way_of_authentication_is_followed_or_refused_by_name() {
    for (asked, said) in [
        (&b"\xfeclient_ed25519\0abc"[..], "it requires login by client_ed25519"),
        (b"\x07", "it does not speak the MySQL protocol"),
    ] {
        let (option, server) = served(greeting(), vec![packet(2, asked)]);
        let trouble = WatchedService::parse(&option).unwrap().ask().unwrap_err();
        assert!(trouble.starts_with(said), "{trouble}");
        server.join().unwrap();
    }
    let asked = packet(2, b"\xfecaching_sha2_password\09876543210abcdefghij\0");
    let known = [packet(4, &[1, 3]), packet(5, &[0, 0, 0, 2, 0, 0, 0])].concat();
    let (option, server) = served(greeting(), vec![asked, known, answer(&[("Uptime", "1")]), answer(&[])]);
    let mut watched = WatchedService::parse(&option).unwrap();
    assert_eq!(watched.ask().unwrap().get("mysql.Uptime"), Some(1));
    drop(watched);
    assert_eq!(server.join().unwrap()[1].len(), 32, "the proof by SHA-256");
}

#[test]
fn options_as_people_write_them() {
    assert_eq!(WatchedService::parse("mysql=mysql://me:p%40@h/db").unwrap().name(), "mysql=h:3306");
    assert_eq!(WatchedService::parse("mysql=me@[::1]:7").unwrap().name(), "mysql=[::1]:7");
    for (text, said) in [("mysql=h:1", "has no user"), ("mysql=:p@h", "has no user"), ("mysql=me@", "has no host")] {
        let trouble = WatchedService::parse(text).unwrap_err();
        assert!(trouble.contains(said), "{trouble}");
    }
}

/// The server has not seen the password since it started, and there is no TLS: the client sends the password encrypted
/// with the server's key.
#[test]
fn an_account_of_sha2_is_let_in_while_it_is_cold() {
    let private = PrivateDecryptingKey::generate(KeySize::Rsa2048).unwrap();
    let der: PublicKeyX509Der<'_> = private.public_key().as_der().unwrap();
    let key = base64::engine::general_purpose::STANDARD.encode(der.as_ref());
    let pem = format!("\x01-----BEGIN PUBLIC KEY-----\n{key}\n-----END PUBLIC KEY-----\n");
    let ways = [
        packet(2, b"\xfecaching_sha2_password\09876543210abcdefghij\0"),
        packet(4, &[1, 4]),
        packet(6, pem.as_bytes()),
        packet(8, &[0, 0, 0, 2, 0, 0, 0]),
    ];
    let (option, server) = served(greeting(), [&ways[..], &[answer(&[("Uptime", "1")]), answer(&[])]].concat());
    let mut watched = WatchedService::parse(&option).unwrap();
    assert_eq!(watched.ask().unwrap().get("mysql.Uptime"), Some(1));
    drop(watched);
    let heard = server.join().unwrap();
    assert_eq!(heard[2], [2], "it is asked for its key");
    let key = OaepPrivateDecryptingKey::new(private).unwrap();
    let mut text = vec![0; key.min_output_size()];
    let text = key.decrypt(&OAEP_SHA1_MGF1SHA1, &heard[3], &mut text, None).unwrap();
    let plain: Vec<u8> = text.iter().zip(b"9876543210abcdefghij").map(|(a, b)| a ^ b).collect();
    assert_eq!(plain, b"s t\0");
}
