use std::io::{Read, Write};
use std::net::TcpListener;

use measure::Nanos;

use super::*;
use crate::Watched;

/// What MariaDB 10.11 greets with, but for its random bytes.
fn greeting() -> Vec<u8> {
    let mut greeting = b"\x0a5.5.5-10.11.6-MariaDB\0".to_vec();
    greeting.extend_from_slice(&[7, 0, 0, 0]);
    greeting.extend_from_slice(b"12345678\0");
    greeting.extend_from_slice(&[0xfe, 0xf7, 45, 2, 0, 0xff, 0x81, 21]);
    greeting.extend_from_slice(&[0; 10]);
    greeting.extend_from_slice(b"901234567890\0mysql_native_password\0");
    greeting
}

fn counted(text: &str) -> Vec<u8> {
    [&[text.len() as u8], text.as_bytes()].concat()
}

/// The answer to a question, as rows of two.
fn answer(rows: &[(&str, &str)]) -> Vec<u8> {
    let end = [0xfe, 0, 0, 2, 0];
    let mut all: Vec<Vec<u8>> = vec![vec![2], b"a column".to_vec(), b"another".to_vec(), end.to_vec()];
    all.extend(rows.iter().map(|(name, value)| [counted(name), counted(value)].concat()));
    all.push(end.to_vec());
    (1..).zip(all).flat_map(|(number, bytes)| packets::packet(number, &bytes)).collect()
}

/// A server on one connection: greets, and says the next of these each time it was asked; what it heard.
fn served(greeting: Vec<u8>, answers: Vec<Vec<u8>>) -> (String, std::thread::JoinHandle<Vec<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let option = format!("mysql=mysql://me:s%20t@{}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut peer, _) = listener.accept().unwrap();
        peer.write_all(&packets::packet(0, &greeting)).unwrap();
        let mut heard = Vec::new();
        for answer in answers.into_iter().map(Some).chain([None]) {
            let mut head = [0; 4];
            if peer.read_exact(&mut head).is_err() {
                break;
            }
            let mut body = vec![0; usize::from(u16::from_le_bytes([head[0], head[1]]))];
            peer.read_exact(&mut body).unwrap();
            heard.push(body);
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
    let ok = packets::packet(2, &[0, 0, 0, 2, 0, 0, 0]);
    let twice = [status.clone(), settings.clone(), status, settings];
    let (option, server) = served(greeting(), [vec![ok], twice.to_vec()].concat());
    let mut watched = Watched::parse(&option).unwrap();
    for _ in 0..2 {
        let told = watched.ask().unwrap();
        assert_eq!(told.get("mysql.Threads_connected"), Some(3));
        assert_eq!(told.get("mysql.variable.max_connections"), Some(151));
        assert_eq!(told.values[&*"mysql.Innodb_x".to_owned()], record::Number::Real(0.5));
        assert_eq!(told.label("mysql.variable.version"), Some("10.11.6-MariaDB"));
        assert!(!told.values.contains_key("mysql.Rpl_status"));
    }
    drop(watched);
    let heard = server.join().unwrap();
    assert_eq!(heard.len(), 6, "a login, two questions twice, a farewell");
    assert!(heard[0][32..].starts_with(b"me\0\x14"), "{:?}", heard[0]);
    assert!(!heard[0].windows(3).any(|three| three == b"s t"), "the password is never told");
    assert_eq!((&heard[1][1..], &heard[5][..]), (STATUS.as_bytes(), &[QUIT][..]));
}

#[test]
fn the_server_s_own_words_where_it_refuses() {
    let refused = packets::packet(2, b"\xff\x15\x04#28000Access denied for user 'me'@'h'\x1b");
    let (option, server) = served(greeting(), vec![refused]);
    let said = Watched::parse(&option).unwrap().ask().unwrap_err();
    assert_eq!(said, "it responded: Access denied for user 'me'@'h'\\x1b (error 1045)");
    server.join().unwrap();
    let (option, server) = served(b"\xff\x10\x04Too many connections".to_vec(), vec![]);
    assert_eq!(Watched::parse(&option).unwrap().ask().unwrap_err(), "it responded: Too many connections (error 1040)");
    server.join().unwrap();
}

#[test]
fn another_way_of_authentication_is_followed_or_refused_by_name() {
    for (asked, said) in [
        (&b"\xfeclient_ed25519\0abc"[..], "it requires login by client_ed25519"),
        (b"\x01\x04", "it has not seen this account's password"),
        (b"\x07", "it does not speak the MySQL protocol"),
    ] {
        let (option, server) = served(greeting(), vec![packets::packet(2, asked)]);
        let trouble = Watched::parse(&option).unwrap().ask().unwrap_err();
        assert!(trouble.starts_with(said), "{trouble}");
        server.join().unwrap();
    }
    let asked = packets::packet(2, b"\xfecaching_sha2_password\09876543210abcdefghij\0");
    let known = [packets::packet(4, &[1, 3]), packets::packet(5, &[0, 0, 0, 2, 0, 0, 0])].concat();
    let (option, server) = served(greeting(), vec![asked, known, answer(&[("Uptime", "1")]), answer(&[])]);
    let mut watched = Watched::parse(&option).unwrap();
    assert_eq!(watched.ask().unwrap().get("mysql.Uptime"), Some(1));
    drop(watched);
    assert_eq!(server.join().unwrap()[1].len(), 32, "the proof by SHA-256");
}

#[test]
fn options_as_people_write_them() {
    assert_eq!(Watched::parse("mysql=mysql://me:p%40@h/db").unwrap().name(), "mysql=h:3306");
    assert_eq!(Watched::parse("mysql=me@[::1]:7").unwrap().name(), "mysql=[::1]:7");
    for (text, said) in [("mysql=h:1", "has no user"), ("mysql=:p@h", "has no user"), ("mysql=me@", "has no host")] {
        let trouble = Watched::parse(text).unwrap_err();
        assert!(trouble.contains(said), "{trouble}");
    }
}

#[test]
fn garbled_packets_are_refused_and_never_believed_beyond_their_bytes() {
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random as usize
    };
    let whole = [greeting(), [counted("Threads_connected"), counted("3")].concat(), b"\xff\x15\x04#28000no".to_vec()];
    for _ in 0..20_000 {
        let mut packet = whole[next() % whole.len()].clone();
        for _ in 0..next() % 4 {
            let at = next() % packet.len();
            packet[at] = next() as u8;
        }
        packet.truncate(next() % (packet.len() + 1));
        let _ = login::Greeting::read(&packet);
        let _ = packets::fail_on_error(&packet);
        if let Ok((name, value)) = packets::pair(&packet) {
            // What is no UTF-8 takes three bytes for one.
            assert!(name.len() + value.len() <= 3 * packet.len());
            let told = Told { status: vec![(name, value)], ..Told::default() };
            let mut sink = Sink::default();
            put(&told, &mut sink);
            assert!(sink.take(Nanos::ZERO).values.len() <= 1);
        }
    }
    for cut in 0..greeting().len() - 34 {
        assert!(login::Greeting::read(&greeting()[..cut]).is_err(), "{cut}");
    }
}
