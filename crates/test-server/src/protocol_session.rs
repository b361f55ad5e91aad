//! The protocol of a connection as seen by the worker: whether answers keep the order of their
//! requests, and how the protocol expresses a fault.

use brunt_contract::{OutputBuffer, ServerResponse, ServerSession};
use brunt_protocols::http1::Http1Server;
use brunt_protocols::http2::Http2Server;
use brunt_protocols::http2::frames::code::INTERNAL_ERROR;
use brunt_protocols::websocket::WebSocketServer;

/// A protocol the target speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TargetProtocol {
    /// HTTP/1.0 and 1.1.
    Http1,
    /// HTTP/2, including gRPC.
    Http2,
    /// WebSocket, once upgraded.
    WebSocket,
}

impl TargetProtocol {
    /// All protocols with their names in the counters, in the order of the enum.
    pub const ALL: [(TargetProtocol, &'static str); 3] =
        [(TargetProtocol::Http1, "http1"), (TargetProtocol::Http2, "http2"), (TargetProtocol::WebSocket, "websocket")];

    /// Returns `true` if answers leave in the order of their requests.
    #[inline]
    pub fn keeps_order(self) -> bool {
        self != TargetProtocol::Http2
    }
}

/// The kind of fault put into an answer on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerFault {
    /// No answer: a reset.
    Reset,
    /// Only this many bytes of the body, whose full length is announced.
    Cut(usize),
    /// A body of this many bytes, complete in itself, whose announced length is larger or smaller.
    Wrong(usize),
}

/// A session that the target's worker can serve.
pub trait TargetSession: ServerSession {
    /// Returns the protocol; it may change once, after the first bytes or an upgrade.
    fn protocol(&self) -> TargetProtocol;
    /// Spoils the answer to one request in the protocol's own way; `reply` is the correct answer.
    /// Returns `false` if the protocol has no fault that spares the connection.
    fn spoil(&mut self, _id: u32, _reply: &ServerResponse<'_>, _how: AnswerFault, _out: &mut OutputBuffer) -> bool {
        false
    }
    /// Appends the protocol's error for a client that violates it; the connection is closed afterwards.
    fn refuse(&mut self, out: &mut OutputBuffer);
    /// Returns the HTTP/2 server if that is the protocol, to write answers with trailers.
    fn http2(&mut self) -> Option<&mut Http2Server> {
        None
    }
    /// Returns the WebSocket server if that is the protocol, to write messages at the pace of the
    /// client.
    fn websocket(&mut self) -> Option<&mut WebSocketServer> {
        None
    }
    /// Returns the number of pings answered since the last call.
    fn heartbeats(&mut self) -> u64 {
        0
    }
    /// Returns the bytes held for the client, incoming and outgoing.
    fn held(&self) -> usize {
        0
    }
    /// Returns `true` if answers in progress wait only for room in the output.
    fn waits_for_room(&self) -> bool {
        false
    }
    /// Sets the number of body bytes that may be sent from now on; the rest waits in the session.
    fn set_room(&mut self, _room: usize) {}
    /// Appends output that was waiting, as far as there is room.
    fn resume_in_room(&mut self, _out: &mut OutputBuffer) {}
    /// Returns the bytes of answers that wait until the client reads them.
    fn unread(&self) -> usize {
        0
    }
}

impl TargetSession for Http1Server {
    #[inline]
    fn protocol(&self) -> TargetProtocol {
        TargetProtocol::Http1
    }
    #[inline]
    fn held(&self) -> usize {
        Http1Server::buffered(self)
    }
    fn refuse(&mut self, out: &mut OutputBuffer) {
        out.put(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    }
}

impl TargetSession for Http2Server {
    #[inline]
    fn protocol(&self) -> TargetProtocol {
        TargetProtocol::Http2
    }

    fn http2(&mut self) -> Option<&mut Http2Server> {
        Some(self)
    }
    #[inline]
    fn held(&self) -> usize {
        Http2Server::held_bytes(self)
    }
    #[inline]
    fn waits_for_room(&self) -> bool {
        Http2Server::is_short_of_room(self)
    }
    #[inline]
    fn set_room(&mut self, room: usize) {
        Http2Server::set_room(self, room);
    }
    fn resume_in_room(&mut self, out: &mut OutputBuffer) {
        Http2Server::flush_within_room(self, out);
    }
    #[inline]
    fn unread(&self) -> usize {
        Http2Server::queued_bytes(self)
    }

    /// Spoils only the stream of this request.
    fn spoil(&mut self, id: u32, reply: &ServerResponse<'_>, how: AnswerFault, out: &mut OutputBuffer) -> bool {
        let (body, keep) = match how {
            AnswerFault::Reset => {
                self.reset(id, INTERNAL_ERROR, out);
                return true;
            }
            AnswerFault::Cut(keep) | AnswerFault::Wrong(keep) => (reply.body, keep),
        };
        if self.head(id, reply.status, reply.headers, Some(body.len()), false, out) {
            let kept: Vec<u8> = body.iter().copied().cycle().take(keep).collect();
            self.data(id, &kept, matches!(how, AnswerFault::Wrong(_)), out);
            if let AnswerFault::Cut(_) = how {
                self.reset(id, INTERNAL_ERROR, out);
            }
        }
        true
    }

    fn refuse(&mut self, out: &mut OutputBuffer) {
        // A GOAWAY frame is already pending.
        self.write_due(out);
    }

    #[inline]
    fn heartbeats(&mut self) -> u64 {
        Http2Server::heartbeats(self)
    }
}

impl TargetSession for WebSocketServer {
    #[inline]
    fn protocol(&self) -> TargetProtocol {
        TargetProtocol::WebSocket
    }
    fn websocket(&mut self) -> Option<&mut WebSocketServer> {
        Some(self)
    }
    #[inline]
    fn held(&self) -> usize {
        WebSocketServer::held_bytes(self)
    }

    /// Announces a binary message of the whole body but writes only as many bytes as requested;
    /// nothing else can follow.
    fn spoil(&mut self, _id: u32, reply: &ServerResponse<'_>, how: AnswerFault, out: &mut OutputBuffer) -> bool {
        if let AnswerFault::Cut(keep) | AnswerFault::Wrong(keep) = how {
            out.put(&[0x82, 127]);
            out.put(&(reply.body.len() as u64).to_be_bytes());
            let kept: Vec<u8> = reply.body.iter().copied().cycle().take(keep).collect();
            out.put(&kept);
        }
        false
    }

    /// Writes a close frame with 1002, protocol error (RFC 6455 7.4.1).
    fn refuse(&mut self, out: &mut OutputBuffer) {
        out.put(&[0x88, 2, 0x03, 0xea]);
    }

    #[inline]
    fn heartbeats(&mut self) -> u64 {
        u64::from(self.pings())
    }
}
