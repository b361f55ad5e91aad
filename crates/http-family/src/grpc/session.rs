//! The gRPC client session: every call is a stream of an HTTP/2 connection.
//!
//! The messages of a call follow its head as far as the server's windows allow; the connection sends the rest when they
//! open. In lockstep, the next message is sent when one came back.

use std::sync::Arc;

use cause::{Cause, Plain};
use wire::{Broken, Done, Event, ExchangeId, FaultKind, Fill, Full, Out, Sent, Session};

use super::answer::{Call, Ear};
use super::expect::Body;
use super::held::{Awaiting, BUSY, Held, NO_ROOM, NOT_OPEN};
use super::request::{Request, Slots};
use super::steps::{Holds, Opening, Step};
use crate::http2::frames::code;
use crate::http2::hpack::Lexicon;
use crate::http2::{Connection, Said};
use values::kept::Budget;

/// A gRPC session, client side.
#[derive(Debug)]
pub struct GrpcSession {
    connection: Connection<Call>,
    lexicon: Arc<Lexicon>,
    /// The memory budget for kept responses.
    kept: Budget,
    /// Maximum number of calls that share the connection.
    streams: u32,
    /// Calls whose response began in the bytes at hand.
    begun: Vec<ExchangeId>,
    /// Streams that may send their next message.
    turns: Vec<u32>,
    /// Buffers for slot values, and for messages built from them.
    scratch: [Vec<u8>; 2],
    /// Buffer for slot values of metadata.
    said: Said,
    /// The streams that steps of a flow hold open.
    held: Option<Box<Held>>,
}

impl GrpcSession {
    pub(super) fn new(lexicon: Arc<Lexicon>, streams: u32, (tls, kept): (bool, Budget)) -> GrpcSession {
        let connection = Connection::over(tls, kept.clone());
        let (begun, turns, scratch, said) = (Vec::new(), Vec::new(), Default::default(), Said::default());
        GrpcSession { connection, lexicon, kept, streams, begun, turns, scratch, said, held: None }
    }

    /// Enables streams held open by steps.
    pub(super) fn holding(self, holds: Arc<Holds>) -> GrpcSession {
        GrpcSession { held: Some(Box::new(Held::new(holds))), ..self }
    }

    /// Submits a call with slots in its metadata or its messages.
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

    /// Begins a step on a stream held open.
    #[cold]
    fn begin_step(&mut self, (id, number): (ExchangeId, usize), request: &Request, fill: &Fill, out: &mut Out) -> Sent {
        let Some(held) = self.held.as_deref_mut() else { return Sent::There };
        let rules = Arc::clone(&held.rules);
        let step = &rules.steps[number];
        let like = match step.awaits.filled(fill).transpose() {
            Ok(like) => like,
            Err(why) => return held.cannot(id, FaultKind::WrongBody, cause::checks::awaited_unreadable(why)),
        };
        let line = held.line(step.stream);
        if line.is_busy() {
            return held.cannot(id, FaultKind::Closed, BUSY);
        }
        let opens = line.id == 0 && !line.is_over();
        if opens {
            if !step.opens {
                return held.cannot(id, FaultKind::Closed, NOT_OPEN);
            }
            if self.connection.room() == 0 {
                return held.cannot(id, FaultKind::Closed, NO_ROOM);
            }
            self.open_stream(&rules, step.stream, fill, out);
        } else {
            line.goes_on();
        }
        self.say((step, &rules.streams[step.stream], opens), request, fill, out);
        let Some(held) = self.held.as_deref_mut() else { return Sent::There };
        if step.one_way && !held.line(step.stream).is_over() {
            return Sent::OneWay;
        }
        let (response, random) = (Body::default(), fill.random);
        let awaiting = Awaiting { id, step: number, random, like, response, messages: 0, payload: 0 };
        held.waits(awaiting, &self.kept)
    }

    /// Opens a stream for steps.
    fn open_stream(&mut self, rules: &Holds, stream: usize, fill: &Fill, out: &mut Out) {
        let Opening { list, head, marks, .. } = &rules.streams[stream];
        let (lexicon, said) = (&self.lexicon, &mut self.said);
        if let Some(head) = head {
            head.fill(fill, said);
        }
        let own = self.connection.begin_with(Call::held(stream, *marks), false, out, |encoder, out| match head {
            Some(head) => head.head(said, list, lexicon, encoder, out),
            None => encoder.write(lexicon, list, out),
        });
        if let Some(held) = self.held.as_deref_mut() {
            held.line(stream).opened(own);
        }
    }

    /// Sends a step's message on its stream; ends our side if it is the last one.
    fn say(&mut self, (step, opening, opened): (&Step, &Opening, bool), request: &Request, fill: &Fill, out: &mut Out) {
        let Some(line) = self.held.as_deref_mut().map(|held| held.line(step.stream)) else { return };
        let own = line.id;
        let says = step.says || opened && !opening.takes;
        let last = step.finish && opening.takes || opened && !opening.takes;
        let [scratch, body] = &mut self.scratch;
        body.clear();
        match &request.slots {
            Some(slots) if !slots.messages.is_empty() => slots.put(fill, scratch, body),
            _ if says => body.extend_from_slice(&request.body),
            _ => {}
        }
        if own != 0 && (says || last) {
            self.connection.send_bytes(own, body, last, out);
        }
    }

    /// Sends the next message of each stream in `turns`.
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
    fn open(&mut self, out: &mut Out) {
        self.connection.open(out);
    }

    #[inline]
    fn submit(&mut self, id: ExchangeId, request: &wire::Request, fill: &Fill, out: &mut Out) -> Result<Sent, Full> {
        let request = request.of::<Request>();
        if self.room() == 0 {
            return Err(Full);
        }
        if let Some(number) = request.held {
            return Ok(self.begin_step((id, number as usize), request, fill, out));
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
        if let Some(held) = self.held.as_deref_mut() {
            if let Some((stream, true)) = held.cancel(id) {
                // A later message could be mistaken for the one that another step waits for.
                let line = held.line(stream);
                self.connection.reset(line.id, code::CANCEL, out);
                line.given_up();
            }
            return true;
        }
        if let Some(stream) = self.connection.find(|call| call.id == id) {
            self.connection.reset(stream, code::CANCEL, out);
        }
        true
    }

    #[inline]
    fn receive(&mut self, bytes: &[u8], out: &mut Out, done: &mut Done) -> Result<(), Broken> {
        let (begun, turns) = (&mut self.begun, &mut self.turns);
        if let Some(held) = self.held.as_deref_mut().filter(|_| bytes.is_empty()) {
            held.tell(&self.kept, done);
        }
        let mut ear = Ear { done, begun, turns, kept: &self.kept, held: self.held.as_deref_mut() };
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

    fn goodbye(&self) -> Option<Plain> {
        self.connection.goodbye()
    }

    fn farewell(&self) -> Option<Cause> {
        self.connection.farewell()
    }

    fn why_refused(&self) -> Plain {
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
        // Streams held open are not exchanges: there is room for a step as long as any of them is open.
        match &self.held {
            Some(_) => self.connection.room().max(self.connection.live()).min(1),
            None => self.connection.room_of(self.streams),
        }
    }

    fn unheard(&self) -> u32 {
        self.held.as_ref().map_or(0, |held| held.unheard())
    }
}
