//! Login: each authentication method, TLS after the greeting, and refusals.

use super::super::auth;
use super::super::oracle::{CAPABILITIES, MysqlTranscript, TurnSplit, URL, dialogue, greeting, packet, play_turns};
use super::conversation::OK;
use super::prepared;

const SCRAMBLE: &[u8] = b"abcdefghijklmnopqrst";
const TLS: u32 = 1 << 11;

fn log_in(options: &[(&str, &str)], turns: &[Vec<u8>]) -> MysqlTranscript {
    let dialogue = dialogue(options);
    let whole = play_turns(&dialogue, turns, 0, TurnSplit::Nowhere);
    assert_eq!(play_turns(&dialogue, turns, 0, TurnSplit::Everywhere), whole);
    whole
}

fn holds(said: &[u8], part: &[u8]) -> bool {
    said.windows(part.len()).any(|w| w == part)
}

#[test]
fn the_fast_way_of_sha2_needs_no_more_than_its_proof() {
    let turns = [greeting("caching_sha2_password", CAPABILITIES, 0), packet(2, &[1, 3]), packet(3, OK)];
    let outcome = log_in(&[], &turns);
    assert_eq!((outcome.room, outcome.opening, outcome.broken), (1, false, None));
    assert!(holds(&outcome.sent, &auth::sha2_proof(b"password", SCRAMBLE)));
    assert!(outcome.sent.ends_with(b"caching_sha2_password\0"));
}

#[test]
fn the_full_way_of_sha2_seals_the_password_with_the_servers_key() {
    let pem = "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAPEM";
    // An invalid key is refused; a valid one is used in `proofs`.
    let turns = [
        greeting("caching_sha2_password", CAPABILITIES, 0),
        packet(2, &[1, 4]),
        packet(4, &[&[1][..], pem.as_bytes()].concat()),
    ];
    let asked = log_in(&[], &turns[..2]);
    assert!(asked.sent.ends_with(&[1, 0, 0, 3, 2]) && asked.opening);
    let outcome = log_in(&[], &turns);
    assert!(outcome.broken.unwrap().to_string().contains("not an RSA key"));
    assert!(!holds(&outcome.sent, b"password\0\0"));
}

#[test]
fn over_tls_and_unix_sockets_the_password_is_told_in_clear() {
    let full = [packet(3, &[1, 4]), packet(5, OK)];
    let mut turns = vec![greeting("caching_sha2_password", CAPABILITIES | TLS, 0)];
    turns.extend(full);
    let outcome = log_in(&[("ssl", "")], &turns);
    assert_eq!((outcome.room, outcome.broken), (1, None));
    // The TLS request, numbered 1, is the beginning of the response, numbered 2.
    assert_eq!(outcome.sent[..4], [32, 0, 0, 1]);
    assert_eq!(outcome.sent[4..36], outcome.sent[40..72]);
    assert_eq!((outcome.sent[5] >> 3 & 1, outcome.sent[39]), (1, 2));
    assert!(outcome.sent.ends_with(b"\x09\0\0\x04password\0"));

    let mut asked = brunt_contract::ProtocolConfig {
        urls: vec![brunt_contract::RequestedUrl { url: URL.to_owned(), weight: 1.0 }],
        unix_socket: Some("/run/mysqld.sock".to_owned()),
        ..brunt_contract::ProtocolConfig::default()
    };
    asked.seed = 1;
    let dialogue = brunt_contract::Protocol::prepare(&super::super::MysqlProtocol, &asked).unwrap();
    let turns = [greeting("caching_sha2_password", CAPABILITIES, 0), packet(2, &[1, 4]), packet(4, OK)];
    let outcome = play_turns(&dialogue, &turns, 0, TurnSplit::Nowhere);
    assert!(outcome.sent.ends_with(b"\x09\0\0\x03password\0") && outcome.room == 1);
}

#[test]
fn an_account_may_want_another_way() {
    let switch = |plugin: &str, data: &[u8]| packet(2, &[&[0xfe], plugin.as_bytes(), &[0], data].concat());
    let scramble = b"ABCDEFGHIJKLMNOPQRST\0";
    for (plugin, proof) in [
        ("mysql_native_password", auth::native_proof(b"password", &scramble[..20])),
        ("caching_sha2_password", auth::sha2_proof(b"password", &scramble[..20])),
    ] {
        let turns = [greeting("auth_gssapi_client", CAPABILITIES, 0), switch(plugin, scramble), packet(4, OK)];
        let outcome = log_in(&[], &turns);
        assert!(outcome.sent.ends_with(&proof) && outcome.room == 1, "{plugin}");
    }
    for (plugin, said) in [
        ("client_ed25519", "login by client_ed25519, which is not supported"),
        ("mysql_clear_password", "in cleartext; use --ssl"),
        ("sha256_password", "use caching_sha2_password"),
        ("dialog", "unsupported"),
        ("", "unsupported"),
    ] {
        let outcome = log_in(&[], &[greeting("mysql_native_password", CAPABILITIES, 0), switch(plugin, scramble)]);
        assert!(outcome.broken.as_ref().unwrap().to_string().contains(said), "{plugin}: {outcome:?}");
        assert!(!holds(&outcome.sent, b"password\0\0"));
    }
}

#[test]
fn a_refusal_is_named_and_what_the_server_said_is_kept() {
    for (packets, said, told) in [
        (
            vec![
                greeting("mysql_native_password", CAPABILITIES, 0),
                packet(2, b"\xff\x15\x04#28000Access denied for user"),
            ],
            "the server refuses the connection: 1045 access denied",
            "ERROR 1045 (28000): Access denied for user",
        ),
        (
            vec![packet(0, b"\xff\x10\x04Too many connections")],
            "the server refuses the connection: 1040 too many connections",
            "ERROR 1040: Too many connections",
        ),
        (
            vec![packet(0, b"\xff\x0f\x27#HY000Other")],
            "the server refuses the connection with an error",
            "ERROR 9999 (HY000): Other",
        ),
        (vec![packet(0, b"\x09old")], "the greeting is not from a MySQL server (protocol version 10)", ""),
        (vec![packet(0, b"HTTP")], "the greeting is not from a MySQL server (protocol version 10)", ""),
        (vec![greeting("x", 1, 0)], "the server is older than MySQL 4.1 and uses a different protocol", ""),
    ] {
        let outcome = log_in(&[], &packets);
        assert_eq!(outcome.broken.unwrap().to_string(), said);
        assert_eq!(outcome.error_text, told);
        assert_eq!((outcome.room, outcome.opening), (0, true));
    }
}

#[test]
fn what_is_kept_of_a_refusal_has_its_code_and_its_words() {
    let parts = |kept: &'static [u8]| crate::mysql::parse_excerpt(kept);
    assert_eq!(parts(b"ERROR 1045 (28000): denied: no"), Some((&b"1045"[..], &b"denied: no"[..])));
    assert_eq!(parts(b"ERROR 1040: Too many"), Some((&b"1040"[..], &b"Too many"[..])));
    assert_eq!((parts(b""), parts(b"ERROR 1040")), (None, None));
}

#[test]
fn tls_is_never_pretended() {
    let without = log_in(&[("ssl", "")], &[greeting("mysql_native_password", CAPABILITIES, 0)]);
    assert_eq!(
        without.broken.map(|broken| broken.to_string()),
        Some("the server does not support TLS, which was requested (ssl)".to_string())
    );
    assert!(without.sent.is_empty());
    // Data after the greeting may come from an attacker on the path.
    let mut greeted = greeting("mysql_native_password", CAPABILITIES | TLS, 0);
    greeted.extend(packet(1, OK));
    let outcome = play_turns(&dialogue(&[("ssl", "")]), &[greeted], 0, TurnSplit::Nowhere);
    assert_eq!(
        outcome.broken.map(|broken| broken.to_string()),
        Some("the server sent more data after its greeting, before TLS".to_string())
    );
}

#[test]
fn each_url_logs_in_to_its_own_account() {
    let dialogue = prepared("mysql://u:%00x@h/d", &[]).unwrap();
    let turns = [greeting("mysql_native_password", CAPABILITIES, 0)];
    let said = play_turns(&dialogue, &turns, 0, TurnSplit::Nowhere).sent;
    assert!(
        holds(&said, &auth::native_proof(b"\0x", SCRAMBLE)) && holds(&said, b"u\0\x14") && holds(&said, b"d\0mysql")
    );
    assert_eq!(dialogue.origins()[0].bound, 0);
}

#[test]
fn a_server_that_goes_on_asking_is_answered_a_few_times() {
    let switch = [&[0xfe][..], b"mysql_native_password", &[0], b"ABCDEFGHIJKLMNOPQRST\0"].concat();
    let mut turns = vec![greeting("mysql_native_password", CAPABILITIES, 0)];
    // Each client packet is numbered too.
    turns.extend((0..100_u8).map(|turn| packet(2 + 2 * turn, &switch)));
    let outcome = log_in(&[], &turns);
    assert_eq!(
        outcome.broken.map(|broken| broken.to_string()),
        Some("the server keeps asking for the password".to_string())
    );
    assert!(outcome.sent.len() < 1024, "{}", outcome.sent.len());
}
