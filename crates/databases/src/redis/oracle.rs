//! What must hold for any bytes at all as replies: the same outcome wherever they are cut. Called by the property tests and
//! by the fuzz target; panics where something does not hold.

use std::sync::Arc;

use wire::{
    Asked, AskedUrl, Broken, Dialogue, Done, Established, Event, ExchangeId, FaultKind, Fill, Out, Protocol,
    ServerSession,
};

use super::{Redis, RedisServer, reply};
use values::capture::Taken;

/// Holds the client half against these bytes as replies, also cut at `at`.
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

/// Holds what captures look into against these bytes as whole replies: aggregates are JSON, whatever stands in them. The same as replies that
/// a session takes values out of, also cut at `at`.
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

/// Holds the server half against these bytes as commands, also cut at `at`.
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

/// What pieces of replies come to, with as many exchanges in flight as there was room for at first.
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
    // Examples hold what was there when it broke, and may.
    done.example_kept(FaultKind::BrokenProtocol);
    let broken = pieces.find_map(|piece| session.receive(piece, &mut out, &mut done).err());
    // How much of an answer too many there is depends on the pieces.
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

/// What pieces of commands come to.
fn heard<'a>(mut pieces: impl Iterator<Item = &'a [u8]>) -> (Option<Broken>, Vec<String>) {
    let (mut server, mut heard) = (RedisServer::new(), Vec::new());
    let broken = pieces.find_map(|piece| {
        let hear = &mut |ask: wire::Ask<'_>| heard.push(format!("{ask:?}"));
        server.receive(piece, hear).err()
    });
    (broken, heard)
}
