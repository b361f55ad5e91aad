//! The server's end of an HTTP/2 connection: requests heard as they complete, answers in any order.
//!
//! Clients say the same head again and again, and so do we: the last head heard is kept as text, the last head said as a
//! block, and neither is made anew while it is the same. What a client may ask of us without an end (streams, header
//! blocks, frames that lead to nothing) is bounded. Requests are heard when they are whole; those of a protocol on top that
//! answers before ([`Http2Server::in_pieces`]) as they come. Left out: push, priorities, interim answers; trailers of
//! requests are read over.

mod answering;
mod hearing;
#[cfg(test)]
mod tests;

use cause::Plain;
use wire::{Ask, Broken, Out, Reply, ServerSession, Shape};

use super::frames::{self, setting};
use super::hpack::{Decoder, Encoder, LIST_BOUND, Lexicon};
use super::sending::Sending;
use super::streams::Streams;
use answering::Said;

/// Streams a client may have open; one more is refused.
const STREAMS: u32 = 4096;
/// What a stream may send us without hearing from us, and what the connection may.
const WINDOW: u32 = 1 << 24;

/// Why the connection cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fault(u32, Plain);

/// A request on its way, or its answer.
#[derive(Debug, Default)]
struct Asked {
    /// The head as text, until the request is heard.
    text: Text,
    body_bytes: u64,
    /// The beginning of the body.
    shown: Vec<u8>,
    /// A trailer that follows what waits for the client's window.
    trailer: Option<Box<[u8]>>,
    /// The answer has no body.
    head_only: bool,
    /// More of its body is to come.
    open: bool,
    /// It is heard in pieces.
    in_pieces: bool,
    /// The head of the answer was said.
    begun: bool,
}

impl Asked {
    /// Bytes kept of it.
    fn size(&self) -> usize {
        self.text.bytes.len() + self.shown.len()
    }
}

/// The head of a request as HTTP/1 writes it.
#[derive(Clone, Debug, Default)]
struct Text {
    bytes: Vec<u8>,
    /// Where the method ends.
    method: usize,
    /// Where the path ends.
    path: usize,
    /// Requests with this head are heard in pieces.
    in_pieces: bool,
}

/// Says of a method and a head whether their request is heard in pieces.
pub type Choice = fn(&str, &[u8]) -> bool;

impl Text {
    fn method(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.method]).unwrap_or_default()
    }
    fn path(&self) -> &str {
        std::str::from_utf8(&self.bytes[self.method + 1..self.path]).unwrap_or_default()
    }
}

/// A conversation in HTTP/2, server side.
#[derive(Debug)]
pub struct Http2Server {
    streams: Streams<Asked>,
    decoder: Decoder,
    encoder: Encoder,
    lexicon: Lexicon,
    sending: Sending,
    /// The beginning of the preface or of a frame.
    kept: Vec<u8>,
    block: Vec<u8>,
    assembling: Option<(u32, bool)>,
    /// The last head heard, and its number.
    text: Text,
    texts: u64,
    in_pieces: Choice,
    /// The last head said.
    said: Said,
    /// What we say without being asked.
    owed: Vec<u8>,
    /// Bytes kept of requests that are not whole.
    asking: usize,
    received: u32,
    last_id: u32,
    idle_frames: u32,
    heartbeats: u64,
    greeted: bool,
    /// No further request is heard.
    going: bool,
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
            streams: Streams::default(),
            decoder: Decoder::default(),
            encoder: Encoder::default(),
            lexicon: Lexicon::default(),
            sending: Sending::default(),
            kept: Vec::new(),
            block: Vec::new(),
            assembling: None,
            text: Text::default(),
            texts: 0,
            in_pieces: |_, _| false,
            said: Said::default(),
            owed,
            asking: 0,
            received: 0,
            last_id: 0,
            idle_frames: 0,
            heartbeats: 0,
            greeted: false,
            going: false,
            broken: false,
        }
    }
}

impl Http2Server {
    /// A conversation on a fresh connection; what a server says first is [`ServerSession::owed`].
    pub fn new() -> Http2Server {
        Http2Server::default()
    }

    /// As [`Http2Server::new`]; requests of which `which` holds are heard in pieces, as they come ([`wire::Extent`]).
    pub fn in_pieces(which: Choice) -> Http2Server {
        Http2Server { in_pieces: which, ..Http2Server::default() }
    }

    /// PINGs answered since the last call.
    pub fn heartbeats(&mut self) -> u64 {
        std::mem::take(&mut self.heartbeats)
    }

    /// True where the head of the answer to a request was said and more of it is to come.
    pub fn is_begun(&mut self, id: u32) -> bool {
        self.streams.get(id).is_some_and(|stream| stream.own.begun)
    }

    /// Pieces of an answer that wait for the client's window.
    pub fn backlog(&mut self, id: u32) -> usize {
        self.streams.get(id).and_then(|stream| stream.waiting.as_ref()).map_or(0, |waiting| waiting.blocks.len())
    }

    /// Requests heard and not answered in full yet.
    pub fn open(&self) -> usize {
        self.streams.live()
    }
}

impl ServerSession for Http2Server {
    fn receive(&mut self, bytes: &[u8], hear: &mut dyn FnMut(Ask<'_>)) -> Result<(), Broken> {
        self.read(bytes, hear).map_err(|Fault(code, what)| {
            self.say_goodbye(code);
            self.broken = true;
            Broken(what)
        })
    }

    fn answer(&mut self, id: u32, reply: &Reply<'_>, out: &mut Out) {
        let length = (reply.shape == Shape::Length).then_some(reply.body.len());
        if self.head(id, reply.status, reply.headers, length, reply.body.is_empty(), out) {
            let piece = match reply.shape {
                Shape::Chunked(size) => size.max(1),
                _ => reply.body.len(),
            };
            let mut pieces = reply.body.chunks(piece).peekable();
            while let Some(piece) = pieces.next() {
                self.data(id, piece, pieces.peek().is_none(), out);
            }
        }
        self.close_after(reply);
    }

    fn owed(&mut self, out: &mut Out) {
        if !self.owed.is_empty() {
            out.put(&self.owed);
            self.owed.clear();
        }
    }

    fn over(&self) -> bool {
        self.broken || (self.going && self.streams.live() == 0)
    }
}
