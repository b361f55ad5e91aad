//! A peer that consists of server sessions: the server side of any protocol, with replies at chosen
//! times and every kind of faulty reply.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

use brunt_contract::{BodyFraming, OutputBuffer, ServerRequest, ServerResponse, ServerSession};
use brunt_measure::Nanos;

use super::peer::{PeerActions, SimPeer};

/// A reply to a request.
#[derive(Clone, Debug)]
pub struct SimReply {
    /// Status code.
    pub status: u16,
    /// Further header lines, each ended by CR LF.
    pub headers: Arc<[u8]>,
    /// Body.
    pub body: Arc<[u8]>,
    /// Framing of the body.
    pub shape: BodyFraming,
    /// Set if the connection is closed after the reply.
    pub close: bool,
    /// Fault of the reply.
    pub mishap: Option<ReplyFault>,
}

/// Fault of a reply.
#[derive(Clone, Debug)]
pub enum ReplyFault {
    /// The connection is reset instead.
    Reset,
    /// The connection is closed instead.
    Close,
    /// Only this many bytes are sent, then the connection is closed.
    Cut(usize),
    /// Only this many bytes are sent, then the connection is reset (bytes that have not arrived by then are lost).
    CutReset(usize),
    /// Sends these bytes instead.
    Garbage(Arc<[u8]>),
    /// Sends these bytes after the reply.
    Surplus(Arc<[u8]>),
}

impl SimReply {
    /// Creates a reply with this status and body, without further headers.
    pub fn new(status: u16, body: &[u8]) -> SimReply {
        SimReply {
            status,
            headers: Arc::default(),
            body: Arc::from(body),
            shape: BodyFraming::Length,
            close: false,
            mishap: None,
        }
    }

    /// Returns the reply with a fault.
    pub fn with(self, mishap: ReplyFault) -> SimReply {
        SimReply { mishap: Some(mishap), ..self }
    }
}

/// A peer that uses server sessions. `make` creates one for each connection; `brain` decides for
/// each request the reply and when it is due (`Nanos::MAX` for never).
pub struct ServerPeer<S, F, B> {
    make: F,
    brain: B,
    conns: Vec<ServerConnection<S>>,
    waiting: BinaryHeap<ScheduledReply>,
    sequence: u64,
    asks: Vec<(u32, Nanos, SimReply)>,
    out: OutputBuffer,
    heard: u64,
    answered: u64,
    broken: u64,
}

struct ServerConnection<S> {
    session: Option<S>,
    generation: u32,
}

struct ScheduledReply {
    due: Nanos,
    sequence: u64,
    conn: u32,
    generation: u32,
    id: u32,
    reply: SimReply,
}

impl<S, F, B> ServerPeer<S, F, B>
where
    S: ServerSession,
    F: FnMut() -> S + Send,
    B: FnMut(Nanos, &ServerRequest<'_>) -> (Nanos, SimReply) + Send,
{
    /// Creates a server without connections.
    pub fn new(make: F, brain: B) -> ServerPeer<S, F, B> {
        ServerPeer {
            make,
            brain,
            conns: Vec::new(),
            waiting: BinaryHeap::new(),
            sequence: 0,
            asks: Vec::new(),
            out: OutputBuffer::default(),
            heard: 0,
            answered: 0,
            broken: 0,
        }
    }

    /// Returns the number of requests received.
    pub fn heard(&self) -> u64 {
        self.heard
    }

    /// Returns the number of replies sent, complete or not.
    pub fn answered(&self) -> u64 {
        self.answered
    }

    /// Returns the number of connections on which the client violated the protocol.
    pub fn broken(&self) -> u64 {
        self.broken
    }

    fn end(&mut self, conn: u32) {
        let conversation = &mut self.conns[conn as usize];
        conversation.session = None;
        conversation.generation += 1;
    }

    /// Sends the contents of `out`, and closes the connection if the session is over.
    fn flush(&mut self, conn: u32, say: &mut PeerActions) {
        if !self.out.is_empty() {
            say.send_out(conn, &mut self.out);
        }
        if self.conns[conn as usize].session.as_ref().is_some_and(ServerSession::is_finished) {
            say.close(conn);
            self.end(conn);
        }
    }

    fn answer(&mut self, w: ScheduledReply, say: &mut PeerActions) {
        let conversation = &mut self.conns[w.conn as usize];
        let Some(session) = conversation.session.as_mut().filter(|_| conversation.generation == w.generation) else {
            return;
        };
        self.answered += 1;
        let SimReply { status, headers, body, shape, close, mishap } = &w.reply;
        let (status, shape, close) = (*status, *shape, *close);
        session.respond(w.id, &ServerResponse { status, headers, body, framing: shape, close }, &mut self.out);
        match mishap {
            None => self.flush(w.conn, say),
            Some(mishap) => self.apply_fault(w.conn, mishap, say),
        }
    }

    fn apply_fault(&mut self, conn: u32, mishap: &ReplyFault, say: &mut PeerActions) {
        match mishap {
            ReplyFault::Garbage(bytes) => say.send(conn, bytes),
            ReplyFault::Cut(len) | ReplyFault::CutReset(len) => {
                let whole = self.out.buffer();
                say.send(conn, &whole[..whole.len().min(*len)]);
            }
            ReplyFault::Surplus(bytes) => {
                self.out.put(bytes);
                return self.flush(conn, say);
            }
            ReplyFault::Reset | ReplyFault::Close => {}
        }
        self.out.clear();
        match mishap {
            ReplyFault::Reset | ReplyFault::CutReset(_) => say.reset(conn),
            ReplyFault::Close | ReplyFault::Cut(_) => say.close(conn),
            ReplyFault::Garbage(_) | ReplyFault::Surplus(_) => return,
        }
        self.end(conn);
    }
}

impl<S, F, B> SimPeer for ServerPeer<S, F, B>
where
    S: ServerSession,
    F: FnMut() -> S + Send,
    B: FnMut(Nanos, &ServerRequest<'_>) -> (Nanos, SimReply) + Send,
{
    fn opened(&mut self, _now: Nanos, conn: u32) {
        while self.conns.len() <= conn as usize {
            self.conns.push(ServerConnection { session: None, generation: 0 });
        }
        self.conns[conn as usize].session = Some((self.make)());
    }

    fn received(&mut self, now: Nanos, conn: u32, bytes: &[u8], say: &mut PeerActions) {
        let ServerPeer { conns, brain, asks, out, .. } = self;
        let conversation = &mut conns[conn as usize];
        let Some(session) = conversation.session.as_mut() else { return };
        let followed = session.receive(bytes, &mut |ask| {
            let (due, reply) = brain(now, &ask);
            asks.push((ask.id, due, reply));
        });
        session.write_due(out);
        let generation = conversation.generation;
        self.heard += self.asks.len() as u64;
        for (id, due, reply) in self.asks.drain(..).filter(|(_, due, _)| *due < Nanos::MAX) {
            self.sequence += 1;
            self.waiting.push(ScheduledReply {
                due: due.max(now),
                sequence: self.sequence,
                conn,
                generation,
                id,
                reply,
            });
        }
        self.flush(conn, say);
        if followed.is_err() {
            self.broken += 1;
            say.close(conn);
            self.end(conn);
        }
    }

    fn closed(&mut self, _now: Nanos, conn: u32) {
        self.end(conn);
    }

    fn next_timer(&self) -> Option<Nanos> {
        self.waiting.peek().map(|w| w.due)
    }

    fn timer(&mut self, now: Nanos, say: &mut PeerActions) {
        while self.waiting.peek().is_some_and(|w| w.due <= now) {
            if let Some(waiting) = self.waiting.pop() {
                self.answer(waiting, say);
            }
        }
    }
}

impl ScheduledReply {
    fn key(&self) -> (Nanos, u64) {
        (self.due, self.sequence)
    }
}

impl PartialEq for ScheduledReply {
    fn eq(&self, other: &ScheduledReply) -> bool {
        self.key() == other.key()
    }
}

impl Eq for ScheduledReply {}

impl PartialOrd for ScheduledReply {
    fn partial_cmp(&self, other: &ScheduledReply) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ScheduledReply {
    /// Compares in reverse order, because the heap returns its greatest element.
    fn cmp(&self, other: &ScheduledReply) -> Ordering {
        other.key().cmp(&self.key())
    }
}
