//! Handles the frames of responses: messages, and the status in trailers (gRPC over HTTP/2, "Responses").
//!
//! Servers repeat heads and trailers in response after response, so the connection remembers the meaning of each as a
//! number, and an identical one is not read again. Messages are counted and not kept. A compressed message is counted
//! as received if its compression was offered; otherwise it is not allowed and the call fails.

use std::sync::Arc;

use brunt_cause::{Cause, StaticCause, grpc};
use brunt_contract::{Event, EventBuffer, ExchangeEnd, ExchangeId, FailedChecks, FaultKind, SlotContext};

use super::compressed::{self, MessageEncoding};
use super::expect::{CompleteResponse, ExaminedResponse, GrpcChecks};
use super::framing::MessageFraming;
use super::held_streams::{HeldStreams, StreamEnd};
use super::request::{ANYHOW, COMPRESSED, CaptureCell, CapturedResponse, DEADLINE, GrpcRequest, STREAMS};
use super::response_head::{EXCERPT_BOUND, ResponseHead, read};
use super::status::{self, GrpcStatusSet};
use crate::http2::connection::{StreamDecision, StreamListener};
use crate::http2::frames::code;
use crate::http2::hpack::{HeaderFields, HpackError};
use brunt_values::budget::MemoryBudget;
use brunt_values::verify::header::KeptHeaderLines;

/// Maximum number of body bytes kept for capturing: one more than the maximum that is read
/// ([`brunt_contract::Workload::take_inquiry_response`]).
const CAPTURE_BOUND: usize = (8 << 20) + 1;

const NO_PREFIX: StaticCause = grpc::no_length_prefix();
/// The identifier of a call that is not an exchange.
const NOBODYS: ExchangeId = ExchangeId(u32::MAX);

/// A call in flight.
#[derive(Debug)]
pub struct GrpcCall {
    /// Identifies the exchange.
    pub id: ExchangeId,
    framing: MessageFraming,
    payload: u64,
    messages: u32,
    /// HTTP status, 0 until the final head arrives.
    http_status: u16,
    flags: u8,
    /// The statuses that count as success.
    success: GrpcStatusSet,
    /// The compression of messages announced by the head.
    encoding: MessageEncoding,
    /// Set once a part of the response has arrived.
    begun: bool,
    /// State that most calls never need.
    pub extras: Option<Box<CallExtras>>,
}

/// State that most calls never need.
#[derive(Debug, Default)]
pub struct CallExtras {
    /// Stream identifier.
    pub stream: u32,
    /// Messages to be sent one at a time, each after a response message, and the number already sent.
    pub further: Option<Arc<[Arc<[u8]>]>>,
    pub sent: usize,
    capture: Option<CaptureCell>,
    body: Vec<u8>,
    /// Random bits of the request.
    random: u64,
    /// The checks of the response, and the parts of the response kept for them.
    expected: Option<(Arc<GrpcChecks>, ExaminedResponse)>,
    /// The index of the stream, for a stream held open by steps; its state is in [`HeldStreams`].
    held: Option<u16>,
}

impl CallExtras {
    /// Keeps a piece of the response if it is examined.
    fn keep(&mut self, bytes: &[u8], budget: &MemoryBudget) {
        if self.capture.is_some() {
            let room = CAPTURE_BOUND.saturating_sub(self.body.len());
            self.body.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
        if let Some((_, heard)) = self.expected.as_mut().filter(|(expected, _)| expected.wants_messages()) {
            heard.body.feed(bytes, budget);
        }
    }
}

impl CallExtras {
    /// Returns the buffer for the initial or trailing (`last`) metadata, if it is examined.
    fn metadata(&mut self, last: bool) -> Option<&mut KeptHeaderLines> {
        let (_, heard) = self.expected.as_mut().filter(|(expected, _)| expected.wants_metadata())?;
        Some(&mut heard.metadata[usize::from(last)])
    }
}

impl GrpcCall {
    /// Fills the checks of the response with the values of the call.
    #[inline]
    pub fn with_checks_filled(mut self, context: &SlotContext<'_>) -> GrpcCall {
        let expected = self.extras.as_deref_mut().and_then(|extras| extras.expected.as_mut());
        if let Some((expected, _)) = expected
            && let Some(filled) = expected.filled(context)
        {
            *expected = filled;
        }
        self
    }

    /// Creates a call.
    #[inline]
    pub fn new(id: ExchangeId, request: &GrpcRequest) -> GrpcCall {
        let usual = request.further.is_none() && request.capture.is_none() && request.expected.is_none();
        let rare = (!usual).then(|| {
            let (further, capture) = (request.further.clone(), request.capture.clone());
            let expected = request.expected.clone().map(|expected| (expected, ExaminedResponse::default()));
            Box::new(CallExtras { further, capture, expected, ..CallExtras::default() })
        });
        let (framing, encoding) = (MessageFraming::default(), MessageEncoding::Identity);
        let GrpcRequest { flags: marks, success, .. } = *request;
        GrpcCall {
            id,
            framing,
            payload: 0,
            messages: 0,
            http_status: 0,
            flags: marks,
            success,
            encoding,
            begun: false,
            extras: rare,
        }
    }
}

impl GrpcCall {
    /// Creates the call of a stream held open by steps, which is not an exchange.
    pub fn for_held_stream(stream: usize, marks: u8) -> GrpcCall {
        let rare = Some(Box::new(CallExtras { held: Some(stream as u16), ..CallExtras::default() }));
        let (framing, encoding, success) = (MessageFraming::default(), MessageEncoding::Identity, GrpcStatusSet::USUAL);
        GrpcCall {
            id: NOBODYS,
            framing,
            payload: 0,
            messages: 0,
            http_status: 0,
            flags: marks,
            success,
            encoding,
            begun: true,
            extras: rare,
        }
    }

    fn held_stream(&self) -> Option<usize> {
        Some(usize::from(self.extras.as_deref()?.held?))
    }

    /// Sets the random bits that choose among captured values.
    #[inline]
    pub fn with_random(mut self, random: u64) -> GrpcCall {
        if let Some(rare) = &mut self.extras {
            rare.random = random;
        }
        self
    }
}

/// Receives the events of a connection's streams and turns them into results of calls.
#[derive(Debug)]
pub struct GrpcEventHandler<'a> {
    pub done: &'a mut EventBuffer,
    /// Calls whose response began in the bytes being processed and is not over.
    pub begun: &'a mut Vec<ExchangeId>,
    /// Streams that may send their next message.
    pub turns: &'a mut Vec<u32>,
    /// The memory budget for kept responses.
    pub kept: &'a MemoryBudget,
    /// The streams held open by steps, if any.
    pub held: Option<&'a mut HeldStreams>,
}

impl StreamListener<GrpcCall> for GrpcEventHandler<'_> {
    #[inline]
    fn head(
        &mut self,
        call: &mut GrpcCall,
        fields: &mut HeaderFields<'_>,
        end: bool,
    ) -> Result<StreamDecision, HpackError> {
        let sort = usize::from(end);
        let mut message = None;
        let wanted = match (call.extras.as_deref_mut(), &mut self.held) {
            (Some(CallExtras { held: Some(stream), .. }), Some(held)) => held.metadata(usize::from(*stream), end),
            (rare, _) => rare.and_then(|rare| rare.metadata(end)),
        };
        let said = match fields.remembered_digest(sort).filter(|_| wanted.is_none()) {
            Some(digest) => ResponseHead::from_digest(digest),
            None => {
                let (said, text) = read(fields, wanted.map(|lines| (lines, self.kept)))?;
                match text {
                    None => fields.remember(sort, said.digest())?,
                    text => message = text,
                }
                said
            }
        };
        if call.http_status == 0 {
            if (100..200).contains(&said.http) && !end {
                // The fields read so far are not metadata.
                let lines = match (call.held_stream(), &mut self.held) {
                    (Some(stream), Some(held)) => held.metadata(stream, false),
                    _ => call.extras.as_deref_mut().and_then(|rare| rare.metadata(false)),
                };
                if let Some(lines) = lines {
                    *lines = KeptHeaderLines::default();
                }
                return Ok(StreamDecision::Continue);
            }
            if said.http < 200 {
                return Ok(self.broken(call, grpc::no_status_header()));
            }
            (call.http_status, call.encoding) = (said.http, said.encoding);
            self.begin(call);
            if said.http == 200 && !said.grpc && said.status.is_none() {
                return Ok(self.broken(call, grpc::no_grpc()));
            }
        } else if !end {
            return Ok(self.broken(call, grpc::headers_within()));
        }
        Ok(if end { self.conclude(call, said.status, message) } else { StreamDecision::Continue })
    }

    #[inline]
    fn data(&mut self, call: &mut GrpcCall, bytes: &[u8], end: bool) -> StreamDecision {
        if call.http_status == 0 {
            return self.broken(call, grpc::no_headers());
        }
        if call.http_status == 200
            && call.extras.is_some()
            && let Some(stream) = call.held_stream()
        {
            if let Err(what) = self.held_data(call, stream, bytes) {
                return self.broken(call, what);
            }
        } else if call.http_status == 200 {
            if let Some(rare) = call.extras.as_deref_mut() {
                rare.keep(bytes, self.kept);
            }
            let mut rest = bytes;
            while !rest.is_empty() {
                match call.framing.feed(rest) {
                    Ok((_, Some(whole))) if whole.compressed && not_offered(call).is_some() => {
                        return self.broken(call, not_offered(call).unwrap_or(NO_PREFIX));
                    }
                    Ok((more, whole)) => {
                        rest = more;
                        if let Some(whole) = whole {
                            self.message(call, whole.size);
                        }
                    }
                    Err(_) => return self.broken(call, NO_PREFIX),
                }
            }
        }
        if end { self.conclude(call, None, None) } else { StreamDecision::Continue }
    }

    fn reset(&mut self, call: GrpcCall, code: u32) {
        self.end_by_code(call, code, code::of_reset(code));
    }

    fn refused(&mut self, call: GrpcCall) {
        if let (Some(stream), Some(held)) = (call.held_stream(), &mut self.held) {
            return held.refused(stream, grpc::stream_refused(), (self.kept, self.done));
        }
        self.begun.retain(|id| *id != call.id);
        self.done.push(Event::Refused(call.id));
    }

    fn turned_away(&mut self, call: GrpcCall, code: u32) {
        if call.held_stream().is_some() && self.held.is_some() {
            return self.refused(call);
        }
        self.end_by_code(call, code, code::of_goaway(code));
    }

    fn pong(&mut self) {
        self.done.push(Event::Heartbeat);
    }

    fn end_code(&mut self, word: code::EndCode) {
        self.done.push(Event::PeerCode(word.number()));
    }
}

impl GrpcEventHandler<'_> {
    /// Ends a call that the peer ended with an HTTP/2 code.
    fn end_by_code(&mut self, mut call: GrpcCall, code: u32, said: StaticCause) {
        let status = match status::of_reset(code) {
            // Servers such as grpc-go cancel a call at its deadline, which clients with a timer report as
            // DEADLINE_EXCEEDED.
            status::CANCELLED if call.flags & DEADLINE != 0 => status::DEADLINE_EXCEEDED,
            status => status,
        };
        let fault = verdict(&call, status);
        match call.messages {
            0 => self.end(&mut call, Some(status), fault, said),
            1 => self.end(&mut call, Some(status), fault, grpc::after_one(said)),
            n => self.end(&mut call, Some(status), fault, grpc::after(said, n)),
        }
    }

    /// Records the beginning of a response; that of a stream begins with its first message.
    #[inline]
    fn begin(&mut self, call: &mut GrpcCall) {
        if call.flags & STREAMS == 0 && !call.begun {
            call.begun = true;
            self.begun.push(call.id);
        }
    }

    /// Handles messages of a stream held open by steps.
    ///
    /// # Errors
    /// Fails if the bytes are not messages.
    #[cold]
    fn held_data(&mut self, call: &mut GrpcCall, stream: usize, bytes: &[u8]) -> Result<(), StaticCause> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (more, whole) = call.framing.feed(rest).map_err(|_| NO_PREFIX)?;
            let Some(held) = &mut self.held else { return Ok(()) };
            held.add_piece(stream, &rest[..rest.len() - more.len()], self.kept);
            rest = more;
            let Some(whole) = whole else { continue };
            if let Some(why) = not_offered(call).filter(|_| whole.compressed) {
                return Err(why);
            }
            call.messages = call.messages.saturating_add(1);
            held.complete_message(stream, whole.size, call.encoding, (self.kept, self.done));
        }
        Ok(())
    }

    #[inline]
    fn message(&mut self, call: &mut GrpcCall, size: u32) {
        call.payload += u64::from(size);
        call.messages = call.messages.saturating_add(1);
        if call.flags & STREAMS == 0 {
            return;
        }
        if !call.begun {
            call.begun = true;
            self.done.push(Event::FirstByte(call.id));
        }
        self.done.push(Event::Message(call.id, size));
        if let Some(rare) = call.extras.as_ref().filter(|rare| rare.further.is_some()) {
            self.turns.push(rare.stream);
        }
    }

    /// Finishes the response.
    #[inline]
    fn conclude(&mut self, call: &mut GrpcCall, status: Option<u32>, message: Option<String>) -> StreamDecision {
        let whole = call.framing.is_between() && (call.flags & STREAMS != 0 || call.messages == 1);
        if status == Some(status::OK) && call.success.has(status::OK) && whole && call.extras.is_none() {
            self.remove_begun(call.id);
            let code = status::counted(status::OK);
            let (id, payload) = (call.id, call.payload);
            self.done.push(Event::Ended(ExchangeEnd {
                id,
                fault: None,
                code,
                payload,
                excerpt: None,
                follow_up: None,
                cause: None,
            }));
            return StreamDecision::Continue;
        }
        self.conclude_examined(call, status, message);
        StreamDecision::Continue
    }

    #[cold]
    fn conclude_examined(&mut self, call: &mut GrpcCall, status: Option<u32>, message: Option<String>) {
        let said = brunt_cause::verbatim(message.unwrap_or_default());
        match status {
            None if call.http_status != 200 => {
                let said = grpc::http_status(call.http_status);
                let status = status::of_http(call.http_status);
                self.end(call, Some(status), verdict(call, status), said);
            }
            None => self.end(call, None, Some(FaultKind::BrokenProtocol), grpc::no_grpc_status()),
            Some(status::OK) if !call.framing.is_between() => {
                self.end(call, None, Some(FaultKind::BrokenProtocol), grpc::cut_message());
            }
            Some(status::OK) if call.flags & STREAMS == 0 && call.messages != 1 => {
                let said = grpc::not_one(call.messages);
                self.end(call, None, Some(FaultKind::BrokenProtocol), said);
            }
            Some(status) => match self.examine(call, status) {
                Some((kind, trouble)) => self.end(call, Some(status), Some(kind), trouble),
                None => self.end(call, Some(status), verdict(call, status), said),
            },
        }
    }

    /// Returns the check that a successful response fails, if any; otherwise reports the captures.
    fn examine(&mut self, call: &GrpcCall, status: u32) -> Option<(FaultKind, Cause)> {
        if !call.success.has(status) {
            return None;
        }
        let rare = call.extras.as_ref()?;
        let (expected, heard) = rare.expected.as_ref()?;
        match expected.examine(&complete_response(call, heard, status), (self.kept, rare.random)) {
            Ok(taken) if expected.has_captures() => self.done.push(Event::StateUpdate(call.id, Box::new(taken))),
            Ok(_) => {}
            Err(trouble) => return Some(trouble),
        }
        None
    }

    /// Fails the call because of a protocol violation: only its stream is reset.
    #[cold]
    fn broken(&mut self, call: &mut GrpcCall, what: StaticCause) -> StreamDecision {
        self.end(call, None, Some(FaultKind::BrokenProtocol), what);
        StreamDecision::Reset(code::CANCEL)
    }

    /// Reports the named checks that the response failed. A call that fails by its status fails every check of its
    /// messages.
    fn report_failed_checks(&mut self, call: &GrpcCall, status: u32) {
        let expected = call.extras.as_ref().and_then(|rare| rare.expected.as_ref());
        let failed = match expected {
            Some((expected, heard)) => {
                expected.failed(&complete_response(call, heard, status), call.success, self.kept)
            }
            None => FailedChecks::default().extend([!call.success.has(status)]),
        };
        self.done.record_failed_checks(call.id, failed.bits());
    }

    #[cold]
    fn end(&mut self, call: &mut GrpcCall, status: Option<u32>, fault: Option<FaultKind>, said: impl Into<Cause>) {
        let said = said.into();
        if let (Some(stream), Some(held)) = (call.held_stream(), &mut self.held) {
            return held.end_stream(stream, StreamEnd { status, fault, cause: said }, (self.kept, self.done));
        }
        self.remove_begun(call.id);
        if let (Some(status), Some(FaultKind::WrongStatus | FaultKind::WrongHeader | FaultKind::WrongBody)) =
            (status, fault)
        {
            self.report_failed_checks(call, status);
        }
        if let Some(rare) = call.extras.take()
            && let Some(capture) = &rare.capture
            && let Ok(mut kept) = capture.lock()
        {
            *kept = Some(match compressed::decompress_all(&rare.body, call.encoding) {
                Ok(body) => CapturedResponse { status, message: said.to_string(), body },
                Err(why) => CapturedResponse { status: None, message: why.en().into_owned(), body: Vec::new() },
            });
        }
        let wanted = fault.filter(|kind| self.done.wants_example(*kind));
        // What the server said is shown as received; a text of brunt's own is a cause, which is told in any language.
        let ours = !said.is_verbatim();
        let judged = matches!(fault, Some(FaultKind::WrongBody | FaultKind::WrongHeader | FaultKind::Unchecked));
        let excerpt = wanted.filter(|_| !judged).and_then(|_| received_status(status, &said));
        let why = wanted.filter(|_| ours).map(|_| said);
        let (id, payload, code) = (call.id, call.payload, status.map_or(0, status::counted));
        self.done.push(Event::Ended(ExchangeEnd { id, fault, code, payload, excerpt, follow_up: None, cause: why }));
    }

    #[inline]
    fn remove_begun(&mut self, id: ExchangeId) {
        if self.begun.last() == Some(&id) {
            self.begun.pop();
        } else if !self.begun.is_empty() {
            self.begun.retain(|begun| *begun != id);
        }
    }
}

/// Returns the status of a response and the server's message, as far as there are any.
pub(super) fn received_status(status: Option<u32>, said: &Cause) -> Option<Box<[u8]>> {
    let words = if said.is_verbatim() { said.en() } else { "".into() };
    let name = status.map(status::name).unwrap_or_default();
    let text = [name.as_str(), &words].into_iter().filter(|t| !t.is_empty()).collect::<Vec<_>>().join(": ");
    (!text.is_empty()).then(|| text.into_bytes().into_iter().take(EXCERPT_BOUND).collect())
}

/// Collects the parts of a complete response.
fn complete_response<'a>(call: &GrpcCall, heard: &'a ExaminedResponse, status: u32) -> CompleteResponse<'a> {
    let ExaminedResponse { body, metadata } = heard;
    CompleteResponse { heard: body, metadata, status, encoding: call.encoding, messages: call.messages }
}

/// Returns the failure for a status that does not count as success.
fn verdict(call: &GrpcCall, status: u32) -> Option<FaultKind> {
    (!call.success.has(status)).then_some(FaultKind::WrongStatus)
}

/// Returns why a compressed message is not allowed, or `None` if it is.
#[cold]
fn not_offered(call: &GrpcCall) -> Option<StaticCause> {
    match call.encoding {
        _ if call.flags & COMPRESSED == 0 => Some(grpc::unrequested_compression()),
        MessageEncoding::Identity => Some(grpc::no_encoding()),
        MessageEncoding::Other if call.flags & ANYHOW == 0 => Some(grpc::other_encoding()),
        _ => None,
    }
}
