//! Whole conversations split at every position, closed at every position, and random bytes.

use brunt_contract::{Event, EventBuffer, ExchangeId, OutputBuffer, Session};
use proptest::prelude::*;

use super::*;
use crate::websocket::oracle;

/// Checks the result of a script, wherever it is split.
#[track_caller]
fn plays(options: &[&str], messages: u32, script: &[u8], expected: &ScriptResult) {
    let dialogue = dialogue(options);
    let begin = || {
        let mut session = opened(&dialogue, "");
        for id in 0..messages {
            submit(&mut session, &dialogue, id);
        }
        session
    };
    assert_eq!(feed(&mut begin(), &[script]), *expected, "whole");
    for cut in 1..script.len() {
        assert_eq!(feed(&mut begin(), &[&script[..cut], &script[cut..]]), *expected, "cut at {cut}");
    }
    let bytes: Vec<&[u8]> = script.chunks(1).collect();
    assert_eq!(feed(&mut begin(), &bytes), *expected, "byte by byte");
}

fn heard(events: &[&str], sent: &[(u8, &[u8])]) -> ScriptResult {
    let sent = sent.iter().map(|(first, payload)| (*first, payload.to_vec())).collect();
    ScriptResult {
        events: events.iter().map(|e| (*e).to_owned()).collect(),
        sent,
        broken: None,
        room: true,
        opening: false,
    }
}

#[test]
fn answers_in_order_with_control_frames_between_and_within() {
    let script = [
        frame(0x81, b"one"),
        frame(0x89, b"are you there"),
        frame(0x01, "tw\u{20ac}".as_bytes().split_at(3).0),
        frame(0x8a, b"a pong nobody asked for"),
        frame(0x89, b""),
        frame(0x00, b""),
        frame(0x80, "tw\u{20ac}".as_bytes().split_at(3).1),
        frame(0x82, &[0xff; 200]),
        frame(0x82, &[0xfe; 70_000]),
    ]
    .concat();
    let dialogue = dialogue(&["data=x"]);
    let expected =
        heard(&["0 0 of 3", "1 0 of 5", "2 0 of 200", "3 0 of 70000"], &[(0x8a, b"are you there"), (0x8a, b"")]);
    for cut in (0..400).chain(script.len() - 300..script.len()) {
        let mut session = opened(&dialogue, "");
        (0..4).for_each(|id| drop(submit(&mut session, &dialogue, id)));
        assert_eq!(feed(&mut session, &[&script[..cut], &script[cut..]]), expected, "cut at {cut}");
    }
}

#[test]
fn pushes_come_with_nothing_in_flight() {
    let script = [frame(0x81, b"answer"), frame(0x81, b"news"), frame(0x02, b"more"), frame(0x80, b" news")].concat();
    plays(&["push"], 1, &script, &heard(&["0 0 of 6", "push of 4", "push of 9"], &[]));
    let told = "an unsolicited message; if the server pushes messages, add --push to count them separately";
    let strict = ScriptResult { broken: Some(told), room: false, ..heard(&["0 0 of 6", "stray of 4"], &[]) };
    plays(&[], 1, &script[..14], &strict);
}

#[test]
fn answers_find_their_messages_by_a_field() {
    let dialogue =
        dialogue(&["data={\"seq\":1}", "data={\"seq\":2}", "data={\"seq\":\"c\"}", "match-field=seq", "push"]);
    let script = [
        frame(0x81, br#"{"seq":2,"ok":true}"#),
        frame(0x81, br#"{"seq":9}"#),
        frame(0x81, b"no JSON"),
        frame(0x01, br#"{"se"#),
        frame(0x80, br#"q":"c"}"#),
        frame(0x81, br#"{"seq":1}"#),
        frame(0x81, br#"{"seq":1}"#),
    ]
    .concat();
    let expected = heard(&["1 0 of 19", "push of 9", "push of 7", "2 0 of 11", "0 0 of 9", "push of 9"], &[]);
    for cut in 0..script.len() {
        let mut session = opened(&dialogue, "");
        for (id, request) in dialogue.requests().iter().enumerate() {
            session
                .submit(ExchangeId(id as u32), &request.request, &SlotContext::default(), &mut OutputBuffer::default())
                .expect("room");
        }
        assert_eq!(feed(&mut session, &[&script[..cut], &script[cut..]]), expected, "cut at {cut}");
    }
}

#[test]
fn a_late_answer_is_told_from_the_next_one_where_there_is_a_field() {
    let dialogue = dialogue(&["data={\"seq\":1}", "match-field=seq"]);
    let mut session = opened(&dialogue, "");
    submit(&mut session, &dialogue, 4);
    assert!(session.cancel(ExchangeId(4), &mut OutputBuffer::default()), "the connection lives on");
    submit(&mut session, &dialogue, 5);
    let script = [frame(0x81, br#"{"seq":1}"#), frame(0x81, br#"{"seq":1,"x":0}"#)].concat();
    assert_eq!(feed(&mut session, &[&script]), heard(&["5 0 of 15"], &[]));
    let dialogue = super::dialogue(&[]);
    let mut session = opened(&dialogue, "");
    submit(&mut session, &dialogue, 4);
    assert!(!session.cancel(ExchangeId(4), &mut OutputBuffer::default()), "by order it would be mistaken");
}

#[test]
fn a_lost_message_does_not_take_the_answers_of_those_that_say_the_same_for_ever() {
    let dialogue = dialogue(&["data={\"seq\":1}", "match-field=seq"]);
    let mut session = opened(&dialogue, "");
    submit(&mut session, &dialogue, 4);
    assert!(session.cancel(ExchangeId(4), &mut OutputBuffer::default()), "its answer may be late");
    submit(&mut session, &dialogue, 5);
    // The first message was lost: the answer to the second is attributed to it, so the second is given up, too.
    assert_eq!(feed(&mut session, &[&frame(0x81, br#"{"seq":1}"#)]), heard(&[], &[]));
    assert!(
        !session.cancel(ExchangeId(5), &mut OutputBuffer::default()),
        "the connection closes, or this went on for ever"
    );
}

#[test]
fn one_way_messages_wait_for_nobody() {
    let dialogue = dialogue(&["data=x", "one-way"]);
    let mut session = opened(&dialogue, "");
    let mut out = OutputBuffer::default();
    let sent = session.submit(ExchangeId(1), &dialogue.requests()[0].request, &SlotContext::default(), &mut out);
    assert_eq!((sent, unmasked(out.bytes())), (Ok(brunt_contract::SubmitOutcome::OneWay), vec![(0x81, b"x".to_vec())]));
    assert_eq!(feed(&mut session, &[&frame(0x81, b"x")]), heard(&["push of 1"], &[]));
}

#[test]
fn what_an_answer_must_hold() {
    let wrong = frame(0x81, b"no luck");
    let expected = heard(&["0 0 of 7 wrong_body \"no luck\""], &[]);
    plays(&["expect-body=good"], 1, &wrong, &expected);
    let good = [frame(0x01, b"all g"), frame(0x80, b"ood")].concat();
    plays(&["expect-body=good"], 1, &good, &heard(&["0 0 of 8"], &[]));
}

#[test]
fn heartbeats_are_answered_by_their_own_pong() {
    let dialogue = dialogue(&[]);
    let mut session = session(&dialogue);
    assert!(!session.heartbeat(&mut OutputBuffer::default()), "not before the upgrade");
    let mut session_open = opened(&dialogue, "");
    let mut out = OutputBuffer::default();
    assert!(session_open.heartbeat(&mut out) && !session_open.heartbeat(&mut OutputBuffer::default()), "one at a time");
    let [(0x89, ref ping)] = unmasked(out.bytes())[..] else { panic!("{:?}", unmasked(out.bytes())) };
    let script = [frame(0x8a, b"other"), frame(0x8a, ping), frame(0x8a, ping)].concat();
    for cut in 0..=script.len() {
        let mut session = opened(&dialogue, "");
        session.heartbeat(&mut OutputBuffer::default());
        assert_eq!(feed(&mut session, &[&script[..cut], &script[cut..]]), heard(&["heartbeat"], &[]), "cut at {cut}");
        assert!(session.heartbeat(&mut OutputBuffer::default()), "the next one may go");
    }
}

#[test]
fn a_close_frame_is_answered_and_its_code_named() {
    let script = frame(0x88, b"\x03\xf3try later");
    let first = "0 1011 of 0 closed \"close 1011 (internal error) try later\"";
    let closed = |events: &[&str], echo: &[u8]| ScriptResult { room: false, ..heard(events, &[(0x88, echo)]) };
    plays(&[], 1, &script, &closed(&[first], b"\x03\xf3"));
    plays(&[], 0, &script, &closed(&[], b"\x03\xf3"));
    plays(&[], 1, &frame(0x88, b""), &closed(&["0 1005 of 0 closed \"close 1005 (no code)\""], b""));
    // Bytes after it are ignored.
    plays(&[], 0, &[frame(0x88, b"\x03\xe8"), frame(0x81, b"x")].concat(), &closed(&[], b"\x03\xe8"));
    assert_eq!(dialogue(&[]).code_name(1011), "close 1011 (internal error)");
    assert_eq!(dialogue(&[]).code_name(403), "403");
}

#[test]
fn a_server_that_consents_and_closes_at_once_takes_nothing_and_its_words_stay() {
    let dialogue = dialogue(&["data=x"]);
    let script = [consent(""), frame(0x88, b"\x03\xf5busy")].concat();
    for cut in 0..script.len() {
        let mut session = session(&dialogue);
        let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
        assert_eq!(session.close_reason(), None);
        session.receive(&script[..cut], &mut out, &mut done).expect("good");
        session.receive(&script[cut..], &mut out, &mut done).expect("good");
        assert_eq!((session.is_opening(), session.room()), (false, 0), "cut at {cut}");
        let said = session.close_reason().expect("words").en();
        assert_eq!(said, "the server closed with 1013 (try again later)");
        assert_eq!(session.partial_response(), b"close 1013 (try again later) busy", "cut at {cut}");
    }
}

#[test]
fn we_close_with_1000_once() {
    let dialogue = dialogue(&[]);
    let mut session = opened(&dialogue, "");
    let mut out = OutputBuffer::default();
    session.finish(&mut out);
    session.finish(&mut out);
    assert_eq!(unmasked(out.bytes()), [(0x88, b"\x03\xe8".to_vec())]);
    assert_eq!((session.room(), session.is_opening()), (0, false));
}

#[test]
fn a_connection_cut_anywhere_ends_nothing_by_itself() {
    let dialogue = dialogue(&[]);
    let script = [consent(""), frame(0x01, b"be"), frame(0x89, b"p"), frame(0x80, b"gun")].concat();
    for cut in 0..script.len() {
        let mut session = session(&dialogue);
        let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
        session.receive(&script[..cut.min(consent("").len())], &mut out, &mut done).expect("good");
        if !session.is_opening() {
            submit(&mut session, &dialogue, 0);
        }
        session.receive(&script[cut.min(consent("").len())..cut], &mut out, &mut done).expect("good");
        session.peer_closed(&mut done);
        assert!(done.events.iter().all(|e| matches!(e, Event::FirstByte(_))), "cut at {cut}");
        assert_eq!((session.room(), session.is_opening()), (0, false), "cut at {cut}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn noise_and_nearly_frames(
        frames in prop::collection::vec(
            (prop_oneof![
                prop::sample::select(&[0x81u8, 0x82, 0x01, 0x02, 0x00, 0x80, 0x88, 0x89, 0x8a, 0xc1][..]),
                any::<u8>(),
            ], prop_oneof![
                prop::collection::vec(any::<u8>(), 0..20),
                "[a-z\u{20ac}{}:\",]{0,20}".prop_map(String::into_bytes),
                Just(b"{\"seq\":1}".to_vec()),
                Just(b"\x03\xe8".to_vec()),
                Just(b"\xf2\x48\xcd\xc9\xc9\x07\x00".to_vec()),
            ]),
            0..8,
        ),
        tail in prop::collection::vec(any::<u8>(), 0..20),
        at in any::<prop::sample::Index>(),
        mode in 0u8..7,
    ) {
        let mut bytes: Vec<u8> = frames.iter().flat_map(|(first, payload)| frame(*first, payload)).collect();
        bytes.extend(tail);
        let cut = at.index(bytes.len() + 1);
        oracle::frames(mode, &bytes, cut);
    }

    #[test]
    fn noise_for_consent(
        lines in prop::collection::vec(prop_oneof![
            Just("HTTP/1.1 101 S\r\n".to_owned()),
            Just("Upgrade: websocket\r\n".to_owned()),
            Just("Connection: upgrade\r\n".to_owned()),
            Just("\r\n".to_owned()),
            "Sec-WebSocket-(Accept|Protocol|Extensions): [a-zA-Z0-9=;, -]{0,30}\r\n",
            "[ -~\r\n]{0,20}",
        ], 0..9),
        at in any::<prop::sample::Index>(),
    ) {
        let bytes = lines.concat().into_bytes();
        oracle::consent(&bytes, at.index(bytes.len() + 1));
        oracle::server(&bytes, at.index(bytes.len() + 1));
    }
}

#[test]
fn pings_whose_answers_nobody_reads_are_bounded() {
    let dialogue = dialogue(&["data=x"]);
    let pings = frame(0x89, b"").repeat(1000);
    let mut session = opened(&dialogue, "");
    let mut out = OutputBuffer::default();
    let mut hear = |session: &mut Box<dyn Session>| session.receive(&pings, &mut out, &mut EventBuffer::default());
    for _ in 0..100 {
        hear(&mut session).expect("they leave");
        assert_eq!(session.pending_replies(), 1000);
        session.reset_pending_replies();
    }
    let broken = (0..100).find_map(|_| hear(&mut session).err());
    let broken = broken.expect("an end").to_string();
    assert_eq!(broken, "a flood of pings while the server does not read the pongs");
    assert_eq!(session.pending_replies(), 32_768);
}

#[test]
fn a_transcript_is_readable() {
    use crate::websocket::codec::FrameSender;
    use crate::websocket::transcript::readable;
    let dialogue = dialogue(&["data=hello", "compress"]);
    let mut session = opened(&dialogue, "Sec-WebSocket-Extensions: permessage-deflate\r\n");
    let mut sent = b"GET / HTTP/1.1\r\n\r\n".to_vec();
    sent.extend(submit(&mut session, &dialogue, 1));
    let mut out = OutputBuffer::default();
    session.finish(&mut out);
    sent.extend_from_slice(out.bytes());
    let text = String::from_utf8(readable(&sent, FrameSender::Client)).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[..2], ["GET / HTTP/1.1", ""]);
    assert!(lines[2].starts_with("* text, ") && lines[2].ends_with("bytes, compressed"), "{text}");
    assert_eq!(lines[3..5], ["hello", "* close, 2 bytes"]);
    assert!(lines[5].starts_with("1000 ("), "{text}");
    let said = [consent(""), frame(0x01, b"he"), frame(0x89, b"p"), frame(0x80, b"llo"), vec![0x82, 9, 1]].concat();
    let text = String::from_utf8_lossy(&readable(&said, FrameSender::Server)).into_owned();
    let expected = "* text, 2 bytes, more follows\nhe\n* ping, 1 bytes\np\n* continuation, 3 bytes\nllo\n\
                    * 3 bytes of an incomplete frame:\n";
    assert!(text.contains(expected), "{text:?}");
    // A refusal is an HTTP response.
    assert_eq!(readable(b"HTTP/1.1 403 No\r\n\r\nno", FrameSender::Server), b"HTTP/1.1 403 No\r\n\r\nno");
}

#[test]
fn a_transcript_shows_no_more_of_a_bomb_than_its_beginning() {
    use crate::websocket::codec::FrameSender;
    use crate::websocket::deflate::{DeflateParameters, DeflateStreams};
    use crate::websocket::transcript::readable;
    let agreed = DeflateParameters { server_forgets: false, client_forgets: false, client_bits: 15 };
    let packed = DeflateStreams::new(agreed).compress(&vec![b'a'; 80 << 20]).to_vec();
    let mut said = b"HTTP/1.1 101 Switching Protocols\r\n\r\n".to_vec();
    for _ in 0..4 {
        said.extend([&[0xc1, 127][..], &(packed.len() as u64).to_be_bytes(), &packed].concat());
    }
    assert!(said.len() < 512 * 1024, "{}", said.len());
    let text = readable(&said, FrameSender::Server);
    assert!((1 << 20..2 << 20).contains(&text.len()), "{}", text.len());
    assert!(text.ends_with(b"a\n* the rest is not shown\n"));
}
