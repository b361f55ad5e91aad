//! A WebSocket session on one connection, client side: the upgrade, messages sent, and answers, pushes and control
//! frames received.
//!
//! A message that arrives whole is processed in place, without a copy or an allocation; the state of one that arrives
//! in pieces is boxed and exists only until it is complete, so an idle connection takes only a few dozen bytes.

use std::sync::Arc;

use brunt_cause::{Cause, StaticCause};
use brunt_contract::{
    EstablishedConnection, Event, EventBuffer, ExchangeEnd, ExchangeId, FaultKind, OutputBuffer, ProtocolError,
    Session, SessionFull, SlotContext, SubmitOutcome,
};
use memchr::memmem;

use super::close;
use super::codec::{CLOSE, CONTINUATION, FrameHeader, FrameSender, PING, TEXT, frame};
use super::deflate::DeflateStreams;
use super::extras::ConnectionExtras;
use super::incoming::{IncomingFrames, NO_TEXT, unpack};
use super::mask::MaskKeys;
use super::opening::handle_prompt;
use super::pending::{AnswerOwner, PendingMessages};
use super::request::{MessageInput, WebSocketMessage, put_frame};
use super::rules::WebSocketRules;
use super::upgrade::refusal;
use crate::detect::{DetectedProtocol, detect};
use crate::http1::codec::{HttpHead, response_head, unfolded};
use brunt_values::budget::{BudgetedBuffer, NO_ROOM_FOR_HEADS};
use brunt_values::side_messages::SideMessageState;
use brunt_values::verify;

/// Maximum number of bytes of an answer kept as an example.
pub(super) const EXCERPT_BOUND: usize = 4096;
/// Maximum size of the head of the server's upgrade response, in bytes.
const CONSENT_BOUND: usize = 64 * 1024;
/// Maximum number of messages in flight on a connection.
const ROOM: usize = 16 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientStage {
    /// The upgrade request was sent.
    Opening,
    /// Opening messages are exchanged.
    SendingOpening,
    /// Messages are exchanged.
    Open,
    /// The closing handshake is done, or an error occurred.
    Over,
    /// The server refused the upgrade.
    Refused,
    /// The server's answer to an opening message was not the expected one.
    OpeningRejected,
}

/// A WebSocket session, client side.
#[derive(Debug)]
pub struct WebSocketSession {
    pub(super) rules: Arc<WebSocketRules>,
    pub(super) receiving: Option<Box<ReceiveState>>,
    pub(super) extras: Option<Box<ConnectionExtras>>,
    pub(super) pending: PendingMessages,
    pub(super) masks: MaskKeys,
    /// Index of this connection's upgrade request.
    path: u32,
    /// Payload of our outstanding ping, 0 if there is none.
    pub(super) ping: u32,
    pub(super) stage: ClientStage,
    /// Number of pongs that may still be unsent.
    pub(super) replies: u16,
    /// Close code from the server, 0 if it has not closed.
    pub(super) closed_with: u16,
}

/// State that an idle connection does not need.
#[derive(Debug, Default)]
pub(super) struct ReceiveState {
    /// The upgrade response so far, or the server's last text: that of a refusal, a rejected opening message or a close
    /// frame.
    consent: BudgetedBuffer,
    head: HttpHead,
    incoming: IncomingFrames,
}

impl ReceiveState {
    /// Creates the state that holds the server's last text.
    pub(super) fn with_text(words: &[u8]) -> Box<ReceiveState> {
        Box::new(ReceiveState { consent: BudgetedBuffer::from_beginning(words), ..ReceiveState::default() })
    }
}

/// The output buffer and the event buffer.
pub(super) type SessionOutput<'a> = (&'a mut OutputBuffer, &'a mut EventBuffer);

impl WebSocketSession {
    pub(super) fn new(rules: Arc<WebSocketRules>, path: u32, established: &EstablishedConnection) -> WebSocketSession {
        let talk = rules.side_messages.connection_state(&established.context);
        let apart = talk.is_some() || rules.expects_filled || !rules.steps.is_empty();
        let own = apart.then(|| Box::new(ConnectionExtras { side_conversation: talk, ..ConnectionExtras::default() }));
        WebSocketSession {
            rules,
            receiving: None,
            extras: own,
            pending: PendingMessages::default(),
            masks: MaskKeys::new(established.seed),
            path,
            ping: 0,
            stage: ClientStage::Opening,
            replies: 0,
            closed_with: 0,
        }
    }

    /// Reads the upgrade response; returns the number of bytes consumed. A refusal is kept as an example.
    #[cold]
    fn consent(&mut self, bytes: &[u8]) -> Result<usize, ProtocolError> {
        let rare = self.receiving.get_or_insert_default();
        let before = rare.consent.len();
        if !rare.consent.extend(&bytes[..bytes.len().min(CONSENT_BOUND + 1 - before)], &self.rules.budget) {
            return Err(ProtocolError(NO_ROOM_FOR_HEADS));
        }
        let read = response_head(&rare.consent, &mut rare.head);
        if !read.map_err(|broken| detect(&rare.consent).and_then(other_protocol_error).unwrap_or(broken))? {
            let endless = rare.consent.len() > CONSENT_BOUND;
            return if endless { Err(ENDLESS) } else { Ok(bytes.len()) };
        }
        let used = rare.head.at - before;
        rare.consent.truncate(rare.head.at);
        if rare.head.status != 101 {
            self.stage = ClientStage::Refused;
            return Err(refusal(rare.head.status));
        }
        let plain = rare.head.folded.then(|| unfolded(&rare.consent));
        let consent = plain.as_deref().unwrap_or(&rare.consent);
        let upgrade = &self.rules.upgrades[self.path as usize];
        if let Some(agreement) = upgrade.agreed(consent, self.masks.seed())? {
            self.extras.get_or_insert_default().deflate = Some(DeflateStreams::new(agreement));
        }
        (self.stage, self.receiving) = (ClientStage::SendingOpening, None);
        Ok(used)
    }

    /// Returns `true` if compression was agreed on.
    #[inline]
    fn deflates(&self) -> bool {
        self.extras.as_ref().is_some_and(|own| own.deflate.is_some())
    }

    /// Processes a complete frame that is a whole message; returns `None` if the frame is not one.
    #[inline]
    fn read_whole_frame(
        &mut self,
        bytes: &[u8],
        (out, done): SessionOutput<'_>,
    ) -> Result<Option<usize>, ProtocolError> {
        let Some(frame) = frame(bytes, FrameSender::Server, self.deflates())? else { return Ok(None) };
        let size = usize::try_from(frame.size).unwrap_or(usize::MAX);
        let Some(payload) = bytes[frame.head..].get(..size) else { return Ok(None) };
        if frame.is_control() {
            self.control(frame.kind, payload, (out, done))?;
        } else if frame.last && frame.kind != CONTINUATION && !frame.deflated {
            if frame.kind == TEXT && std::str::from_utf8(payload).is_err() {
                return Err(NO_TEXT);
            }
            self.receive_message(frame.size, payload, (out, done))?;
        } else {
            return Ok(None);
        }
        Ok(Some(frame.head + size))
    }

    /// Processes frames that come in pieces or belong to a fragmented message; returns the number of bytes consumed.
    #[cold]
    fn read_piecewise(&mut self, bytes: &[u8], (out, done): SessionOutput<'_>) -> Result<usize, ProtocolError> {
        let mut rare = self.receiving.take().unwrap_or_default();
        let mut at = 0;
        if let Some(frame) = rare.incoming.frame(bytes, &mut at, FrameSender::Server, self.deflates())? {
            let (piece, over) = rare.incoming.payload(bytes, &mut at);
            if frame.is_control() {
                rare.incoming.control.extend_from_slice(piece);
                if over {
                    self.control(frame.kind, &rare.incoming.control, (out, done))?;
                }
            } else {
                self.receive_piece(&mut rare.incoming, &frame, (piece, over), (out, done))?;
            }
        }
        // With compression, every message takes this path, so the box is kept.
        if self.stage != ClientStage::Over && (!rare.incoming.is_idle() || self.deflates()) {
            self.receiving = Some(rare);
        }
        Ok(at)
    }

    /// Processes a piece of a message; `over` is set if the piece ends its frame.
    fn receive_piece(
        &mut self,
        incoming: &mut IncomingFrames,
        frame: &FrameHeader,
        (piece, over): (&[u8], bool),
        (out, done): SessionOutput<'_>,
    ) -> Result<(), ProtocolError> {
        let Some(part) = &mut incoming.part else { return Ok(()) };
        let whole = over && frame.last;
        let deflate = self.extras.as_mut().and_then(|own| own.deflate.as_mut());
        let heard = done.reports_unsolicited().then_some(&self.rules.budget);
        unpack(deflate, part, piece, whole, self.rules.examined_budget().or(heard))?;
        if whole {
            let part = incoming.part.take().unwrap_or_default();
            part.end()?;
            return self.receive_message(part.size, &part.kept, (out, done));
        }
        if !std::mem::replace(&mut part.first_byte_reported, true)
            && self.rules.field.is_none()
            // With reply rules, only the whole message shows whether it is an answer.
            && !self.rules.side_messages.has_replies()
            && let Some(id) = self.pending.oldest()
        {
            done.push(Event::FirstByte(id));
        }
        Ok(())
    }

    /// Handles a whole message: an answer, a late one, or a push. `content` may be empty if it is not examined.
    #[inline]
    fn receive_message(
        &mut self,
        size: u64,
        content: &[u8],
        (out, done): SessionOutput<'_>,
    ) -> Result<(), ProtocolError> {
        if self.stage == ClientStage::SendingOpening {
            return self.receive_opening(size, content, (out, done));
        }
        if !self.rules.steps.is_empty() {
            self.receive_for_step(size, content, done);
            return Ok(());
        }
        if let Some(id) = self.owner_of(size, content, done)? {
            self.end_exchange(id, (size, content), done);
        }
        Ok(())
    }

    /// Returns the exchange that a message answers; `None` if it is dealt with already: a late answer, one that is
    /// replied to, or a push.
    #[inline]
    fn owner_of(
        &mut self,
        size: u64,
        content: &[u8],
        done: &mut EventBuffer,
    ) -> Result<Option<ExchangeId>, ProtocolError> {
        let WebSocketSession { rules, extras: own, pending: asked, .. } = self;
        let mut own = own.as_deref_mut();
        let whose = match &rules.field {
            // When matching by order, a message that is replied to is never an answer.
            None if handle_prompt(rules, own.as_deref_mut(), (size, content), done)? => return Ok(None),
            None => asked.match_oldest(),
            Some(field) => field.key(content).map_or(AnswerOwner::None, |key| asked.match_key(key)),
        };
        match whose {
            AnswerOwner::Exchange(id) => Ok(Some(id)),
            AnswerOwner::GivenUp => Ok(None),
            AnswerOwner::None if rules.field.is_some() && handle_prompt(rules, own, (size, content), done)? => Ok(None),
            AnswerOwner::None if rules.push => {
                done.push_unsolicited(size, content);
                Ok(None)
            }
            AnswerOwner::None => {
                if rules.field.is_none() {
                    done.push(Event::SurplusResponse(u32::try_from(size).unwrap_or(u32::MAX)));
                }
                Err(UNASKED)
            }
        }
    }

    /// Ends an exchange with its answer, which is checked.
    #[inline]
    fn end_exchange(&mut self, id: ExchangeId, (size, content): (u64, &[u8]), done: &mut EventBuffer) {
        let WebSocketSession { rules, extras: own, .. } = self;
        let mut own = own.as_deref_mut();
        let filled = own.as_mut().and_then(|own| own.expected.take(id));
        let missing = match (&rules.expect, &filled) {
            (Some(text), _) => text.find(content).is_none(),
            (None, Some(text)) => memmem::find(content, text).is_none(),
            (None, None) => false,
        };
        let fault = missing.then_some(FaultKind::WrongBody);
        let excerpt = fault
            .filter(|kind| done.wants_example(*kind))
            .map(|_| Box::from(&content[..content.len().min(EXCERPT_BOUND)]));
        let text = rules.expect.as_ref().map(|text| text.needle()).or(filled.as_deref());
        let why = match (text, &excerpt) {
            (Some(text), Some(_)) => {
                Some(verify::missing_text(brunt_cause::checks::message_lacks, text, content, size))
            }
            _ => None,
        };
        if let Some(own) = own {
            own.expected.recycle(filled);
        }
        if missing {
            done.record_failed_checks(id, 1);
        }
        done.push(Event::Ended(ExchangeEnd {
            id,
            fault,
            code: 0,
            payload: size,
            excerpt,
            follow_up: None,
            cause: why,
        }));
    }

    fn read(&mut self, bytes: &[u8], out: &mut OutputBuffer, done: &mut EventBuffer) -> Result<(), ProtocolError> {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            at += match self.stage {
                ClientStage::Over | ClientStage::Refused | ClientStage::OpeningRejected => return Ok(()),
                ClientStage::Opening => {
                    let used = self.consent(rest)?;
                    self.send_opening(out);
                    used
                }
                ClientStage::SendingOpening | ClientStage::Open => {
                    let whole = if self.receiving.is_none() { self.read_whole_frame(rest, (out, done))? } else { None };
                    match whole {
                        Some(taken) => taken,
                        None => self.read_piecewise(rest, (out, done))?,
                    }
                }
            };
        }
        Ok(())
    }
}

/// Returns a helpful error if the server uses another protocol on this port.
fn other_protocol_error(spoken: DetectedProtocol) -> Option<ProtocolError> {
    match spoken {
        DetectedProtocol::Tls => Some(ProtocolError(brunt_cause::websocket::uses_tls())),
        DetectedProtocol::Http2 => Some(ProtocolError(brunt_cause::websocket::uses_http2())),
        DetectedProtocol::Http1 => None,
    }
}

const ENDLESS: ProtocolError = ProtocolError(brunt_cause::websocket::endless_response());
const UNASKED: ProtocolError = ProtocolError(brunt_cause::websocket::unsolicited());

impl Session for WebSocketSession {
    fn open(&mut self, out: &mut OutputBuffer) {
        self.open_with(&SlotContext::default(), out);
    }

    fn open_with(&mut self, context: &SlotContext<'_>, out: &mut OutputBuffer) {
        if let Some(upgrade) = self.rules.upgrades.get(self.path as usize) {
            upgrade.put(self.masks.seed(), context, out.buffer());
        }
    }

    fn unread_messages(&self) -> u32 {
        self.extras.as_ref().map_or(0, |own| own.inbox.unread_messages())
    }

    #[inline]
    fn submit(
        &mut self,
        id: ExchangeId,
        request: &brunt_contract::Request,
        context: &SlotContext,
        out: &mut OutputBuffer,
    ) -> Result<SubmitOutcome, SessionFull> {
        let request = request.downcast::<WebSocketMessage>();
        if self.room() == 0 {
            return Err(SessionFull);
        }
        if !self.rules.steps.is_empty() {
            return self.begin_step(id, request, context, out);
        }
        let (mask, field) = (self.masks.key(), &self.rules.field);
        let mut key = request.key;
        let (mut deflate, mut expected, mut talk) = (None, None, None);
        if let Some(own) = &mut self.extras {
            (deflate, expected, talk) = (own.deflate.as_mut(), Some(&mut own.expected), own.side_conversation.as_mut());
        }
        let numbered = talk.filter(|_| request.is_numbered()).map(|talk| talk.next_numbered(context));
        let look = |payload: &[u8], text: &[u8]| {
            // A message without the field gets a key that an answer can match only by chance.
            key = field.as_ref().and_then(|field| field.key(payload)).unwrap_or_default();
            if let Some(expected) = expected.take().filter(|_| request.expects()) {
                expected.add(id, text);
            }
        };
        request.write(numbered.as_ref().unwrap_or(context).into(), deflate.take(), mask, out.buffer(), look);
        if self.rules.one_way {
            return Ok(SubmitOutcome::OneWay);
        }
        self.pending.add(id, key);
        Ok(SubmitOutcome::AwaitingResponse)
    }

    /// Gives up an exchange. If answers are matched by a field, a late answer is recognized, unless several messages
    /// share a value and one of their answers is lost. If answers are matched by order, all later answers would be
    /// attributed wrongly.
    fn cancel(&mut self, id: ExchangeId, _out: &mut OutputBuffer) -> bool {
        if let Some(own) = &mut self.extras {
            if !self.rules.steps.is_empty() {
                return own.inbox.cancel(&self.rules.steps);
            }
            let text = own.expected.take(id);
            own.expected.recycle(text);
        }
        self.pending.give_up(id) && self.rules.field.is_some()
    }

    #[inline]
    fn receive(&mut self, bytes: &[u8], out: &mut OutputBuffer, done: &mut EventBuffer) -> Result<(), ProtocolError> {
        if bytes.is_empty() {
            self.report_immediate(done);
        }
        let read = self.read(bytes, out, done);
        if read.is_err() && !matches!(self.stage, ClientStage::Refused | ClientStage::OpeningRejected) {
            self.stage = ClientStage::Over;
        }
        read
    }

    fn peer_closed(&mut self, _done: &mut EventBuffer) {
        self.stage = ClientStage::Over;
    }

    fn partial_response(&self) -> &[u8] {
        let Some(rare) = &self.receiving else { return &[] };
        let kept = rare.incoming.part.as_ref().map_or(&rare.consent[..], |part| &part.kept);
        &kept[..kept.len().min(EXCERPT_BOUND)]
    }

    #[inline]
    fn pending_replies(&self) -> u32 {
        u32::from(self.replies) + self.side_conversation().map_or(0, SideMessageState::unread_replies)
    }

    fn reset_pending_replies(&mut self) {
        self.replies = 0;
        if let Some(talk) = self.extras.as_mut().and_then(|own| own.side_conversation.as_mut()) {
            talk.mark_replies_read();
        }
    }

    fn sequence(&self) -> u64 {
        self.side_conversation().map_or(0, SideMessageState::last_number)
    }

    fn opening_messages(&self) -> u32 {
        self.side_conversation().map_or(0, SideMessageState::opening_messages)
    }

    fn write_replies(&mut self, unix_ns: u64, out: &mut OutputBuffer) -> u32 {
        let WebSocketSession { rules, extras: own, masks, stage, .. } = self;
        let Some(ConnectionExtras { side_conversation: Some(talk), deflate, .. }) = own.as_deref_mut() else {
            return 0;
        };
        if !matches!(stage, ClientStage::SendingOpening | ClientStage::Open) {
            return 0;
        }
        talk.write_replies(&rules.side_messages, unix_ns, |message, fill, captured| {
            message.write(
                MessageInput { context: fill, captured },
                deflate.as_mut(),
                masks.key(),
                out.buffer(),
                |_, _| {},
            );
        })
    }

    fn close_reason(&self) -> Option<StaticCause> {
        (self.closed_with != 0).then(|| close::cause_of_code(self.closed_with))
    }

    fn close_cause(&self) -> Option<Cause> {
        let said = self.receiving.as_ref().map_or(&[][..], |rare| &rare.consent[..]);
        (self.closed_with != 0).then(|| close::cause_with_reason(self.closed_with, said))
    }

    fn heartbeat(&mut self, out: &mut OutputBuffer) -> bool {
        if self.stage != ClientStage::Open || self.ping != 0 {
            return false;
        }
        self.ping = (self.masks.bits() as u32) | 1;
        put_frame(0x80 | PING, &self.ping.to_be_bytes(), self.masks.key(), out.buffer());
        true
    }

    fn finish(&mut self, out: &mut OutputBuffer) {
        if matches!(self.stage, ClientStage::SendingOpening | ClientStage::Open) {
            self.stage = ClientStage::Over;
            put_frame(0x80 | CLOSE, &close::NORMAL.to_be_bytes(), self.masks.key(), out.buffer());
        }
    }

    #[inline]
    fn room(&self) -> usize {
        let awaits = self.extras.as_ref().is_some_and(|own| own.inbox.is_awaiting());
        if self.stage == ClientStage::Open && !awaits { ROOM - self.pending.len() } else { 0 }
    }

    fn refusal_kind(&self) -> FaultKind {
        match self.stage {
            ClientStage::Refused => FaultKind::WrongStatus,
            ClientStage::OpeningRejected => FaultKind::WrongBody,
            _ => FaultKind::BrokenProtocol,
        }
    }

    fn refusal_code(&self) -> u32 {
        let status = self.receiving.as_ref().map_or(0, |rare| rare.head.status);
        if self.stage == ClientStage::Refused { status.into() } else { 0 }
    }

    fn is_opening(&self) -> bool {
        matches!(self.stage, ClientStage::Opening | ClientStage::SendingOpening)
    }
}
