//! Scripted bytes, split at every position; properties; client and server against each other.

mod client_and_server;
mod conversation;
mod frames;
mod handshake;
mod memory;
mod plan;
mod server;
mod side_messages;
mod steps;

use std::sync::Arc;

use brunt_contract::{
    EstablishedConnection, Event, EventBuffer, ExchangeId, OutputBuffer, Protocol, ProtocolConfig, RequestedUrl,
    Session, SlotContext, Workload,
};

use super::upgrade::{accept, key};
use super::{WebSocketMessage, WebSocketProtocol};

/// The seed of the sessions here.
const SEED: u64 = 77;

/// Creates a run of one URL with options given as `name=value`; a switch has no `=`.
fn dialogue(options: &[&str]) -> Arc<dyn Workload> {
    WebSocketProtocol.prepare(&asked(&["ws://h:9/chat?x=1"], options)).expect("a good plan")
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

/// Creates a session of the first URL, with its upgrade sent.
fn session(workload: &Arc<dyn Workload>) -> Box<dyn Session> {
    let established = EstablishedConnection { seed: SEED, ..EstablishedConnection::default() };
    let mut session = workload.session(&workload.origins()[0], &established);
    session.open(&mut OutputBuffer::default());
    session
}

/// Returns a server's upgrade response for a session of [`SEED`]; `more` are further header lines.
fn consent(more: &str) -> Vec<u8> {
    let accept = accept(&key(SEED));
    let accept = std::str::from_utf8(&accept).expect("base64");
    let head = "HTTP/1.1 101 Switching Protocols\r\nupgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\n";
    format!("{head}Sec-WebSocket-Accept: {accept}\r\n{more}\r\n").into_bytes()
}

/// Returns an open session.
fn opened(workload: &Arc<dyn Workload>, more: &str) -> Box<dyn Session> {
    let mut session = session(workload);
    session.receive(&consent(more), &mut OutputBuffer::default(), &mut EventBuffer::default()).expect("consent");
    assert!(!session.is_opening() && session.room() > 0);
    session
}

/// Sends the first message as exchange `id`; returns the bytes sent.
fn submit(session: &mut Box<dyn Session>, workload: &Arc<dyn Workload>, id: u32) -> Vec<u8> {
    let mut out = OutputBuffer::default();
    let request = &workload.requests()[0].request;
    session.submit(ExchangeId(id), request, &SlotContext::default(), &mut out).expect("room");
    out.bytes().to_vec()
}

/// The result of feeding a script to a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ScriptResult {
    /// Events, as text.
    events: Vec<String>,
    /// Sent frames: first byte and payload.
    sent: Vec<(u8, Vec<u8>)>,
    broken: Option<&'static str>,
    /// Set if the session accepts more messages, and (`opening`) if it still waits for its upgrade.
    room: bool,
    opening: bool,
}

/// Feeds pieces to a session.
fn feed(session: &mut Box<dyn Session>, pieces: &[&[u8]]) -> ScriptResult {
    let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
    let mut broken = None;
    for piece in pieces {
        if let Err(why) = session.receive(piece, &mut out, &mut done) {
            broken = Some(&*why.to_string().leak());
            break;
        }
    }
    let events = done.events.iter().filter_map(said).collect();
    ScriptResult {
        events,
        sent: unmasked(out.bytes()),
        broken,
        room: session.room() > 0,
        opening: session.is_opening(),
    }
}

/// Formats an event. First bytes are left out, as they depend on how the bytes are split.
fn said(event: &Event) -> Option<String> {
    Some(match event {
        Event::FirstByte(_) => return None,
        Event::Ended(e) => {
            let fault = e.fault.map_or(String::new(), |fault| format!(" {}", fault.name()));
            let excerpt = e.excerpt.as_ref().map_or(String::new(), |x| format!(" {:?}", String::from_utf8_lossy(x)));
            format!("{} {} of {}{fault}{excerpt}", e.id.0, e.code, e.payload)
        }
        Event::Heartbeat => "heartbeat".to_owned(),
        Event::Unsolicited(bytes, _) => format!("push of {bytes}"),
        Event::SurplusResponse(bytes) => format!("stray of {bytes}"),
        other => format!("{other:?}"),
    })
}

/// Returns the client's frames without their masks.
fn unmasked(mut bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut frames = Vec::new();
    while !bytes.is_empty() {
        let frame = super::codec::frame(bytes, super::codec::FrameSender::Client, true).expect("good").expect("whole");
        let end = frame.head + frame.size as usize;
        let mut payload = bytes[frame.head..end].to_vec();
        super::mask::mask(&mut payload, frame.key, 0);
        frames.push((bytes[0], payload));
        bytes = &bytes[end..];
    }
    frames
}

/// Encodes a server frame.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    super::codec::put_head(first, payload.len(), false, &mut bytes);
    bytes.extend_from_slice(payload);
    bytes
}
