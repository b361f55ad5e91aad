//! Connections of a worker (or of a one-shot conversation): the life cycle of each, from `connect` to its end, and the
//! bytes it carries.
//!
//! A connection is established, performs the TLS handshake and then the protocol's own handshake (greeting), and is
//! then open. Events come from [`Links::next`]. The caller calls the method for the event and acts on the returned
//! [`OpeningStep`]: it counts, assigns the connection to a request, or ends it. This module knows nothing about users
//! or figures.

mod closing;
mod parting;
mod pieces;
mod requests;

use std::net::IpAddr;
use std::sync::Arc;

use brunt_cause::{Cause, StaticCause};
use brunt_contract::{
    ChannelProgress, ConnId, ConnectParameters, Errno, EstablishedConnection, EventBuffer, FaultKind, Handshake,
    Network, NetworkEvent, Origin, OutputBuffer, PeerAddress, ProtocolError, SecureChannelFactory, Session,
    SlotContext, TurnRemainder, Workload,
};
use brunt_measure::Nanos;
use brunt_measure::random::Rng;

use self::parting::PartingConnections;
use crate::ids::{PoolId, UserId};
use crate::opening_timers::OpeningTimers;
use crate::pool::{Channel, Conn, ConnStage};
use crate::slot_values::SlotSource;

/// The proxy closed the connection before it reported whether it had reached the target.
pub(crate) const CLOSED_IN_TUNNEL: StaticCause = brunt_cause::proxy::closed();

/// The peer closed the connection during the TLS handshake without an alert.
pub(crate) const CLOSED_IN_HANDSHAKE: StaticCause = brunt_cause::tls::closed();

/// Number of pending ping replies from which the unsent bytes are checked, and the number of unsent bytes below which
/// the replies count as sent.
const MIN_REPLIES_CHECKED: u32 = 1024;
const MAX_REPLIES_UNSENT: usize = 64 << 10;

/// An event of a connection; bytes have already been read.
pub(crate) enum LinkEvent {
    /// The connection is established: see [`Links::connected`].
    Connected(ConnId),
    /// This many bytes arrived and were parsed by the session; its events are in [`Links::done`].
    Read(ConnId, usize, Result<(), ProtocolError>),
    /// This many bytes arrived for TLS: see [`Links::tls_established`] and [`Links::read_plain`].
    TlsRead(ConnId, usize, Result<ChannelProgress, Cause>),
    /// The connection is gone, or failed to open.
    Closed(ConnId, Option<Errno>),
    /// All bytes that waited for the socket have been sent.
    Sent(ConnId),
}

/// The state that an opening connection has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpeningStep {
    /// The destination was sent to a proxy; the target has not been reached yet.
    Tunnelling,
    /// The opening continues; its bytes are sent with the next flush.
    Opening,
    /// The connection accepts exchanges.
    Open,
}

/// The reason why a connection cannot be opened.
#[derive(Debug)]
pub(crate) struct OpeningError {
    pub kind: FaultKind,
    pub why: Option<Cause>,
}

/// The destination of a connection.
#[derive(Clone, Copy)]
pub(crate) struct Destination<'a> {
    pub origin: &'a Origin,
    /// The user for whom it is opened.
    pub user: UserId,
    /// The slot values of its opening, if the user will own it ([`brunt_contract::ConnectionOwner::User`]).
    pub fill: Option<SlotContext<'a>>,
}

/// An observer of the plaintext of connections, in both directions.
pub(crate) trait Tap: Send {
    fn sent(&mut self, bytes: &[u8]);
    fn received(&mut self, bytes: &[u8]);
}

/// The connections, indexed by the slot that the network assigned.
pub(crate) struct Links<N: Network> {
    net: N,
    workload: Arc<dyn Workload>,
    security: Arc<dyn SecureChannelFactory>,
    conns: Vec<Conn>,
    /// Number of connections open or being opened.
    count: u32,
    openings: OpeningTimers,
    /// Source addresses, which are used in turn.
    sources: Vec<IpAddr>,
    next_source: usize,
    /// Set if each connection carries one exchange.
    once: bool,
    /// Ended sessions kept for reuse, each with its pool, if each session serves one exchange.
    idle_sessions: Vec<(PoolId, Box<dyn Session>)>,
    /// Source of the sessions' seeds.
    seeds: Rng,
    /// Source of the slot values of openings.
    fill_source: SlotSource,
    /// Bytes to be written, for one connection at a time.
    out: OutputBuffer,
    out_for: ConnId,
    cipher: OutputBuffer,
    plain: Vec<u8>,
    done: EventBuffer,
    tap: Option<Box<dyn Tap>>,
    parting: PartingConnections,
}

impl<N: Network> Links<N> {
    /// Creates a set without connections. Each step of an opening may take `timeout`. Seeds of sessions come from
    /// `seeds`, slot values of openings from `fills`.
    pub fn new(
        mut net: N,
        workload: Arc<dyn Workload>,
        security: Arc<dyn SecureChannelFactory>,
        timeout: Nanos,
        (seeds, fills): (Rng, SlotSource),
    ) -> Links<N> {
        let once = workload.prepared().one_exchange_per_connection;
        let openings = OpeningTimers::new(timeout, net.now());
        Links {
            net,
            workload,
            security,
            conns: Vec::new(),
            count: 0,
            openings,
            sources: Vec::new(),
            next_source: 0,
            once,
            idle_sessions: Vec::new(),
            seeds,
            fill_source: fills,
            out: OutputBuffer::default(),
            out_for: ConnId::NONE,
            cipher: OutputBuffer::default(),
            plain: Vec::new(),
            done: EventBuffer::default(),
            tap: None,
            parting: PartingConnections::default(),
        }
    }

    /// Sets the source addresses, which are used in turn starting at index `first`.
    pub fn with_sources(self, sources: Vec<IpAddr>, first: usize) -> Links<N> {
        Links { sources, next_source: first, ..self }
    }

    /// Attaches an observer.
    pub fn with_tap(self, tap: Box<dyn Tap>) -> Links<N> {
        Links { tap: Some(tap), ..self }
    }

    /// Returns the network, for operations that are not specific to a connection.
    #[inline]
    pub fn net(&mut self) -> &mut N {
        &mut self.net
    }

    /// Returns the number of bytes that the sockets have accepted since the start, and the number of refused datagrams
    /// reported by sends.
    pub fn sent_and_refused(&self) -> (u64, u64) {
        (self.net.bytes_sent(), self.net.rejected_datagrams())
    }

    /// Returns the number of connections that are open or being opened.
    #[inline]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Returns the number of slots used so far.
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

    /// Returns all connections, indexed by slot.
    #[inline]
    pub fn conns_mut(&mut self) -> &mut [Conn] {
        &mut self.conns
    }

    /// Returns the session on a connection; `None` before the connection is open.
    #[inline]
    pub fn session(&self, conn: ConnId) -> Option<&dyn Session> {
        self.conns.get(conn.at())?.session.as_deref()
    }

    /// Returns the events of sessions.
    #[inline]
    pub fn done(&mut self) -> &mut EventBuffer {
        &mut self.done
    }

    /// Starts connecting to `to`, an address of the origin of `pool`.
    ///
    /// # Errors
    /// The error, if the operating system reports one at once.
    pub fn dial(&mut self, pool: PoolId, (to, address): (PeerAddress, u16), now: Nanos) -> Result<ConnId, Errno> {
        let source = self.sources.get(self.next_source % self.sources.len().max(1)).copied();
        self.next_source = self.next_source.wrapping_add(1);
        let conn = self.net.connect(&ConnectParameters { to, source, single_use: self.once })?;
        while self.conns.len() <= conn.at() {
            self.conns.push(Conn::vacant());
        }
        self.conns[conn.at()] = Conn::connecting((pool, address), now);
        self.count += 1;
        self.openings.watch(conn, now);
        Ok(conn)
    }

    /// Returns the timers of openings.
    #[inline]
    pub fn openings(&mut self) -> &mut OpeningTimers {
        &mut self.openings
    }

    /// Checks an opening whose timer fired: returns `true` if its time is up at `now`; otherwise the timer is set
    /// again.
    pub fn times_out(&mut self, conn: ConnId, now: Nanos) -> bool {
        let c = &self.conns[conn.at()];
        let opening = matches!(c.stage, ConnStage::Connecting | ConnStage::Handshaking | ConnStage::Greeting);
        self.openings.times_out(conn, opening.then_some(c.since), now)
    }

    /// Returns the next event of this turn; bytes that arrived have already been read.
    #[inline]
    pub fn next(&mut self) -> Option<LinkEvent> {
        loop {
            let Some(event) = self.net.next() else {
                if self.parting_heard_at().is_some() {
                    self.continue_parting();
                }
                return None;
            };
            let (conn, count, fed) = match event {
                NetworkEvent::Closed(conn, _) if self.parting.includes(conn) => {
                    self.heard_from_parting(conn, true);
                    continue;
                }
                NetworkEvent::Received(conn, _) | NetworkEvent::Sent(conn) if self.parting.includes(conn) => {
                    self.heard_from_parting(conn, false);
                    continue;
                }
                NetworkEvent::Connected(conn) => return Some(LinkEvent::Connected(conn)),
                NetworkEvent::Closed(conn, why) => return Some(LinkEvent::Closed(conn, why)),
                NetworkEvent::Sent(conn) => match self.seal_piece(conn) {
                    true => continue,
                    false => return Some(LinkEvent::Sent(conn)),
                },
                NetworkEvent::Accepted(_, conn) => {
                    self.net.close(conn);
                    continue;
                }
                NetworkEvent::Received(conn, bytes) => {
                    let c = &mut self.conns[conn.at()];
                    match (&mut c.secure, &mut c.session) {
                        (None, Some(session)) => {
                            if let Some(tap) = &mut self.tap {
                                tap.received(bytes);
                            }
                            let read = session.receive(bytes, &mut self.out, &mut self.done);
                            self.out_for = conn;
                            return Some(LinkEvent::Read(conn, bytes.len(), read));
                        }
                        (None, None) => return Some(LinkEvent::Read(conn, bytes.len(), Ok(()))),
                        (Some(channel), _) => {
                            self.plain.clear();
                            (conn, bytes.len(), channel.channel.feed(bytes, &mut self.plain, &mut self.cipher))
                        }
                    }
                }
            };
            self.net.send(conn, &mut self.cipher);
            return Some(LinkEvent::TlsRead(conn, count, fed));
        }
    }

    /// Returns what remains unread in this turn.
    #[inline]
    pub fn rest(&mut self) -> TurnRemainder {
        self.net.remaining()
    }

    /// Handles a connection established to the target, or to a proxy, to which the destination is then sent. The
    /// connecting stage lasts until the target is reached.
    ///
    /// # Errors
    /// The tunnel through the proxy or TLS cannot be started.
    pub fn connected(&mut self, conn: ConnId, led: Destination<'_>, now: Nanos) -> Result<OpeningStep, OpeningError> {
        let tunnel =
            self.security.tunnel(led.origin).map_err(|why| OpeningError { kind: FaultKind::Proxy, why: Some(why) })?;
        let Some(mut tunnel) = tunnel else { return self.reached(conn, led, now) };
        tunnel.start(&mut self.cipher);
        self.net.send(conn, &mut self.cipher);
        self.conns[conn.at()].secure = Some(Box::new(Channel::from(tunnel)));
        Ok(OpeningStep::Tunnelling)
    }

    /// Returns `true` if a proxy has not yet connected to the target.
    pub fn in_tunnel(&self, conn: ConnId) -> bool {
        let c = &self.conns[conn.at()];
        c.stage == ConnStage::Connecting && c.secure.is_some()
    }

    /// Starts TLS or the session, now that the target is reached.
    ///
    /// # Errors
    /// TLS cannot be started.
    pub fn reached(&mut self, conn: ConnId, led: Destination<'_>, now: Nanos) -> Result<OpeningStep, OpeningError> {
        let c = &mut self.conns[conn.at()];
        (c.since, c.secure) = (now, None);
        match led.origin.tls {
            true => self.start_tls(conn, led.origin, true, now),
            false => Ok(self.start_session(conn, led, EstablishedConnection::default(), now)),
        }
    }

    /// Starts TLS between the network and the session; `outer` is set if no bytes of the protocol precede it.
    fn start_tls(
        &mut self,
        conn: ConnId,
        origin: &Origin,
        outer: bool,
        now: Nanos,
    ) -> Result<OpeningStep, OpeningError> {
        let c = &mut self.conns[conn.at()];
        (c.stage, c.since) = (ConnStage::Handshaking, now);
        let alpn = if outer { self.workload.alpn(origin) } else { &[] };
        let channel = self.security.client(origin, alpn);
        let mut channel = channel.map_err(|why| OpeningError { kind: FaultKind::Tls, why: Some(why) })?;
        channel.start(&mut self.cipher);
        self.net.send(conn, &mut self.cipher);
        c.secure = Some(Box::new(Channel::from(channel)));
        Ok(OpeningStep::Opening)
    }

    /// Returns the result of the completed handshake.
    pub fn handshake(&self, conn: ConnId) -> Handshake {
        self.conns[conn.at()].secure.as_ref().and_then(|channel| channel.channel.handshake()).unwrap_or_default()
    }

    /// Handles a completed TLS handshake: starts the session, or resumes it if TLS was started within it.
    pub fn tls_established(&mut self, conn: ConnId, led: Destination<'_>, now: Nanos) -> OpeningStep {
        let alpn = self.handshake(conn).alpn;
        let c = &mut self.conns[conn.at()];
        let Some(session) = &mut c.session else {
            return self.start_session(
                conn,
                led,
                EstablishedConnection { alpn, tls: true, ..EstablishedConnection::default() },
                now,
            );
        };
        (c.stage, c.since) = (ConnStage::Greeting, now);
        self.out_for = conn;
        session.tls_established(&mut self.out);
        OpeningStep::Opening
    }

    /// Returns a session for an established connection: a suitable ended session, restarted, or a new one.
    fn session_for(
        &mut self,
        (pool, origin): (PoolId, &Origin),
        established: &EstablishedConnection,
    ) -> Box<dyn Session> {
        if let Some((led, mut session)) = self.idle_sessions.pop()
            && led == pool
            && session.restart(established)
        {
            return session;
        }
        self.workload.session(origin, established)
    }

    /// Starts the session, which writes its first message.
    fn start_session(
        &mut self,
        conn: ConnId,
        led: Destination<'_>,
        mut established: EstablishedConnection,
        now: Nanos,
    ) -> OpeningStep {
        established.seed = self.seeds.next_u64();
        established.bound = led.origin.bound;
        (established.context, _) = self.fill_source.fill(led.user, now);
        self.aim(conn);
        let pool = self.conns[conn.at()].pool;
        let mut session = self.session_for((pool, led.origin), &established);
        match &led.fill {
            Some(fill) => session.open_with(fill, &mut self.out),
            None => session.open(&mut self.out),
        }
        let opening = session.is_opening();
        let c = &mut self.conns[conn.at()];
        c.session = Some(session);
        if !opening {
            return self.mark_open(conn, now);
        }
        (c.stage, c.since) = (ConnStage::Greeting, now);
        OpeningStep::Opening
    }

    /// Continues the protocol's own handshake after the session has read more of it. Bytes that the session wrote must
    /// have been flushed.
    ///
    /// # Errors
    /// The peer closed the connection along with its greeting, or TLS cannot be started.
    pub fn handshake_read(&mut self, conn: ConnId, origin: &Origin, now: Nanos) -> Result<OpeningStep, OpeningError> {
        let c = &self.conns[conn.at()];
        let Some(session) = &c.session else { return Ok(OpeningStep::Opening) };
        if session.starts_tls() && c.secure.is_none() {
            return self.start_tls(conn, origin, false, now);
        }
        if session.is_opening() {
            return Ok(OpeningStep::Opening);
        }
        // A connection without room was never usable: if it counted as open, it would be held needlessly, or reopened
        // without a pause.
        if session.room() == 0 {
            return Err(OpeningError { kind: FaultKind::Closed, why: session.close_reason().map(Cause::from) });
        }
        Ok(self.mark_open(conn, now))
    }

    fn mark_open(&mut self, conn: ConnId, now: Nanos) -> OpeningStep {
        let c = &mut self.conns[conn.at()];
        (c.stage, c.free_since) = (ConnStage::Open, now);
        OpeningStep::Open
    }

    /// Passes the latest plaintext from TLS to the session; returns `None` if there was none.
    pub fn read_plain(&mut self, conn: ConnId) -> Option<Result<(), ProtocolError>> {
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

    /// Writes the replies that a session owes to the peer, and returns their number. [`Links::flush`] sends them.
    pub fn write_replies(&mut self, conn: ConnId, now: Nanos) -> u32 {
        self.aim(conn);
        let (unix_ns, out) = (self.fill_source.unix_ns(now), &mut self.out);
        self.conns[conn.at()].session.as_mut().map_or(0, |session| session.write_replies(unix_ns, out))
    }

    /// Resets the count of pending ping replies once the socket has accepted them: a peer that reads them is not
    /// flooding us.
    #[inline]
    pub fn check_replies(&mut self, conn: ConnId) {
        let Some(session) = &mut self.conns[conn.at()].session else { return };
        if session.pending_replies() >= MIN_REPLIES_CHECKED && self.net.unsent(conn) < MAX_REPLIES_UNSENT {
            session.reset_pending_replies();
        }
    }

    /// Assigns `out` to this connection; bytes for another connection are flushed first.
    #[inline]
    fn aim(&mut self, conn: ConnId) {
        if self.out_for != conn {
            self.flush();
            self.out_for = conn;
        }
    }

    /// Returns `true` if appended bytes have not been flushed yet.
    #[inline]
    pub fn has_unsent(&self) -> bool {
        !self.out.is_empty()
    }

    /// Sends all appended bytes in one call.
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
            Some(channel) if self.out.len() > pieces::SEALED_PIECE || channel.unsealed.is_some() => {
                self.seal_in_pieces(conn);
            }
            Some(channel) => {
                channel.channel.seal(&self.out, &mut self.cipher);
                self.out.clear();
                self.net.send(conn, &mut self.cipher);
            }
        }
    }
}
