//! The connections of a worker (or of a one-shot conversation): the life of each from the call to `connect` to its end, and
//! the bytes that go over it.
//!
//! A connection is being connected, shakes hands (TLS), greets (the protocol's own handshake), and stands. What moves it on is
//! told by [`Links::next`]; the caller calls the step for it, and does what follows from the [`Step`] that comes back: count,
//! give the connection to a request, or end it. Nothing here knows of requests, users or figures.

mod ending;
mod saying;

use std::net::IpAddr;
use std::sync::Arc;

use cause::{Cause, Plain};
use measure::Nanos;
use measure::random::Rng;
use wire::{
    Arrival, Broken, ConnId, Dial, Dialogue, Done, Errno, Established, FaultKind, Fed, Fill, Handshake, Network,
    Origin, Out, Place, Rest, Security, Session,
};

use crate::filling::FillSource;
use crate::ids::{PoolId, UserId};
use crate::openings::Openings;
use crate::pool::{Channel, Conn, Stage};

/// The proxy closed before it said whether it leads to the target.
pub(crate) const CLOSED_IN_TUNNEL: Plain = cause::proxy::closed();

/// The peer closed on our TLS without telling why.
pub(crate) const CLOSED_IN_HANDSHAKE: Plain = cause::tls::closed();

/// Responses to pings from which on it is looked whether they leave, and the bytes unsent up to which they do.
const REPLIES_LOOKED_AT: u32 = 1024;
const REPLIES_UNSENT: usize = 64 << 10;

/// What happened on a connection; bytes were read already.
pub(crate) enum Arrived {
    /// It is connected: [`Links::connected`].
    Connected(ConnId),
    /// So many bytes came, and the session has read them: what it found is in [`Links::done`].
    Read(ConnId, usize, Result<(), Broken>),
    /// So many bytes came for TLS: [`Links::shaken_hands`] and [`Links::read_plain`].
    Secure(ConnId, usize, Result<Fed, Cause>),
    /// It is gone, or never stood.
    Closed(ConnId, Option<Errno>),
    /// Everything that waited for the socket has left.
    Sent(ConnId),
}

/// Where a connection has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A proxy was told where to connect: the target is not reached yet.
    Tunnelling,
    /// Its opening goes on; what is to be said leaves with the next flush.
    Opening,
    /// It takes exchanges.
    Stands,
}

/// Why a connection cannot be opened.
#[derive(Debug)]
pub(crate) struct Cut {
    pub kind: FaultKind,
    pub why: Option<Cause>,
}

/// Where a connection leads.
#[derive(Clone, Copy)]
pub(crate) struct Led<'a> {
    pub origin: &'a Origin,
    /// The user whom it is opened for.
    pub user: UserId,
    /// What its opening is filled with, where it is that user's ([`wire::Belongs::ToUser`]).
    pub fill: Option<Fill<'a>>,
}

/// Hears what goes over connections in clear: what was sent, and what came.
pub(crate) trait Tap: Send {
    fn sent(&mut self, bytes: &[u8]);
    fn received(&mut self, bytes: &[u8]);
}

/// The connections, by the slot the network gave each.
pub(crate) struct Links<N: Network> {
    net: N,
    dialogue: Arc<dyn Dialogue>,
    security: Arc<dyn Security>,
    conns: Vec<Conn>,
    /// Opened or being opened.
    count: u32,
    openings: Openings,
    /// From these addresses in turn.
    sources: Vec<IpAddr>,
    next_source: usize,
    /// One exchange a connection.
    once: bool,
    /// Sessions that ended, by their origin, for connections to come: where each serves one exchange.
    spare: Vec<(PoolId, Box<dyn Session>)>,
    /// Of connections.
    seeds: Rng,
    /// What opens connections is filled from this.
    fills: FillSource,
    /// Bytes for one connection at a time.
    out: Out,
    out_for: ConnId,
    cipher: Out,
    plain: Vec<u8>,
    done: Done,
    tap: Option<Box<dyn Tap>>,
}

impl<N: Network> Links<N> {
    /// No connections yet; each step of an opening may take `timeout`. What each is opened with is drawn from `seeds`, and filled
    /// from `fills`.
    pub fn new(
        mut net: N,
        dialogue: Arc<dyn Dialogue>,
        security: Arc<dyn Security>,
        timeout: Nanos,
        (seeds, fills): (Rng, FillSource),
    ) -> Links<N> {
        let once = dialogue.prepared().one_exchange_per_connection;
        let openings = Openings::new(timeout, net.now());
        Links {
            net,
            dialogue,
            security,
            conns: Vec::new(),
            count: 0,
            openings,
            sources: Vec::new(),
            next_source: 0,
            once,
            spare: Vec::new(),
            seeds,
            fills,
            out: Out::default(),
            out_for: ConnId::NONE,
            cipher: Out::default(),
            plain: Vec::new(),
            done: Done::default(),
            tap: None,
        }
    }

    /// Connections leave from these addresses in turn, beginning with the `first`.
    pub fn leaving_from(self, sources: Vec<IpAddr>, first: usize) -> Links<N> {
        Links { sources, next_source: first, ..self }
    }

    /// What goes over connections is heard by `tap`.
    pub fn tapped(self, tap: Box<dyn Tap>) -> Links<N> {
        Links { tap: Some(tap), ..self }
    }

    /// The network, for what is no connection's.
    #[inline]
    pub fn net(&mut self) -> &mut N {
        &mut self.net
    }

    /// Bytes that the sockets have taken, and refusals of datagrams found in sends, since the beginning.
    pub fn sent_and_refused(&self) -> (u64, u64) {
        (self.net.bytes_sent(), self.net.refused())
    }

    /// Connections that are open or being opened.
    #[inline]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Slots that connections have had so far.
    pub fn slots(&self) -> usize {
        self.conns.len()
    }

    #[inline]
    pub fn conn(&self, conn: ConnId) -> &Conn {
        &self.conns[conn.at()]
    }

    #[inline]
    pub fn conn_mut(&mut self, conn: ConnId) -> &mut Conn {
        &mut self.conns[conn.at()]
    }

    /// All of them, for the pools that sort them.
    #[inline]
    pub fn conns_mut(&mut self) -> &mut [Conn] {
        &mut self.conns
    }

    /// The session on it; None before the connection stands.
    #[inline]
    pub fn session(&self, conn: ConnId) -> Option<&dyn Session> {
        self.conns.get(conn.at())?.session.as_deref()
    }

    /// What sessions found.
    #[inline]
    pub fn done(&mut self) -> &mut Done {
        &mut self.done
    }

    /// Begins to connect to `to`, an address of the origin of `pool`.
    ///
    /// # Errors
    /// What the operating system refused at once.
    pub fn dial(&mut self, pool: PoolId, to: Place, now: Nanos) -> Result<ConnId, Errno> {
        let source = self.sources.get(self.next_source % self.sources.len().max(1)).copied();
        self.next_source = self.next_source.wrapping_add(1);
        let conn = self.net.connect(&Dial { to, source, once: self.once })?;
        while self.conns.len() <= conn.at() {
            self.conns.push(Conn::vacant());
        }
        self.conns[conn.at()] = Conn::dialled(pool, now);
        self.count += 1;
        self.openings.watch(conn, now);
        Ok(conn)
    }

    /// The timers of openings.
    #[inline]
    pub fn openings(&mut self) -> &mut Openings {
        &mut self.openings
    }

    /// A timer came up: true where the time of the opening in its slot is over at `now`. One that has time left is watched on.
    pub fn times_out(&mut self, conn: ConnId, now: Nanos) -> bool {
        let c = &self.conns[conn.at()];
        let opening = matches!(c.stage, Stage::Connecting | Stage::Handshaking | Stage::Greeting);
        self.openings.times_out(conn, opening.then_some(c.since), now)
    }

    /// The next thing that happened in this turn; what came has been read.
    #[inline]
    pub fn next(&mut self) -> Option<Arrived> {
        loop {
            let (conn, count, fed) = match self.net.next()? {
                Arrival::Connected(conn) => return Some(Arrived::Connected(conn)),
                Arrival::Closed(conn, why) => return Some(Arrived::Closed(conn, why)),
                Arrival::Sent(conn) => return Some(Arrived::Sent(conn)),
                Arrival::Accepted(_, conn) => {
                    self.net.close(conn);
                    continue;
                }
                Arrival::Received(conn, bytes) => {
                    let c = &mut self.conns[conn.at()];
                    match (&mut c.secure, &mut c.session) {
                        (None, Some(session)) => {
                            if let Some(tap) = &mut self.tap {
                                tap.received(bytes);
                            }
                            let read = session.receive(bytes, &mut self.out, &mut self.done);
                            self.out_for = conn;
                            return Some(Arrived::Read(conn, bytes.len(), read));
                        }
                        (None, None) => return Some(Arrived::Read(conn, bytes.len(), Ok(()))),
                        (Some(channel), _) => {
                            self.plain.clear();
                            (conn, bytes.len(), channel.0.feed(bytes, &mut self.plain, &mut self.cipher))
                        }
                    }
                }
            };
            self.net.send(conn, &mut self.cipher);
            return Some(Arrived::Secure(conn, count, fed));
        }
    }

    /// What is left of the turn.
    #[inline]
    pub fn rest(&mut self) -> Rest {
        self.net.rest()
    }

    /// It is connected for this user: to the target, or to a proxy, which is then told where to connect. Connecting lasts until
    /// the way to the target is free.
    ///
    /// # Errors
    /// The proxy cannot be told, or TLS cannot begin.
    pub fn connected(&mut self, conn: ConnId, led: Led<'_>, now: Nanos) -> Result<Step, Cut> {
        let tunnel = self.security.tunnel(led.origin).map_err(|why| Cut { kind: FaultKind::Proxy, why: Some(why) })?;
        let Some(mut tunnel) = tunnel else { return self.reached(conn, led, now) };
        tunnel.start(&mut self.cipher);
        self.net.send(conn, &mut self.cipher);
        self.conns[conn.at()].secure = Some(Box::new(Channel(tunnel)));
        Ok(Step::Tunnelling)
    }

    /// True where a proxy has not led to the target yet.
    pub fn in_tunnel(&self, conn: ConnId) -> bool {
        let c = &self.conns[conn.at()];
        c.stage == Stage::Connecting && c.secure.is_some()
    }

    /// The way to the target is free: TLS begins, or the conversation does.
    ///
    /// # Errors
    /// TLS cannot begin.
    pub fn reached(&mut self, conn: ConnId, led: Led<'_>, now: Nanos) -> Result<Step, Cut> {
        let c = &mut self.conns[conn.at()];
        (c.since, c.secure) = (now, None);
        match led.origin.tls {
            true => self.secure(conn, led.origin, true, now),
            false => Ok(self.converse(conn, led, Established::default(), now)),
        }
    }

    /// Puts TLS between network and session; `outer`: before anything was said.
    fn secure(&mut self, conn: ConnId, origin: &Origin, outer: bool, now: Nanos) -> Result<Step, Cut> {
        let c = &mut self.conns[conn.at()];
        (c.stage, c.since) = (Stage::Handshaking, now);
        let alpn = if outer { self.dialogue.alpn(origin) } else { &[] };
        let channel = self.security.client(origin, alpn);
        let mut channel = channel.map_err(|why| Cut { kind: FaultKind::Tls, why: Some(why) })?;
        channel.start(&mut self.cipher);
        self.net.send(conn, &mut self.cipher);
        c.secure = Some(Box::new(Channel(channel)));
        Ok(Step::Opening)
    }

    /// What was settled in the handshake that is complete.
    pub fn handshake(&self, conn: ConnId) -> Handshake {
        self.conns[conn.at()].secure.as_ref().and_then(|channel| channel.0.handshake()).unwrap_or_default()
    }

    /// TLS is complete: the conversation begins, or goes on where TLS began inside it.
    pub fn shaken_hands(&mut self, conn: ConnId, led: Led<'_>, now: Nanos) -> Step {
        let alpn = self.handshake(conn).alpn;
        let c = &mut self.conns[conn.at()];
        let Some(session) = &mut c.session else {
            return self.converse(conn, led, Established { alpn, tls: true, ..Established::default() }, now);
        };
        (c.stage, c.since) = (Stage::Greeting, now);
        self.out_for = conn;
        session.secured(&mut self.out);
        Step::Opening
    }

    /// A conversation on a connection that stands: one that ended begins anew where all of the run are alike.
    fn session_for(&mut self, (pool, origin): (PoolId, &Origin), established: &Established) -> Box<dyn Session> {
        if let Some((led, mut session)) = self.spare.pop()
            && led == pool
            && session.restart(established)
        {
            return session;
        }
        self.dialogue.session(origin, established)
    }

    /// The session says what it says first.
    fn converse(&mut self, conn: ConnId, led: Led<'_>, mut established: Established, now: Nanos) -> Step {
        established.seed = self.seeds.next_u64();
        established.bound = led.origin.bound;
        (established.fill, _) = self.fills.fill(led.user, now);
        self.aim(conn);
        let pool = self.conns[conn.at()].pool;
        let mut session = self.session_for((pool, led.origin), &established);
        match &led.fill {
            Some(fill) => session.open_with(fill, &mut self.out),
            None => session.open(&mut self.out),
        }
        let opening = session.opening();
        let c = &mut self.conns[conn.at()];
        c.session = Some(session);
        if !opening {
            return self.stands(conn, now);
        }
        (c.stage, c.since) = (Stage::Greeting, now);
        Step::Opening
    }

    /// The session has read more of the protocol's own handshake, which takes until it is complete. What it has to say must have
    /// left.
    ///
    /// # Errors
    /// The peer said in the same breath that it is over, or TLS cannot begin.
    pub fn greeted(&mut self, conn: ConnId, origin: &Origin, now: Nanos) -> Result<Step, Cut> {
        let c = &self.conns[conn.at()];
        let Some(session) = &c.session else { return Ok(Step::Opening) };
        if session.secures_now() && c.secure.is_none() {
            return self.secure(conn, origin, false, now);
        }
        if session.opening() {
            return Ok(Step::Opening);
        }
        // Such a connection never stood: taken for one, it would be held for nothing, or begun again without a pause.
        if session.room() == 0 {
            return Err(Cut { kind: FaultKind::Closed, why: session.goodbye().map(Cause::from) });
        }
        Ok(self.stands(conn, now))
    }

    fn stands(&mut self, conn: ConnId, now: Nanos) -> Step {
        let c = &mut self.conns[conn.at()];
        (c.stage, c.free_since) = (Stage::Open, now);
        Step::Stands
    }

    /// The session reads what came through TLS last; None where nothing did.
    pub fn read_plain(&mut self, conn: ConnId) -> Option<Result<(), Broken>> {
        let session = self.conns[conn.at()].session.as_mut()?;
        if self.plain.is_empty() {
            return None;
        }
        if let Some(tap) = &mut self.tap {
            tap.received(&self.plain);
        }
        self.out_for = conn;
        Some(session.receive(&self.plain, &mut self.out, &mut self.done))
    }

    /// Says what a session owes the peer; how many messages that was. They leave with [`Links::flush`].
    pub fn pay(&mut self, conn: ConnId, now: Nanos) -> u32 {
        self.aim(conn);
        let (unix_ns, out) = (self.fills.unix_ns(now), &mut self.out);
        self.conns[conn.at()].session.as_mut().map_or(0, |session| session.pay(unix_ns, out))
    }

    /// Many responses were given to pings: where the peer reads, they have left, and are no flood.
    #[inline]
    pub fn look_at_replies(&mut self, conn: ConnId) {
        let Some(session) = &mut self.conns[conn.at()].session else { return };
        if session.replies() >= REPLIES_LOOKED_AT && self.net.unsent(conn) < REPLIES_UNSENT {
            session.replies_left();
        }
    }

    /// Bytes that its socket has not taken yet.
    pub fn unsent(&self, conn: ConnId) -> usize {
        self.net.unsent(conn)
    }

    /// Bytes in `out` are for one connection at a time.
    #[inline]
    fn aim(&mut self, conn: ConnId) {
        if self.out_for != conn {
            self.flush();
            self.out_for = conn;
        }
    }

    /// True where bytes were appended that no write took yet.
    #[inline]
    pub fn has_unsent(&self) -> bool {
        !self.out.is_empty()
    }

    /// One write for everything appended.
    #[inline]
    pub fn flush(&mut self) {
        if self.out.is_empty() {
            return;
        }
        let conn = self.out_for;
        if let Some(tap) = &mut self.tap {
            tap.sent(self.out.bytes());
            tap.sent(self.out.tail().map_or(&[], |tail| tail));
        }
        match &mut self.conns[conn.at()].secure {
            None => self.net.send(conn, &mut self.out),
            Some(channel) => {
                channel.0.seal(&self.out, &mut self.cipher);
                self.out.clear();
                self.net.send(conn, &mut self.cipher);
            }
        }
    }
}
