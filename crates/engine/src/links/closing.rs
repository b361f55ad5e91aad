//! Ends of connections: closing messages of both sides, and the release of slots.

use brunt_cause::Cause;
use brunt_contract::{Errno, Network};

use super::{CLOSED_IN_HANDSHAKE, CLOSED_IN_TUNNEL, Links};
use crate::ids::ConnId;
use crate::pool::{Conn, ConnStage};

/// Maximum number of ended sessions kept for reuse.
const MAX_IDLE_SESSIONS: usize = 1024;

impl<N: Network> Links<N> {
    /// Handles an orderly close by the peer, which completes the exchanges that end with the connection.
    pub fn closed(&mut self, conn: ConnId) {
        if let Some(session) = &mut self.conns[conn.at()].session {
            session.peer_closed(&mut self.done);
        }
    }

    /// Sends the closing message of the session, then that of TLS. The caller must then discard the connection.
    pub fn close_gracefully(&mut self, conn: ConnId) {
        self.aim(conn);
        if let Some(session) = &mut self.conns[conn.at()].session {
            session.finish(&mut self.out);
        }
        self.flush();
        if let Some(channel) = &mut self.conns[conn.at()].secure {
            channel.channel.finish(&mut self.cipher);
            self.net.send(conn, &mut self.cipher);
        }
    }

    /// Releases a connection; with `abort`, the peer sees a reset. Unsent bytes are dropped.
    pub fn discard(&mut self, conn: ConnId, abort: bool) {
        if self.out_for == conn {
            self.out.clear();
            self.out_for = ConnId::NONE;
        }
        let gone = std::mem::replace(&mut self.conns[conn.at()], Conn::vacant());
        self.keep_session(gone);
        self.count -= 1;
        if abort { self.net.abort(conn) } else { self.net.close(conn) }
    }

    /// Keeps the session of a connection that has ended, if others can use it.
    pub(super) fn keep_session(&mut self, gone: Conn) {
        if let Some(session) = gone.session.filter(|_| self.once && self.idle_sessions.len() < MAX_IDLE_SESSIONS) {
            self.idle_sessions.push((gone.pool, session));
        }
    }

    /// Closes all remaining connections, also those that part: the network closes what it still holds.
    pub fn close_all(&mut self) {
        for conn in (0..self.conns.len()).map(ConnId::of) {
            if self.conns[conn.at()].stage != ConnStage::Vacant {
                self.net.close(conn);
            }
        }
    }

    /// Returns the reason that the peer gave for closing, or one derived from the state of the connection.
    pub fn close_reason(&self, conn: ConnId, why: Option<Errno>) -> Option<Cause> {
        let c = &self.conns[conn.at()];
        match &c.session {
            Some(session) => session.close_cause(),
            None if self.in_tunnel(conn) => Some(CLOSED_IN_TUNNEL.into()),
            None if c.stage == ConnStage::Handshaking && why.is_none() => Some(CLOSED_IN_HANDSHAKE.into()),
            None => None,
        }
    }

    /// Returns the bytes of an incomplete response received so far.
    pub fn partial_response(&self, conn: ConnId) -> Vec<u8> {
        self.session(conn).map_or(Vec::new(), |session| session.partial_response().to_vec())
    }
}
