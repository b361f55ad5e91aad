//! gRPC on scripted bytes: server output whole, split at every position, and garbage.

mod answers;
mod editions;
mod held_streams;
mod preparing;
mod properties;
mod reflecting;
mod response_checks;
mod sending;
mod serving;
mod slots;
mod statuses;

use std::sync::Arc;

use brunt_contract::{
    EstablishedConnection, Event, EventBuffer, ExchangeId, OutputBuffer, Protocol, ProtocolConfig, ProtocolError,
    RequestedUrl, Session, SlotContext, Workload,
};

use super::framing;
use super::{GrpcProtocol, GrpcRequest};
use crate::http2::frames::{self, FrameHead};
use crate::http2::hpack::literal;

const UNARY: &str = "grpc://127.0.0.1:1/brunt.Target/Unary";
const SERVER: &str = "grpc://127.0.0.1:1/brunt.Target/ServerStream";
const CLIENT: &str = "grpc://127.0.0.1:1/brunt.Target/ClientStream";
const BIDI: &str = "grpc://127.0.0.1:1/brunt.Target/Bidi";

/// Returns the configuration of a run, with `target.proto` unless another file is named.
fn asked(url: &str, options: &[(&str, &str)]) -> ProtocolConfig {
    let mut asked =
        ProtocolConfig { urls: vec![RequestedUrl { url: url.into(), weight: 1.0 }], ..ProtocolConfig::default() };
    for (name, value) in options {
        asked.options.entry((*name).to_owned()).or_default().push((*value).to_owned());
    }
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/src/grpc/proto/target.proto");
    asked.options.entry("proto".to_owned()).or_insert_with(|| vec![own.to_owned()]);
    asked
}

fn dialogue(url: &str, options: &[(&str, &str)]) -> Arc<dyn Workload> {
    GrpcProtocol.prepare(&asked(url, options)).expect("a good plan")
}

/// A client session under test and its events.
struct GrpcClient {
    workload: Arc<dyn Workload>,
    session: Box<dyn Session>,
    out: OutputBuffer,
    done: EventBuffer,
}

impl GrpcClient {
    fn new(workload: Arc<dyn Workload>) -> GrpcClient {
        let origin = workload.origins()[0].clone();
        let mut session = workload.session(&origin, &EstablishedConnection::default());
        let mut out = OutputBuffer::default();
        session.open(&mut out);
        GrpcClient { workload, session, out, done: EventBuffer::default() }
    }

    /// Makes the call with this identifier.
    fn call(&mut self, id: u32) {
        let request = &self.workload.requests()[0].request;
        self.session.submit(ExchangeId(id), request, &SlotContext::default(), &mut self.out).expect("there is room");
    }

    fn hear(&mut self, bytes: &[u8]) -> Result<(), ProtocolError> {
        self.session.receive(bytes, &mut self.out, &mut self.done)
    }

    /// Returns the frames sent since the last call: type, flags, stream, payload.
    fn sent(&mut self) -> Vec<(u8, u8, u32, Vec<u8>)> {
        let mut rest = self.out.bytes();
        rest = rest.strip_prefix(frames::PREFACE).unwrap_or(rest);
        let mut all = Vec::new();
        while let Some((head, behind)) = rest.split_first_chunk::<{ frames::HEAD }>() {
            let head = FrameHead::read(head);
            let (payload, more) = behind.split_at(head.length);
            all.push((head.kind, head.flags, head.stream, payload.to_vec()));
            rest = more;
        }
        assert!(rest.is_empty(), "whole frames are sent");
        self.out.clear();
        all
    }

    /// Returns the content sent on a stream, and whether it ended.
    fn body(&mut self, stream: u32) -> (Vec<u8>, bool) {
        let data = self.sent().into_iter().filter(|f| (f.0, f.2) == (frames::DATA, stream));
        data.fold((Vec::new(), false), |(mut all, _), (_, flags, _, payload)| {
            all.extend(payload);
            (all, flags & frames::END_STREAM != 0)
        })
    }

    /// Returns the events so far, as text.
    fn events(&mut self) -> Vec<String> {
        let text = |event: Event| {
            Some(match event {
                Event::FirstByte(id) => format!("first {}", id.0),
                Event::Message(id, size) => format!("message {} {size}", id.0),
                Event::Ended(e) => {
                    let fault = e.fault.map_or("ok", |kind| kind.name());
                    let status = e.excerpt.map(|text| String::from_utf8_lossy(&text).into_owned());
                    let said: Vec<String> = status.into_iter().chain(e.cause.map(|why| why.to_string())).collect();
                    let said = if said.is_empty() { String::new() } else { format!(" {}", said.join(": ")) };
                    let name = if e.code == 0 { "-".to_owned() } else { self.workload.code_name(e.code) };
                    format!("ended {} {fault} {name} {}{said}", e.id.0, e.payload)
                }
                Event::Refused(id) => format!("refused {}", id.0),
                Event::Heartbeat => "alive".to_owned(),
                Event::Unsolicited(..)
                | Event::ReplyDue
                | Event::SurplusResponse(_)
                | Event::Released(_)
                | Event::RestNotSent(_)
                | Event::StateUpdate(..) => "unasked".to_owned(),
                Event::PeerCode(_) => return None,
            })
        };
        self.done.events.drain(..).filter_map(text).collect()
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    frames::put(kind, flags, stream, payload, &mut bytes);
    bytes
}

/// Encodes the server's first frame.
fn settings(entries: &[(u16, u32)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    frames::put_settings(entries, &mut bytes);
    bytes
}

fn headers(stream: u32, fields: &[(&str, &str)], end: bool) -> Vec<u8> {
    let mut block = Vec::new();
    fields.iter().for_each(|(name, value)| literal(name.as_bytes(), value.as_bytes(), &mut block));
    frame(frames::HEADERS, frames::END_HEADERS | (u8::from(end) * frames::END_STREAM), stream, &block)
}

fn head(stream: u32) -> Vec<u8> {
    headers(stream, &[(":status", "200"), ("content-type", "application/grpc")], false)
}

/// Encodes DATA with these messages.
fn data(stream: u32, messages: &[&[u8]]) -> Vec<u8> {
    let mut body = Vec::new();
    messages.iter().for_each(|message| framing::put(message, &mut body));
    frame(frames::DATA, 0, stream, &body)
}

fn trailers(stream: u32, status: &str) -> Vec<u8> {
    headers(stream, &[("grpc-status", status)], true)
}
