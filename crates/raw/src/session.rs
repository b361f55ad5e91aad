//! A session on one connection or socket, client side: sends requests as they are filled, and splits answers by the
//! declared framing.
//!
//! An answer that arrives whole is checked in place. The state of one that arrives in pieces is boxed until it is
//! complete, so an idle connection holds no buffer. Without `--match`, a request that times out ends the connection:
//! its late answer could only be taken for the answer to the next request.

use std::collections::VecDeque;
use std::sync::Arc;

use brunt_contract::{
    Event, EventBuffer, ExchangeEnd, ExchangeId, FailedChecks, FaultKind, OutputBuffer, ProtocolError, Session,
    SessionFull, SlotContext, SubmitOutcome,
};

use super::field::FARTHEST;
use super::framing::AnswerEnd;
use super::partial_answer::PartialAnswer;
use super::request::RawRequest;
use super::rules::RawRules;
use brunt_values::side_messages::{SideMessageState, UnsolicitedKind};

/// A request in flight.
#[derive(Clone, Copy, Debug)]
struct PendingRequest {
    id: ExchangeId,
    unchecked: bool,
    /// The value that identifies its answer; `None` if answers are matched by order.
    key: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RawState {
    /// Opening messages are exchanged before any request.
    Opening,
    Open,
    /// The server's answer to an opening message was not the expected one.
    Refused,
    /// No exchange may follow those in flight.
    Over,
}

/// A session with declared framing.
#[derive(Debug)]
pub struct RawSession {
    rules: Arc<RawRules>,
    in_flight: VecDeque<PendingRequest>,
    pieces: Option<Box<PartialAnswer>>,
    state: RawState,
    /// The state of the side conversation, if there is one.
    side_conversation: Option<Box<SideMessageState>>,
}

/// The output and the events.
type RawOutput<'a> = (&'a mut OutputBuffer, &'a mut EventBuffer);

const UNASKED: ProtocolError = ProtocolError(brunt_cause::raw::unsolicited());

impl RawSession {
    pub(super) fn new(rules: Arc<RawRules>, context: &SlotContext) -> RawSession {
        let state = if rules.side_messages.has_opening() { RawState::Opening } else { RawState::Open };
        let talk = rules.side_messages.connection_state(context).map(Box::new);
        RawSession { rules, in_flight: VecDeque::new(), pieces: None, state, side_conversation: talk }
    }

    /// Sends as many opening messages as possible.
    fn send_opening(&mut self, out: &mut OutputBuffer) {
        let Some(talk) = &mut self.side_conversation else { return };
        talk.continue_opening(&self.rules.side_messages, |template, fill| template.fill(fill, out.buffer()));
        if self.state == RawState::Opening && !talk.is_opening(&self.rules.side_messages) {
            self.state = RawState::Open;
        }
    }

    /// Handles a message during the opening.
    #[cold]
    fn receive_opening(&mut self, message: &[u8], size: u64, (out, done): RawOutput<'_>) -> Result<(), ProtocolError> {
        let Some(talk) = &mut self.side_conversation else { return Ok(()) };
        match talk.on_opening_message(&self.rules.side_messages, message) {
            Ok(None) => self.send_opening(out),
            Ok(Some(heard)) => heard.report(size, message, done),
            Err(refused) => {
                self.state = RawState::Refused;
                self.pieces = Some(Box::new(PartialAnswer::of(message)));
                return Err(refused);
            }
        }
        Ok(())
    }

    /// Passes a message to the reply rules; returns `true` if one of them recognizes it.
    fn handle_prompt(&mut self, message: &[u8], size: u64, done: &mut EventBuffer) -> Result<bool, ProtocolError> {
        let Some(talk) = &mut self.side_conversation else { return Ok(false) };
        let heard = talk.on_message(&self.rules.side_messages, message)?;
        if heard != UnsolicitedKind::Unknown {
            heard.report(size, message, done);
        }
        Ok(heard != UnsolicitedKind::Unknown)
    }

    /// Handles a message that belongs to no request.
    #[cold]
    fn handle_unsolicited(&mut self, message: &[u8], size: u64, done: &mut EventBuffer) -> Result<(), ProtocolError> {
        if self.rules.matched.is_some()
            && self.rules.side_messages.has_replies()
            && self.handle_prompt(message, size, done)?
        {
            return Ok(());
        }
        if self.rules.matched.is_some() || self.rules.one_way {
            done.push_unsolicited(size, message);
            return Ok(());
        }
        done.push(Event::SurplusResponse(u32::try_from(size).unwrap_or(u32::MAX)));
        Err(UNASKED)
    }

    /// Consumes bytes of one answer. Returns how many belong to it, or `None` if more bytes are needed.
    #[inline]
    fn advance(&mut self, bytes: &[u8]) -> Result<Option<usize>, ProtocolError> {
        if let Some(pieces) = &mut self.pieces {
            return pieces.feed(&self.rules, bytes);
        }
        let found = self.rules.end.find(bytes);
        if !matches!(found, Ok(Some(_))) {
            // Feeding finds the same end, and keeps the part of the beginning that is needed.
            return self.pieces.insert(Box::default()).feed(&self.rules, bytes);
        }
        found
    }

    /// Finishes an answer; `last` is the piece that completed it.
    #[inline]
    fn answered(&mut self, last: &[u8], (out, done): RawOutput<'_>) -> Result<(), ProtocolError> {
        let pieces = self.pieces.take();
        let (beginning, payload) = match &pieces {
            Some(pieces) => (&pieces.beginning[..], pieces.got),
            None => (last, last.len() as u64),
        };
        if self.state == RawState::Opening {
            return self.receive_opening(beginning, payload, (out, done));
        }
        let by_order = self.rules.matched.is_none();
        if by_order && self.rules.side_messages.has_replies() && self.handle_prompt(beginning, payload, done)? {
            return Ok(());
        }
        let Some(flight) = take_pending(&mut self.in_flight, &self.rules, beginning) else {
            return self.handle_unsolicited(beginning, payload, done);
        };
        let (fault, code, failed) = if flight.unchecked || self.rules.checks.none() {
            (None, 0, FailedChecks::default())
        } else if let Some(pieces) = &pieces {
            self.rules.checks.verdict(beginning, pieces.content(&self.rules))
        } else {
            self.rules.checks.judge(last)
        };
        let shown = fault.is_some_and(|kind| done.wants_example(kind));
        let excerpt = shown.then(|| beginning[..beginning.len().min(FARTHEST)].into());
        let why = match fault {
            Some(FaultKind::WrongBody) if shown => Some(self.rules.checks.why(beginning, payload)),
            _ => None,
        };
        if fault.is_some() {
            done.record_failed_checks(flight.id, failed.bits());
        }
        done.push(Event::Ended(ExchangeEnd {
            id: flight.id,
            fault,
            code,
            payload,
            excerpt,
            follow_up: None,
            cause: why,
        }));
        if self.rules.one_shot {
            self.state = RawState::Over;
        }
        Ok(())
    }

    /// Returns whether a message may arrive now.
    fn expects(&self) -> bool {
        let RawRules { matched, one_way, side_messages: beside, .. } = &*self.rules;
        !self.in_flight.is_empty()
            || matched.is_some()
            || self.state == RawState::Opening
            || *one_way
            || beside.has_replies()
    }

    /// Reports the first byte of an answer that continues in another piece.
    fn more_to_come(&mut self, first: bool, done: &mut EventBuffer) {
        // With reply rules, only the whole message shows whether it is an answer.
        let first = first && !self.rules.side_messages.has_replies();
        if let (true, None, Some(flight)) = (first, self.rules.matched, self.in_flight.front()) {
            done.push(Event::FirstByte(flight.id));
        }
    }
}

/// Removes and returns the request that an answer belongs to.
#[inline]
fn take_pending(flights: &mut VecDeque<PendingRequest>, rules: &RawRules, beginning: &[u8]) -> Option<PendingRequest> {
    let Some((_, in_answer)) = &rules.matched else { return flights.pop_front() };
    let key = in_answer.read(beginning, &[])?;
    let at = flights.iter().position(|flight| flight.key == Some(key))?;
    flights.remove(at)
}

impl Session for RawSession {
    fn open(&mut self, out: &mut OutputBuffer) {
        self.send_opening(out);
    }

    #[inline]
    fn submit(
        &mut self,
        id: ExchangeId,
        request: &brunt_contract::Request,
        context: &SlotContext,
        out: &mut OutputBuffer,
    ) -> Result<SubmitOutcome, SessionFull> {
        let request = request.downcast::<RawRequest>();
        if self.room() == 0 {
            return Err(SessionFull);
        }
        let from = out.bytes().len();
        match &mut self.side_conversation {
            Some(talk) if request.template.is_numbered() => {
                request.template.fill(&talk.next_numbered(context), out.buffer())
            }
            _ => request.template.fill(context, out.buffer()),
        }
        let key = self.rules.matched.as_ref().and_then(|(field, _)| field.read(&out.bytes()[from..], &[]));
        if self.rules.datagrams {
            out.end_datagram();
        }
        if self.rules.one_way {
            if self.rules.one_shot {
                self.state = RawState::Over;
            }
            return Ok(SubmitOutcome::OneWay);
        }
        self.in_flight.push_back(PendingRequest { id, unchecked: request.unchecked, key });
        Ok(SubmitOutcome::AwaitingResponse)
    }

    fn cancel(&mut self, id: ExchangeId, _out: &mut OutputBuffer) -> bool {
        if self.rules.matched.is_none() {
            return false;
        }
        self.in_flight.retain(|flight| flight.id != id);
        !self.rules.one_shot
    }

    #[inline]
    fn receive(&mut self, bytes: &[u8], out: &mut OutputBuffer, done: &mut EventBuffer) -> Result<(), ProtocolError> {
        let read = self.read(bytes, (out, done));
        if read.is_err() && self.state != RawState::Refused {
            self.state = RawState::Over;
        }
        read
    }

    fn peer_closed(&mut self, done: &mut EventBuffer) {
        // An answer without any byte does not count: a server that crashed closes in the same way.
        if matches!(self.rules.end, AnswerEnd::Close) && self.pieces.is_some() {
            // An answer that ends with the connection is complete; nothing more is sent.
            let _ = self.answered(&[], (&mut OutputBuffer::default(), done));
        }
        self.state = RawState::Over;
    }

    fn partial_response(&self) -> &[u8] {
        self.pieces.as_ref().map_or(&[], |pieces| &pieces.beginning)
    }

    fn sequence(&self) -> u64 {
        self.side_conversation.as_ref().map_or(0, |talk| talk.last_number())
    }

    fn opening_messages(&self) -> u32 {
        self.side_conversation.as_ref().map_or(0, |talk| talk.opening_messages())
    }

    fn write_replies(&mut self, unix_ns: u64, out: &mut OutputBuffer) -> u32 {
        let (RawState::Opening | RawState::Open, Some(talk)) = (self.state, &mut self.side_conversation) else {
            return 0;
        };
        let beside = &self.rules.side_messages;
        talk.write_replies(beside, unix_ns, |template, fill, captured| {
            template.fill_captured(fill, captured, out.buffer())
        })
    }

    #[inline]
    fn pending_replies(&self) -> u32 {
        self.side_conversation.as_ref().map_or(0, |talk| talk.unread_replies())
    }

    fn reset_pending_replies(&mut self) {
        if let Some(talk) = &mut self.side_conversation {
            talk.mark_replies_read();
        }
    }

    #[inline]
    fn room(&self) -> usize {
        match self.state {
            RawState::Open => self.rules.pipeline.saturating_sub(self.in_flight.len()),
            RawState::Opening | RawState::Refused | RawState::Over => 0,
        }
    }

    fn is_opening(&self) -> bool {
        self.state == RawState::Opening
    }

    fn refusal_kind(&self) -> FaultKind {
        if self.state == RawState::Refused { FaultKind::WrongBody } else { FaultKind::BrokenProtocol }
    }
}

impl RawSession {
    /// Reads whole messages, and the beginning of another.
    #[inline]
    fn read(&mut self, bytes: &[u8], (out, done): RawOutput<'_>) -> Result<(), ProtocolError> {
        if matches!(self.rules.end, AnswerEnd::Never) {
            done.push_unsolicited(bytes.len() as u64, bytes);
            return Ok(());
        }
        if matches!(self.rules.end, AnswerEnd::Datagram) && !self.expects() {
            done.push(Event::SurplusResponse(bytes.len() as u32));
            return Ok(());
        }
        if matches!(self.rules.end, AnswerEnd::Datagram) {
            return self.answered(bytes, (out, done));
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            if !self.expects() {
                done.push(Event::SurplusResponse(u32::try_from(rest.len()).unwrap_or(u32::MAX)));
                return Err(UNASKED);
            }
            let first = self.pieces.is_none();
            let Some(used) = self.advance(rest)? else {
                self.more_to_come(first, done);
                return Ok(());
            };
            let (message, after) = rest.split_at(used);
            self.answered(message, (out, done))?;
            rest = after;
        }
        Ok(())
    }
}
