//! Scripted bytes: conversations split at every position, the frame cases of RFC 9113, flow control, garbage.

mod allowed;
mod answers;
mod conversations;
mod flow;
mod forbidden;
mod garbage;
mod requests;
mod shutdown;
mod slots;

use std::sync::Arc;

use brunt_contract::{
    EstablishedConnection, Event, EventBuffer, ExchangeEnd, ExchangeId, Origin, OutputBuffer, Protocol, ProtocolConfig,
    RequestedUrl, Session, SlotContext, Workload,
};

use super::frames::{self, FrameHead, HEAD, code};
use super::hpack;
use crate::http::Http;

/// Creates a run over HTTP/2 with options given as `name=value`.
pub fn dialogue(options: &[&str]) -> Arc<dyn Workload> {
    dialogue_of(&["http://h/"], options)
}

pub fn dialogue_of(urls: &[&str], options: &[&str]) -> Arc<dyn Workload> {
    let mut asked = ProtocolConfig { seed: 7, ..ProtocolConfig::default() };
    asked.urls = urls.iter().map(|u| RequestedUrl { url: (*u).to_owned(), weight: 1.0 }).collect();
    let alone = ["no-keepalive", "header=Connection: close"].iter().any(|option| options.contains(option));
    let streams = if alone { "streams=1" } else { "streams=100" };
    for option in ["http2", streams].iter().chain(options) {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        asked.options.entry(name.to_owned()).or_default().push(value.to_owned());
    }
    Http.prepare(&asked).expect("a good plan")
}

/// A client session under test.
pub struct Http2Client {
    pub workload: Arc<dyn Workload>,
    pub session: Box<dyn Session>,
    pub out: OutputBuffer,
    pub done: EventBuffer,
    pub broken: Option<&'static str>,
}

impl Http2Client {
    /// Creates a connection on which `requests` requests were sent; their bytes are discarded.
    pub fn after(options: &[&str], requests: u32) -> Http2Client {
        let mut talk = Http2Client::of(dialogue(options));
        for id in 0..requests {
            talk.submit(id);
        }
        talk.out.clear();
        talk
    }

    pub fn of(workload: Arc<dyn Workload>) -> Http2Client {
        let session = workload.session(&Origin::default(), &EstablishedConnection::default());
        let mut talk =
            Http2Client { workload, session, out: OutputBuffer::default(), done: EventBuffer::default(), broken: None };
        talk.session.open(&mut talk.out);
        talk
    }

    pub fn submit(&mut self, id: u32) {
        let request = &self.workload.requests()[0].request;
        self.session.submit(ExchangeId(id), request, &SlotContext::default(), &mut self.out).expect("room");
    }

    pub fn hear(&mut self, bytes: &[u8]) {
        if self.broken.is_none() {
            self.broken =
                self.session.receive(bytes, &mut self.out, &mut self.done).err().map(|b| &*b.to_string().leak());
        }
    }

    /// Returns the events since the last call, as text, without end codes.
    pub fn news(&mut self) -> Vec<String> {
        let news = self.done.events.drain(..).filter(|event| !matches!(event, Event::PeerCode(_)));
        news.map(|event| in_words(&event)).collect()
    }

    /// Returns the end codes received since the last call; other events are discarded.
    pub fn words(&mut self) -> Vec<String> {
        let events: Vec<Event> = self.done.events.drain(..).collect();
        let word = |event: &Event| match event {
            Event::PeerCode(word) => Some(self.workload.code_name(*word)),
            _ => None,
        };
        events.iter().filter_map(word).collect()
    }

    /// Like [`Self::news`], without first bytes, which depend on how the bytes were split.
    pub fn ends(&mut self) -> Vec<String> {
        self.news().into_iter().filter(|news| !news.starts_with("first")).collect()
    }

    /// Returns the frames sent since the last call: type, flags, stream, payload.
    pub fn said(&mut self) -> Vec<(u8, u8, u32, Vec<u8>)> {
        let mut rest = self.out.bytes();
        let mut said = Vec::new();
        while let Some((head, more)) = rest.split_first_chunk::<HEAD>() {
            let head = FrameHead::read(head);
            let (payload, more) = more.split_at(head.length);
            said.push((head.kind, head.flags, head.stream, payload.to_vec()));
            rest = more;
        }
        assert!(rest.is_empty());
        self.out.clear();
        said
    }
}

pub fn in_words(event: &Event) -> String {
    match event {
        Event::FirstByte(id) => format!("first {}", id.0),
        Event::Refused(id) => format!("refused {}", id.0),
        Event::Heartbeat => "heartbeat".to_owned(),
        Event::Message(..)
        | Event::Unsolicited(..)
        | Event::ReplyDue
        | Event::SurplusResponse(_)
        | Event::Released(_)
        | Event::RestNotSent(_)
        | Event::StateUpdate(..)
        | Event::PeerCode(_) => "?".to_owned(),
        Event::Ended(ExchangeEnd { id, fault, code, payload, follow_up: follow, .. }) => {
            let fault = fault.map_or("ok", brunt_contract::FaultKind::name);
            let follow = follow.as_ref().map_or("", |_| " follow");
            format!("{} {fault} {code} {payload}{follow}", id.0)
        }
    }
}

pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    frames::put(kind, flags, stream, payload, &mut out);
    out
}

pub fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in fields {
        hpack::literal(name.as_bytes(), value.as_bytes(), &mut out);
    }
    out
}

pub fn settings(pairs: &[(u16, u32)]) -> Vec<u8> {
    let mut out = Vec::new();
    frames::put_settings(pairs, &mut out);
    out
}

/// Encodes a whole head.
pub fn head(stream: u32, fields: &[(&str, &str)]) -> Vec<u8> {
    frame(frames::HEADERS, frames::END_HEADERS, stream, &block(fields))
}

/// Encodes a whole head, or trailer, that ends its stream.
pub fn last_head(stream: u32, fields: &[(&str, &str)]) -> Vec<u8> {
    frame(frames::HEADERS, frames::END_HEADERS | frames::END_STREAM, stream, &block(fields))
}

pub fn data(stream: u32, bytes: &[u8]) -> Vec<u8> {
    frame(frames::DATA, 0, stream, bytes)
}

pub fn last_data(stream: u32, bytes: &[u8]) -> Vec<u8> {
    frame(frames::DATA, frames::END_STREAM, stream, bytes)
}

pub fn reset(stream: u32, code: u32) -> Vec<u8> {
    frame(frames::RST_STREAM, 0, stream, &code.to_be_bytes())
}

pub fn window(stream: u32, more: u32) -> Vec<u8> {
    frame(frames::WINDOW_UPDATE, 0, stream, &more.to_be_bytes())
}

pub fn goaway(last: u32, code: u32) -> Vec<u8> {
    frame(frames::GOAWAY, 0, 0, &[last.to_be_bytes(), code.to_be_bytes()].concat())
}

/// Our acknowledgement of SETTINGS.
pub const ACKNOWLEDGED: (u8, u8, u32, Vec<u8>) = (frames::SETTINGS, frames::ACK, 0, Vec::new());

pub const OK: &[(&str, &str)] = &[(":status", "200")];
pub const GIVEN_UP: u32 = code::CANCEL;
