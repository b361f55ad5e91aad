//! Openings of connections, and refusals.

use super::*;

const HELLO: &str = "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n";
const HELLO_AUTH: &str = "*5\r\n$5\r\nHELLO\r\n$1\r\n3\r\n$4\r\nAUTH\r\n$7\r\ndefault\r\n$2\r\npw\r\n";
const AUTH: &str = "*2\r\n$4\r\nAUTH\r\n$2\r\npw\r\n";
const AUTH_NAME: &str = "*3\r\n$4\r\nAUTH\r\n$2\r\nme\r\n$3\r\np@w\r\n";

fn select(number: &str) -> String {
    format!("*2\r\n$6\r\nSELECT\r\n${}\r\n{number}\r\n", number.len())
}

#[test]
fn the_opening_is_said_in_one_write_and_answered_before_anything_else() {
    let cases: [(&str, &[&str], String, &str); 6] = [
        ("redis://h", &[], String::new(), ""),
        ("redis://:pw@h", &[], AUTH.to_owned(), "+OK\r\n"),
        ("redis://me:p%40w@h/3", &[], AUTH_NAME.to_owned() + &select("3"), "+OK\r\n+OK\r\n"),
        ("redis://h/0", &["resp=3"], HELLO.to_owned(), "%2\r\n+server\r\n+redis\r\n+modules\r\n*0\r\n"),
        ("redis://:pw@h/1", &["resp=3"], HELLO_AUTH.to_owned() + &select("1"), "%1\r\n+proto\r\n:3\r\n+OK\r\n"),
        ("rediss://h/12", &[], select("12"), "+OK\r\n"),
    ];
    for (url, options, said, replies) in cases {
        let dialogue = dialogue(url, options);
        for at in 0..=replies.len() {
            let (mut session, sent) = begun(&dialogue);
            assert_eq!(String::from_utf8_lossy(&sent), said, "{url}");
            let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
            assert_eq!(
                (session.is_opening(), session.room()),
                (!said.is_empty(), usize::from(said.is_empty())),
                "{url}"
            );
            for piece in [&replies[..at], &replies[at..]] {
                session.receive(piece.as_bytes(), &mut out, &mut done).expect("good");
            }
            assert_eq!((session.is_opening(), session.room(), done.events.len()), (false, 1, 0), "{url} {at}");
            assert!(submit(&dialogue, &mut session, 0));
            session.receive(b"+PONG\r\n", &mut out, &mut done).expect("good");
            assert_eq!(told(&done, &dialogue), ["0 ended ok 4"]);
        }
    }
}

#[test]
fn a_refused_opening_says_what_was_refused() {
    let cases: [(&str, &[&str], &str, &str); 5] = [
        (
            "redis://me:pw@h",
            &[],
            "-WRONGPASS invalid username-password pair or user is disabled.\r\n",
            "the server rejected the name or password (WRONGPASS); correct them in the URL",
        ),
        ("redis://:pw@h", &[], "-ERR AUTH <password> called without any password\r\n", "the server refused AUTH"),
        (
            "redis://h/1",
            &[],
            "-NOAUTH Authentication required.\r\n",
            "the server requires a password (NOAUTH); use redis://:password@host, or redis://name:password@host",
        ),
        (
            "redis://h/99",
            &[],
            "-ERR DB index is out of range\r\n",
            "the server refused to SELECT the database of the URL",
        ),
        ("redis://h", &["resp=3"], "-ERR unknown command\r\n", "the server refused HELLO 3; leave out --resp 3"),
    ];
    for (url, options, reply, why) in cases {
        let dialogue = dialogue(url, options);
        for at in 0..reply.len() {
            let (mut session, _) = begun(&dialogue);
            let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
            session.receive(&reply.as_bytes()[..at], &mut out, &mut done).expect("not whole");
            let broken = session.receive(&reply.as_bytes()[at..], &mut out, &mut done);
            assert_eq!(broken.map_err(|broken| broken.to_string()), Err(why.to_string()), "{url}");
            assert_eq!(
                (session.is_opening(), session.room(), session.refusal_kind()),
                (false, 0, FaultKind::WrongStatus)
            );
            assert_eq!(String::from_utf8_lossy(session.partial_response()), reply, "{at}");
            assert!(done.events.is_empty());
        }
    }
}
