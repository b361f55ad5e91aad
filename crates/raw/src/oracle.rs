//! Properties that hold for arbitrary server output: for the fuzz target and the property tests.

use std::sync::Arc;

use brunt_contract::{
    EstablishedConnection, Event, EventBuffer, ExchangeId, OutputBuffer, Protocol, ProtocolConfig, RequestedUrl,
    Session, SlotContext, Workload,
};

use super::RawProtocol;

/// Framings of every kind.
pub const FRAMINGS: [&[(&str, &str)]; 14] = [
    &[("until", "\\r\\n")],
    &[("until", "END\\r\\n"), ("expect-bytes", "VALUE")],
    &[("until-bytes", "5"), ("expect-field", "at 1, 2 bytes, = 0..999")],
    &[("until-length", "at 1, 2 bytes"), ("match", "at 0, 1 byte"), ("pipeline", "3")],
    &[("until-length", "at 0, 4 digits, +4"), ("expect-regex", "[0-9]+$")],
    &[("until-length", "at 2, 2 bytes, +0"), ("greeting", "")],
    &[("until-length", "at 1, varint"), ("pipeline", "2")],
    &[("until-length", "at 0, zigzag, +1"), ("match", "at 1, varint"), ("pipeline", "3")],
    &[("until-regex", "(END|ERROR)[^\\n]*\\n"), ("pipeline", "2")],
    &[("until-close", ""), ("expect-bytes", "abcabd")],
    &[("no-answer", "")],
    &[("until", "\\n"), ("on-connect", "a{sequence}=>^[0-9]"), ("reply", "^END=>{captured}{sequence}")],
    &[("until-length", "at 0, varint"), ("on-connect", "=>"), ("reply", "a(.)=>{captured}"), ("match", "at 1, 1 byte")],
    &[("no-answer", ""), ("until-bytes", "2"), ("reply", "0=>x{random 2}"), ("on-connect", "x")],
];

/// Creates a workload with these options, on UDP if `scheme` is `udp`.
///
/// # Panics
/// Panics if the options are invalid.
pub fn dialogue(scheme: &str, options: &[(&str, &str)]) -> Arc<dyn Workload> {
    let mut asked = ProtocolConfig {
        urls: vec![RequestedUrl { url: format!("{scheme}://127.0.0.1:7"), weight: 1.0 }],
        ..ProtocolConfig::default()
    };
    asked.options.insert("send".into(), vec!["{counter u8}{counter}\r\n".into()]);
    for (name, value) in options {
        asked.options.insert((*name).into(), vec![(*value).into()]);
    }
    RawProtocol.prepare(&asked).unwrap_or_else(|complaint| panic!("{options:?}: {complaint}"))
}

/// Returns the result of a conversation in which the server sends these pieces and closes: each end (with fault, code
/// and payload), the unsolicited messages, and whether the conversation broke. As many requests as possible are sent at
/// first, and before each further piece if `again` is set.
fn outcome(workload: &Arc<dyn Workload>, pieces: &[&[u8]], again: bool) -> Vec<String> {
    let mut session = workload.session(&workload.origins()[0], &EstablishedConnection::default());
    let (mut out, mut done, mut told, mut next) = (OutputBuffer::default(), EventBuffer::default(), Vec::new(), 0);
    let mut replies = 0;
    session.open(&mut out);
    let request = &workload.requests()[0].request;
    let mut fill = |session: &mut Box<dyn Session>, out: &mut OutputBuffer| {
        while session.room() > 0 && next < 50 {
            let fill = SlotContext { number: u64::from(next), ..SlotContext::default() };
            let _ = session.submit(ExchangeId(next), request, &fill, out);
            next += 1;
        }
    };
    for (at, piece) in pieces.iter().enumerate() {
        if again || at == 0 {
            fill(&mut session, &mut out);
        }
        let read = session.receive(piece, &mut out, &mut done);
        record_events(&mut done, &mut told);
        assert!(session.partial_response().len() <= super::field::FARTHEST);
        if let Err(broken) = read {
            assert!(session.room() == 0, "a broken conversation takes no more");
            assert!(session.write_replies(0, &mut out) == 0, "a broken conversation says no more");
            told.push(format!("broken: {broken}"));
            return told;
        }
        // Replies are sent after each piece, except after one that breaks the conversation.
        replies += session.write_replies(0, &mut out);
    }
    told.push(format!("replies {replies}, opening messages {}", session.opening_messages()));
    session.peer_closed(&mut done);
    record_events(&mut done, &mut told);
    told
}

/// Adds up unsolicited bytes, which are reported in the pieces they arrive in.
fn record_events(done: &mut EventBuffer, told: &mut Vec<String>) {
    for event in done.events.drain(..) {
        match event {
            Event::Ended(e) => told.push(format!("{} {:?} {} {}", e.id.0, e.fault, e.code, e.payload)),
            Event::Unsolicited(bytes, _) => {
                let before = told.last().and_then(|last| last.strip_prefix("unsolicited ")?.parse::<u32>().ok());
                if before.is_some() {
                    told.pop();
                }
                told.push(format!("unsolicited {}", before.unwrap_or(0) + bytes));
            }
            Event::SurplusResponse(_) if told.last().is_none_or(|last| last != "stray") => {
                told.push("stray".to_owned())
            }
            _ => {}
        }
    }
}

/// Checks that nothing panics, no exchange ends twice, and the result does not depend on how the bytes are split.
///
/// # Panics
/// Panics if a property is violated.
pub fn check(workload: &Arc<dyn Workload>, bytes: &[u8], cuts: &[u8]) {
    let mut pieces = Vec::new();
    let mut rest = bytes;
    for cut in cuts {
        let (piece, after) = rest.split_at(usize::from(*cut).min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces.push(rest);
    // A network delivers no empty pieces.
    pieces.retain(|piece| !piece.is_empty());
    let cut = outcome(workload, &pieces, true);
    let mut ended: Vec<&str> = cut
        .iter()
        .filter_map(|line| {
            line.split(' ').next()?.parse::<u32>().ok().map(|_| line.split(' ').next().unwrap_or_default())
        })
        .collect();
    let count = ended.len();
    ended.sort_unstable();
    ended.dedup();
    assert_eq!(ended.len(), count, "an exchange ended twice: {cut:?}");
    // Requests sent in between may be answered by later bytes, so both runs send all requests at first.
    assert_eq!(outcome(workload, &pieces, false), outcome(workload, &[bytes][..pieces.len().min(1)], false));
}
