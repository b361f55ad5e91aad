//! Ends of connections: closing messages of both sides, and release.

use cause::Cause;
use wire::{Errno, Network};

use super::{CLOSED_IN_HANDSHAKE, CLOSED_IN_TUNNEL, Links};
use crate::ids::ConnId;
use crate::pool::{Conn, Stage};

/// Maximum number of ended sessions kept for reuse.
const SPARE_AT_MOST: usize = 1024;

impl<N: Network> Links<N> {
    /// Handles an orderly close by the peer: exchanges that end with the connection are done.
    pub fn closed(&mut self, conn: ConnId) {
        if let Some(session) = &mut self.conns[conn.at()].session {
            session.closed(&mut self.done);
        }
    }

    /// Closes in order: writes the session's last message, then that of TLS. The connection must then be discarded.
    pub fn say_goodbye(&mut self, conn: ConnId) {
        self.aim(conn);
        if let Some(session) = &mut self.conns[conn.at()].session {
            session.finish(&mut self.out);
        }
        self.flush();
        if let Some(channel) = &mut self.conns[conn.at()].secure {
            channel.0.finish(&mut self.cipher);
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
        if let Some(session) = gone.session.filter(|_| self.once && self.spare.len() < SPARE_AT_MOST) {
            self.spare.push((gone.pool, session));
        }
        self.count -= 1;
        if abort { self.net.abort(conn) } else { self.net.close(conn) }
    }

    /// Closes all remaining connections.
    pub fn close_all(&mut self) {
        for conn in (0..self.conns.len()).map(ConnId::of) {
            if self.conns[conn.at()].stage != Stage::Vacant {
                self.net.close(conn);
            }
        }
    }

    /// Returns the reason that the peer gave for closing, or one derived from the state of the connection.
    pub fn farewell(&self, conn: ConnId, why: Option<Errno>) -> Option<Cause> {
        let c = &self.conns[conn.at()];
        match &c.session {
            Some(session) => session.farewell(),
            None if self.in_tunnel(conn) => Some(CLOSED_IN_TUNNEL.into()),
            None if c.stage == Stage::Handshaking && why.is_none() => Some(CLOSED_IN_HANDSHAKE.into()),
            None => None,
        }
    }

    /// Returns the bytes received of an incomplete response.
    pub fn begun(&self, conn: ConnId) -> Vec<u8> {
        self.session(conn).map_or(Vec::new(), |session| session.begun().to_vec())
    }
}
