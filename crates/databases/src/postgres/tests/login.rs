//! Accepted and refused logins.

use super::*;

/// Returns the client's bytes for a login with these server messages, the result, and the session.
fn logged_in(workload: &Arc<dyn Workload>, server: &[u8]) -> (Vec<u8>, Result<(), ProtocolError>, Box<dyn Session>) {
    let (mut session, _) = begun(workload);
    let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
    let outcome = server.chunks(1).try_for_each(|piece| session.receive(piece, &mut out, &mut done));
    (out.bytes().to_vec(), outcome, session)
}

fn authentication(code: u8, more: &[u8]) -> Vec<u8> {
    message(b'R', &[&[0, 0, 0, code][..], more].concat())
}

#[test]
fn the_first_message_names_user_and_database() {
    let (session, said) = begun(&dialogue(&[]));
    let parameters = "user\0me\0database\0db\0application_name\0brunt\0client_encoding\0UTF8\0\0";
    assert_eq!(&said[4..8], [0, 3, 0, 0]);
    assert_eq!((String::from_utf8_lossy(&said[8..]), usize::from(said[3])), (parameters.into(), said.len()));
    assert!(session.is_opening() && session.room() == 0 && !session.starts_tls());
}

#[test]
fn passwords_are_proved_as_the_server_asks() {
    let dialogue = dialogue(&[]);
    for (server, said) in [
        (authentication(3, b""), message(b'p', b"pw\0")),
        (authentication(5, &[1, 2, 3, 4]), message(b'p', format!("md5{MD5_PROOF}\0").as_bytes())),
    ] {
        let (sent, outcome, session) = logged_in(&dialogue, &[server, WELCOME.to_vec()].concat());
        assert_eq!((sent, outcome), (said, Ok(())));
        assert!(!session.is_opening() && session.room() == 1);
    }
}

/// The digest of `pwme` in digits and the bytes 1 2 3 4, computed with another program.
const MD5_PROOF: &str = "96a0ef0da7c9c4c77c22c155d8ef42d4";

#[test]
fn scram_begins_with_our_nonce_and_needs_the_right_mechanism() {
    let dialogue = dialogue(&[]);
    let mechanisms = authentication(10, b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0");
    let (sent, outcome, _) = logged_in(&dialogue, &mechanisms);
    let first = b"n,,n=,r=000000000000002abrunt";
    let expected = message(b'p', &[b"SCRAM-SHA-256\0\0\0\0", &[first.len() as u8][..], first].concat());
    assert_eq!((sent, outcome), (expected, Ok(())));
    let (_, outcome, _) = logged_in(&dialogue, &authentication(10, b"SCRAM-SHA-256-PLUS\0\0"));
    assert_eq!(
        outcome.map_err(|broken| broken.to_string()),
        Err("the server offers no supported password authentication".to_string())
    );
}

#[test]
fn a_server_that_goes_on_asking_is_answered_once() {
    let dialogue = dialogue(&[]);
    for (asked, said) in [(authentication(3, b""), message(b'p', b"pw\0")), (authentication(5, &[1, 2, 3, 4]), vec![])]
    {
        let (sent, outcome, session) = logged_in(&dialogue, &asked.repeat(1000));
        assert_eq!(
            outcome.map_err(|broken| broken.to_string()),
            Err("the server keeps asking for the password".to_string())
        );
        assert!(said.is_empty() || sent == said, "{} bytes", sent.len());
        assert!(sent.len() < 64 && !session.is_opening());
    }
}

#[test]
fn a_refusal_says_why() {
    let dialogue = dialogue(&[]);
    let wrong = messages(&[(b'E', "SFATAL\0C28P01\0Mpassword authentication failed\0\0")]);
    for (server, why, kind) in [
        (wrong, "the server refused the login: the password is wrong (28P01)", FaultKind::WrongStatus),
        (
            authentication(7, b""),
            "the server requires Kerberos, GSSAPI, SSPI or another unsupported login",
            FaultKind::BrokenProtocol,
        ),
        (
            [authentication(10, b"SCRAM-SHA-256\0\0"), authentication(0, b"")].concat(),
            "the server accepts the login without its own SCRAM-SHA-256 proof",
            FaultKind::BrokenProtocol,
        ),
        (message(b'R', b"\0"), "an invalid authentication message", FaultKind::BrokenProtocol),
        (message(b'Z', b"I"), "the server is ready before the login finished", FaultKind::BrokenProtocol),
        (
            b"HTTP/1.1 400 Bad".to_vec(),
            "a message that PostgreSQL does not send at this point",
            FaultKind::BrokenProtocol,
        ),
    ] {
        let (_, outcome, session) = logged_in(&dialogue, &server);
        let outcome = outcome.map_err(|broken| broken.to_string());
        assert_eq!((outcome, session.refusal_kind()), (Err(why.to_string()), kind));
        assert!(!session.is_opening() && session.room() == 0);
    }
    let nameless = prepared("postgres://me@h/db", &[]).unwrap();
    let (_, outcome, session) = logged_in(&nameless, &authentication(3, b""));
    assert_eq!(
        outcome.map_err(|broken| broken.to_string()),
        Err("the server requires a password; use postgres://user:password@host".to_string())
    );
    assert_eq!((session.refusal_kind(), session.refusal_code()), (FaultKind::WrongStatus, 0), "it said no code");
}

#[test]
fn tls_begins_behind_one_byte() {
    let dialogue = dialogue(&["ssl"]);
    let (mut session, said) = begun(&dialogue);
    assert_eq!(said, b"\0\0\0\x08\x04\xd2\x16\x2f");
    let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
    session.receive(b"S", &mut out, &mut done).expect("good");
    assert!(session.starts_tls() && session.is_opening() && out.is_empty());
    session.tls_established(&mut out);
    assert!(!session.starts_tls() && out.bytes()[4..8] == [0, 3, 0, 0]);
    session.receive(WELCOME, &mut out, &mut done).expect("good");
    assert_eq!(session.room(), 1);
    for (answer, why) in [
        (&b"N"[..], "the server does not support TLS, which was requested (ssl)"),
        (b"SR\0\0", "the server sent cleartext after agreeing to TLS"),
        (b"E", "the response to SSLRequest is neither S nor N"),
    ] {
        let (mut session, _) = begun(&dialogue);
        assert_eq!(
            session.receive(answer, &mut out, &mut done).map_err(|broken| broken.to_string()),
            Err(why.to_string())
        );
    }
}
