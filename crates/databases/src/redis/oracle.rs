//! Invariants for arbitrary bytes as replies: the result is the same wherever they are split. Called by the property
//! tests and by the fuzz target; panics on a violation.

use std::sync::Arc;

use wire::{
    Asked, AskedUrl, Broken, Dialogue, Done, Established, Event, ExchangeId, FaultKind, Fill, Out, Protocol,
    ServerSession,
};

use super::{Redis, RedisServer, reply};
use values::capture::Taken;

/// Feeds arbitrary bytes to the client as replies, whole and split at `at`.
pub fn replies(bytes: &[u8], at: usize) {
    for options in
        [&[("pipeline", "3")][..], &[("expect-body", "ab")], &[("command", "GET a; GET b")], &[("resp", "3")]]
    {
        let dialogue = dialogue(options);
        let (a, b) = bytes.split_at(at.min(bytes.len()));
        let whole = played(&dialogue, [bytes].into_iter());
        assert_eq!(played(&dialogue, [a, b].into_iter()), whole);
        assert_eq!(played(&dialogue, bytes.chunks(1)), whole);
    }
}

/// Feeds arbitrary bytes as replies with captures: aggregates must become JSON, whatever they contain, and a session
/// that captures values must find the same ones when the bytes are split at `at`.
pub fn captured(bytes: &[u8], at: usize) {
    for many in 1..=3 {
        let Ok(said) = reply::said(bytes, many) else { continue };
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
        let whole = played(&dialogue, [bytes].into_iter());
        assert_eq!(played(&dialogue, [a, b].into_iter()), whole);
        assert_eq!(played(&dialogue, bytes.chunks(1)), whole);
    }
}

/// Feeds arbitrary bytes to the server as commands, whole and split at `at`.
pub fn asking(bytes: &[u8], at: usize) {
    let (a, b) = bytes.split_at(at.min(bytes.len()));
    let whole = heard([bytes].into_iter());
    assert_eq!(heard([a, b].into_iter()), whole);
    assert_eq!(heard(bytes.chunks(1)), whole);
}

fn dialogue(options: &[(&str, &str)]) -> Arc<dyn Dialogue> {
    let url = AskedUrl { url: "redis://h".to_owned(), weight: 1.0 };
    let options = options.iter().map(|(name, value)| ((*name).to_owned(), vec![(*value).to_owned()])).collect();
    Redis
        .prepare(&Asked { urls: vec![url], options, variables: ["a".to_owned()].into(), ..Asked::default() })
        .expect("a good plan")
}

/// Plays pieces of replies with as many exchanges in flight as there was room for at first; returns the events.
fn played<'a>(
    dialogue: &Arc<dyn Dialogue>,
    mut pieces: impl Iterator<Item = &'a [u8]>,
) -> (Vec<String>, Option<Broken>) {
    let mut session = dialogue.session(&dialogue.origins()[0], &Established::default());
    let (mut out, mut done) = (Out::default(), Done::default());
    session.open(&mut out);
    for id in 0..session.room() as u32 {
        let request = &dialogue.requests()[0].request;
        session.submit(ExchangeId(id), request, &Fill::default(), &mut out).expect("room");
    }
    // An example holds the bytes at the time of the error, which may differ.
    done.example_kept(FaultKind::BrokenProtocol);
    let broken = pieces.find_map(|piece| session.receive(piece, &mut out, &mut done).err());
    // The size reported for a stray answer depends on the pieces.
    let told = |event: &Event| match event {
        Event::FirstByte(_) => None,
        Event::Stray(_) => Some("stray".to_owned()),
        Event::Learnt(id, lesson) => Some(format!("{} {:?}", id.0, lesson.downcast_ref::<Taken>())),
        event => Some(format!("{event:?}")),
    };
    let mut told: Vec<String> = done.events.iter().filter_map(told).collect();
    told.push(format!("{} {:?}", session.room(), session.refusal()));
    (told, broken)
}

/// Plays pieces of commands; returns the requests received.
fn heard<'a>(mut pieces: impl Iterator<Item = &'a [u8]>) -> (Option<Broken>, Vec<String>) {
    let (mut server, mut heard) = (RedisServer::new(), Vec::new());
    let broken = pieces.find_map(|piece| {
        let hear = &mut |ask: wire::Ask<'_>| heard.push(format!("{ask:?}"));
        server.receive(piece, hear).err()
    });
    (broken, heard)
}
