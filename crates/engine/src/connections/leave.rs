//! The leave taken of peers that were sent one-way requests.
//!
//! No response shows that such a request has arrived: it ended once the socket had taken its bytes. If the socket is closed
//! while unread data is in it, the kernel resets the connection, and the peer loses what is still on its way, or fails
//! as it answers and drops what it has not processed. Each peer is therefore told that nothing more follows, in the words of
//! its protocol (a close frame, GOAWAY, close_notify) and of TCP, and is read until it closes.

use std::collections::BTreeSet;

use brunt_contract::{ChannelProgress, Network};
use brunt_measure::Nanos;

use crate::Stop;
use crate::ids::ConnId;
use crate::links::LinkEvent;
use crate::pool::ConnStage;

use super::WorkerConnections;
use super::clock::STOP_CHECK_INTERVAL;

/// Time after which a peer that neither sends nor closes is no longer waited for.
const SILENCE: Nanos = Nanos::from_millis(500);

impl<N: Network> WorkerConnections<N> {
    /// Waits until the peers of one-way requests have closed, at most for the drain time (if the run was stopped: for
    /// [`SILENCE`]). What they send is dropped: it answers nothing.
    pub(crate) fn take_leave(&mut self, stop: &Stop) {
        if !self.one_way.any_sent() {
            return;
        }
        let mut open: BTreeSet<ConnId> =
            (0..self.links.slots()).map(ConnId::of).filter(|conn| self.is_open_stream(*conn)).collect();
        for conn in &open {
            self.links.close_gracefully(*conn);
        }
        let begin = self.links.net().now();
        let mut heard_at = begin;
        let mut untold = open.clone();
        while !open.is_empty() {
            let now = self.links.net().now();
            let longest = if stop.requested() { SILENCE } else { self.traffic.limits.drain };
            let end = (begin + longest).min(heard_at + SILENCE);
            if now >= end {
                break;
            }
            self.links.net().wait(end.min(now + STOP_CHECK_INTERVAL));
            // A network that sends between turns has sent the closing messages by now.
            untold.retain(|conn| open.contains(conn) && !self.links.net().end_sending(*conn));
            if self.drop_arrivals(&mut open) {
                heard_at = self.links.net().now();
            }
        }
    }

    fn is_open_stream(&self, conn: ConnId) -> bool {
        let c = self.links.conn(conn);
        c.stage == ConnStage::Open && !self.pools.get(c.pool).origin.datagrams
    }

    /// Reads and drops what has arrived, and removes the connections that have ended; returns `false` if nothing has
    /// arrived.
    fn drop_arrivals(&mut self, open: &mut BTreeSet<ConnId>) -> bool {
        let mut heard = false;
        while let Some(arrived) = self.links.next() {
            heard = true;
            match arrived {
                LinkEvent::Closed(conn, _)
                | LinkEvent::TlsRead(conn, _, Err(_) | Ok(ChannelProgress::PeerFinished)) => {
                    open.remove(&conn);
                }
                LinkEvent::TlsRead(conn, ..) => {
                    let _ = self.links.read_plain(conn);
                }
                LinkEvent::Connected(_) | LinkEvent::Read(..) | LinkEvent::Sent(_) => {}
            }
            self.links.done().events.clear();
            self.links.flush();
        }
        heard
    }
}
