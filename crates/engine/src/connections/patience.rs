//! Servers that refuse connections, or drop them before they served anything, are left alone for a while
//! (`crate::patience` says for how long).

use measure::Nanos;
use wire::{FaultKind, Network};

use crate::patience::LONGEST;

use super::Connections;

impl<N: Network> Connections<N> {
    /// True of a connection that ends, by the peer's doing, before it was of any use.
    pub(crate) fn is_in_vain(&self, conn: u32, kind: FaultKind) -> bool {
        let c = self.links.conn(conn);
        kind != FaultKind::Timeout && !c.proved && self.stamp < c.free_since + LONGEST
    }

    /// Until when a user has to wait before it may open a connection; zero where it may now.
    #[inline]
    pub fn waits(&self, user: u32) -> Nanos {
        self.troubled.waits(user)
    }

    /// A user's attempt came to nothing: until when it has to wait.
    pub(crate) fn user_set_back(&mut self, user: u32) -> Nanos {
        let now = self.stamp;
        if self.own.arrives(user) {
            return now;
        }
        let until = self.troubled.set_back(user, now, &mut self.rng);
        self.books.counts().kept_out_ns += self.limits.in_window(now, until).0;
        until
    }

    /// A pool's attempt came to nothing.
    pub(crate) fn pool_set_back(&mut self, origin: u32) {
        if self.is_pooled(origin) {
            self.pools.set_back(origin, self.stamp, &mut self.rng);
        }
    }

    /// A pool opens a connection.
    pub(crate) fn pool_tries(&mut self, origin: u32) {
        self.pools.tries(origin, self.stamp, &mut self.rng);
    }

    /// A connection was of use: who opened it is not held back any more.
    pub(crate) fn proved(&mut self, conn: u32) {
        let c = self.links.conn_mut(conn);
        c.proved = true;
        let (origin, user, since) = (c.origin, c.user, c.since);
        self.pools.proved(origin, since, self.stamp);
        self.troubled.proved(user);
    }

    /// Pools whose pause is over try again, where somebody waits.
    #[cold]
    pub(crate) fn retry(&mut self) {
        for origin in self.pools.ready_again(self.stamp) {
            self.grow(origin);
        }
    }
}
