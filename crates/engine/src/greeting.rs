//! From a connection that stands to one that takes exchanges: TLS, then the protocol's own handshake. Each is a phase of its
//! own; the connect timeout covers each.

use std::sync::Arc;

use wire::{Broken, ConnId, Dialogue, Established, ExchangeId, FaultKind, Fed, Network, Session};

use crate::exchange::NONE;
use crate::pool::Stage;
use crate::worker::Worker;

/// The proxy closed before it said whether it leads to the target.
pub(crate) const CLOSED_IN_TUNNEL: &str = "the proxy closed the connection before it led to the target";

/// The peer closed on our TLS without telling why.
pub(crate) const CLOSED_IN_HANDSHAKE: &str = "the connection was closed during the TLS handshake; if TLS is not spoken on \
    this port, write the scheme without it";

impl<N: Network, D: Dialogue> Worker<N, D> {
    /// The connection stands: to the target, or to a proxy, which is then told where to connect. Connecting lasts until the
    /// way to the target is free.
    pub fn connected(&mut self, conn: u32) {
        self.mark();
        let origin = &self.pools[self.conns[conn as usize].origin as usize].origin;
        match self.security.tunnel(origin) {
            Ok(None) => self.reached(conn),
            Ok(Some(mut tunnel)) => {
                tunnel.start(&mut self.cipher);
                self.net.send(ConnId(conn), &mut self.cipher);
                self.conns[conn as usize].secure = Some(tunnel);
            }
            Err(why) => self.break_off(conn, FaultKind::Proxy, None, &why),
        }
    }

    /// The connection leads to the target.
    fn reached(&mut self, conn: u32) {
        let c = &mut self.conns[conn as usize];
        self.tally.latency.connect.record(self.stamp - c.since);
        c.since = self.stamp;
        if self.pools[c.origin as usize].origin.tls {
            let dialogue = Arc::clone(&self.dialogue);
            self.secure(conn, dialogue.alpn());
        } else {
            self.begin_conversation(conn, Established::default());
        }
    }

    /// Puts TLS between network and session.
    fn secure(&mut self, conn: u32, alpn: &[&'static [u8]]) {
        let c = &mut self.conns[conn as usize];
        (c.stage, c.since) = (Stage::Handshaking, self.stamp);
        match self.security.client(&self.pools[c.origin as usize].origin, alpn) {
            Ok(mut channel) => {
                channel.start(&mut self.cipher);
                self.net.send(ConnId(conn), &mut self.cipher);
                c.secure = Some(channel);
            }
            Err(why) => self.break_off(conn, FaultKind::Tls, None, &why),
        }
    }

    /// Bytes went through TLS: what the session made of the plaintext; None where the connection is gone.
    pub fn fed(&mut self, conn: u32, fed: Result<Fed, String>) -> Option<Result<(), Broken>> {
        self.net.send(ConnId(conn), &mut self.cipher);
        match fed {
            Err(why) => {
                let in_tunnel = self.conns[conn as usize].stage == Stage::Connecting;
                self.break_off(conn, if in_tunnel { FaultKind::Proxy } else { FaultKind::Tls }, None, &why);
                return None;
            }
            Ok(Fed::Established) if self.conns[conn as usize].stage == Stage::Connecting => {
                self.conns[conn as usize].secure = None;
                let plain = std::mem::take(&mut self.plain);
                self.reached(conn);
                self.plain = plain;
            }
            Ok(Fed::Established) => self.shaken_hands(conn),
            Ok(Fed::More | Fed::Ended) => {}
        }
        let ended = matches!(fed, Ok(Fed::Ended));
        let c = &mut self.conns[conn as usize];
        let mut read = Ok(());
        if let (Some(session), false) = (&mut c.session, self.plain.is_empty()) {
            self.out_for = conn;
            read = session.receive(&self.plain, &mut self.out, &mut self.done);
        }
        if ended && read.is_ok() {
            self.settle(conn, "");
            self.ended_by_peer(conn, None, false);
            return None;
        }
        matches!(self.conns[conn as usize].stage, Stage::Open | Stage::Greeting).then_some(read)
    }

    fn shaken_hands(&mut self, conn: u32) {
        let c = &mut self.conns[conn as usize];
        self.tally.latency.tls.record(self.stamp - c.since);
        let settled = c.secure.as_ref().and_then(|s| s.handshake()).unwrap_or_default();
        self.tally.counts.connections.handshakes += 1;
        self.tally.counts.connections.resumed += u64::from(settled.resumed);
        match &mut c.session {
            // TLS began inside the conversation, which goes on.
            Some(session) => {
                (c.stage, c.since) = (Stage::Greeting, self.stamp);
                self.out_for = conn;
                session.secured(&mut self.out);
                self.flush();
            }
            None => {
                let plain = std::mem::take(&mut self.plain);
                self.begin_conversation(conn, Established { alpn: settled.alpn, tls: true, ..Established::default() });
                self.plain = plain;
            }
        }
    }

    /// Connected and, where TLS is spoken, shaken hands: the session says what it says first.
    fn begin_conversation(&mut self, conn: u32, mut established: Established) {
        established.seed = self.seeds.next_u64();
        self.aim(conn);
        let c = &mut self.conns[conn as usize];
        let mut session = self.dialogue.session(&self.pools[c.origin as usize].origin, &established);
        session.open(&mut self.out);
        let opening = session.opening();
        c.session = Some(session);
        if opening {
            (c.stage, c.since) = (Stage::Greeting, self.stamp);
            self.flush();
        } else {
            self.stands(conn);
        }
    }

    /// Bytes of the protocol's own handshake were read.
    pub fn greet_on(&mut self, conn: u32) {
        self.flush();
        let c = &mut self.conns[conn as usize];
        let Some(session) = &c.session else { return };
        if session.secures_now() && c.secure.is_none() {
            self.tally.latency.greeting.record(self.stamp - c.since);
            self.secure(conn, &[]);
        } else if !session.opening() {
            // The peer may have said that it is over in one piece with the end of the handshake. Such a connection never
            // stood: taken for one, it would be held for nothing, or begun again without a pause.
            if session.room() == 0 {
                let words = session.goodbye();
                return self.break_off(conn, FaultKind::Closed, None, words);
            }
            self.tally.latency.greeting.record(self.stamp - c.since);
            self.stands(conn);
        }
    }

    /// The session takes exchanges from now on.
    fn stands(&mut self, conn: u32) {
        let c = &mut self.conns[conn as usize];
        (c.stage, c.free_since) = (Stage::Open, self.stamp);
        let (owner, origin, user) = (c.last, c.origin as usize, c.user);
        self.tally.counts.connections.opened += 1;
        self.pools[origin].alive += 1;
        self.heart_begins(conn);
        if owner == NONE {
            self.pools[origin].opening -= 1;
            self.opened_ahead_or_failed();
            if user == NONE {
                self.offer(conn);
                self.grow(origin as u32);
            } else {
                self.user_goes_on_connected(user);
            }
        } else {
            let id = ExchangeId(owner);
            let (ready, user) = (self.exchanges.get(id).started, self.exchanges.get(id).user);
            self.give_connection(user, conn);
            self.submit(id, conn, ready);
        }
        self.flush();
    }
}
