//! The state of one simulated connection, for both ends.

use std::collections::VecDeque;

use brunt_contract::{Errno, PeerAddress};

use super::stream::SimStream;

/// A slot for one connection at a time. It is reused once the client has released it and the peer knows that.
#[derive(Debug, Default)]
pub(super) struct SimConnection {
    pub(super) to_peer: SimStream,
    pub(super) to_client: SimStream,
    /// Destination that the client chose, until the peer has decided.
    pub(super) place: Option<PeerAddress>,
    /// Set if every send is a datagram: it arrives whole and alone, or never.
    pub(super) datagrams: bool,
    /// Set until the client closes the connection.
    pub(super) held: bool,
    /// Set if the client has been notified, or is about to be, that the connection is established.
    pub(super) connected: bool,
    /// Set while the connection is open for the peer.
    pub(super) served: bool,
    /// Set if the peer closed the connection or it was reset: anything that the client sends is discarded.
    pub(super) broken: bool,
    /// Set if the client has been notified of its end, or is about to be.
    pub(super) closed: bool,
    /// Set while it is among the free slots.
    pub(super) vacant: bool,
    /// Set if it will be refused at random.
    pub(super) refuse: bool,
    /// Set while it is in the queue of arrivals.
    pub(super) queued: bool,
    /// Arrivals not yet delivered.
    pub(super) pending: PendingArrivals,
}

/// Arrivals not yet delivered to the client, in delivery order.
#[derive(Debug, Default)]
pub(super) struct PendingArrivals {
    pub(super) stands: bool,
    pub(super) bytes: usize,
    /// Set if everything that waited for the socket has been sent.
    pub(super) sent: bool,
    /// Lengths of the datagrams.
    pub(super) lengths: VecDeque<usize>,
    pub(super) over: Option<Option<Errno>>,
}

impl SimConnection {
    /// Returns `true` if the slot is no longer in use and can be put back among the free slots.
    pub(super) fn is_free(&self) -> bool {
        !self.vacant && !self.held && !self.served && self.to_peer.first().is_none()
    }

    /// Resets the slot, except that it stays in the queue of arrivals if it is there.
    pub(super) fn renew(&mut self) {
        self.to_peer.renew();
        self.to_client.renew();
        (self.place, self.pending) = (None, PendingArrivals::default());
        (self.held, self.connected, self.served, self.refuse) = (false, false, false, false);
        (self.broken, self.closed, self.vacant, self.datagrams) = (false, false, true, false);
    }

    /// Returns the number of bytes beyond those that the socket accepts.
    pub(super) fn unsent(&self, window: Option<usize>) -> usize {
        window.map_or(0, |w| self.to_peer.held().saturating_sub(w))
    }
}
