//! The end of connections: what is said before, what the peer said, and letting go.

use cause::Cause;
use wire::{ConnId, Errno, Network};

use super::{CLOSED_IN_HANDSHAKE, CLOSED_IN_TUNNEL, Links};
use crate::exchange::NONE;
use crate::pool::{Conn, Stage};

/// So many sessions that ended are kept for connections to come.
const SPARE_AT_MOST: usize = 1024;

impl<N: Network> Links<N> {
    /// The peer closed in order: what ends with the connection is done.
    pub fn closed(&mut self, conn: u32) {
        if let Some(session) = &mut self.conns[conn as usize].session {
            session.closed(&mut self.done);
        }
    }

    /// Says goodbye: the session's last words, then those of TLS. The connection is then to be discarded.
    pub fn say_goodbye(&mut self, conn: u32) {
        self.aim(conn);
        if let Some(session) = &mut self.conns[conn as usize].session {
            session.finish(&mut self.out);
        }
        self.flush();
        if let Some(channel) = &mut self.conns[conn as usize].secure {
            channel.finish(&mut self.cipher);
            self.net.send(ConnId(conn), &mut self.cipher);
        }
    }

    /// Lets go of it; `abort`: the peer sees a reset. What had not been sent is dropped.
    pub fn discard(&mut self, conn: u32, abort: bool) {
        if self.out_for == conn {
            self.out.clear();
            self.out_for = NONE;
        }
        let gone = std::mem::replace(&mut self.conns[conn as usize], Conn::vacant());
        if let Some(session) = gone.session.filter(|_| self.once && self.spare.len() < SPARE_AT_MOST) {
            self.spare.push((gone.origin, session));
        }
        self.count -= 1;
        if abort { self.net.abort(ConnId(conn)) } else { self.net.close(ConnId(conn)) }
    }

    /// Closes what is left of all of them.
    pub fn close_all(&mut self) {
        for conn in 0..self.conns.len() {
            if self.conns[conn].stage != Stage::Vacant {
                self.net.close(ConnId(conn as u32));
            }
        }
    }

    /// What the peer said of the connection's end, or what we can say of it.
    pub fn farewell(&self, conn: u32, why: Option<Errno>) -> Option<Cause> {
        let c = &self.conns[conn as usize];
        match &c.session {
            Some(session) => session.farewell(),
            None if self.in_tunnel(conn) => Some(CLOSED_IN_TUNNEL.into()),
            None if c.stage == Stage::Handshaking && why.is_none() => Some(CLOSED_IN_HANDSHAKE.into()),
            None => None,
        }
    }

    /// What came of a response that is not whole.
    pub fn begun(&self, conn: u32) -> Vec<u8> {
        self.session(conn).map_or(Vec::new(), |session| session.begun().to_vec())
    }
}
