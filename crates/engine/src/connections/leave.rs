//! The leave taken of peers that were sent one-way requests.
//!
//! No response shows that such a request has arrived: it ended once the socket had taken its bytes. A reset, which the
//! kernel sends if a socket is closed on unread data, would lose what is still on its way, and what the peer has not processed
//! yet. Each of these peers is therefore told that nothing more follows, in the words of its protocol (a close frame, GOAWAY,
//! close_notify) and of TCP, and is read until it closes.

use brunt_contract::Network;
use brunt_measure::Nanos;

use crate::Stop;
use crate::ids::ConnId;
use crate::pool::ConnStage;

use super::WorkerConnections;
use super::clock::STOP_CHECK_INTERVAL;

/// Time after which peers that neither send nor close are no longer waited for at the end of a run.
const SILENCE: Nanos = Nanos::from_millis(500);

impl<N: Network> WorkerConnections<N> {
    /// Returns `true` if a connection must not end before its peer has closed it.
    pub(super) fn parts(&self, conn: ConnId) -> bool {
        let c = self.links.conn(conn);
        self.one_way.any_sent() && c.stage == ConnStage::Open && !self.pools.get(c.pool).origin.datagrams
    }

    /// Waits until the peers of one-way requests have closed, at most for the drain time (if the run was stopped: for
    /// [`SILENCE`]). What they send is dropped: it answers nothing.
    pub(super) fn take_leave(&mut self, stop: &Stop) {
        for conn in (0..self.links.slots()).map(ConnId::of) {
            if self.parts(conn) {
                self.links.close_gracefully(conn);
                self.links.part(conn);
            }
        }
        let begin = self.links.net().now();
        while let Some(heard_at) = self.links.parting_heard_at() {
            let now = self.links.net().now();
            let longest = if stop.requested() { SILENCE } else { self.traffic.limits.drain };
            let end = (begin + longest).min(heard_at.max(begin) + SILENCE);
            if now >= end {
                break;
            }
            self.links.net().wait(end.min(now + STOP_CHECK_INTERVAL));
            // Nothing of the run is left to be read.
            while self.links.next().is_some() {
                self.links.done().events.clear();
                self.links.flush();
            }
        }
    }
}
