//! Requests without a response: they end once their bytes are written, and have no latency.
//!
//! Each is checked once, at the end of the turn in which its bytes reached the socket. If its socket was full, it waits until the network reports
//! that all bytes were taken, so full sockets do not slow a turn down. Bytes that the peer's flow control holds back have
//! not been sent: their request is checked once the session has appended the last of them.

use std::collections::BTreeMap;

use brunt_contract::{Errno, FaultKind, Network, Phase};
use brunt_scenario::UserEvent;

use super::WorkerConnections;
use crate::exchange::{Exchange, ExchangeState, ONE_WAY};
use crate::failure_cause::FailureCause;
use crate::ids::{ConnId, ExchangeId};
use crate::outcome::{FinishedRequest, UserOutcome};
use crate::pool::{ConnStage, SENT_IN_PIECES};

/// One-way requests in progress.
#[derive(Debug, Default)]
pub(crate) struct OneWayRequests {
    /// Requests sent in this turn.
    fresh: Vec<ExchangeId>,
    /// Requests sent in the turn before, if the network sends only between turns.
    submitted: Vec<ExchangeId>,
    /// Requests whose bytes the socket did not take at once, by connection.
    unwritten: BTreeMap<ConnId, Vec<ExchangeId>>,
    /// Set once a one-way request was sent in this run.
    any: bool,
}

impl OneWayRequests {
    #[inline]
    pub fn add(&mut self, id: ExchangeId) {
        self.any = true;
        self.fresh.push(id);
    }

    /// Returns `true` if one-way requests were sent in this run.
    pub fn any_sent(&self) -> bool {
        self.any
    }

    /// Returns `true` if there are requests to check.
    #[inline]
    pub fn is_due(&self) -> bool {
        !(self.fresh.is_empty() && self.submitted.is_empty())
    }

    /// Removes a connection that is gone; its requests are ended elsewhere.
    #[inline]
    pub fn forget(&mut self, conn: ConnId) {
        if !self.unwritten.is_empty() {
            self.unwritten.remove(&conn);
        }
    }
}

/// ECONNREFUSED: the peer's system reported the port as closed.
const REFUSED: Errno = Errno(111);

impl<N: Network> WorkerConnections<N> {
    /// Marks a one-way request whose bytes the session has appended: it ends once the socket has taken them.
    #[inline]
    pub(crate) fn check_written(&mut self, id: ExchangeId) {
        self.traffic.in_flight.get(id).flags |= ONE_WAY;
        self.one_way.add(id);
    }

    /// Returns `true` for a one-way request whose bytes have left the session but not the socket's queue: nothing can
    /// take them back.
    pub(crate) fn is_stuck(&self, x: &Exchange) -> bool {
        is_under_way(x) && self.links.unsent(x.conn) > 0
    }

    /// Ends the latest requests whose bytes the socket has taken.
    pub(crate) fn end_one_way(&mut self) {
        let mut sent = std::mem::take(&mut self.one_way.fresh);
        if !self.links.net().sends_at_once() {
            std::mem::swap(&mut sent, &mut self.one_way.submitted);
        }
        for id in sent.drain(..) {
            let x = *self.traffic.in_flight.get(id);
            if !is_under_way(&x) {
                // Its connection was lost in the meantime: the request has failed, or will be sent again.
                continue;
            }
            if self.links.unsent(x.conn) > 0 {
                self.one_way.unwritten.entry(x.conn).or_default().push(id);
            } else {
                self.written(id, x.conn);
            }
        }
        // Requests sent in the meantime are checked in a later turn.
        sent.append(&mut self.one_way.fresh);
        self.one_way.fresh = sent;
    }

    /// Ends the requests that waited for the socket to take all bytes.
    pub(crate) fn all_sent(&mut self, conn: ConnId) {
        self.read_clock();
        self.links.conn_mut(conn).set_flag(SENT_IN_PIECES, true);
        let mut all = self.one_way.unwritten.remove(&conn).unwrap_or_default();
        // If a request timed out, its id may have been reused, in which case it is listed twice.
        all.sort_unstable();
        all.dedup();
        for id in all {
            let x = *self.traffic.in_flight.get(id);
            if is_under_way(&x) && x.conn == conn {
                self.written(id, conn);
            }
        }
    }

    /// Counts a refusal reported on a datagram socket with nothing in flight: the peer's system refused (ICMP)
    /// datagrams written earlier. No request fails, since all have ended.
    pub(crate) fn count_refusal(&mut self, conn: ConnId, why: Option<Errno>) {
        let c = self.links.conn(conn);
        let refused = why == Some(REFUSED);
        let idle = refused && c.stage == ConnStage::Open && c.in_flight() == 0;
        if idle && self.pools.get(c.pool).origin.datagrams {
            self.traffic.recorder.counts().connections.refused += 1;
        }
    }

    fn written(&mut self, id: ExchangeId, conn: ConnId) {
        let x = self.traffic.in_flight.take(id);
        let c = self.links.conn_mut(conn);
        c.end_exchange();
        c.free_since = self.traffic.stamp;
        self.traffic.recorder.end(&x, self.traffic.stamp, false);
        let late = self.too_late(id, &x);
        match late {
            true => self.traffic.failed(&x, id, &FailureCause::new(FaultKind::Timeout, Phase::FirstByte), None),
            false => self.traffic.recorder.written(&x, self.traffic.stamp),
        }
        self.offer(conn);
        // The user's next request is checked in the next turn, so that incoming data is read in between.
        let fault = late.then_some(FaultKind::Timeout);
        let news = UserEvent::Ended { code: 0, fault, on_failure: x.on_failure() };
        self.traffic
            .outcomes
            .push(UserOutcome::Finished(FinishedRequest { own: x.delayed.get(), ..FinishedRequest::of(x.user, news) }));
    }
}

fn is_under_way(x: &Exchange) -> bool {
    x.state == ExchangeState::InFlight && x.flags & ONE_WAY != 0 && x.conn != ConnId::NONE
}
