//! Whole exchanges, split at every position.

use super::*;

const UNIQUE: &str = "SERROR\0VERROR\0C23505\0Mduplicate key\0DKey (id)=(1) exists.\0\0";
const DOWN: &str = "SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0";

/// Messages of an answer, options, expected events, bytes sent in return, and the protocol error.
type PostgresReplyCase =
    (&'static [(u8, &'static str)], &'static [&'static str], &'static str, &'static str, Option<&'static str>);

const CASES: &[PostgresReplyCase] = &[
    (
        &[
            (b'T', "columns"),
            (b'D', "\0\x01\0\0\0\x01a"),
            (b'D', "\0\x01\0\0\0\x01b"),
            (b'C', "SELECT 2\0"),
            (b'Z', "I"),
        ],
        &[],
        "7 ended ok 14",
        "",
        None,
    ),
    (&[(b'1', ""), (b'2', ""), (b'n', ""), (b'C', "INSERT 0 1\0"), (b'Z', "I")], &[], "7 ended ok 0", "", None),
    (&[(b'I', ""), (b'Z', "T")], &[], "7 ended ok 0", "", None),
    (
        &[(b'E', UNIQUE), (b'Z', "I")],
        &[],
        "7 wrong_status 23505 unique violation 0 \"ERROR 23505: duplicate key\\nKey (id)=(1) exists.\"",
        "",
        None,
    ),
    // A failure inside a transaction is rolled back before the exchange ends; the first error counts.
    (
        &[
            (b'C', "BEGIN\0"),
            (b'E', UNIQUE),
            (b'E', "SERROR\0C25P02\0Mx\0\0"),
            (b'Z', "E"),
            (b'C', "ROLLBACK\0"),
            (b'Z', "I"),
        ],
        &[],
        "7 wrong_status 23505 unique violation 0 \"ERROR 23505: duplicate key\\nKey (id)=(1) exists.\"",
        "Q\0\0\0\rROLLBACK\0",
        None,
    ),
    (
        &[(b'E', DOWN)],
        &[],
        "7 wrong_status 57P01 terminated by an administrator or a shutdown 0 \"FATAL 57P01: terminating connection\"",
        "",
        None,
    ),
    (
        &[(b'E', "SERROR\0Mno code\0\0"), (b'Z', "I")],
        &[],
        "7 wrong_status error without a code 0 \"ERROR : no code\"",
        "",
        None,
    ),
    // Messages that may arrive at any time.
    (
        &[(b'N', "notice"), (b'A', "notify"), (b'S', "a\0b\0"), (b'C', "X\0"), (b'Z', "I"), (b'A', "late")],
        &[],
        "pushed 6, 7 ended ok 0, pushed 4",
        "",
        None,
    ),
    (
        &[(b'C', "UPDATE 3\0"), (b'C', "SELECT 4\0"), (b'Z', "I")],
        &["expect-rows=1..6"],
        "7 wrong_body ok 0 \"7 rows\"",
        "",
        None,
    ),
    (&[(b'C', "UPDATE 3\0"), (b'C', "BEGIN\0"), (b'Z', "I")], &["expect-rows=3"], "7 ended ok 0", "", None),
    // A COPY from the client is refused; one to the client is counted.
    (
        &[(b'G', "\0\0\0"), (b'E', "SERROR\0C57014\0Mcancelled\0\0"), (b'Z', "I")],
        &[],
        "7 wrong_status 57014 query cancelled 0 \"ERROR 57014: cancelled\"",
        "f\0\0\0\x21brunt sends no data for COPY\0",
        None,
    ),
    (
        &[(b'G', "\0\0\0"), (b'G', "\0\0\0")],
        &[],
        "7 broken_protocol",
        "f\0\0\0\x21brunt sends no data for COPY\0",
        Some("a message that PostgreSQL does not send at this point"),
    ),
    (&[(b'H', "\0\0\0"), (b'd', "row\n"), (b'c', ""), (b'C', "COPY 1\0"), (b'Z', "I")], &[], "7 ended ok 4", "", None),
    (
        &[(b'R', "\0\0\0\0")],
        &[],
        "7 broken_protocol",
        "",
        Some("a message that PostgreSQL does not send at this point"),
    ),
    (
        &[(b'W', "\0\0\0")],
        &[],
        "7 broken_protocol",
        "",
        Some("the server wants to copy in both directions, which is not supported"),
    ),
    (&[(b'?', "")], &[], "7 broken_protocol", "", Some("a message of a type that PostgreSQL does not have")),
    (&[(b'Z', "I"), (b'Z', "I")], &[], "7 ended ok 0, stray", "", Some("unsolicited bytes")),
    (
        &[(b'Z', "I"), (b'E', DOWN)],
        &[],
        "7 ended ok 0",
        "",
        Some("the server closed the connection: terminated by an administrator, or shutting down (57P01)"),
    ),
];

#[test]
fn answers_cut_at_every_position() {
    for (answer, options, expected, said, broken) in CASES {
        let bytes = messages(answer);
        let halves = (0..=bytes.len()).map(|at| vec![&bytes[..at], &bytes[at..]]);
        for pieces in halves.chain([vec![&bytes[..]], bytes.chunks(1).collect()]) {
            let dialogue = dialogue(options);
            let mut session = entered(&dialogue);
            submit(&dialogue, &mut session, &SlotContext::default());
            let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
            let why = pieces.iter().find_map(|piece| session.receive(piece, &mut out, &mut done).err());
            let told = told(&done, &dialogue).join(", ");
            let told = if told.contains("broken_protocol") { "7 broken_protocol".to_owned() } else { told };
            assert_eq!((told.as_str(), why.map(|why| &*why.to_string().leak())), (*expected, *broken), "{pieces:?}");
            assert_eq!(String::from_utf8_lossy(out.bytes()), *said);
            assert_eq!(session.room() == 1, broken.is_none() && !expected.contains("57P01"));
        }
    }
}

#[test]
fn a_close_at_every_position_leaves_what_is_not_whole_to_the_engine() {
    let dialogue = dialogue(&[]);
    let bytes = messages(&[(b'D', "\0\x01\0\0\0\x01a"), (b'C', "SELECT 1\0"), (b'Z', "I")]);
    for at in 0..bytes.len() {
        let mut session = entered(&dialogue);
        submit(&dialogue, &mut session, &SlotContext::default());
        let mut done = EventBuffer::default();
        session.receive(&bytes[..at], &mut OutputBuffer::default(), &mut done).expect("good");
        session.peer_closed(&mut done);
        let first = done.events.iter().filter(|event| matches!(event, Event::FirstByte(ExchangeId(7)))).count();
        assert_eq!((done.events.len(), first), (usize::from(at > 0), usize::from(at > 0)), "{at}");
    }
}

#[test]
fn messages_of_impossible_sizes_break_the_conversation() {
    let dialogue = dialogue(&[]);
    for (bytes, why) in [
        (&b"D\0\0\0\x03"[..], "a message with an impossible length"),
        (b"D\xff\0\0\0", "a message with an impossible length"),
        (b"E\0\x02\0\0", "an error or another message of more than 64 KiB"),
    ] {
        let mut session = entered(&dialogue);
        submit(&dialogue, &mut session, &SlotContext::default());
        let broken = session.receive(bytes, &mut OutputBuffer::default(), &mut EventBuffer::default());
        assert_eq!(broken.map_err(|broken| broken.to_string()), Err(why.to_string()));
    }
}

#[test]
fn a_heartbeat_ends_before_the_exchange_behind_it() {
    let dialogue = dialogue(&[]);
    let mut session = entered(&dialogue);
    let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
    assert!(session.heartbeat(&mut out) && !session.heartbeat(&mut out) && session.room() == 1);
    submit(&dialogue, &mut session, &SlotContext::default());
    assert_eq!(session.room(), 0);
    let bytes = messages(&[(b'I', ""), (b'Z', "I"), (b'D', "abcd"), (b'Z', "I")]);
    session.receive(&bytes, &mut out, &mut done).expect("good");
    assert_eq!(told(&done, &dialogue), ["Heartbeat", "7 ended ok 4"]);
    session.finish(&mut out);
    assert_eq!(out.bytes(), b"Q\0\0\0\x05\0X\0\0\0\x04");
}
