//! Whole sessions, split at every position.

use super::*;

/// Replies, number of exchanges in flight, expected events, and the protocol error.
type RedisReplyCase = (&'static str, u32, &'static [&'static str], Option<&'static str>);

const NO_TYPE: &str = "a reply that does not start with a RESP2 or RESP3 type";
const TLS: &str = "the server uses TLS on this port; use rediss://";
const FULL: &str = "the server refuses connections: maxclients has been reached";
const PROTECTED: &str = "the server is in protected mode and only accepts local connections";
const NO_LENGTH: &str = "a reply whose length is not a number";

const CASES: &[RedisReplyCase] = &[
    ("", 0, &[], None),
    ("+PONG\r\n", 1, &["0 ended ok 4"], None),
    ("$3\r\nabc\r\n:12\r\n$0\r\n\r\n", 3, &["0 ended ok 3", "1 ended ok 2", "2 ended ok 0"], None),
    ("$-1\r\n*-1\r\n_\r\n", 3, &["0 ended nil 0", "1 ended nil 0", "2 ended nil 0"], None),
    // A nil inside a reply does not make the reply nil, and no part of a reply is taken for the next one.
    ("*3\r\n$1\r\na\r\n$-1\r\n*2\r\n:1\r\n+x\r\n+OK\r\n", 2, &["0 ended ok 3", "1 ended ok 2"], None),
    ("*0\r\n%0\r\n~0\r\n", 3, &["0 ended ok 0", "1 ended ok 0", "2 ended ok 0"], None),
    ("*1\r\n_\r\n*1\r\n*1\r\n*1\r\n*0\r\n", 2, &["0 ended ok 0", "1 ended ok 0"], None),
    ("%2\r\n+a\r\n:1\r\n+b\r\n*2\r\n#t\r\n#f\r\n,1.5e3\r\n", 2, &["0 ended ok 5", "1 ended ok 5"], None),
    ("(-34928903284093850943850943825\r\n=7\r\ntxt:abc\r\n", 2, &["0 ended ok 30", "1 ended ok 7"], None),
    // Attributes belong to the value after them, nil or nested values included.
    ("|1\r\n+ttl\r\n:3600\r\n$2\r\nab\r\n|1\r\n+k\r\n_\r\n_\r\n", 2, &["0 ended ok 9", "1 ended nil 1"], None),
    ("*2\r\n|1\r\n+a\r\n%1\r\n+b\r\n:1\r\n+x\r\n+y\r\n", 1, &["0 ended ok 5"], None),
    // Push messages belong to no exchange.
    (
        ">2\r\n$10\r\ninvalidate\r\n*1\r\n+k\r\n+OK\r\n>1\r\n+bye\r\n",
        1,
        &["pushed 11", "0 ended ok 2", "pushed 3"],
        None,
    ),
    (">1\r\n-ERR x\r\n", 0, &["pushed 5"], None),
    // The first error counts, wherever it is; an example of each kind of failure is kept.
    (
        "-ERR unknown command\r\n-MOVED 3999 127.0.0.1:6381\r\n-NEWWORD x\r\n-\r\n",
        4,
        &[
            "0 wrong_status ERR 19 \"-ERR unknown command\\r\\n\"",
            "1 wrong_status MOVED 25 \"-MOVED 3999 127.0.0.1:6381\\r\\n\"",
            "2 wrong_status NEWWORD 9 \"-NEWWORD x\\r\\n\"",
            "3 wrong_status other error 0 \"-\\r\\n\"",
        ],
        None,
    ),
    ("!14\r\nSYNTAX invalid\r\n", 1, &["0 wrong_status SYNTAX 14 \"-SYNTAX invalid\\r\\n\""], None),
    (
        "*3\r\n+OK\r\n-WRONGTYPE no\r\n!5\r\nERR x\r\n+OK\r\n",
        2,
        &["0 wrong_status WRONGTYPE 19 \"-WRONGTYPE no\\r\\n\"", "1 ended ok 2"],
        None,
    ),
    // Protocol errors.
    ("+OK\r\n+OK\r\n", 1, &["0 ended ok 2", "stray"], Some("an unsolicited reply")),
    ("|0\r\n+OK\r\n", 0, &["stray"], Some("an unsolicited reply")),
    ("-ERR max number of clients reached\r\n", 0, &[], Some("the server refused the connection with an error")),
    // The refusal is the same if a request was sent already; after an answer it is an ordinary error.
    ("-ERR max number of clients reached\r\n", 1, &[], Some(FULL)),
    ("-ERR max number of clients + cluster connections reached\r\n", 3, &[], Some(FULL)),
    ("-DENIED Redis is in protected mode\r\n", 1, &[], Some(PROTECTED)),
    (
        "+OK\r\n-ERR max number of clients reached\r\n",
        2,
        &["0 ended ok 2", "1 wrong_status ERR 33 \"-ERR max number of clients reached\\r\\n\""],
        None,
    ),
    // A TLS alert, with and without the end of a line.
    ("\u{15}\u{3}\u{3}\0\u{2}\u{2}\n", 1, &["0 broken_protocol other error 0"], Some(TLS)),
    ("\u{15}\u{3}\u{3}\0\u{2}\u{2}(", 1, &["0 broken_protocol other error 0"], Some(TLS)),
    ("hello\r\n", 1, &["0 broken_protocol other error 0"], Some(NO_TYPE)),
    ("\r\n", 1, &["0 broken_protocol other error 0"], Some("an empty line where a reply should start")),
    ("+OK\n", 1, &["0 broken_protocol other error 0"], Some("a line that does not end in CR LF")),
    (
        "$2\r\nabc\r\n",
        1,
        &["0 broken_protocol other error 2"],
        Some("a string that does not end where its length says"),
    ),
    ("$-2\r\n", 1, &["0 broken_protocol other error 0"], Some(NO_LENGTH)),
    ("$1x\r\n", 1, &["0 broken_protocol other error 0"], Some(NO_LENGTH)),
    ("*\r\n", 1, &["0 broken_protocol other error 0"], Some(NO_LENGTH)),
    (
        "*1099511627777\r\n",
        1,
        &["0 broken_protocol other error 0"],
        Some("a reply that announces more than 2^40 bytes or elements"),
    ),
    ("$?\r\n", 1, &["0 broken_protocol other error 0"], Some("a streamed reply, which is not supported")),
    (":1.5\r\n", 1, &["0 broken_protocol other error 0"], Some("a reply whose value does not match its type")),
    ("*1\r\n>1\r\n+x\r\n", 1, &["0 broken_protocol other error 0"], Some("a push message inside a reply")),
];

#[test]
fn replies_cut_at_every_position() {
    for (replies, requests, expected, broken) in CASES {
        let bytes = replies.as_bytes();
        let halves = (0..=bytes.len()).map(|at| vec![&bytes[..at], &bytes[at..]]);
        for pieces in halves.chain([vec![bytes], bytes.chunks(1).collect()]) {
            let dialogue = dialogue("redis://h", &["pipeline=8"]);
            let (told, why) = play(&dialogue, *requests, &pieces);
            assert_eq!((told, why), (expected.iter().map(|t| (*t).to_owned()).collect(), *broken), "{pieces:?}");
        }
    }
}

#[test]
fn endless_lines_break_the_conversation_wherever_they_are_cut() {
    let dialogue = dialogue("redis://h", &[]);
    for (length, whole) in [(65_534, true), (65_535, false), (200_000, false)] {
        let line = [b"+", "x".repeat(length).as_bytes(), b"\r\n"].concat();
        for size in [1000, 65_536, line.len()] {
            let (told, broken) = play(&dialogue, 1, &line.chunks(size).collect::<Vec<_>>());
            assert_eq!(broken.is_none(), whole, "{length} {size} {told:?}");
            assert_eq!(told[0].starts_with("0 ended ok"), whole);
        }
    }
}

#[test]
fn a_close_at_every_position_leaves_what_is_not_whole_to_the_engine() {
    let dialogue = dialogue("redis://h", &["pipeline=2"]);
    let bytes = b"*2\r\n$2\r\nab\r\n:1\r\n+PONG\r\n";
    for at in 0..=bytes.len() {
        let (mut session, _) = begun(&dialogue);
        let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
        assert!(submit(&dialogue, &mut session, 0) && submit(&dialogue, &mut session, 1));
        session.receive(&bytes[..at], &mut out, &mut done).expect("good");
        session.peer_closed(&mut done);
        assert_eq!(told(&done, &dialogue).len(), usize::from(at >= 16) + usize::from(at >= 23), "{at}");
        let begun = matches!(done.events.first(), Some(Event::FirstByte(ExchangeId(0))));
        assert_eq!(begun, (1..16).contains(&at), "{at}");
    }
}

#[test]
fn several_commands_are_one_exchange() {
    let all_good = "+OK\r\n+QUEUED\r\n*1\r\n:1\r\n";
    for (replies, expected) in [
        (all_good, "0 ended ok 9"),
        ("+OK\r\n+QUEUED\r\n*-1\r\n", "0 ended nil 8"),
        ("*-1\r\n+QUEUED\r\n+OK\r\n", "0 ended ok 8"),
        ("+OK\r\n-ERR a\r\n-EXECABORT b\r\n", "0 wrong_status ERR 18 \"-ERR a\\r\\n\""),
    ] {
        let bytes = [replies, all_good].concat().into_bytes();
        for at in 0..=bytes.len() {
            let dialogue = dialogue("redis://h", &["command=MULTI; INCR a; EXEC", "pipeline=2"]);
            let (told, broken) = play(&dialogue, 2, &[&bytes[..at], &bytes[at..]]);
            assert_eq!((told, broken), (vec![expected.to_owned(), "1 ended ok 9".to_owned()], None), "{at}");
        }
    }
}

#[test]
fn what_is_expected_is_looked_for_in_every_value_and_across_cuts() {
    for (reply, expected) in [
        ("$5\r\nxabcx\r\n", "ended ok 5"),
        ("+abc\r\n", "ended ok 3"),
        ("*2\r\n$1\r\nx\r\n*1\r\n$4\r\n1abc\r\n", "ended ok 5"),
        ("*2\r\n$2\r\nab\r\n$1\r\nc\r\n", "wrong_body ok 3 \"*2\\r\\n$2\\r\\nab\\r\\n$1\\r\\nc\\r\\n\""),
        ("*2\r\n+ab\r\n+c\r\n", "wrong_body ok 3 \"*2\\r\\n+ab\\r\\n+c\\r\\n\""),
        ("$-1\r\n", "wrong_body nil 0 \"$-1\\r\\n\""),
        ("-ERR abc\r\n", "wrong_status ERR 7 \"-ERR abc\\r\\n\""),
    ] {
        let bytes = format!("+abc\r\n{reply}+1abc\r\n").into_bytes();
        for at in 0..=bytes.len() {
            let dialogue = dialogue("redis://h", &["expect-body=abc", "pipeline=3"]);
            let (told, broken) = play(&dialogue, 3, &[&bytes[..at], &bytes[at..]]);
            let expected = vec!["0 ended ok 3".to_owned(), format!("1 {expected}"), "2 ended ok 4".to_owned()];
            assert_eq!((told, broken), (expected, None), "{at} {reply:?}");
        }
    }
}

#[test]
fn a_push_between_the_replies_of_one_exchange_takes_nothing_of_it() {
    let bytes = b"$3\r\nabc\r\n>1\r\n+abcxy\r\n+de\r\n+f\r\n>1\r\n+abc\r\n+g\r\n";
    for at in 0..=bytes.len() {
        let dialogue = dialogue("redis://h", &["command=GET a; GET b", "expect-body=abc", "pipeline=2"]);
        let (told, broken) = play(&dialogue, 2, &[&bytes[..at], &bytes[at..]]);
        let expected = ["pushed 5", "0 ended ok 5", "pushed 3", "1 wrong_body ok 2 \"+f\\r\\n+g\\r\\n\""];
        assert_eq!((&told[..], broken), (&expected.map(str::to_owned)[..], None), "{at}");
    }
}

#[test]
fn heartbeats_stand_in_the_line_and_take_no_room() {
    let dialogue = dialogue("redis://h", &["pipeline=2"]);
    let (mut session, _) = begun(&dialogue);
    let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
    assert!(session.heartbeat(&mut out) && !session.heartbeat(&mut out));
    assert_eq!((session.room(), out.bytes()), (2, &b"*1\r\n$4\r\nPING\r\n"[..]));
    assert!(submit(&dialogue, &mut session, 0) && submit(&dialogue, &mut session, 1));
    assert!(!submit(&dialogue, &mut session, 2));
    session.receive(b"+PONG\r\n+a\r\n+b\r\n", &mut out, &mut done).expect("good");
    assert_eq!(told(&done, &dialogue), ["Heartbeat", "0 ended ok 1", "1 ended ok 1"]);
    assert_eq!((session.room(), session.heartbeat(&mut out)), (2, true));
}

#[test]
fn no_heartbeat_stands_behind_a_command_that_may_wait() {
    let dialogue = dialogue("redis://h", &["command=BLPOP nolist 10"]);
    let (mut session, _) = begun(&dialogue);
    let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
    assert!(submit(&dialogue, &mut session, 0));
    assert!(!session.heartbeat(&mut out) && out.is_empty());
    session.receive(b"*-1\r\n", &mut out, &mut done).expect("good");
    assert!(session.heartbeat(&mut out), "the connection is idle");
}

#[test]
fn a_cancelled_exchange_keeps_its_place_until_its_reply_comes() {
    let dialogue = dialogue("redis://h", &["pipeline=2"]);
    let (mut session, _) = begun(&dialogue);
    let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
    assert!(submit(&dialogue, &mut session, 0) && submit(&dialogue, &mut session, 1));
    assert!(session.cancel(ExchangeId(0), &mut out));
    assert_eq!(session.room(), 0);
    session.receive(b"-ERR late\r\n", &mut out, &mut done).expect("good");
    assert!(done.events.is_empty() && session.room() == 1);
    // The id of a cancelled exchange may be reused at once.
    assert!(submit(&dialogue, &mut session, 0));
    session.receive(b"+x\r\n+yy\r\n", &mut out, &mut done).expect("good");
    assert_eq!(told(&done, &dialogue), ["1 ended ok 1", "0 ended ok 2"]);
    // Without a pipeline, cancelling closes the connection.
    let alone = super::dialogue("redis://h", &[]);
    assert!(!begun(&alone).0.cancel(ExchangeId(0), &mut out));
}

#[test]
fn words_nobody_knows_have_codes_up_to_a_bound() {
    let dialogue = dialogue("redis://h", &["pipeline=100"]);
    let replies: String = (0..50).map(|n| format!("-WORD{} x\r\n", n % 40)).collect();
    let (told, _) = play(&dialogue, 50, &[replies.as_bytes()]);
    for (n, told) in told.iter().enumerate() {
        let word = if (32..40).contains(&n) { "other error".to_owned() } else { format!("WORD{}", n % 40) };
        assert!(told.starts_with(&format!("{n} wrong_status {word} ")), "{told}");
    }
    let meaning = |code| dialogue.code_meaning(code).map(|said| said.en());
    assert!(meaning(12).is_some_and(|said| said.starts_with("MOVED")) && meaning(1).is_none());
}

#[test]
fn an_idle_connection_is_small() {
    assert!(
        std::mem::size_of::<crate::redis::RedisSession>() <= 112,
        "{}",
        std::mem::size_of::<crate::redis::RedisSession>()
    );
}

#[test]
fn whole_replies_are_told_to_who_asks_for_them() {
    let urls = vec![brunt_contract::RequestedUrl { url: "redis://h".to_owned(), weight: 1.0 }];
    let dialogue = RedisProtocol
        .prepare(&brunt_contract::ProtocolConfig {
            urls,
            returns_content: true,
            ..brunt_contract::ProtocolConfig::default()
        })
        .unwrap();
    let mut session = dialogue.session(&dialogue.origins()[0], &EstablishedConnection::default());
    let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
    session.submit(ExchangeId(7), &dialogue.requests()[0].request, &SlotContext::default(), &mut out).unwrap();
    b"$4\r\na\r\nb\r\n".chunks(1).for_each(|piece| session.receive(piece, &mut out, &mut done).unwrap());
    let told = done.events.into_iter().find_map(|event| match event {
        Event::StateUpdate(ExchangeId(7), lesson) => lesson.downcast().ok(),
        _ => None,
    });
    assert_eq!(told, Some(Box::new(brunt_contract::ResponseContent::Body(b"a\r\nb".to_vec()))));
}
