//! Servers that refuse connections, or drop them before they served anything, are left alone for a while
//! (`crate::patience` says for how long).

use measure::Nanos;
use wire::{FaultKind, Network};

use crate::patience::LONGEST;

use super::Worker;

impl<N: Network> Worker<N> {
    /// True of a connection that ends, by the peer's doing, before it was of any use.
    pub(super) fn is_in_vain(&self, conn: u32, kind: FaultKind) -> bool {
        let c = self.links.conn(conn);
        kind != FaultKind::Timeout && !c.proved && self.stamp < c.free_since + LONGEST
    }

    /// A user's attempt came to nothing: until when it has to wait.
    pub(super) fn user_set_back(&mut self, user: u32) -> Nanos {
        let now = self.stamp;
        if self.source.of(user).users().arrive() {
            return now;
        }
        let until = self.source.set_back(user, now);
        self.books.counts().kept_out_ns += self.limits.in_window(now, until).0;
        until
    }

    /// A pool's attempt came to nothing.
    pub(super) fn pool_set_back(&mut self, origin: u32) {
        if self.is_pooled(origin) {
            self.pools.set_back(origin, self.stamp, self.source.rng());
        }
    }

    /// A pool opens a connection.
    pub(super) fn pool_tries(&mut self, origin: u32) {
        self.pools.tries(origin, self.stamp, self.source.rng());
    }

    /// A connection was of use: who opened it is not held back any more.
    pub(super) fn proved(&mut self, conn: u32) {
        let c = self.links.conn_mut(conn);
        c.proved = true;
        let (origin, user, since) = (c.origin, c.user, c.since);
        self.pools.proved(origin, since, self.stamp);
        self.source.proved(user);
    }

    /// Pools whose pause is over try again, where somebody waits.
    #[cold]
    pub(super) fn retry(&mut self) {
        for origin in self.pools.ready_again(self.stamp) {
            self.grow(origin);
        }
        self.go_on_without();
    }
}
