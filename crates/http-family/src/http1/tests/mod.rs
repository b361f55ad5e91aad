//! Tests with scripted bytes split at every position, property tests, and tests of client against server.

mod answers;
mod examples;
mod found;
mod halves;
mod properties;
mod redirects;
mod requests;
mod server;
mod slots;
mod withheld;

use std::sync::Arc;

use wire::{
    Asked, AskedUrl, Dialogue, Done, Established, Event, ExchangeId, FaultKind, Fill, Origin, Out, Protocol, Session,
};

use super::{Http1, Request};

/// Prepares a run of one URL with options as `name=value`; a switch has no `=`.
fn dialogue(url: &str, options: &[&str]) -> Arc<dyn Dialogue> {
    Http1.prepare(&asked(&[url], options)).expect("a good plan")
}

fn asked(urls: &[&str], options: &[&str]) -> Asked {
    let mut asked = Asked { seed: 7, ..Asked::default() };
    asked.urls = urls.iter().map(|u| AskedUrl { url: (*u).to_owned(), weight: 1.0 }).collect();
    for option in options {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        asked.options.entry(name.to_owned()).or_default().push(value.to_owned());
    }
    asked
}

/// Outcome of an exchange, independent of how its response was split.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Outcome {
    /// Fault, status, payload and redirect; `None` if still in flight.
    ended: Option<(Option<FaultKind>, u32, u64, Option<String>)>,
    /// Error of the connection.
    broken: Option<&'static str>,
    /// Room left in the session.
    room: usize,
}

/// Sends one request and plays the pieces of the response; with `close` the connection is then closed.
fn play(dialogue: &Arc<dyn Dialogue>, pieces: &[&[u8]], close: bool) -> Outcome {
    let mut session = dialogue.session(&Origin::default(), &Established::default());
    let (mut out, mut done) = (Out::default(), Done::default());
    session.submit(ExchangeId(3), &dialogue.requests()[0].request, &Fill::default(), &mut out).expect("room");
    assert_eq!(session.room(), 0);
    let outcome = feed(&mut session, dialogue, pieces, close, &mut done);
    assert_order(&done);
    outcome
}

fn feed(
    session: &mut Box<dyn Session>,
    dialogue: &Arc<dyn Dialogue>,
    pieces: &[&[u8]],
    close: bool,
    done: &mut Done,
) -> Outcome {
    let mut out = Out::default();
    let mut broken = None;
    for piece in pieces {
        if let Err(why) = session.receive(piece, &mut out, done) {
            broken = Some(&*why.to_string().leak());
            break;
        }
    }
    if close && broken.is_none() {
        session.closed(done);
    }
    let ended = done.events.iter().find_map(|event| match event {
        Event::Ended(ended) => {
            let follow = ended.follow.as_ref().map(|f| {
                let sent = String::from_utf8_lossy(&dialogue.sent(&f.request)).into_owned();
                format!("{}:{} {}", f.origin.host, f.origin.port, sent.lines().next().unwrap_or_default())
            });
            Some((ended.fault, ended.code, ended.payload, follow))
        }
        _ => None,
    });
    Outcome { ended, broken, room: session.room() }
}

/// Asserts that there is at most one first byte, before the one end.
fn assert_order(done: &Done) {
    let kinds: Vec<u8> = done
        .events
        .iter()
        .filter(|event| !matches!(event, Event::Stray(_)))
        .map(|event| match event {
            Event::FirstByte(id) => {
                assert_eq!(*id, ExchangeId(3));
                0
            }
            Event::Ended(ended) => {
                assert_eq!(ended.id, ExchangeId(3));
                1
            }
            _ => 2,
        })
        .collect();
    assert!(matches!(kinds[..], [] | [0] | [1] | [0, 1]), "{kinds:?}");
}
