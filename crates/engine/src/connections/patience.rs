//! Servers that refuse connections, or drop them before they served anything, are left alone for a while
//! (`crate::patience` says for how long).

use measure::Nanos;
use wire::{FaultKind, Network};

use crate::patience::LONGEST;
use crate::pool::PROVED;

use super::Connections;
use crate::ids::{ConnId, PoolId, UserId};

impl<N: Network> Connections<N> {
    /// True of a connection that ends, by the peer's doing, before it was of any use.
    pub(crate) fn is_in_vain(&self, conn: ConnId, kind: FaultKind) -> bool {
        let c = self.links.conn(conn);
        kind != FaultKind::Timeout && !c.is(PROVED) && self.traffic.stamp < c.free_since + LONGEST
    }

    /// Until when a user has to wait before it may open a connection; zero where it may now.
    #[inline]
    pub fn waits(&self, user: UserId) -> Nanos {
        self.troubled.waits(user)
    }

    /// An attempt of a user who would have paused for so long came to nothing: until when it waits. Kept out it is only beyond its pause.
    pub(crate) fn user_set_back(&mut self, user: UserId, pause: Nanos) -> Nanos {
        let now = self.traffic.stamp;
        let paused = now.saturating_add(pause);
        if self.own.arrives(user) {
            return paused;
        }
        let until = self.troubled.set_back(user, now, &mut self.rng).max(paused);
        self.traffic.books.counts().kept_out_ns += self.traffic.limits.in_window(paused, until).0;
        until
    }

    /// A pool's attempt came to nothing.
    pub(crate) fn pool_set_back(&mut self, pool_id: PoolId) {
        if self.pools.are_shared(pool_id) {
            self.pools.set_back(pool_id, self.traffic.stamp, &mut self.rng);
        }
    }

    /// A connection was of use: who opened it is not held back any more.
    pub(crate) fn proved(&mut self, conn: ConnId) {
        let c = self.links.conn_mut(conn);
        c.mark(PROVED, true);
        let (pool_id, user, since) = (c.pool, c.user, c.since);
        self.pools.proved(pool_id, since, self.traffic.stamp);
        self.troubled.proved(user);
    }
}
