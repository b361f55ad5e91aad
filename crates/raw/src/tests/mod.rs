//! Scripted bytes: answers of each framing, split everywhere, closed everywhere, and garbage.

mod side_messages;
mod usage_errors;

use proptest::prelude::*;
use std::sync::Arc;

use brunt_contract::{
    EstablishedConnection, Event, EventBuffer, ExchangeId, FaultKind, OutputBuffer, Session, SlotContext,
    SubmitOutcome, Workload,
};

use super::oracle::{FRAMINGS, check, dialogue};

/// A scripted conversation: options, number of requests sent first, the server's bytes, and the expected events. The
/// connection is closed at the end.
struct ScriptedExchange {
    scheme: &'static str,
    options: &'static [(&'static str, &'static str)],
    sent: u32,
    said: &'static [u8],
    wanted: &'static [&'static str],
}

const TALKS: &[ScriptedExchange] = &[
    ScriptedExchange { scheme: "tcp", options: &[("until", "\\r\\n")], sent: 1, said: b"OK\r\n", wanted: &["0 - 0 4"] },
    ScriptedExchange {
        scheme: "tcp",
        options: &[("until", "\\n"), ("pipeline", "3")],
        sent: 3,
        said: b"\na\nbb\n",
        wanted: &["0 - 0 1", "1 - 0 2", "2 - 0 3"],
    },
    ScriptedExchange {
        scheme: "tcp",
        options: &[("until", "\\r\\n")],
        sent: 1,
        said: b"a\r\r\n",
        wanted: &["0 - 0 4"],
    },
    ScriptedExchange {
        scheme: "tcp",
        options: &[("until", "END\\r\\n"), ("pipeline", "2"), ("expect-bytes", "VALUE")],
        sent: 2,
        said: b"VALUE k 0 1\r\nx\r\nEND\r\nEND\r\n",
        wanted: &["0 - 0 21", "1 WrongBody 0 5"],
    },
    ScriptedExchange {
        scheme: "tcp",
        options: &[("until", "abab")],
        sent: 1,
        said: b"aababab",
        wanted: &["0 - 0 5", "stray", "broken: unsolicited bytes"],
    },
    ScriptedExchange {
        scheme: "tcp",
        options: &[("until-bytes", "3"), ("pipeline", "2")],
        sent: 2,
        said: b"abcdef",
        wanted: &["0 - 0 3", "1 - 0 3"],
    },
    ScriptedExchange {
        scheme: "tcp",
        options: &[("until-length", "at 1, 2 bytes"), ("pipeline", "2"), ("expect-field", "at 0, 1 byte, = 7|9")],
        sent: 2,
        said: b"\x07\x00\x02ab\x08\x00\x00",
        wanted: &["0 - 8 5", "1 WrongStatus 9 3"],
    },
    ScriptedExchange {
        scheme: "tcp",
        options: &[("until-length", "at 0, 2 bytes, little, +0")],
        sent: 1,
        said: b"\x04\0xy",
        wanted: &["0 - 0 4"],
    },
    ScriptedExchange {
        scheme: "tcp",
        options: &[("until-length", "at 0, 4 digits")],
        sent: 1,
        said: b"0003abc",
        wanted: &["0 - 0 7"],
    },
    // PINGRESP, PUBACK, and a PUBLISH whose length takes two bytes (MQTT 3.1.1).
    ScriptedExchange {
        scheme: "tcp",
        options: &[("until-length", "at 1, varint"), ("pipeline", "3"), ("expect-field", "at 1, varint, = 2..200")],
        sent: 3,
        said: b"\xd0\x00\x40\x02\x00\x01\x30\x81\x01................................................................\
                .................................................................",
        wanted: &["0 WrongStatus 1 2", "1 - 3 4", "2 - 130 132"],
    },
    ScriptedExchange {
        scheme: "tcp",
        options: &[("until-length", "at 0, zigzag"), ("match", "at 0, 1 byte"), ("match-answer", "at 1, varint")],
        sent: 1,
        said: b"\x02\x00\x01",
        wanted: &["0 - 0 2", "broken: the length of the response is less than what comes before it"],
    },
    ScriptedExchange {
        scheme: "tcp",
        options: &[("until-length", "at 0, varint")],
        sent: 1,
        said: b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        wanted: &["broken: the length of the response is not a number"],
    },
    ScriptedExchange {
        scheme: "tcp",
        options: &[("until-length", "at 0, 2 bytes, +0")],
        sent: 1,
        said: b"\0\x01",
        wanted: &["broken: the length of the response is less than what comes before it"],
    },
    ScriptedExchange {
        scheme: "tcp",
        options: &[("until-length", "at 0, 4 digits")],
        sent: 1,
        said: b"00x3abc",
        wanted: &["broken: the length of the response is not a number"],
    },
    ScriptedExchange {
        scheme: "tcp",
        options: &[("until-regex", "^(END|[A-Z]+ERROR[^\\n]*)\\r\\n"), ("pipeline", "2")],
        sent: 2,
        said: b"SERVERERROR out\r\nEND\r\n",
        wanted: &["0 - 0 17", "1 - 0 5"],
    },
    ScriptedExchange {
        scheme: "tcp",
        options: &[("until", "\\n"), ("pipeline", "3"), ("expect-regex", "^[0-9]+\\n$")],
        sent: 3,
        said: b"12\n1x\n\n",
        wanted: &["0 - 0 3", "1 WrongBody 0 3", "2 WrongBody 0 1"],
    },
    ScriptedExchange {
        scheme: "tcp",
        options: &[("until-close", ""), ("expect-bytes", "abcabd")],
        sent: 1,
        said: b"xabcabcabd",
        wanted: &["0 - 0 10"],
    },
    ScriptedExchange { scheme: "tcp", options: &[("until-close", "")], sent: 1, said: b"", wanted: &[] },
    ScriptedExchange {
        scheme: "tcp",
        options: &[("until-length", "at 1, 1 byte"), ("match", "at 0, 1 byte"), ("pipeline", "3")],
        sent: 3,
        said: b"\x02\x01c\x09\x00\x00\x00\x01\x02ab\x01\x00",
        wanted: &["2 - 0 3", "unsolicited 2", "0 - 0 2", "1 - 0 4", "unsolicited 2"],
    },
    ScriptedExchange {
        scheme: "tcp",
        options: &[
            ("until-length", "at 0, 1 byte"),
            ("match", "at 0, 1 byte"),
            ("match-answer", "at 1, 1 byte"),
            ("pipeline", "2"),
        ],
        sent: 2,
        said: b"\x01\x01\x02\x00z",
        wanted: &["1 - 0 2", "0 - 0 3"],
    },
    ScriptedExchange {
        scheme: "tcp",
        options: &[("until", "\\n"), ("greeting", "")],
        sent: 0,
        said: b"220 ready\n",
        wanted: &[],
    },
    ScriptedExchange {
        scheme: "tcp",
        options: &[("until", "\\n")],
        sent: 0,
        said: b"220\n",
        wanted: &["stray", "broken: unsolicited bytes"],
    },
];

/// Submits `sent` requests, then feeds the pieces, and closes unless the session broke.
fn talk(workload: &Arc<dyn Workload>, sent: u32, pieces: &[&[u8]]) -> Vec<String> {
    let mut session = session(workload);
    let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
    for number in 0..sent {
        submit(workload, &mut session, number, &mut out);
    }
    let mut told = Vec::new();
    for piece in pieces {
        let read = session.receive(piece, &mut out, &mut done);
        told.extend(events(&mut done));
        if let Err(broken) = read {
            told.push(format!("broken: {broken}"));
            return told;
        }
    }
    session.peer_closed(&mut done);
    told.extend(events(&mut done));
    told
}

fn session(workload: &Arc<dyn Workload>) -> Box<dyn Session> {
    workload.session(&workload.origins()[0], &EstablishedConnection::default())
}

fn submit(
    workload: &Arc<dyn Workload>,
    session: &mut Box<dyn Session>,
    number: u32,
    out: &mut OutputBuffer,
) -> SubmitOutcome {
    let fill = SlotContext { number: u64::from(number), ..SlotContext::default() };
    session.submit(ExchangeId(number), &workload.requests()[0].request, &fill, out).expect("there is room")
}

fn events(done: &mut EventBuffer) -> Vec<String> {
    let line = |event| match event {
        Event::Ended(e) => {
            let fault = e.fault.map_or("-".to_owned(), |fault| format!("{fault:?}"));
            Some(format!("{} {fault} {} {}", e.id.0, e.code, e.payload))
        }
        Event::Unsolicited(bytes, _) => Some(format!("unsolicited {bytes}")),
        // The number of bytes depends on how they are split.
        Event::SurplusResponse(_) => Some("stray".to_owned()),
        _ => None,
    };
    done.events.drain(..).filter_map(line).collect()
}

#[test]
fn every_talk_whole_and_cut_at_every_position_and_byte_by_byte() {
    for ScriptedExchange { scheme, options, sent, said, wanted } in TALKS {
        let dialogue = dialogue(scheme, options);
        assert_eq!(talk(&dialogue, *sent, &[said]), *wanted, "{options:?} {said:?}");
        for at in 0..=said.len() {
            let (first, second) = said.split_at(at);
            assert_eq!(talk(&dialogue, *sent, &[first, second]), *wanted, "{options:?} {said:?} cut at {at}");
        }
        let single: Vec<&[u8]> = said.chunks(1).collect();
        assert_eq!(talk(&dialogue, *sent, &single), *wanted, "{options:?} {said:?} byte by byte");
    }
}

/// A conversation closed at any position reports only what was complete by then.
#[test]
fn every_talk_closed_at_every_position() {
    for ScriptedExchange { scheme, options, sent, said, wanted } in TALKS {
        let dialogue = dialogue(scheme, options);
        for at in 0..said.len() {
            let told = talk(&dialogue, *sent, &[&said[..at]]);
            let by_close = options[0].0 == "until-close" && at > 0;
            let ends = told.len() - usize::from(by_close);
            assert_eq!(told[..ends], wanted[..ends], "{options:?} closed at {at}");
        }
    }
}

#[test]
fn datagrams_are_answers_whatever_their_order() {
    let dialogue = dialogue(
        "udp",
        &[("match", "at 0, 1 byte"), ("pipeline", "3"), ("expect-field", "at 1, 1 byte, mask 15, = 0")],
    );
    assert!(dialogue.origins()[0].datagrams);
    let (mut session, mut out, mut done) = (session(&dialogue), OutputBuffer::default(), EventBuffer::default());
    for number in 0..3 {
        submit(&dialogue, &mut session, number, &mut out);
    }
    assert_eq!((out.boundaries(), out.bytes()), (&[4, 8, 12][..], &b"\x000\r\n\x011\r\n\x022\r\n"[..]));
    assert_eq!(session.room(), 0);
    for datagram in [&b"\x02\xf0"[..], b"\x07\x00", b"", b"\x00\x03abc", b"\x02\x00"] {
        session.receive(datagram, &mut out, &mut done).unwrap();
    }
    let wanted = ["2 - 1 2", "unsolicited 2", "unsolicited 0", "0 WrongStatus 4 5", "unsolicited 2"];
    assert_eq!(events(&mut done), wanted);
    // One request is lost: the others are unaffected, and its late answer is unsolicited.
    assert!(session.cancel(ExchangeId(1), &mut out));
    assert_eq!(session.room(), 3);
    session.receive(b"\x01\x00", &mut out, &mut done).unwrap();
    assert_eq!(events(&mut done), ["unsolicited 2"]);
}

/// Without a matching field, a late answer would be taken for the answer to the next request.
#[test]
fn a_lost_answer_without_a_match_costs_the_socket() {
    for (scheme, options) in [("udp", &[][..]), ("tcp", &[("until", "\\n")])] {
        let dialogue = dialogue(scheme, options);
        let (mut session, mut out) = (session(&dialogue), OutputBuffer::default());
        submit(&dialogue, &mut session, 0, &mut out);
        assert!(!session.cancel(ExchangeId(0), &mut out), "{scheme}");
    }
}

#[test]
fn a_request_nobody_answers_is_over_at_once() {
    let dialogue = dialogue("tcp", &[("no-answer", "")]);
    let (mut session, mut out, mut done) = (session(&dialogue), OutputBuffer::default(), EventBuffer::default());
    assert_eq!(submit(&dialogue, &mut session, 0, &mut out), SubmitOutcome::OneWay);
    assert_eq!(session.room(), 1);
    session.receive(b"hello", &mut out, &mut done).unwrap();
    assert_eq!(events(&mut done), ["unsolicited 5"]);
}

/// Several requests sent at once become one datagram each, and the connection still counts as UDP.
#[test]
fn a_datagram_nobody_answers_is_one_of_its_own() {
    let dialogue = dialogue("udp", &[("no-answer", ""), ("pipeline", "4")]);
    let (mut session, mut out) = (session(&dialogue), OutputBuffer::default());
    for number in 0..2 {
        assert_eq!(submit(&dialogue, &mut session, number, &mut out), SubmitOutcome::OneWay);
    }
    assert_eq!((out.boundaries(), out.bytes()), (&[4, 8][..], &b"\x000\r\n\x011\r\n"[..]));
    assert_eq!(dialogue.protocol_version(&EstablishedConnection::default()), "UDP");
}

#[test]
fn a_greeting_comes_before_the_first_request() {
    let dialogue = dialogue("tcp", &[("until", "\\n"), ("greeting", "")]);
    let (mut session, mut out, mut done) = (session(&dialogue), OutputBuffer::default(), EventBuffer::default());
    assert_eq!((session.is_opening(), session.room()), (true, 0));
    session.receive(b"220 ", &mut out, &mut done).unwrap();
    assert!(session.is_opening());
    session.receive(b"hi\n", &mut out, &mut done).unwrap();
    assert_eq!((session.is_opening(), session.room(), done.events.len()), (false, 1, 0));
}

#[test]
fn a_failed_answer_is_shown_from_its_beginning() {
    let dialogue = dialogue("tcp", &[("until", "END"), ("expect-bytes", "yes")]);
    for pieces in [&[&b"noEND"[..]][..], &[b"n", b"oE", b"ND"]] {
        let (mut session, mut out, mut done) = (session(&dialogue), OutputBuffer::default(), EventBuffer::default());
        submit(&dialogue, &mut session, 0, &mut out);
        pieces.iter().for_each(|piece| session.receive(piece, &mut out, &mut done).unwrap());
        let Some(Event::Ended(ended)) = done.events.pop() else { panic!("{:?}", done.events) };
        assert_eq!((ended.fault, ended.excerpt.as_deref()), (Some(FaultKind::WrongBody), Some(&b"noEND"[..])));
    }
}

/// The memory for an answer is bounded, however long it is.
#[test]
fn an_endless_answer_holds_little_memory() {
    let dialogue = dialogue("tcp", &[("until", "END\\r\\n"), ("expect-regex", "x+y")]);
    let (mut session, mut out, mut done) = (session(&dialogue), OutputBuffer::default(), EventBuffer::default());
    submit(&dialogue, &mut session, 0, &mut out);
    for _ in 0..1000 {
        session.receive(&[b'x'; 1000], &mut out, &mut done).unwrap();
    }
    assert_eq!(session.partial_response().len(), 4096);
    session.receive(b"yEND\r\n", &mut out, &mut done).unwrap();
    assert_eq!(events(&mut done), ["0 - 0 1000006"]);
}

#[test]
fn an_idle_session_is_small() {
    assert!(size_of::<crate::RawSession>() <= 64, "{}", size_of::<crate::RawSession>());
}

proptest! {
    #[test]
    fn garbage_never_panics(
        framing in 0..FRAMINGS.len(),
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), prop::sample::select(b"END\r\n0123VALUEab".to_vec())], 0..120),
        cuts in prop::collection::vec(0u8..30, 0..6),
    ) {
        check(&dialogue("tcp", FRAMINGS[framing]), &bytes, &cuts);
    }
}
