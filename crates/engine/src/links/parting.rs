//! Connections that are closed for their users, but whose peers are still read.
//!
//! If a socket is closed while unread data is in it, or before data comes that was already under way, the kernel resets the
//! connection, and the peer loses what it has not processed yet. So each peer is first told that nothing more follows, and
//! the connection ends when the peer closes it.

use std::collections::{BTreeMap, VecDeque};

use brunt_contract::{ConnId, Network};
use brunt_measure::Nanos;

use super::Links;
use crate::pool::Conn;

/// Maximum number of connections of a worker that part at a time, because each holds a descriptor that no limit of the run
/// counts. The oldest then ends at once.
const MOST: usize = 256;
/// Time after which a peer that does not close is no longer waited for.
const LONGEST: Nanos = Nanos::from_secs(5);

/// The connections that part.
#[derive(Debug, Default)]
pub(super) struct PartingConnections {
    /// The time since which each parts.
    all: BTreeMap<ConnId, Nanos>,
    /// The same in order of time; it may name connections that have ended.
    oldest: VecDeque<(Nanos, ConnId)>,
    /// Those whose peers have not been told the end, because something is unsent.
    untold: Vec<ConnId>,
    /// The last time at which a peer sent something or closed.
    heard_at: Nanos,
}

impl PartingConnections {
    /// Returns `true` if this connection parts: its events concern nobody else.
    #[inline]
    pub fn includes(&self, conn: ConnId) -> bool {
        !self.all.is_empty() && self.all.contains_key(&conn)
    }
}

impl<N: Network> Links<N> {
    /// Releases a connection whose closing message was appended, but keeps its socket until the peer closes it.
    pub fn part(&mut self, conn: ConnId) {
        self.flush();
        let gone = std::mem::replace(&mut self.conns[conn.at()], Conn::vacant());
        self.keep_session(gone);
        self.count -= 1;
        let now = self.net.now();
        self.parting.all.insert(conn, now);
        self.parting.oldest.push_back((now, conn));
        self.parting.untold.push(conn);
        self.end_oldest(now);
    }

    /// Returns when a peer of a parting connection last sent something or closed; `None` if no connection parts.
    pub fn parting_heard_at(&self) -> Option<Nanos> {
        (!self.parting.all.is_empty()).then_some(self.parting.heard_at)
    }

    /// Handles an event of a parting connection; `closed` if the peer has closed it.
    pub(super) fn heard_from_parting(&mut self, conn: ConnId, closed: bool) {
        self.parting.heard_at = self.net.now();
        if closed && self.parting.all.remove(&conn).is_some() {
            self.net.close(conn);
        }
    }

    /// Ends a turn: tells the peers that nothing more follows, once everything before it is sent.
    pub(super) fn continue_parting(&mut self) {
        let (parting, net) = (&mut self.parting, &mut self.net);
        parting.untold.retain(|conn| parting.all.contains_key(conn) && !net.end_sending(*conn));
        let now = self.net.now();
        self.end_oldest(now);
    }

    /// Closes the connections whose peers have been waited for too long, or that are too many.
    fn end_oldest(&mut self, now: Nanos) {
        while let Some(&(since, conn)) = self.parting.oldest.front() {
            let parts = self.parting.all.get(&conn) == Some(&since);
            if parts && self.parting.all.len() <= MOST && now < since + LONGEST {
                break;
            }
            self.parting.oldest.pop_front();
            if parts {
                self.parting.all.remove(&conn);
                self.net.close(conn);
            }
        }
    }
}
