//! The end of connections: what is said before, what the peer said, and letting go.

use cause::Cause;
use wire::{Errno, Network};

use super::{CLOSED_IN_HANDSHAKE, CLOSED_IN_TUNNEL, Links};
use crate::ids::ConnId;
use crate::pool::{Conn, Stage};

/// So many sessions that ended are kept for connections to come.
const SPARE_AT_MOST: usize = 1024;

impl<N: Network> Links<N> {
    /// The peer closed in order: what ends with the connection is done.
    pub fn closed(&mut self, conn: ConnId) {
        if let Some(session) = &mut self.conns[conn.at()].session {
            session.closed(&mut self.done);
        }
    }

    /// Says goodbye: the session's last words, then those of TLS. The connection is then to be discarded.
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

    /// Lets go of it; `abort`: the peer sees a reset. What had not been sent is dropped.
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

    /// Closes what is left of all of them.
    pub fn close_all(&mut self) {
        for conn in (0..self.conns.len()).map(ConnId::of) {
            if self.conns[conn.at()].stage != Stage::Vacant {
                self.net.close(conn);
            }
        }
    }

    /// What the peer said of the connection's end, or what we can say of it.
    pub fn farewell(&self, conn: ConnId, why: Option<Errno>) -> Option<Cause> {
        let c = &self.conns[conn.at()];
        match &c.session {
            Some(session) => session.farewell(),
            None if self.in_tunnel(conn) => Some(CLOSED_IN_TUNNEL.into()),
            None if c.stage == Stage::Handshaking && why.is_none() => Some(CLOSED_IN_HANDSHAKE.into()),
            None => None,
        }
    }

    /// What came of a response that is not whole.
    pub fn begun(&self, conn: ConnId) -> Vec<u8> {
        self.session(conn).map_or(Vec::new(), |session| session.begun().to_vec())
    }
}
