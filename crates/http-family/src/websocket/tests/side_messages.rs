//! Side messages on a connection, wherever the server's frames are split.

use std::sync::Arc;

use brunt_contract::FaultKind;

use super::*;

/// Messages with the first bytes of their frames.
type SentFrames = Vec<(u8, Vec<u8>)>;

/// Creates a session whose upgrade was accepted; returns it with the messages that it sent.
fn accepted(workload: &Arc<dyn Workload>) -> (Box<dyn Session>, SentFrames) {
    let fill = SlotContext { number: 7, user: 4, ..SlotContext::default() };
    let established = EstablishedConnection { seed: SEED, context: fill, ..EstablishedConnection::default() };
    let mut session = workload.session(&workload.origins()[0], &established);
    session.open(&mut OutputBuffer::default());
    let said = feed(&mut session, &[&consent("")]).sent;
    (session, said)
}

/// Sends the replies that are due and returns them.
fn pay(session: &mut Box<dyn Session>) -> SentFrames {
    let mut out = OutputBuffer::default();
    session.write_replies(0, &mut out);
    unmasked(out.bytes())
}

fn text(said: &str) -> (u8, Vec<u8>) {
    (0x81, said.as_bytes().to_vec())
}

#[test]
fn connections_are_opened_before_anything_is_asked() {
    let options = [
        "data=42{sequence}",
        "on-connect==>^0",
        "on-connect=40{counter}/{user}=>^40",
        "on-connect=41{sequence}",
        "reply=^2$=>3",
    ];
    let dialogue = dialogue(&options);
    let script = [frame(0x81, b"0{}"), frame(0x01, b"4"), frame(0x80, b"0ok")].concat();
    for at in 0..=script.len() {
        let (mut session, said) = accepted(&dialogue);
        assert_eq!((said, session.is_opening(), session.room()), (vec![], true, 0));
        let heard = feed(&mut session, &[&script[..at], &script[at..]]);
        assert_eq!(heard.sent, [text("407/4"), text("411")], "cut at {at}");
        assert_eq!((heard.broken, heard.opening, heard.room), (None, false, true));
        assert_eq!(session.opening_messages(), 2);
        assert_eq!(unmasked(&submit(&mut session, &dialogue, 0)), [text("422")]);
        assert_eq!(session.sequence(), 2);
    }
}

#[test]
fn a_refusal_tells_what_came() {
    let dialogue = dialogue(&["on-connect=hello=>\"ack\"", "reply=^2$=>3"]);
    let script = [frame(0x81, b"2"), frame(0x81, b"{\"error\":1}"), frame(0x81, b"\"ack\"")].concat();
    for at in 0..=script.len() {
        let (mut session, said) = accepted(&dialogue);
        assert_eq!(said, [text("hello")]);
        let heard = feed(&mut session, &[&script[..at], &script[at..]]);
        let why = "the response to the opening message is not what --on-connect waits for";
        assert_eq!((heard.broken, heard.room), (Some(why), false), "cut at {at}");
        assert_eq!((session.refusal_kind(), session.refusal_code()), (FaultKind::WrongBody, 0));
        assert_eq!(session.partial_response(), b"{\"error\":1}");
        assert!(pay(&mut session).is_empty(), "nothing more is said");
    }
}

#[test]
fn a_server_that_closes_instead_says_why() {
    let dialogue = dialogue(&["on-connect=hello=>ack"]);
    let (mut session, _) = accepted(&dialogue);
    let heard = feed(&mut session, &[&frame(0x88, b"\x11\x2bForbidden")]);
    assert_eq!((heard.broken, heard.opening, heard.room), (None, false, false));
    let said = session.close_cause().expect("words").to_string();
    assert_eq!(said, "the server closed with 4395 (private): Forbidden");
}

#[test]
fn prompts_are_replied_to_and_answers_stay_answers() {
    for (options, answers) in [
        (&["data=m{sequence}", "reply=^p(.*)$=>q{captured}{sequence}", "reply=^n=>"][..], [&b"yes"[..], b"no matter"]),
        (
            &[
                "data={\"s\":{counter},\"n\":{sequence}}",
                "match-field=s",
                "reply=^p(.*)$=>q{captured}{sequence}",
                "reply=^n=>",
                "reply=s=>wrong",
            ],
            [b"{\"s\":0}", b"never"],
        ),
    ] {
        let dialogue = dialogue(options);
        let script = [
            frame(0x81, b"p1"),
            frame(0x01, b"p"),
            frame(0x80, b"22"),
            frame(0x81, answers[1]),
            frame(0x81, answers[0]),
        ]
        .concat();
        for at in 0..=script.len() {
            let (mut session, _) = accepted(&dialogue);
            submit(&mut session, &dialogue, 0);
            let heard = feed(&mut session, &[&script[..at], &script[at..]]);
            let answered = format!("0 0 of {}", answers[0].len());
            let known = format!("push of {}", answers[1].len());
            assert_eq!(heard.events, ["ReplyDue".to_owned(), known, answered], "{options:?} cut at {at}");
            assert_eq!((heard.broken, session.pending_replies()), (None, 2));
            assert_eq!(pay(&mut session), [text("q12"), text("q223")]);
            session.reset_pending_replies();
            assert_eq!(session.pending_replies(), 0);
        }
    }
}

#[test]
fn what_is_expected_of_an_answer_is_filled_like_its_message() {
    for (options, agreed) in [(&[][..], ""), (&["compress"], "Sec-WebSocket-Extensions: permessage-deflate\r\n")] {
        let data = "data=42{sequence}[\"ask\",\"{id={uuid}}\"]";
        let dialogue = dialogue(&[&[data, "expect-body=43{sequence}[\"{id}\"]"], options].concat());
        let mut session = opened(&dialogue, agreed);
        let mut out = OutputBuffer::default();
        for number in 0..2 {
            let fill = SlotContext { number, random: number + 1, ..SlotContext::default() };
            session.submit(ExchangeId(number as u32), &dialogue.requests()[0].request, &fill, &mut out).expect("room");
        }
        let id = |number: u64| {
            let fill = SlotContext { number, random: number + 1, sequence: number + 1, ..SlotContext::default() };
            let sent = String::from_utf8(dialogue.requests()[0].request.downcast::<WebSocketMessage>().payload(&fill))
                .expect("text");
            assert!(sent.starts_with(&format!("42{}[\"ask\",\"", number + 1)) && sent.ends_with("\"]"), "{sent}");
            sent.split('"').nth(3).expect("the id").to_owned()
        };
        if agreed.is_empty() {
            assert_eq!(unmasked(out.bytes())[1].1, format!("422[\"ask\",\"{}\"]", id(1)).as_bytes());
        }
        // The second message is answered with the number of the first.
        let script = [
            frame(0x81, format!("431[\"{}\"]", id(0)).as_bytes()),
            frame(0x81, format!("431[\"{}\"]", id(1)).as_bytes()),
        ];
        let heard = feed(&mut session, &[&script.concat()]);
        assert!(heard.events.len() == 2 && heard.events[1].contains("wrong_body"), "{heard:?}");
        assert_eq!(heard.events[0], "0 0 of 43");
    }
}

/// A message that was given up must not leave its expected text behind.
#[test]
fn what_was_expected_of_a_message_goes_with_it() {
    let dialogue = dialogue(&["data={\"seq\":{counter}}", "match-field=seq", "expect-body=ok{counter}"]);
    let mut session = opened(&dialogue, "");
    let mut out = OutputBuffer::default();
    for number in [5, 6] {
        let fill = SlotContext { number, ..SlotContext::default() };
        session.submit(ExchangeId(0), &dialogue.requests()[0].request, &fill, &mut out).expect("room");
        if number == 5 {
            assert!(session.cancel(ExchangeId(0), &mut out));
        }
    }
    let heard = feed(&mut session, &[&frame(0x81, b"{\"seq\":6,\"t\":\"ok6\"}")]);
    assert_eq!(heard.events, ["0 0 of 19"]);
}

#[test]
fn escapes_in_all_that_is_said_and_expected() {
    let options = [
        "escapes",
        "binary",
        "data=\\x30\\x02{length varint {b}}{b=a{user}\\0}",
        "expect-body=\\xff\\n",
        "on-connect=\\x10\\x00",
        "reply=^p=>\\xd0",
    ];
    let dialogue = dialogue(&options);
    let (mut session, said) = accepted(&dialogue);
    assert_eq!(said, [(0x82, b"\x10\0".to_vec())]);
    assert_eq!(unmasked(&submit(&mut session, &dialogue, 0)), [(0x82, b"\x30\x02\x03a0\0".to_vec())]);
    assert_eq!(feed(&mut session, &[&frame(0x82, b"p"), &frame(0x82, b"x\xff\n")]).events, ["ReplyDue", "0 0 of 3"]);
    assert_eq!(pay(&mut session), [(0x82, b"\xd0".to_vec())]);
    let complaint = |options: &[&str]| {
        WebSocketProtocol
            .prepare(&asked(&["ws://h/"], options))
            .map(|_| ())
            .map_err(crate::bilingual)
            .expect_err("a mistake")
    };
    for (options, wanted) in [
        (&["escapes", "data=\\xff"][..], "--data: is not UTF-8, as a text message must be; add --binary"),
        (&["escapes", "reply=a=>\\xff"], "--reply: is not UTF-8, as a text message must be; add --binary"),
        (&["escapes", "data=\\q"], "--data: \\q is not an escape"),
        (&["escapes", "no-slots", "data=\\q"], "--data: \\q is not an escape"),
        (&["data=x", "expect-body={uuid}"], "--expect-body: {uuid} differs here from the one in the message"),
        (&["data=x", "expect-body={countr}"], "--expect-body: {countr} is not a slot"),
        (&["on-connect={sequenc}"], "--on-connect: {sequenc} is not a slot; use {sequence}"),
    ] {
        assert!(complaint(options).starts_with(wanted), "{options:?}: {}", complaint(options));
    }
}

#[test]
fn braces_of_other_texts_stay_what_they_were() {
    let dialogue = dialogue(&["data={captured} {{sequence}}", "expect-body={\"a\":{}}"]);
    let sent = dialogue.encoded(&dialogue.requests()[0].request);
    assert_eq!(sent, b"{captured} {sequence}");
    assert!(!dialogue.prepared().has_slots);
}
