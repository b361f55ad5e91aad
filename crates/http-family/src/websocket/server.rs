//! A WebSocket session on one connection, server side: accepts the upgrade, receives messages, and answers them in
//! order.
//!
//! A message is reported as a [`ServerRequest`] with the method `MESSAGE`, the connection's path and the message as its
//! body; the body of the [`ServerResponse`] is sent back as a message of the same kind. A status of 400 or more closes
//! the connection with code 1011, [`ServerResponse::close`] with code 1000. Pings and the closing handshake are handled
//! internally (`due_replies`). Offers of compression are declined. An idle connection stores only its path.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use brunt_contract::{OutputBuffer, ProtocolError, RequestPart, ServerRequest, ServerResponse, ServerSession};

use super::close;
use super::codec::{BINARY, CLOSE, CONTINUATION, FrameHeader, FrameSender, PING, PONG, TEXT, frame, put_head};
use super::incoming::{IncomingFrames, NO_TEXT};
use super::mask::mask;
use super::upgrade::{accept, elements, values};
use crate::http1::codec::{HEAD_BOUND, HttpHead, method_and_target, request_head};
use brunt_values::budget::MemoryBudget;

/// The method under which messages are reported.
pub const MESSAGE: &str = "MESSAGE";

/// Maximum size of a message in bytes, the same as for gRPC. Messages in pieces or fragments are kept within a budget
/// shared by all connections of the process.
const MESSAGE_BOUND: u64 = 4 << 20;
static COMING: LazyLock<MemoryBudget> = LazyLock::new(|| MemoryBudget::of(16 << 20));

/// Messages up to this size in bytes are unmasked on the stack.
const SMALL: usize = 512;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServerStage {
    /// Waiting for an upgrade request.
    Opening,
    Open,
    /// A close frame was sent, or an error occurred.
    Over,
}

/// A WebSocket session, server side.
#[derive(Debug)]
pub struct WebSocketServer {
    path: Box<str>,
    extras: Option<Box<ServerExtras>>,
    /// Number of the next message received.
    received: u32,
    /// Number of the next answer to be sent.
    due: u32,
    /// Number of pings answered since the last query.
    pings: u32,
    stage: ServerStage,
}

#[derive(Debug, Default)]
struct ServerExtras {
    /// An incomplete upgrade request.
    partial_request: Vec<u8>,
    head: HttpHead,
    incoming: IncomingFrames,
    /// Bytes already read of the current frame, which determine the position in its mask.
    masked: u64,
    /// Replies due for control frames.
    due_replies: Vec<u8>,
    /// Answers waiting for their turn.
    waiting_answers: BTreeMap<u32, Vec<u8>>,
}

impl ServerExtras {
    fn at_rest(&self) -> bool {
        self.partial_request.is_empty()
            && self.incoming.is_idle()
            && self.due_replies.is_empty()
            && self.waiting_answers.is_empty()
    }
}

impl Default for WebSocketServer {
    fn default() -> Self {
        WebSocketServer::new()
    }
}

impl WebSocketServer {
    /// Creates a session for a new connection, which begins with an upgrade request.
    pub fn new() -> WebSocketServer {
        WebSocketServer {
            path: Box::default(),
            extras: None,
            received: 0,
            due: 0,
            pings: 0,
            stage: ServerStage::Opening,
        }
    }

    /// Returns `true` if the head of a request asks for WebSocket; such a request is for [`WebSocketServer::accept`].
    pub fn is_upgrade(head: &[u8]) -> bool {
        elements(head, "Upgrade").any(|word| word.eq_ignore_ascii_case(b"websocket"))
    }

    /// Takes over a connection whose upgrade request was received by another server: `head` and `path` as in
    /// [`ServerRequest`]. Appends the response; if that is a refusal, [`ServerSession::is_finished`] is `true`.
    pub fn accept(head: &[u8], path: &str, out: &mut OutputBuffer) -> WebSocketServer {
        let mut server = WebSocketServer::new();
        server.upgrade(head, path, out.buffer());
        server
    }

    /// Returns the number of pings answered since the last call.
    pub fn pings(&mut self) -> u32 {
        std::mem::take(&mut self.pings)
    }

    /// Appends an unsolicited message.
    pub fn push(&mut self, message: &[u8], binary: bool, out: &mut OutputBuffer) {
        if self.stage == ServerStage::Open {
            put(if binary { BINARY } else { TEXT }, message, out.buffer());
        }
    }

    /// Appends the header of a message of `size` bytes in answer to the message `id`, if its turn has come. The caller
    /// must then send the payload before anything else. Returns `false` if nothing was appended.
    pub fn announce(&mut self, id: u32, size: usize, out: &mut OutputBuffer) -> bool {
        let is_due = self.stage == ServerStage::Open && id >> 1 == self.due && self.unanswered() > 0;
        if is_due {
            put_head(0x80 | if id & 1 == 1 { BINARY } else { TEXT }, size, false, out.buffer());
            self.pass(false);
        }
        is_due
    }

    /// Returns the number of bytes held for messages and answers in progress.
    pub fn held_bytes(&self) -> usize {
        let part = |rare: &ServerExtras| rare.incoming.part.as_ref().map_or(0, |part| part.kept.len());
        let held = |rare: &ServerExtras| rare.waiting_answers.values().map(Vec::len).sum::<usize>();
        self.extras
            .as_ref()
            .map_or(0, |rare| rare.partial_request.len() + rare.due_replies.len() + part(rare) + held(rare))
    }

    /// Responds to an upgrade request (RFC 6455 4.2).
    fn upgrade(&mut self, head: &[u8], path: &str, out: &mut Vec<u8>) {
        let has = |name, word: &[u8]| elements(head, name).any(|element| element.eq_ignore_ascii_case(word));
        let key = values(head, "Sec-WebSocket-Key").next().filter(|key| key.len() == 24);
        let version = values(head, "Sec-WebSocket-Version").next();
        let Some(key) = key.filter(|_| has("Upgrade", b"websocket") && has("Connection", b"upgrade")) else {
            self.stage = ServerStage::Over;
            out.extend_from_slice(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
            return;
        };
        if version != Some(b"13") {
            self.stage = ServerStage::Over;
            out.extend_from_slice(b"HTTP/1.1 426 Upgrade Required\r\nSec-WebSocket-Version: 13\r\n");
            out.extend_from_slice(b"Connection: close\r\nContent-Length: 0\r\n\r\n");
            return;
        }
        out.extend_from_slice(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n");
        out.extend_from_slice(b"Sec-WebSocket-Accept: ");
        out.extend_from_slice(&accept(key));
        if let Some(first) = elements(head, "Sec-WebSocket-Protocol").next() {
            out.extend_from_slice(b"\r\nSec-WebSocket-Protocol: ");
            out.extend_from_slice(first);
        }
        out.extend_from_slice(b"\r\n\r\n");
        (self.stage, self.path) = (ServerStage::Open, path.into());
    }

    /// Reads an upgrade request; returns the number of bytes consumed.
    fn opening(&mut self, rare: &mut ServerExtras, bytes: &[u8]) -> Result<usize, ProtocolError> {
        let before = rare.partial_request.len();
        rare.partial_request.extend_from_slice(&bytes[..bytes.len().min(HEAD_BOUND + 1 - before)]);
        if !request_head(&rare.partial_request, &mut rare.head)? {
            let endless = rare.partial_request.len() > HEAD_BOUND;
            let wrong = ProtocolError(brunt_cause::websocket::endless_request());
            return if endless { Err(wrong) } else { Ok(bytes.len()) };
        }
        let kept = std::mem::take(&mut rare.partial_request);
        let head = &kept[..rare.head.at];
        let (_, path) = method_and_target(head, &rare.head)?;
        self.upgrade(head, path, &mut rare.due_replies);
        Ok(rare.head.at - before)
    }

    /// Processes a complete frame that is a whole message; returns `None` if the frame is not one.
    #[inline]
    fn read_whole_frame(
        &mut self,
        bytes: &[u8],
        hear: &mut dyn FnMut(ServerRequest<'_>),
    ) -> Result<Option<usize>, ProtocolError> {
        let Some(frame) = frame(bytes, FrameSender::Client, false)? else { return Ok(None) };
        let size = usize::try_from(frame.size).unwrap_or(usize::MAX);
        let Some(payload) = bytes[frame.head..].get(..size) else { return Ok(None) };
        if frame.is_control() || !frame.last || frame.kind == CONTINUATION {
            return Ok(None);
        }
        if size <= SMALL {
            let mut small = [0; SMALL];
            small[..size].copy_from_slice(payload);
            mask(&mut small[..size], frame.key, 0);
            self.report_message(frame.kind, &small[..size], hear)?;
        } else {
            let mut plain = payload.to_vec();
            mask(&mut plain, frame.key, 0);
            self.report_message(frame.kind, &plain, hear)?;
        }
        Ok(Some(frame.head + size))
    }

    /// Reports a whole message. The lowest bit of its identifier is set if the message is binary.
    #[inline]
    fn report_message(
        &mut self,
        kind: u8,
        message: &[u8],
        hear: &mut dyn FnMut(ServerRequest<'_>),
    ) -> Result<(), ProtocolError> {
        if kind == TEXT && std::str::from_utf8(message).is_err() {
            return Err(NO_TEXT);
        }
        let id = self.received << 1 | u32::from(kind == BINARY);
        self.received = self.received.wrapping_add(1) & (u32::MAX >> 1);
        let (method, path, body_bytes) = (MESSAGE, &*self.path, message.len() as u64);
        hear(ServerRequest { id, method, path, head: &[], body_bytes, body: message, part: RequestPart::Whole });
        Ok(())
    }

    /// Processes frames that come in pieces, belong to fragmented messages, or are control frames.
    fn read_piecewise(
        &mut self,
        rare: &mut ServerExtras,
        bytes: &[u8],
        hear: &mut dyn FnMut(ServerRequest<'_>),
    ) -> Result<usize, ProtocolError> {
        let mut at = 0;
        let Some(frame) = rare.incoming.frame(bytes, &mut at, FrameSender::Client, false)? else { return Ok(at) };
        let (piece, over) = rare.incoming.payload(bytes, &mut at);
        let mut plain = piece.to_vec();
        mask(&mut plain, frame.key, rare.masked);
        rare.masked = if over { 0 } else { rare.masked + piece.len() as u64 };
        if frame.is_control() {
            rare.incoming.control.extend_from_slice(&plain);
            if over {
                let control = std::mem::take(&mut rare.incoming.control);
                self.control(&frame, &control, &mut rare.due_replies)?;
            }
            return Ok(at);
        }
        if let Some(part) = &mut rare.incoming.part {
            if part.size + plain.len() as u64 > MESSAGE_BOUND {
                return Err(ProtocolError(brunt_cause::websocket::long_for_server()));
            }
            part.add(&plain, Some(&COMING))?;
        }
        if over
            && frame.last
            && let Some(part) = rare.incoming.part.take()
        {
            part.end()?;
            self.report_message(part.kind(), &part.kept, hear)?;
        }
        Ok(at)
    }

    fn control(&mut self, frame: &FrameHeader, payload: &[u8], owed: &mut Vec<u8>) -> Result<(), ProtocolError> {
        match frame.kind {
            PING => {
                self.pings = self.pings.saturating_add(1);
                put(PONG, payload, owed);
            }
            CLOSE => {
                close::code(payload)?;
                put(CLOSE, payload.get(..2).unwrap_or_default(), owed);
                self.stage = ServerStage::Over;
            }
            _ => {}
        }
        Ok(())
    }

    /// Sends the answers whose turn has come.
    #[cold]
    fn send_due(&mut self, out: &mut OutputBuffer) {
        while let Some(bytes) = self.extras.as_mut().and_then(|rare| rare.waiting_answers.remove(&self.due)) {
            let (closes, answer) = bytes.split_last().map_or((false, &bytes[..]), |(&c, rest)| (c == 1, rest));
            if self.stage == ServerStage::Over {
                return;
            }
            out.put(answer);
            self.pass(closes);
        }
    }

    fn pass(&mut self, closes: bool) {
        self.due = self.due.wrapping_add(1) & (u32::MAX >> 1);
        if closes {
            self.stage = ServerStage::Over;
        }
    }
}

impl ServerSession for WebSocketServer {
    #[inline]
    fn receive(&mut self, bytes: &[u8], hear: &mut dyn FnMut(ServerRequest<'_>)) -> Result<(), ProtocolError> {
        let mut at = 0;
        while at < bytes.len() && self.stage != ServerStage::Over {
            let rest = &bytes[at..];
            if self.stage == ServerStage::Open
                && self.extras.as_ref().is_none_or(|rare| rare.incoming.is_idle())
                && let Some(taken) = self.read_whole_frame(rest, hear)?
            {
                at += taken;
                continue;
            }
            let mut rare = self.extras.take().unwrap_or_default();
            let taken = match self.stage {
                ServerStage::Opening => self.opening(&mut rare, rest),
                _ => self.read_piecewise(&mut rare, rest, hear),
            };
            if !rare.at_rest() {
                self.extras = Some(rare);
            }
            at += taken?;
        }
        Ok(())
    }

    #[inline]
    fn respond(&mut self, id: u32, reply: &ServerResponse<'_>, out: &mut OutputBuffer) {
        let number = id >> 1;
        if self.stage != ServerStage::Open || number.wrapping_sub(self.due) & (u32::MAX >> 1) >= self.unanswered() {
            return;
        }
        let kind = if id & 1 == 1 { BINARY } else { TEXT };
        if number == self.due {
            let closes = encode(kind, reply, out.buffer());
            self.pass(closes);
            if self.extras.as_ref().is_some_and(|rare| !rare.waiting_answers.is_empty()) {
                self.send_due(out);
            }
        } else {
            let mut bytes = Vec::new();
            let closes = encode(kind, reply, &mut bytes);
            bytes.push(u8::from(closes));
            self.extras.get_or_insert_default().waiting_answers.insert(number, bytes);
        }
    }

    #[inline]
    fn write_due(&mut self, out: &mut OutputBuffer) {
        if let Some(mut rare) = self.extras.take() {
            out.put(&std::mem::take(&mut rare.due_replies));
            if !rare.at_rest() {
                self.extras = Some(rare);
            }
        }
    }

    #[inline]
    fn is_finished(&self) -> bool {
        self.stage == ServerStage::Over
    }
}

impl WebSocketServer {
    /// Returns the number of messages received and not yet answered.
    fn unanswered(&self) -> u32 {
        self.received.wrapping_sub(self.due) & (u32::MAX >> 1)
    }
}

/// Appends a server frame, which is not masked.
fn put(kind: u8, payload: &[u8], out: &mut Vec<u8>) {
    put_head(0x80 | kind, payload.len(), false, out);
    out.extend_from_slice(payload);
}

/// Appends an answer; returns `true` if it ends the session.
#[inline]
fn encode(kind: u8, reply: &ServerResponse<'_>, out: &mut Vec<u8>) -> bool {
    if reply.status >= 400 {
        put(CLOSE, &close::INTERNAL_ERROR.to_be_bytes(), out);
        return true;
    }
    put(kind, reply.body, out);
    if reply.close {
        put(CLOSE, &close::NORMAL.to_be_bytes(), out);
    }
    reply.close
}
