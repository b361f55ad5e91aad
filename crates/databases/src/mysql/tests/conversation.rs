//! Whole sessions on scripted bytes, split and closed at every position, and invalid answers.

use std::sync::Arc;

use brunt_contract::{EstablishedConnection, Event, EventBuffer, ExchangeId, OutputBuffer, SlotContext, Workload};

use super::super::oracle::{CAPABILITIES, MysqlTranscript, TurnSplit, dialogue, greeting, packet, play_turns};

/// Concatenates packets, numbered from 1.
pub fn answer(payloads: &[&[u8]]) -> Vec<u8> {
    payloads.iter().enumerate().flat_map(|(n, payload)| packet(n as u8 + 1, payload)).collect()
}

pub const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
/// OK with an open transaction.
const OK_OPEN: &[u8] = &[0, 0, 0, 3, 0, 0, 0];
/// The end of rows, in the form of an OK packet.
const END: &[u8] = &[0xfe, 0, 0, 2, 0, 0, 0];
/// The end of rows, followed by another result.
const END_MORE: &[u8] = &[0xfe, 0, 0, 0x0a, 0, 0, 0];
const DUPLICATE: &[u8] = b"\xff\x26\x04#23000Duplicate entry '1' for key 'PRIMARY'";
const COLUMN: &[u8] = b"\x03def\0\0\0\x01a\0\x0c\x2d\0\0\0\0\0\xfd\0\0\0\0\0";

/// Returns a server's turns until the connection is open: the greeting, and OK with the answers to prepared statements.
pub fn opened(prepared: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut last = packet(2, OK);
    prepared.iter().for_each(|answers| last.extend_from_slice(answers));
    vec![greeting("mysql_native_password", CAPABILITIES, 0), last]
}

/// Returns the answer to a prepared statement with this id, followed by its descriptions.
fn prepared(id: u8, columns: u8, parameters: u8) -> Vec<u8> {
    let mut bytes = packet(1, &[0, id, 0, 0, 0, columns, 0, parameters, 0, 0, 0, 0]);
    (0..columns + parameters).for_each(|n| bytes.extend(packet(2 + n, COLUMN)));
    bytes
}

/// Checks that these turns have the same result, however they are split.
#[track_caller]
fn always(workload: &Arc<dyn Workload>, turns: &[Vec<u8>]) -> MysqlTranscript {
    let whole = play_turns(workload, turns, 0, TurnSplit::Nowhere);
    assert_eq!(play_turns(workload, turns, 0, TurnSplit::Everywhere), whole);
    for (turn, bytes) in turns.iter().enumerate() {
        (0..=bytes.len())
            .for_each(|at| assert_eq!(play_turns(workload, turns, 0, TurnSplit::At(turn, at)), whole, "{turn} {at}"));
    }
    whole
}

#[test]
fn results_of_all_shapes_are_counted_however_they_are_cut() {
    let dialogue =
        dialogue(&[("sql", "SELECT a, {random 8} FROM t WHERE id = {counter from 7}"), ("expect-rows", "0..3")]);
    let mut turns = opened(&[&prepared(9, 2, 2)]);
    turns.extend([
        answer(&[b"\x02", COLUMN, COLUMN, b"\0\0row", b"\0\0second", END]),
        answer(&[b"\x02", COLUMN, COLUMN, END]),
        answer(&[OK]),
        answer(&[b"\x01", COLUMN, b"r", END_MORE, b"\x01", COLUMN, b"s", END]),
        answer(&[DUPLICATE]),
        answer(&[b"\x01", COLUMN, b"\0\0x", DUPLICATE]),
        answer(&[b"\x01", COLUMN, b"1", b"2", b"3", b"4", END]),
    ]);
    let outcome = always(&dialogue, &turns);
    let said = "ERROR 1062 (23000): Duplicate entry '1' for key 'PRIMARY'";
    assert_eq!(
        outcome.ended,
        [
            "0 None 0 13".to_owned(),
            "1 None 0 0".into(),
            "2 None 0 0".into(),
            "3 None 0 2".into(),
            format!("4 Some(WrongStatus) 1062 0 {said}"),
            format!("5 Some(WrongStatus) 1062 3 {said}"),
            "6 Some(WrongBody) 0 4 4 rows were returned or changed".into(),
        ]
    );
    assert_eq!((outcome.broken, outcome.room), (None, 1));
}

#[test]
fn what_is_said_is_what_the_documentation_writes() {
    let dialogue = dialogue(&[("sql", "SELECT {counter from 7}, {random 2 digits}")]);
    let mut turns = opened(&[&prepared(9, 2, 2)]);
    turns.extend([answer(&[OK]), answer(&[OK])]);
    let said = play_turns(&dialogue, &turns, 0, TurnSplit::Nowhere).sent;
    let login = 4 + 32 + b"user\0".len() + 21 + b"db\0".len() + b"mysql_native_password\0".len();
    assert_eq!(usize::from(said[0]) + 4, login);
    assert_eq!(said[3..8], [1, 0x0d, 0xa2, 0x0a, 0x01]);
    let said = &said[login..];
    let prepare = [&[17, 0, 0, 0, 0x16][..], b"SELECT ?, ?"].concat();
    let prepare = [&[prepare.len() as u8 - 4][..], &prepare[1..]].concat();
    assert_eq!(said[..prepare.len()], prepare);
    let said = &said[prepare.len()..];
    // Types are sent once: NULL bitmap, types flag, BIGINT and VAR_STRING, the values.
    let first = [27, 0, 0, 0, 0x17, 9, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 8, 0, 0xfd, 0, 7, 0, 0, 0, 0, 0, 0, 0, 2];
    assert_eq!(said[..first.len()], first);
    let digits = &said[first.len()..first.len() + 2];
    assert!(digits.iter().all(u8::is_ascii_digit), "{digits:?}");
    let second = [23, 0, 0, 0, 0x17, 9, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 2];
    assert_eq!(said[first.len() + 2..first.len() + 2 + second.len()], second);
}

#[test]
fn servers_that_mark_the_ends_of_columns_and_rows_are_understood() {
    let eof: &[u8] = &[0xfe, 0, 0, 2, 0];
    let dialogue = dialogue(&[("sql", "SELECT {counter}")]);
    let mut first = packet(2, OK);
    first.extend(packet(1, &[0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0]));
    for (n, payload) in [COLUMN, eof, COLUMN, eof].iter().enumerate() {
        first.extend(packet(n as u8 + 2, payload));
    }
    let old = CAPABILITIES & !(1 << 24);
    let turns = [
        greeting("mysql_native_password", old, 0),
        first,
        answer(&[b"\x01", COLUMN, eof, b"\0\0x", b"\0\0y", eof]),
        answer(&[b"\x01", COLUMN, DUPLICATE]),
        answer(&[b"\x01", COLUMN, eof, b"\0\0x", b"\xfe\0\0\x0a\0", OK]),
    ];
    let outcome = always(&dialogue, &turns);
    assert_eq!(outcome.ended[0], "0 None 0 6");
    assert!(outcome.ended[1].starts_with("1 Some(WrongStatus) 1062"), "{:?}", outcome.ended);
    assert_eq!(outcome.ended[2], "2 None 0 3");
}

#[test]
fn columns_that_a_server_describes_once_are_not_waited_for() {
    let dialogue = dialogue(&[("sql", "SELECT {counter}")]);
    let mut turns = opened(&[&prepared(1, 1, 1)]);
    // MariaDB: LONG_PASSWORD is cleared, and the capability is in the reserved bytes.
    turns[0] = greeting("mysql_native_password", CAPABILITIES & !1, 1 << 4);
    turns.extend([answer(&[b"\x01\x01", COLUMN, b"\0\0x", END]), answer(&[b"\x01\0", b"\0\0yz", END])]);
    let outcome = always(&dialogue, &turns);
    assert_eq!(outcome.ended, ["0 None 0 3", "1 None 0 4"]);
    assert_eq!(outcome.sent[32..36], [1 << 4, 0, 0, 0]);
    assert_eq!(outcome.sent[4] & 1, 0);
}

#[test]
fn a_transaction_is_one_exchange_and_is_rolled_back_once() {
    let dialogue = dialogue(&[("sql", "BEGIN; DO 1; COMMIT")]);
    let mut turns = opened(&[]);
    turns.extend([
        answer(&[OK_OPEN]),
        answer(&[OK_OPEN]),
        answer(&[OK]),
        answer(&[OK_OPEN]),
        answer(&[DUPLICATE]),
        answer(&[OK]),
        answer(&[DUPLICATE]),
        answer(&[OK_OPEN]),
    ]);
    let outcome = always(&dialogue, &turns);
    assert_eq!(outcome.ended.len(), 3, "{:?}", outcome.ended);
    assert_eq!(outcome.ended[0], "0 None 0 0");
    assert!(outcome.ended[1].starts_with("1 Some(WrongStatus) 1062 0 ERROR"), "{:?}", outcome.ended);
    // The BEGIN itself failed, so there is nothing to roll back.
    assert!(outcome.ended[2].starts_with("2 Some(WrongStatus) 1062 0 ERROR"), "{:?}", outcome.ended);
    let text = String::from_utf8_lossy(&outcome.sent).into_owned();
    let count = |what: &str| text.matches(what).count();
    assert_eq!((count("\u{3}BEGIN"), count("\u{3}DO 1"), count("\u{3}COMMIT"), count("\u{3}ROLLBACK")), (4, 3, 1, 1));
}

#[test]
fn a_statement_that_cannot_be_prepared_fails_its_exchanges_until_it_can() {
    let dialogue = dialogue(&[("sql", "SELECT a FROM t WHERE id = {counter}")]);
    let no_table = answer(&[b"\xff\x7a\x04#42S02Table 't' doesn't exist"]);
    let mut turns = opened(&[&no_table]);
    turns.extend([no_table.clone(), prepared(5, 1, 1), answer(&[b"\x01", COLUMN, b"\0\0x", END]), answer(&[OK])]);
    let outcome = always(&dialogue, &turns);
    assert_eq!(
        outcome.ended,
        ["0 Some(WrongStatus) 1146 0 ERROR 1146 (42S02): Table 't' doesn't exist", "1 None 0 3", "2 None 0 0"]
    );
}

#[test]
fn rows_of_more_than_sixteen_megabytes_are_counted() {
    let dialogue = dialogue(&[("sql", "SELECT 1"), ("expect-rows", "2")]);
    let large = vec![b'x'; 0xff_ffff];
    // A first byte of 0xfe in a full packet begins a long value and is not the end.
    let mut long = large.clone();
    long[0] = 0xfe;
    let mut turns = opened(&[]);
    turns.extend([
        answer(&[b"\x01", COLUMN, &long, &large, b"tail", b"row", END]),
        answer(&[b"\x01", COLUMN, &large, b"", &large, b"\xff\x01", END]),
    ]);
    let whole = play_turns(&dialogue, &turns, 0, TurnSplit::Nowhere);
    let sizes = [2 * 0xff_ffff + 7, 2 * 0xff_ffff + 2];
    assert_eq!(whole.ended, [format!("0 None 0 {}", sizes[0]), format!("1 None 0 {}", sizes[1])]);
    let end = turns[2].len();
    for at in [3, 4, 5, 39, 40, 41, 0xff_ffff, end - 11, end - 12, end - 30] {
        assert_eq!(play_turns(&dialogue, &turns, 0, TurnSplit::At(2, at)), whole, "{at}");
    }
}

#[test]
fn what_no_server_may_say_breaks_the_conversation() {
    let dialogue = dialogue(&[("sql", "SELECT 1")]);
    for (bytes, said) in [
        (packet(2, OK), "numbered out of order"),
        (packet(1, b"\xfb/etc/passwd"), "local file"),
        (packet(1, b""), "empty packet"),
        (packet(1, b"\0\0"), "ends too early"),
        (packet(1, b"\xff\x01"), "ends too early"),
        (packet(1, b"\xfd\xff\xff\xff"), "impossible number of columns"),
        (answer(&[OK, OK]), "unsolicited"),
        (vec![0, 0, 2, 1, 0xff], "larger than 64 KiB"),
        (answer(&[b"\x01", COLUMN, b""]), "empty packet"),
    ] {
        let mut turns = opened(&[]);
        turns.push(bytes);
        let outcome = play_turns(&dialogue, &turns, 0, TurnSplit::Nowhere);
        let what = outcome.broken.unwrap().to_string();
        assert!(what.contains(said), "{what} instead of {said}");
    }
}

#[test]
fn a_server_that_ends_the_connection_is_believed() {
    let dialogue = dialogue(&[("sql", "SELECT 1")]);
    for (payload, code) in
        [(&b"\xff\x87\x07#70100Connection was killed"[..], 1927), (b"\xff\x1d\x04#08S01Server shutdown", 1053)]
    {
        let mut turns = opened(&[]);
        turns.push(answer(&[payload]));
        let outcome = always(&dialogue, &turns);
        assert_eq!((outcome.room, outcome.broken, outcome.ended.len()), (0, None, 1));
        assert!(outcome.ended[0].contains(&format!("WrongStatus) {code} ")), "{:?}", outcome.ended);
    }
}

#[test]
fn a_connection_closed_at_any_position_ends_nothing_well() {
    let dialogue = dialogue(&[("sql", "SELECT a FROM t WHERE id = {counter}")]);
    let mut turns = opened(&[&prepared(1, 1, 1)]);
    turns.push(answer(&[b"\x01", COLUMN, b"\0\0x", END]));
    for (turn, bytes) in turns.iter().enumerate() {
        for at in 0..bytes.len() {
            let mut part = turns[..=turn].to_vec();
            part[turn].truncate(at);
            let outcome = play_turns(&dialogue, &part, 0, TurnSplit::Nowhere);
            assert_eq!((outcome.ended.len(), outcome.broken), (0, None), "{turn} {at}");
            assert_eq!(outcome.opening, turn < 2, "{turn} {at}");
        }
    }
}

#[test]
fn a_ping_is_answered_before_the_exchange_behind_it_and_a_closed_session_takes_nothing() {
    let dialogue = dialogue(&[("sql", "SELECT 1")]);
    let mut session = dialogue.session(&dialogue.origins()[0], &EstablishedConnection::default());
    let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
    assert!(!session.heartbeat(&mut out));
    opened(&[]).iter().for_each(|turn| session.receive(turn, &mut out, &mut done).unwrap());
    out.clear();
    assert!(session.heartbeat(&mut out) && !session.heartbeat(&mut out));
    let request = &dialogue.requests()[0].request;
    session.submit(ExchangeId(3), request, &SlotContext::default(), &mut out).unwrap();
    assert!(session.submit(ExchangeId(4), request, &SlotContext::default(), &mut out).is_err());
    assert_eq!(out.bytes(), [&[1, 0, 0, 0, 0x0e, 9, 0, 0, 0, 3][..], b"SELECT 1"].concat());
    session.receive(&answer(&[OK]), &mut out, &mut done).unwrap();
    session.receive(&answer(&[b"\x01", COLUMN, b"\x011", END]), &mut out, &mut done).unwrap();
    let told: Vec<String> = done.events.iter().map(|e| format!("{e:?}")).collect();
    assert!(matches!(done.events[..], [Event::Heartbeat, Event::Ended(_)]), "{told:?}");
    out.clear();
    session.finish(&mut out);
    assert_eq!(out.bytes(), [1, 0, 0, 0, 1]);
    session.peer_closed(&mut done);
    assert_eq!(session.room(), 0);
}

#[test]
fn an_idle_session_is_small() {
    assert!(size_of::<super::super::MysqlSession>() <= 256, "{}", size_of::<super::super::MysqlSession>());
}

#[test]
fn whole_answers_are_told_to_who_asks_for_them() {
    let urls = vec![brunt_contract::RequestedUrl { url: super::super::oracle::URL.to_owned(), weight: 1.0 }];
    let asked =
        brunt_contract::ProtocolConfig { urls, returns_content: true, ..brunt_contract::ProtocolConfig::default() };
    let dialogue = brunt_contract::Protocol::prepare(&super::super::MysqlProtocol, &asked).unwrap();
    let mut turns = opened(&[]);
    turns.push(answer(&[b"\x02", COLUMN, COLUMN, b"\x01x\xfb", b"\0\x01y", END]));
    let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
    let mut session = dialogue.session(&dialogue.origins()[0], &EstablishedConnection::default());
    session.open(&mut out);
    for turn in &turns {
        if session.room() > 0 {
            let request = &dialogue.requests()[0].request;
            session.submit(ExchangeId(7), request, &SlotContext::default(), &mut out).unwrap();
        }
        turn.chunks(1).for_each(|piece| session.receive(piece, &mut out, &mut done).unwrap());
    }
    let told = done.events.into_iter().find_map(|event| match event {
        Event::StateUpdate(ExchangeId(7), lesson) => lesson.downcast().ok(),
        _ => None,
    });
    let text = |text: &str| Some(text.as_bytes().to_vec());
    let rows = vec![vec![text("x"), None], vec![text(""), text("y")]];
    assert_eq!(told, Some(Box::new(brunt_contract::ResponseContent::Rows(rows))));
}
