//! A peer made of server sessions: the server side of any protocol, with replies due at chosen times and with any fault
//! a reply can have.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

use measure::Nanos;
use wire::{Ask, Out, Reply, ServerSession, Shape};

use super::peer::{Peer, Say};

/// A reply that waits for its time.
#[derive(Clone, Debug)]
pub struct ReplyOwned {
    /// Status code.
    pub status: u16,
    /// Further header lines, each ended by CR LF.
    pub headers: Arc<[u8]>,
    /// Body.
    pub body: Arc<[u8]>,
    /// Framing of the body.
    pub shape: Shape,
    /// Set to close the connection after it.
    pub close: bool,
    /// Fault of the reply.
    pub mishap: Option<Mishap>,
}

/// Fault of a reply.
#[derive(Clone, Debug)]
pub enum Mishap {
    /// The connection is reset instead.
    Reset,
    /// The connection is closed instead.
    Close,
    /// Only this many bytes are sent, then the connection is closed.
    Cut(usize),
    /// Only this many bytes are sent, then the connection is reset (what has not arrived by then is lost).
    CutReset(usize),
    /// Sends these bytes instead.
    Garbage(Arc<[u8]>),
    /// Sends these bytes after it.
    Surplus(Arc<[u8]>),
}

impl ReplyOwned {
    /// Creates a reply with this status and body, without further headers.
    pub fn new(status: u16, body: &[u8]) -> ReplyOwned {
        ReplyOwned {
            status,
            headers: Arc::default(),
            body: Arc::from(body),
            shape: Shape::Length,
            close: false,
            mishap: None,
        }
    }

    /// Returns the reply with a fault.
    pub fn with(self, mishap: Mishap) -> ReplyOwned {
        ReplyOwned { mishap: Some(mishap), ..self }
    }
}

/// A peer that uses server sessions. `make` creates one for each connection; `brain` decides for each request when the
/// reply is due (`Nanos::MAX`: never) and what it is.
pub struct ServerPeer<S, F, B> {
    make: F,
    brain: B,
    conns: Vec<Conversation<S>>,
    waiting: BinaryHeap<Waiting>,
    sequence: u64,
    asks: Vec<(u32, Nanos, ReplyOwned)>,
    out: Out,
    heard: u64,
    answered: u64,
    broken: u64,
}

struct Conversation<S> {
    session: Option<S>,
    generation: u32,
}

struct Waiting {
    due: Nanos,
    sequence: u64,
    conn: u32,
    generation: u32,
    id: u32,
    reply: ReplyOwned,
}

impl<S, F, B> ServerPeer<S, F, B>
where
    S: ServerSession,
    F: FnMut() -> S + Send,
    B: FnMut(Nanos, &Ask<'_>) -> (Nanos, ReplyOwned) + Send,
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
            out: Out::default(),
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

    /// Sends what is in `out`, and closes the connection if the session is over.
    fn speak(&mut self, conn: u32, say: &mut Say) {
        if !self.out.is_empty() {
            say.send_out(conn, &mut self.out);
        }
        if self.conns[conn as usize].session.as_ref().is_some_and(ServerSession::over) {
            say.close(conn);
            self.end(conn);
        }
    }

    fn answer(&mut self, w: Waiting, say: &mut Say) {
        let conversation = &mut self.conns[w.conn as usize];
        let Some(session) = conversation.session.as_mut().filter(|_| conversation.generation == w.generation) else {
            return;
        };
        self.answered += 1;
        let ReplyOwned { status, headers, body, shape, close, mishap } = &w.reply;
        let (status, shape, close) = (*status, *shape, *close);
        session.answer(w.id, &Reply { status, headers, body, shape, close }, &mut self.out);
        match mishap {
            None => self.speak(w.conn, say),
            Some(mishap) => self.go_wrong(w.conn, mishap, say),
        }
    }

    fn go_wrong(&mut self, conn: u32, mishap: &Mishap, say: &mut Say) {
        match mishap {
            Mishap::Garbage(bytes) => say.send(conn, bytes),
            Mishap::Cut(len) | Mishap::CutReset(len) => {
                let whole = self.out.buffer();
                say.send(conn, &whole[..whole.len().min(*len)]);
            }
            Mishap::Surplus(bytes) => {
                self.out.put(bytes);
                return self.speak(conn, say);
            }
            Mishap::Reset | Mishap::Close => {}
        }
        self.out.clear();
        match mishap {
            Mishap::Reset | Mishap::CutReset(_) => say.reset(conn),
            Mishap::Close | Mishap::Cut(_) => say.close(conn),
            Mishap::Garbage(_) | Mishap::Surplus(_) => return,
        }
        self.end(conn);
    }
}

impl<S, F, B> Peer for ServerPeer<S, F, B>
where
    S: ServerSession,
    F: FnMut() -> S + Send,
    B: FnMut(Nanos, &Ask<'_>) -> (Nanos, ReplyOwned) + Send,
{
    fn opened(&mut self, _now: Nanos, conn: u32) {
        while self.conns.len() <= conn as usize {
            self.conns.push(Conversation { session: None, generation: 0 });
        }
        self.conns[conn as usize].session = Some((self.make)());
    }

    fn received(&mut self, now: Nanos, conn: u32, bytes: &[u8], say: &mut Say) {
        let ServerPeer { conns, brain, asks, out, .. } = self;
        let conversation = &mut conns[conn as usize];
        let Some(session) = conversation.session.as_mut() else { return };
        let followed = session.receive(bytes, &mut |ask| {
            let (due, reply) = brain(now, &ask);
            asks.push((ask.id, due, reply));
        });
        session.owed(out);
        let generation = conversation.generation;
        self.heard += self.asks.len() as u64;
        for (id, due, reply) in self.asks.drain(..).filter(|(_, due, _)| *due < Nanos::MAX) {
            self.sequence += 1;
            self.waiting.push(Waiting { due: due.max(now), sequence: self.sequence, conn, generation, id, reply });
        }
        self.speak(conn, say);
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

    fn timer(&mut self, now: Nanos, say: &mut Say) {
        while self.waiting.peek().is_some_and(|w| w.due <= now) {
            if let Some(waiting) = self.waiting.pop() {
                self.answer(waiting, say);
            }
        }
    }
}

impl Waiting {
    fn key(&self) -> (Nanos, u64) {
        (self.due, self.sequence)
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Waiting) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Waiting) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    /// Reversed order, as the heap returns its greatest element.
    fn cmp(&self, other: &Waiting) -> Ordering {
        other.key().cmp(&self.key())
    }
}
