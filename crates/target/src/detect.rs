//! Protocol detection: the protocol of a connection is found from its first bytes and may change by an upgrade.
//!
//! The protocols that many connections use while idle (HTTP/1.1, WebSocket) are stored inline; HTTP/2 is boxed.
//! The path `/status/N` with 400 or more refuses an upgrade with that status, so that clients can be tested
//! against it.

use protocols::grpc::server::is_call;
use protocols::http1::{Http1Server, UpgradeRequest};
use protocols::http2::Http2Server;
use protocols::websocket::WebSocketServer;
use wire::{ServerRequest, ProtocolError, OutputBuffer, ServerResponse, ServerSession};

use crate::conversation::{Conversation, Spoil, Spoken};

/// The beginning of the HTTP/2 preface (RFC 9113 3.4), up to the point where it differs from any HTTP/1.1
/// request.
const PREFACE: &[u8] = b"PRI ";

/// A session in the protocol that its client turns out to use.
#[derive(Debug)]
pub struct Detecting(Inner);

#[derive(Debug)]
enum Inner {
    /// Number of first bytes received so far; either protocol is still possible.
    Fresh(u8),
    Http1(Http1Server),
    Http2(Box<Http2Server>),
    /// Upgraded; the output that must come first has not left yet.
    Greeting(Box<(WebSocketServer, OutputBuffer)>),
    WebSocket(WebSocketServer),
}

impl Detecting {
    /// Creates a session that has received nothing yet.
    pub fn new() -> Detecting {
        Detecting(Inner::Fresh(0))
    }

    /// Detects the protocol.
    fn listen(&mut self, known: usize, bytes: &[u8], hear: &mut dyn FnMut(ServerRequest<'_>)) -> Result<(), ProtocolError> {
        let ahead = &PREFACE[known..];
        if bytes.len() < ahead.len() && ahead.starts_with(bytes) {
            self.0 = Inner::Fresh((known + bytes.len()) as u8);
            return Ok(());
        }
        self.0 = match bytes.starts_with(ahead) {
            true => Inner::Http2(Box::new(Http2Server::in_pieces(is_call))),
            false => Inner::Http1(Http1Server::with_upgrades(is_granted)),
        };
        if known > 0 {
            self.receive(&PREFACE[..known], hear)?;
        }
        self.receive(bytes, hear)
    }

    fn upgrade(&mut self, upgrade: &UpgradeRequest, hear: &mut dyn FnMut(ServerRequest<'_>)) -> Result<(), ProtocolError> {
        let mut greeting = OutputBuffer::default();
        let mut session = WebSocketServer::accept(&upgrade.head, &upgrade.path, &mut greeting);
        let read = session.receive(&upgrade.rest, hear);
        self.0 = Inner::Greeting(Box::new((session, greeting)));
        read
    }
}

/// Returns whether a request with an `Upgrade` becomes a WebSocket.
fn is_granted(head: &[u8], path: &str) -> bool {
    let refused = path.strip_prefix("/status/").is_some_and(|rest| rest.as_bytes().first().is_some_and(|&b| b >= b'4'));
    !refused && WebSocketServer::is_upgrade(head)
}

impl Default for Detecting {
    fn default() -> Detecting {
        Detecting::new()
    }
}

impl ServerSession for Detecting {
    #[inline]
    fn receive(&mut self, bytes: &[u8], hear: &mut dyn FnMut(ServerRequest<'_>)) -> Result<(), ProtocolError> {
        match &mut self.0 {
            Inner::Http1(session) => {
                session.receive(bytes, hear)?;
                match session.upgrade() {
                    None => Ok(()),
                    Some(upgrade) => self.upgrade(&upgrade, hear),
                }
            }
            Inner::Http2(session) => session.receive(bytes, hear),
            Inner::Greeting(both) => both.0.receive(bytes, hear),
            Inner::WebSocket(session) => session.receive(bytes, hear),
            Inner::Fresh(known) => {
                let known = usize::from(*known);
                self.listen(known, bytes, hear)
            }
        }
    }

    #[inline]
    fn respond(&mut self, id: u32, reply: &ServerResponse<'_>, out: &mut OutputBuffer) {
        if let Inner::Greeting(_) = self.0 {
            self.write_due(out);
        }
        match &mut self.0 {
            Inner::Fresh(_) | Inner::Greeting(_) => {}
            Inner::Http1(session) => session.respond(id, reply, out),
            Inner::Http2(session) => session.respond(id, reply, out),
            Inner::WebSocket(session) => session.respond(id, reply, out),
        }
    }

    #[inline]
    fn write_due(&mut self, out: &mut OutputBuffer) {
        match &mut self.0 {
            Inner::Fresh(_) => {}
            Inner::Http1(session) => session.write_due(out),
            Inner::Http2(session) => session.write_due(out),
            Inner::Greeting(both) => {
                let (mut session, greeting) = std::mem::take(&mut **both);
                out.put(greeting.bytes());
                session.write_due(out);
                self.0 = Inner::WebSocket(session);
            }
            Inner::WebSocket(session) => session.write_due(out),
        }
    }

    #[inline]
    fn is_finished(&self) -> bool {
        match &self.0 {
            Inner::Fresh(_) => false,
            Inner::Http1(session) => session.is_finished(),
            Inner::Http2(session) => session.is_finished(),
            Inner::Greeting(both) => both.0.is_finished(),
            Inner::WebSocket(session) => session.is_finished(),
        }
    }
}

impl Conversation for Detecting {
    #[inline]
    fn spoken(&self) -> Spoken {
        match &self.0 {
            Inner::Fresh(_) | Inner::Http1(_) => Spoken::Http1,
            Inner::Http2(_) => Spoken::Http2,
            Inner::Greeting(_) | Inner::WebSocket(_) => Spoken::WebSocket,
        }
    }

    fn spoil(&mut self, id: u32, reply: &ServerResponse<'_>, how: Spoil, out: &mut OutputBuffer) -> bool {
        match &mut self.0 {
            Inner::Fresh(_) | Inner::Http1(_) | Inner::Greeting(_) => false,
            Inner::Http2(session) => session.spoil(id, reply, how, out),
            Inner::WebSocket(session) => session.spoil(id, reply, how, out),
        }
    }

    fn http2(&mut self) -> Option<&mut Http2Server> {
        match &mut self.0 {
            Inner::Http2(session) => Some(session),
            _ => None,
        }
    }

    fn websocket(&mut self) -> Option<&mut WebSocketServer> {
        match &mut self.0 {
            Inner::WebSocket(session) => Some(session),
            _ => None,
        }
    }

    #[inline]
    fn held(&self) -> usize {
        match &self.0 {
            Inner::Fresh(_) => 0,
            Inner::Http1(session) => session.buffered(),
            Inner::Http2(session) => session.held_bytes(),
            Inner::Greeting(both) => both.0.held_bytes(),
            Inner::WebSocket(session) => session.held_bytes(),
        }
    }

    #[inline]
    fn waits_for_room(&self) -> bool {
        matches!(&self.0, Inner::Http2(session) if session.is_short_of_room())
    }

    #[inline]
    fn make_room(&mut self, room: usize) {
        if let Inner::Http2(session) = &mut self.0 {
            session.set_room(room);
        }
    }

    fn go_on_in_room(&mut self, out: &mut OutputBuffer) {
        if let Inner::Http2(session) = &mut self.0 {
            session.flush_within_room(out);
        }
    }

    #[inline]
    fn untaken(&self) -> usize {
        if let Inner::Http2(session) = &self.0 { session.queued_bytes() } else { 0 }
    }

    fn refuse(&mut self, out: &mut OutputBuffer) {
        match &mut self.0 {
            Inner::Fresh(_) => {}
            Inner::Http1(session) => session.refuse(out),
            Inner::Http2(session) => session.refuse(out),
            Inner::Greeting(both) => both.0.refuse(out),
            Inner::WebSocket(session) => session.refuse(out),
        }
    }

    #[inline]
    fn heartbeats(&mut self) -> u64 {
        match &mut self.0 {
            Inner::Fresh(_) | Inner::Http1(_) | Inner::Greeting(_) => 0,
            Inner::Http2(session) => session.heartbeats(),
            Inner::WebSocket(session) => session.heartbeats(),
        }
    }
}
