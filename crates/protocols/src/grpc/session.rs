//! The client's conversation: every call is a stream of an HTTP/2 connection.
//!
//! The messages of a call leave behind its head as far as the server's windows allow; the connection sends the rest when
//! they open. In lockstep the next message leaves when one came back.

use std::borrow::Cow;
use std::sync::Arc;

use wire::{Broken, Done, Event, ExchangeId, Fill, Full, Out, Sent, Session};

use super::answer::{Call, Ear};
use super::request::{Request, Slots};
use crate::http2::frames::code;
use crate::http2::hpack::Lexicon;
use crate::http2::{Connection, Said};
use crate::kept::Budget;

/// A conversation in gRPC, client side.
#[derive(Debug)]
pub struct GrpcSession {
    connection: Connection<Call>,
    lexicon: Arc<Lexicon>,
    /// What is kept of responses is taken from it.
    kept: Budget,
    /// Calls that may share the connection.
    streams: u32,
    /// Calls whose answer began in the bytes at hand.
    begun: Vec<ExchangeId>,
    /// Streams whose turn it is to send their next message.
    turns: Vec<u32>,
    /// Where slots are filled, and where messages of them are put together.
    scratch: [Vec<u8>; 2],
    /// Metadata with slots.
    said: Said,
}

impl GrpcSession {
    pub(super) fn new(lexicon: Arc<Lexicon>, streams: u32, (tls, kept): (bool, Budget)) -> GrpcSession {
        let connection = Connection::over(tls, kept.clone());
        let (begun, turns, scratch, said) = (Vec::new(), Vec::new(), Default::default(), Said::default());
        GrpcSession { connection, lexicon, kept, streams, begun, turns, scratch, said }
    }

    /// A call with slots in its metadata or its messages.
    fn submit_filled(&mut self, id: ExchangeId, request: &Request, slots: &Slots, fill: &Fill, out: &mut Out) {
        let [scratch, body] = &mut self.scratch;
        let (lexicon, list) = (&self.lexicon, &request.list);
        let (head, said) = (slots.head.as_ref(), &mut self.said);
        if let Some(head) = head {
            head.fill(fill, said);
        }
        let stream =
            self.connection.begin_with(Call::new(id, request).drawing(fill.random), false, out, |encoder, out| {
                match head {
                    Some(head) => head.head(said, list, lexicon, encoder, out),
                    None => encoder.write(lexicon, list, out),
                }
            });
        if request.further.is_some()
            && let Some(rare) = self.connection.own(stream).and_then(|call| call.rare.as_deref_mut())
        {
            rare.stream = stream;
        }
        if slots.messages.is_empty() {
            return self.connection.send(stream, &request.body, request.further.is_none(), out);
        }
        body.clear();
        slots.put(fill, scratch, body);
        self.connection.send_bytes(stream, body, true, out);
    }

    /// Sends the next message of each stream whose turn it is.
    #[cold]
    fn take_turns(&mut self, out: &mut Out) {
        let mut turns = std::mem::take(&mut self.turns);
        for stream in turns.drain(..) {
            let Some(rare) = self.connection.own(stream).and_then(|call| call.rare.as_deref_mut()) else { continue };
            let Some(further) = rare.further.as_ref().filter(|further| rare.sent < further.len()) else { continue };
            let (message, last) = (Arc::clone(&further[rare.sent]), rare.sent + 1 == further.len());
            rare.sent += 1;
            self.connection.send(stream, &message, last, out);
        }
        self.turns = turns;
    }
}

impl Session for GrpcSession {
    type Request = Request;
    const SLOTS: bool = true;

    fn open(&mut self, out: &mut Out) {
        self.connection.open(out);
    }

    #[inline]
    fn submit(&mut self, id: ExchangeId, request: &Request, fill: &Fill, out: &mut Out) -> Result<Sent, Full> {
        if self.room() == 0 {
            return Err(Full);
        }
        if let Some(slots) = &request.slots {
            self.submit_filled(id, request, slots, fill, out);
            return Ok(Sent::Asked);
        }
        let call = Call::new(id, request).drawing(fill.random);
        let stream = self.connection.begin(call, false, &self.lexicon, &request.list, out);
        if request.further.is_some()
            && let Some(rare) = self.connection.own(stream).and_then(|call| call.rare.as_deref_mut())
        {
            rare.stream = stream;
        }
        self.connection.send(stream, &request.body, request.further.is_none(), out);
        Ok(Sent::Asked)
    }

    fn cancel(&mut self, id: ExchangeId, out: &mut Out) -> bool {
        if let Some(stream) = self.connection.find(|call| call.id == id) {
            self.connection.reset(stream, code::CANCEL, out);
        }
        true
    }

    #[inline]
    fn receive(&mut self, bytes: &[u8], out: &mut Out, done: &mut Done<Request>) -> Result<(), Broken> {
        let (begun, turns) = (&mut self.begun, &mut self.turns);
        let mut ear = Ear { done, begun, turns, kept: &self.kept };
        let read = self.connection.receive(bytes, out, &mut ear);
        for id in self.begun.drain(..) {
            done.push(Event::FirstByte(id));
        }
        if !self.turns.is_empty() && read.is_ok() {
            self.take_turns(out);
        }
        read
    }

    fn begun(&self) -> &[u8] {
        self.connection.goodbye_text()
    }

    #[inline]
    fn replies(&self) -> u32 {
        self.connection.replies()
    }

    fn replies_left(&mut self) {
        self.connection.replies_left();
    }

    fn goodbye(&self) -> &'static str {
        self.connection.goodbye()
    }

    fn farewell(&self) -> Cow<'static, str> {
        self.connection.farewell()
    }

    fn why_refused(&self) -> &'static str {
        self.connection.why_refused()
    }

    fn heartbeat(&mut self, out: &mut Out) -> bool {
        self.connection.ping(out)
    }

    fn finish(&mut self, out: &mut Out) {
        self.connection.finish(out);
    }

    #[inline]
    fn room(&self) -> usize {
        self.connection.room_of(self.streams)
    }
}
