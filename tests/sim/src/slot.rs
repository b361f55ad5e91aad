//! One simulated connection, as both ends see it.

use std::collections::VecDeque;

use wire::{Errno, Place};

use super::stream::Stream;

/// A slot: one connection at a time. It is given out again when the client let go of it and the peer knows.
#[derive(Debug, Default)]
pub(super) struct Slot {
    pub(super) to_peer: Stream,
    pub(super) to_client: Stream,
    /// Where the client wants to, until the peer was asked.
    pub(super) place: Option<Place>,
    /// Every send is a datagram: it arrives whole and alone, or never.
    pub(super) datagrams: bool,
    /// The client has not closed it.
    pub(super) held: bool,
    /// The client was told that it stands, or will be.
    pub(super) stands: bool,
    /// The peer was told of it, and neither side has ended it for the peer.
    pub(super) served: bool,
    /// The peer closed or the connection was reset: what the client sends goes nowhere.
    pub(super) broken: bool,
    /// The client was told its end, or is about to be.
    pub(super) over: bool,
    /// Among the free ones.
    pub(super) vacant: bool,
    /// To be refused by chance.
    pub(super) refuse: bool,
    /// It stands in the queue of arrivals.
    pub(super) queued: bool,
    /// Arrivals not yet told: that it stands, so many bytes, its end.
    pub(super) news: News,
}

/// What the client was not told yet, in this order.
#[derive(Debug, Default)]
pub(super) struct News {
    pub(super) stands: bool,
    pub(super) bytes: usize,
    /// What had waited for the socket has left.
    pub(super) sent: bool,
    /// Of datagrams: the length of each.
    pub(super) lengths: VecDeque<usize>,
    pub(super) over: Option<Option<Errno>>,
}

impl Slot {
    /// True where the next connection may have it.
    pub(super) fn is_free(&self) -> bool {
        !self.vacant && !self.held && !self.served && self.to_peer.first().is_none()
    }

    /// As new. That its number is in the queue of arrivals stays true.
    pub(super) fn renew(&mut self) {
        self.to_peer.renew();
        self.to_client.renew();
        (self.place, self.news) = (None, News::default());
        (self.held, self.stands, self.served, self.refuse) = (false, false, false, false);
        (self.broken, self.over, self.vacant, self.datagrams) = (false, false, true, false);
    }

    /// Bytes beyond what the socket takes.
    pub(super) fn unsent(&self, window: Option<usize>) -> usize {
        window.map_or(0, |w| self.to_peer.held().saturating_sub(w))
    }
}
