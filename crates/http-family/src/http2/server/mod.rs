//! The server end of an HTTP/2 connection: requests are reported as they complete and answered in any order.
//!
//! Clients send the same head again and again, and so do we: the last head received is kept as text and the last head
//! sent as a block, and neither is rebuilt while it stays the same. Everything that a client could make grow without
//! end (streams, header blocks, frames without effect) is bounded. Requests are reported when they are complete; those
//! of a protocol that responds earlier ([`Http2Server::in_pieces`]) are reported as they arrive. Not supported: push,
//! priorities and interim responses. Trailers of requests are ignored.

mod receiving;
mod responses;
#[cfg(test)]
mod tests;

use brunt_cause::StaticCause;
use brunt_contract::{BodyFraming, OutputBuffer, ProtocolError, ServerRequest, ServerResponse, ServerSession};

use super::frames::{self, setting};
use super::hpack::{HpackDecoder, HpackEncoder, LIST_BOUND, Lexicon};
use super::sending::SendFlow;
use super::streams::StreamTable;
use responses::EncodedHead;

/// Maximum number of open streams; further ones are refused.
const STREAMS: u32 = 4096;
/// Receive window of a stream, and of the connection.
const WINDOW: u32 = 1 << 24;

/// A connection error: its code and its cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ServerError(u32, StaticCause);

/// A request in progress, or its response.
#[derive(Debug, Default)]
struct ServerExchange {
    /// The head as text, until the request is reported.
    text: RequestHead,
    body_bytes: u64,
    /// The beginning of the body.
    shown: Vec<u8>,
    /// A trailer to be sent after the queued blocks.
    trailer: Option<Box<[u8]>>,
    /// Set if the response has no body.
    head_only: bool,
    /// Set while more of the request's body is expected.
    open: bool,
    /// Set if the request is reported in pieces.
    in_pieces: bool,
    /// Set once the response's head was sent.
    head_sent: bool,
}

impl ServerExchange {
    /// Returns the number of bytes kept for the request.
    fn size(&self) -> usize {
        self.text.bytes.len() + self.shown.len()
    }
}

/// The head of a request in HTTP/1 syntax.
#[derive(Clone, Debug, Default)]
struct RequestHead {
    bytes: Vec<u8>,
    /// End offset of the method.
    method: usize,
    /// End offset of the path.
    path: usize,
    /// Set if requests with this head are reported in pieces.
    in_pieces: bool,
}

/// A predicate on the method and the head of a request that decides whether the request is reported in pieces.
pub type PiecewisePredicate = fn(&str, &[u8]) -> bool;

impl RequestHead {
    fn method(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.method]).unwrap_or_default()
    }
    fn path(&self) -> &str {
        std::str::from_utf8(&self.bytes[self.method + 1..self.path]).unwrap_or_default()
    }
}

/// An HTTP/2 session, server side.
#[derive(Debug)]
pub struct Http2Server {
    streams: StreamTable<ServerExchange>,
    decoder: HpackDecoder,
    encoder: HpackEncoder,
    lexicon: Lexicon,
    sending: SendFlow,
    /// The beginning of the preface or of a frame.
    partial_frame: Vec<u8>,
    block: Vec<u8>,
    assembling: Option<(u32, bool)>,
    /// The last head received, and its number.
    text: RequestHead,
    texts: u64,
    in_pieces: PiecewisePredicate,
    /// The last head sent.
    last_head: EncodedHead,
    /// Bytes due to the client apart from new responses: acknowledgements, window updates, resets, queued blocks,
    /// GOAWAY.
    due_replies: Vec<u8>,
    /// Number of bytes kept for incomplete requests.
    request_bytes: usize,
    received: u32,
    last_id: u32,
    idle_frames: u32,
    heartbeats: u64,
    greeted: bool,
    /// Set if no further request is accepted.
    shutting_down: bool,
    broken: bool,
}

impl Default for Http2Server {
    fn default() -> Http2Server {
        let mut owed = Vec::new();
        let settings = [
            (setting::MAX_CONCURRENT_STREAMS, STREAMS),
            (setting::INITIAL_WINDOW_SIZE, WINDOW),
            (setting::MAX_HEADER_LIST_SIZE, LIST_BOUND as u32),
        ];
        frames::put_settings(&settings, &mut owed);
        frames::put_number(frames::WINDOW_UPDATE, 0, WINDOW - frames::WINDOW_START as u32, &mut owed);
        Http2Server {
            streams: StreamTable::default(),
            decoder: HpackDecoder::default(),
            encoder: HpackEncoder::default(),
            lexicon: Lexicon::default(),
            sending: SendFlow::default(),
            partial_frame: Vec::new(),
            block: Vec::new(),
            assembling: None,
            text: RequestHead::default(),
            texts: 0,
            in_pieces: |_, _| false,
            last_head: EncodedHead::default(),
            due_replies: owed,
            request_bytes: 0,
            received: 0,
            last_id: 0,
            idle_frames: 0,
            heartbeats: 0,
            greeted: false,
            shutting_down: false,
            broken: false,
        }
    }
}

impl Http2Server {
    /// Creates a session for a new connection; the first bytes to be sent are in `due_replies`.
    pub fn new() -> Http2Server {
        Http2Server::default()
    }

    /// Like [`Http2Server::new`]; requests matching `which` are reported in pieces, as they arrive
    /// ([`brunt_contract::RequestPart`]).
    pub fn in_pieces(which: PiecewisePredicate) -> Http2Server {
        Http2Server { in_pieces: which, ..Http2Server::default() }
    }

    /// Returns the number of PINGs answered since the last call.
    pub fn heartbeats(&mut self) -> u64 {
        std::mem::take(&mut self.heartbeats)
    }

    /// Returns `true` if the head of a response was sent, but not yet the whole response.
    pub fn is_begun(&mut self, id: u32) -> bool {
        self.streams.get(id).is_some_and(|stream| stream.state.head_sent)
    }

    /// Returns the number of response blocks queued for the client's window.
    pub fn backlog(&mut self, id: u32) -> usize {
        self.streams.get(id).and_then(|stream| stream.queue.as_ref()).map_or(0, |waiting| waiting.blocks.len())
    }

    /// Returns the number of requests received and not yet answered in full.
    pub fn open(&self) -> usize {
        self.streams.live()
    }
}

impl ServerSession for Http2Server {
    fn receive(&mut self, bytes: &[u8], hear: &mut dyn FnMut(ServerRequest<'_>)) -> Result<(), ProtocolError> {
        self.read(bytes, hear).map_err(|ServerError(code, what)| {
            self.send_goaway(code);
            self.broken = true;
            ProtocolError(what)
        })
    }

    fn respond(&mut self, id: u32, reply: &ServerResponse<'_>, out: &mut OutputBuffer) {
        let length = (reply.framing == BodyFraming::Length).then_some(reply.body.len());
        if self.head(id, reply.status, reply.headers, length, reply.body.is_empty(), out) {
            let piece = match reply.framing {
                BodyFraming::Chunked(size) => size.max(1),
                _ => reply.body.len(),
            };
            let mut pieces = reply.body.chunks(piece).peekable();
            while let Some(piece) = pieces.next() {
                self.data(id, piece, pieces.peek().is_none(), out);
            }
        }
        self.close_after(reply);
    }

    fn write_due(&mut self, out: &mut OutputBuffer) {
        if !self.due_replies.is_empty() {
            out.put(&self.due_replies);
            self.due_replies.clear();
        }
    }

    fn is_finished(&self) -> bool {
        self.broken || (self.shutting_down && self.streams.live() == 0)
    }
}
