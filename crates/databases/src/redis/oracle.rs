//! Invariants for arbitrary bytes as replies: the result is the same wherever they are split. Called by the property
//! tests and by the fuzz target; panics on a violation.

use std::sync::Arc;

use brunt_contract::{
    EstablishedConnection, Event, EventBuffer, ExchangeId, FaultKind, OutputBuffer, Protocol, ProtocolConfig,
    ProtocolError, RequestedUrl, ServerSession, SlotContext, Workload,
};

use super::{RedisProtocol, RedisServer, reply};
use brunt_values::capture::CapturedValues;

/// Feeds arbitrary bytes to the client as replies, whole and split at `at`.
pub fn check_replies(bytes: &[u8], at: usize) {
    for options in
        [&[("pipeline", "3")][..], &[("expect-body", "ab")], &[("command", "GET a; GET b")], &[("resp", "3")]]
    {
        let dialogue = dialogue(options);
        let (a, b) = bytes.split_at(at.min(bytes.len()));
        let whole = play_replies(&dialogue, [bytes].into_iter());
        assert_eq!(play_replies(&dialogue, [a, b].into_iter()), whole);
        assert_eq!(play_replies(&dialogue, bytes.chunks(1)), whole);
    }
}

/// Feeds arbitrary bytes as replies with captures: aggregates must become JSON, whatever they contain, and a session
/// that captures values must find the same ones when the bytes are split at `at`.
pub fn check_captures(bytes: &[u8], at: usize) {
    for many in 1..=3 {
        let Ok(said) = reply::convert_replies(bytes, many) else { continue };
        let is_aggregate = many > 1 || matches!(bytes.first(), Some(b'*' | b'~' | b'%' | b'|'));
        if is_aggregate {
            let read = serde_json::from_slice::<&serde_json::value::RawValue>(&said.body);
            assert!(read.is_ok(), "{read:?}: {}", String::from_utf8_lossy(&said.body));
        }
    }
    for options in [
        &[("capture", "a reply")][..],
        &[("capture", "a element 2"), ("expect-body", "a")],
        &[("capture", "a json $[*] | all"), ("command", "GET a; GET b")],
        &[("capture", "a regex (.)b | default x"), ("resp", "3")],
    ] {
        let dialogue = dialogue(options);
        let (a, b) = bytes.split_at(at.min(bytes.len()));
        let whole = play_replies(&dialogue, [bytes].into_iter());
        assert_eq!(play_replies(&dialogue, [a, b].into_iter()), whole);
        assert_eq!(play_replies(&dialogue, bytes.chunks(1)), whole);
    }
}

/// Feeds arbitrary bytes to the server as commands, whole and split at `at`.
pub fn check_commands(bytes: &[u8], at: usize) {
    let (a, b) = bytes.split_at(at.min(bytes.len()));
    let whole = play_commands([bytes].into_iter());
    assert_eq!(play_commands([a, b].into_iter()), whole);
    assert_eq!(play_commands(bytes.chunks(1)), whole);
}

fn dialogue(options: &[(&str, &str)]) -> Arc<dyn Workload> {
    let url = RequestedUrl { url: "redis://h".to_owned(), weight: 1.0 };
    let options = options.iter().map(|(name, value)| ((*name).to_owned(), vec![(*value).to_owned()])).collect();
    RedisProtocol
        .prepare(&ProtocolConfig {
            urls: vec![url],
            options,
            variables: ["a".to_owned()].into(),
            ..ProtocolConfig::default()
        })
        .expect("a good plan")
}

/// Plays pieces of replies with as many exchanges in flight as the session accepts at first; returns the events and the
/// protocol error.
fn play_replies<'a>(
    workload: &Arc<dyn Workload>,
    mut pieces: impl Iterator<Item = &'a [u8]>,
) -> (Vec<String>, Option<ProtocolError>) {
    let mut session = workload.session(&workload.origins()[0], &EstablishedConnection::default());
    let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
    session.open(&mut out);
    for id in 0..session.room() as u32 {
        let request = &workload.requests()[0].request;
        session.submit(ExchangeId(id), request, &SlotContext::default(), &mut out).expect("room");
    }
    // An example contains the bytes received before the error, which may differ.
    done.mark_example(FaultKind::BrokenProtocol);
    let broken = pieces.find_map(|piece| session.receive(piece, &mut out, &mut done).err());
    // The size reported for a stray answer depends on the pieces.
    let told = |event: &Event| match event {
        Event::FirstByte(_) => None,
        Event::SurplusResponse(_) => Some("stray".to_owned()),
        Event::StateUpdate(id, lesson) => Some(format!("{} {:?}", id.0, lesson.downcast_ref::<CapturedValues>())),
        event => Some(format!("{event:?}")),
    };
    let mut told: Vec<String> = done.events.iter().filter_map(told).collect();
    told.push(format!("{} {:?}", session.room(), session.refusal_kind()));
    (told, broken)
}

/// Plays pieces of commands; returns the protocol error and the requests received.
fn play_commands<'a>(mut pieces: impl Iterator<Item = &'a [u8]>) -> (Option<ProtocolError>, Vec<String>) {
    let (mut server, mut heard) = (RedisServer::new(), Vec::new());
    let broken = pieces.find_map(|piece| {
        let hear = &mut |ask: brunt_contract::ServerRequest<'_>| heard.push(format!("{ask:?}"));
        server.receive(piece, hear).err()
    });
    (broken, heard)
}
