//! The gRPC client session: every call is a stream of an HTTP/2 connection.
//!
//! The messages of a call follow its head as far as the server's windows allow; the connection sends the rest when they
//! open. In lockstep, the next message is sent once one has come back.

use std::sync::Arc;

use brunt_cause::{Cause, StaticCause};
use brunt_contract::{
    Event, EventBuffer, ExchangeId, FaultKind, OutputBuffer, ProtocolError, Session, SessionFull, SlotContext,
    SubmitOutcome,
};

use super::answer::{GrpcCall, GrpcEventHandler};
use super::expect::MessageBuffer;
use super::held_streams::{BUSY, GIVEN_UP, GIVEN_UP_UNSENT, HeldStreams, NO_ROOM, NOT_OPEN, StreamStep, fail_step};
use super::request::{CallTemplate, GrpcRequest};
use super::steps::{GrpcStep, HeldStreamPlan, StreamOpening};
use crate::http2::frames::code;
use crate::http2::hpack::Lexicon;
use crate::http2::{Http2Connection, Http2SlotValues};
use brunt_values::budget::MemoryBudget;

/// A gRPC session, client side.
#[derive(Debug)]
pub struct GrpcSession {
    connection: Http2Connection<GrpcCall>,
    lexicon: Arc<Lexicon>,
    /// The memory budget for kept responses.
    budget: MemoryBudget,
    /// Maximum number of calls that share the connection.
    streams: u32,
    /// Calls whose response began in the bytes being processed.
    begun: Vec<ExchangeId>,
    /// Streams that may send their next message.
    turns: Vec<u32>,
    /// Buffers for slot values, and for messages built from them.
    scratch: [Vec<u8>; 2],
    /// Buffer for slot values of metadata.
    metadata_values: Http2SlotValues,
    /// The streams that steps of a flow hold open.
    held: Option<Box<HeldStreams>>,
    /// Calls that were not sent because of a value that does not fit.
    misfits: Vec<(ExchangeId, Cause)>,
}

impl GrpcSession {
    pub(super) fn new(lexicon: Arc<Lexicon>, streams: u32, (tls, kept): (bool, MemoryBudget)) -> GrpcSession {
        let connection = Http2Connection::with_budget(tls, kept.clone());
        let (begun, turns, scratch, said) = (Vec::new(), Vec::new(), Default::default(), Http2SlotValues::default());
        GrpcSession {
            connection,
            lexicon,
            budget: kept,
            streams,
            begun,
            turns,
            scratch,
            metadata_values: said,
            held: None,
            misfits: Vec::new(),
        }
    }

    /// Enables streams held open by steps.
    pub(super) fn with_held_streams(self, holds: Arc<HeldStreamPlan>) -> GrpcSession {
        GrpcSession { held: Some(Box::new(HeldStreams::new(holds))), ..self }
    }

    /// Submits a call with slots in its metadata or its messages.
    fn submit_filled(
        &mut self,
        id: ExchangeId,
        request: &GrpcRequest,
        slots: &CallTemplate,
        context: &SlotContext,
        out: &mut OutputBuffer,
    ) -> SubmitOutcome {
        let [scratch, body] = &mut self.scratch;
        body.clear();
        if let Err(why) = slots.put(context, scratch, body) {
            self.misfits.push((id, why));
            return SubmitOutcome::AlreadyComplete;
        }
        let (lexicon, list) = (&self.lexicon, &request.list);
        let (head, said) = (slots.head.as_ref(), &mut self.metadata_values);
        if let Some(head) = head {
            head.fill(context, said);
        }
        let stream = self.connection.begin_with(
            GrpcCall::new(id, request).with_random(context.random).with_checks_filled(context),
            false,
            out,
            |encoder, out| match head {
                Some(head) => head.head(said, list, lexicon, encoder, out),
                None => encoder.write(lexicon, list, out),
            },
        );
        if request.further.is_some()
            && let Some(rare) = self.connection.stream_state(stream).and_then(|call| call.extras.as_deref_mut())
        {
            rare.stream = stream;
        }
        if slots.messages.is_empty() {
            self.connection.send(stream, &request.body, request.further.is_none(), out);
        } else {
            self.connection.send_bytes(stream, body, true, out);
        }
        SubmitOutcome::AwaitingResponse
    }

    /// Begins a step on a stream held open.
    #[cold]
    fn begin_step(
        &mut self,
        (id, number): (ExchangeId, usize),
        request: &GrpcRequest,
        context: &SlotContext,
        out: &mut OutputBuffer,
    ) -> SubmitOutcome {
        let Some(held) = self.held.as_deref_mut() else { return SubmitOutcome::AlreadyComplete };
        let rules = Arc::clone(&held.rules);
        let step = &rules.steps[number];
        let like = match step.awaits.fill(context).transpose() {
            Ok(like) => like,
            Err(why) => {
                return held.reject(id, FaultKind::WrongBody, brunt_cause::checks::awaited_unreadable(why.to_string()));
            }
        };
        let [scratch, body] = &mut self.scratch;
        body.clear();
        if let Some(slots) = &request.slots
            && let Err(why) = slots.put(context, scratch, body)
        {
            return held.reject(id, FaultKind::BadValue, why);
        }
        let line = held.stream(step.stream);
        if line.is_busy() {
            return held.reject(id, FaultKind::Closed, BUSY);
        }
        let opens = line.id == 0 && !line.is_over();
        if opens {
            if !step.opens {
                return held.reject(id, FaultKind::Closed, NOT_OPEN);
            }
            if self.connection.room() == 0 {
                return held.reject(id, FaultKind::Closed, NO_ROOM);
            }
            self.open_stream(&rules, step.stream, context, out);
        } else {
            line.reuse();
        }
        self.send_step((step, &rules.streams[step.stream], opens), request, out);
        let Some(held) = self.held.as_deref_mut() else { return SubmitOutcome::AlreadyComplete };
        let own = held.stream(step.stream).id;
        let held_back = self.connection.has_queued(own);
        if step.one_way && !held_back && !held.stream(step.stream).is_over() {
            return SubmitOutcome::OneWay;
        }
        let (response, random) = (MessageBuffer::default(), context.random);
        let awaiting = StreamStep {
            id,
            step: number,
            random,
            like,
            checks: step.expected.filled(context),
            response,
            messages: 0,
            payload: 0,
            arrived_before: Vec::new(),
        };
        held.start_waiting(awaiting, &self.budget)
    }

    /// Opens a stream for steps.
    fn open_stream(&mut self, rules: &HeldStreamPlan, stream: usize, context: &SlotContext, out: &mut OutputBuffer) {
        let StreamOpening { list, head, flags: marks, .. } = &rules.streams[stream];
        let (lexicon, said) = (&self.lexicon, &mut self.metadata_values);
        if let Some(head) = head {
            head.fill(context, said);
        }
        let own =
            self.connection.begin_with(
                GrpcCall::for_held_stream(stream, *marks),
                false,
                out,
                |encoder, out| match head {
                    Some(head) => head.head(said, list, lexicon, encoder, out),
                    None => encoder.write(lexicon, list, out),
                },
            );
        if let Some(held) = self.held.as_deref_mut() {
            held.stream(stream).reset(own);
        }
    }

    /// Sends a step's message, which is in `scratch` if it has slots, on its stream; ends our side if it is the last
    /// one.
    fn send_step(
        &mut self,
        (step, opening, opened): (&GrpcStep, &StreamOpening, bool),
        request: &GrpcRequest,
        out: &mut OutputBuffer,
    ) {
        let Some(line) = self.held.as_deref_mut().map(|held| held.stream(step.stream)) else { return };
        let own = line.id;
        let says = step.sends || opened && !opening.client_streaming;
        let last = step.finish && opening.client_streaming || opened && !opening.client_streaming;
        let [_, body] = &mut self.scratch;
        let filled = request.slots.as_ref().is_some_and(|slots| !slots.messages.is_empty());
        if says && !filled {
            body.extend_from_slice(&request.body);
        }
        if own != 0 && (says || last) {
            self.connection.send_bytes(own, body, last, out);
        }
    }

    /// Sends the next message of each stream in `turns`.
    #[cold]
    fn send_next_messages(&mut self, out: &mut OutputBuffer) {
        let mut turns = std::mem::take(&mut self.turns);
        for stream in turns.drain(..) {
            let Some(rare) = self.connection.stream_state(stream).and_then(|call| call.extras.as_deref_mut()) else {
                continue;
            };
            let Some(further) = rare.further.as_ref().filter(|further| rare.sent < further.len()) else { continue };
            let (message, last) = (Arc::clone(&further[rare.sent]), rare.sent + 1 == further.len());
            rare.sent += 1;
            self.connection.send(stream, &message, last, out);
        }
        self.turns = turns;
    }
}

impl Session for GrpcSession {
    fn open(&mut self, out: &mut OutputBuffer) {
        self.connection.open(out);
    }

    #[inline]
    fn submit(
        &mut self,
        id: ExchangeId,
        request: &brunt_contract::Request,
        context: &SlotContext,
        out: &mut OutputBuffer,
    ) -> Result<SubmitOutcome, SessionFull> {
        let request = request.downcast::<GrpcRequest>();
        if self.room() == 0 {
            return Err(SessionFull);
        }
        if let Some(number) = request.step {
            return Ok(self.begin_step((id, number as usize), request, context, out));
        }
        if let Some(slots) = &request.slots {
            return Ok(self.submit_filled(id, request, slots, context, out));
        }
        let call = GrpcCall::new(id, request).with_random(context.random).with_checks_filled(context);
        let stream = self.connection.begin(call, false, &self.lexicon, &request.list, out);
        if request.further.is_some()
            && let Some(rare) = self.connection.stream_state(stream).and_then(|call| call.extras.as_deref_mut())
        {
            rare.stream = stream;
        }
        self.connection.send(stream, &request.body, request.further.is_none(), out);
        Ok(SubmitOutcome::AwaitingResponse)
    }

    fn cancel(&mut self, id: ExchangeId, out: &mut OutputBuffer) -> bool {
        if let Some(held) = self.held.as_deref_mut() {
            let Some((stream, mistakable)) = held.cancel(id) else { return true };
            let line = held.stream(stream);
            // A later message could be mistaken for the one that another step waits for, and messages that the peer
            // does not take would pile up.
            let why = match self.connection.has_queued(line.id) {
                true => Some(GIVEN_UP_UNSENT),
                false => mistakable.then_some(GIVEN_UP),
            };
            if let Some(why) = why {
                self.connection.reset(line.id, code::CANCEL, out);
                line.abandon(why);
            }
            return true;
        }
        if let Some(stream) = self.connection.find(|call| call.id == id) {
            self.connection.reset(stream, code::CANCEL, out);
        }
        true
    }

    #[inline]
    fn receive(&mut self, bytes: &[u8], out: &mut OutputBuffer, done: &mut EventBuffer) -> Result<(), ProtocolError> {
        let (begun, turns) = (&mut self.begun, &mut self.turns);
        if let Some(held) = self.held.as_deref_mut().filter(|_| bytes.is_empty()) {
            held.report_immediate(&self.budget, done);
        }
        for (id, why) in self.misfits.drain(..) {
            fail_step(id, (FaultKind::BadValue, 0), why, done);
        }
        let mut ear = GrpcEventHandler { done, begun, turns, kept: &self.budget, held: self.held.as_deref_mut() };
        let read = self.connection.receive(bytes, out, &mut ear);
        if let Some(held) = self.held.as_deref_mut() {
            held.report_released(|stream| !self.connection.has_queued(stream), done);
        }
        for id in self.begun.drain(..) {
            done.push(Event::FirstByte(id));
        }
        if !self.turns.is_empty() && read.is_ok() {
            self.send_next_messages(out);
        }
        read
    }

    fn partial_response(&self) -> &[u8] {
        self.connection.goaway_debug_data()
    }

    #[inline]
    fn pending_replies(&self) -> u32 {
        self.connection.replies()
    }

    fn reset_pending_replies(&mut self) {
        self.connection.replies_left();
    }

    fn close_reason(&self) -> Option<StaticCause> {
        self.connection.goodbye()
    }

    fn close_cause(&self) -> Option<Cause> {
        self.connection.farewell()
    }

    fn not_processed_reason(&self) -> StaticCause {
        self.connection.why_refused()
    }

    fn heartbeat(&mut self, out: &mut OutputBuffer) -> bool {
        self.connection.ping(out)
    }

    fn finish(&mut self, out: &mut OutputBuffer) {
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

    fn unread_messages(&self) -> u32 {
        self.held.as_ref().map_or(0, |held| held.unread_messages())
    }
}
