//! Protocol detection: the protocol of a connection is detected from its first bytes and may change with an upgrade.
//!
//! Sessions of protocols with many idle connections (HTTP/1.1, WebSocket) are stored inline; HTTP/2
//! is boxed. The path `/status/N` with 400 or more refuses an upgrade with that status, so that
//! clients can be tested against it.

use brunt_contract::{OutputBuffer, ProtocolError, ServerRequest, ServerResponse, ServerSession};
use brunt_protocols::grpc::server::is_call;
use brunt_protocols::http1::{Http1Server, UpgradeRequest};
use brunt_protocols::http2::Http2Server;
use brunt_protocols::websocket::WebSocketServer;

use crate::protocol_session::{AnswerFault, TargetProtocol, TargetSession};

/// The beginning of the HTTP/2 preface (RFC 9113 3.4), up to the point where it differs from any HTTP/1.1
/// request.
const PREFACE: &[u8] = b"PRI ";

/// A session that detects the protocol of its client.
#[derive(Debug)]
pub struct DetectingSession(DetectedSession);

#[derive(Debug)]
enum DetectedSession {
    /// Number of bytes received so far; either protocol is still possible.
    Undetected(u8),
    Http1(Http1Server),
    Http2(Box<Http2Server>),
    /// Upgraded; the response to the upgrade has not been written yet.
    Upgraded(Box<(WebSocketServer, OutputBuffer)>),
    WebSocket(WebSocketServer),
}

impl DetectingSession {
    /// Creates a session that has received nothing yet.
    pub fn new() -> DetectingSession {
        DetectingSession(DetectedSession::Undetected(0))
    }

    /// Detects the protocol.
    fn detect(
        &mut self,
        known: usize,
        bytes: &[u8],
        hear: &mut dyn FnMut(ServerRequest<'_>),
    ) -> Result<(), ProtocolError> {
        let ahead = &PREFACE[known..];
        if bytes.len() < ahead.len() && ahead.starts_with(bytes) {
            self.0 = DetectedSession::Undetected((known + bytes.len()) as u8);
            return Ok(());
        }
        self.0 = match bytes.starts_with(ahead) {
            true => DetectedSession::Http2(Box::new(Http2Server::in_pieces(is_call))),
            false => DetectedSession::Http1(Http1Server::with_upgrades(is_granted)),
        };
        if known > 0 {
            self.receive(&PREFACE[..known], hear)?;
        }
        self.receive(bytes, hear)
    }

    fn upgrade(
        &mut self,
        upgrade: &UpgradeRequest,
        hear: &mut dyn FnMut(ServerRequest<'_>),
    ) -> Result<(), ProtocolError> {
        let mut greeting = OutputBuffer::default();
        let mut session = WebSocketServer::accept(&upgrade.head, &upgrade.path, &mut greeting);
        let read = session.receive(&upgrade.rest, hear);
        self.0 = DetectedSession::Upgraded(Box::new((session, greeting)));
        read
    }
}

/// Returns `true` if a request with an `Upgrade` becomes a WebSocket.
fn is_granted(head: &[u8], path: &str) -> bool {
    let refused = path.strip_prefix("/status/").is_some_and(|rest| rest.as_bytes().first().is_some_and(|&b| b >= b'4'));
    !refused && WebSocketServer::is_upgrade(head)
}

impl Default for DetectingSession {
    fn default() -> DetectingSession {
        DetectingSession::new()
    }
}

impl ServerSession for DetectingSession {
    #[inline]
    fn receive(&mut self, bytes: &[u8], hear: &mut dyn FnMut(ServerRequest<'_>)) -> Result<(), ProtocolError> {
        match &mut self.0 {
            DetectedSession::Http1(session) => {
                session.receive(bytes, hear)?;
                match session.upgrade() {
                    None => Ok(()),
                    Some(upgrade) => self.upgrade(&upgrade, hear),
                }
            }
            DetectedSession::Http2(session) => session.receive(bytes, hear),
            DetectedSession::Upgraded(both) => both.0.receive(bytes, hear),
            DetectedSession::WebSocket(session) => session.receive(bytes, hear),
            DetectedSession::Undetected(known) => {
                let known = usize::from(*known);
                self.detect(known, bytes, hear)
            }
        }
    }

    #[inline]
    fn respond(&mut self, id: u32, reply: &ServerResponse<'_>, out: &mut OutputBuffer) {
        if let DetectedSession::Upgraded(_) = self.0 {
            self.write_due(out);
        }
        match &mut self.0 {
            DetectedSession::Undetected(_) | DetectedSession::Upgraded(_) => {}
            DetectedSession::Http1(session) => session.respond(id, reply, out),
            DetectedSession::Http2(session) => session.respond(id, reply, out),
            DetectedSession::WebSocket(session) => session.respond(id, reply, out),
        }
    }

    #[inline]
    fn write_due(&mut self, out: &mut OutputBuffer) {
        match &mut self.0 {
            DetectedSession::Undetected(_) => {}
            DetectedSession::Http1(session) => session.write_due(out),
            DetectedSession::Http2(session) => session.write_due(out),
            DetectedSession::Upgraded(both) => {
                let (mut session, greeting) = std::mem::take(&mut **both);
                out.put(greeting.bytes());
                session.write_due(out);
                self.0 = DetectedSession::WebSocket(session);
            }
            DetectedSession::WebSocket(session) => session.write_due(out),
        }
    }

    #[inline]
    fn is_finished(&self) -> bool {
        match &self.0 {
            DetectedSession::Undetected(_) => false,
            DetectedSession::Http1(session) => session.is_finished(),
            DetectedSession::Http2(session) => session.is_finished(),
            DetectedSession::Upgraded(both) => both.0.is_finished(),
            DetectedSession::WebSocket(session) => session.is_finished(),
        }
    }
}

impl TargetSession for DetectingSession {
    #[inline]
    fn protocol(&self) -> TargetProtocol {
        match &self.0 {
            DetectedSession::Undetected(_) | DetectedSession::Http1(_) => TargetProtocol::Http1,
            DetectedSession::Http2(_) => TargetProtocol::Http2,
            DetectedSession::Upgraded(_) | DetectedSession::WebSocket(_) => TargetProtocol::WebSocket,
        }
    }

    fn spoil(&mut self, id: u32, reply: &ServerResponse<'_>, how: AnswerFault, out: &mut OutputBuffer) -> bool {
        match &mut self.0 {
            DetectedSession::Undetected(_) | DetectedSession::Http1(_) | DetectedSession::Upgraded(_) => false,
            DetectedSession::Http2(session) => session.spoil(id, reply, how, out),
            DetectedSession::WebSocket(session) => session.spoil(id, reply, how, out),
        }
    }

    fn http2(&mut self) -> Option<&mut Http2Server> {
        match &mut self.0 {
            DetectedSession::Http2(session) => Some(session),
            _ => None,
        }
    }

    fn websocket(&mut self) -> Option<&mut WebSocketServer> {
        match &mut self.0 {
            DetectedSession::WebSocket(session) => Some(session),
            _ => None,
        }
    }

    #[inline]
    fn held(&self) -> usize {
        match &self.0 {
            DetectedSession::Undetected(_) => 0,
            DetectedSession::Http1(session) => session.buffered(),
            DetectedSession::Http2(session) => session.held_bytes(),
            DetectedSession::Upgraded(both) => both.0.held_bytes(),
            DetectedSession::WebSocket(session) => session.held_bytes(),
        }
    }

    #[inline]
    fn waits_for_room(&self) -> bool {
        matches!(&self.0, DetectedSession::Http2(session) if session.is_short_of_room())
    }

    #[inline]
    fn set_room(&mut self, room: usize) {
        if let DetectedSession::Http2(session) = &mut self.0 {
            session.set_room(room);
        }
    }

    fn resume_in_room(&mut self, out: &mut OutputBuffer) {
        if let DetectedSession::Http2(session) = &mut self.0 {
            session.flush_within_room(out);
        }
    }

    #[inline]
    fn unread(&self) -> usize {
        if let DetectedSession::Http2(session) = &self.0 { session.queued_bytes() } else { 0 }
    }

    fn refuse(&mut self, out: &mut OutputBuffer) {
        match &mut self.0 {
            DetectedSession::Undetected(_) => {}
            DetectedSession::Http1(session) => session.refuse(out),
            DetectedSession::Http2(session) => session.refuse(out),
            DetectedSession::Upgraded(both) => both.0.refuse(out),
            DetectedSession::WebSocket(session) => session.refuse(out),
        }
    }

    #[inline]
    fn heartbeats(&mut self) -> u64 {
        match &mut self.0 {
            DetectedSession::Undetected(_) | DetectedSession::Http1(_) | DetectedSession::Upgraded(_) => 0,
            DetectedSession::Http2(session) => session.heartbeats(),
            DetectedSession::WebSocket(session) => session.heartbeats(),
        }
    }
}
