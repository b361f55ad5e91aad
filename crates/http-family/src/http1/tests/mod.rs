//! Tests with scripted bytes split at every position, property tests, and tests of client against server.

mod client_server;
mod examples;
mod expect_continue;
mod fuzz_regressions;
mod properties;
mod redirects;
mod requests;
mod responses;
mod server;
mod slots;

use std::sync::Arc;

use brunt_contract::{
    EstablishedConnection, Event, EventBuffer, ExchangeId, FaultKind, Origin, OutputBuffer, Protocol, ProtocolConfig,
    RequestedUrl, Session, SlotContext, Workload,
};

use super::{Http1, HttpRequest};

/// Prepares a run of one URL with options as `name=value`; a switch has no `=`.
fn dialogue(url: &str, options: &[&str]) -> Arc<dyn Workload> {
    Http1.prepare(&asked(&[url], options)).expect("a good plan")
}

fn asked(urls: &[&str], options: &[&str]) -> ProtocolConfig {
    let mut asked = ProtocolConfig { seed: 7, ..ProtocolConfig::default() };
    asked.urls = urls.iter().map(|u| RequestedUrl { url: (*u).to_owned(), weight: 1.0 }).collect();
    for option in options {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        asked.options.entry(name.to_owned()).or_default().push(value.to_owned());
    }
    asked
}

/// Outcome of an exchange, independent of how its response was split.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PlayedExchange {
    /// Fault, status, payload and redirect; `None` if still in flight.
    ended: Option<(Option<FaultKind>, u32, u64, Option<String>)>,
    /// Error of the connection.
    broken: Option<&'static str>,
    /// Room left in the session.
    room: usize,
}

/// Sends one request and plays the pieces of the response; with `close` the connection is then closed.
fn play(workload: &Arc<dyn Workload>, pieces: &[&[u8]], close: bool) -> PlayedExchange {
    let mut session = workload.session(&Origin::default(), &EstablishedConnection::default());
    let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
    session.submit(ExchangeId(3), &workload.requests()[0].request, &SlotContext::default(), &mut out).expect("room");
    assert_eq!(session.room(), 0);
    let outcome = feed(&mut session, workload, pieces, close, &mut done);
    assert_order(&done);
    outcome
}

fn feed(
    session: &mut Box<dyn Session>,
    workload: &Arc<dyn Workload>,
    pieces: &[&[u8]],
    close: bool,
    done: &mut EventBuffer,
) -> PlayedExchange {
    let mut out = OutputBuffer::default();
    let mut broken = None;
    for piece in pieces {
        if let Err(why) = session.receive(piece, &mut out, done) {
            broken = Some(&*why.to_string().leak());
            break;
        }
    }
    if close && broken.is_none() {
        session.peer_closed(done);
    }
    let ended = done.events.iter().find_map(|event| match event {
        Event::Ended(ended) => {
            let follow = ended.follow_up.as_ref().map(|f| {
                let sent = String::from_utf8_lossy(&workload.encoded(&f.request)).into_owned();
                format!("{}:{} {}", f.origin.host, f.origin.port, sent.lines().next().unwrap_or_default())
            });
            Some((ended.fault, ended.code, ended.payload, follow))
        }
        _ => None,
    });
    PlayedExchange { ended, broken, room: session.room() }
}

/// Asserts that at most one first byte is reported, and only before the single end.
fn assert_order(done: &EventBuffer) {
    let kinds: Vec<u8> = done
        .events
        .iter()
        .filter(|event| !matches!(event, Event::SurplusResponse(_)))
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
