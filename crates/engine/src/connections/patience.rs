//! Backoff from servers that refuse connections, or drop them before they served anything (`crate::patience` has the
//! arithmetic).

use measure::Nanos;
use wire::{FaultKind, Network};

use crate::patience::LONGEST;
use crate::pool::PROVED;

use super::Connections;
use crate::ids::{ConnId, PoolId, UserId};

impl<N: Network> Connections<N> {
    /// Returns `true` if a connection was ended by the peer before it was of any use.
    pub(crate) fn is_in_vain(&self, conn: ConnId, kind: FaultKind) -> bool {
        let c = self.links.conn(conn);
        kind != FaultKind::Timeout && !c.is(PROVED) && self.traffic.stamp < c.free_since + LONGEST
    }

    /// Returns when a user may open its next connection; zero if it may now.
    #[inline]
    pub fn waits(&self, user: UserId) -> Nanos {
        self.troubled.waits(user)
    }

    /// Records a failed attempt of a user that would have paused for `pause` anyway, and returns the end of its wait.
    /// Only the time beyond that pause counts as kept out.
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

    /// Records a failed attempt of a pool.
    pub(crate) fn pool_set_back(&mut self, pool_id: PoolId) {
        if self.pools.are_shared(pool_id) {
            self.pools.set_back(pool_id, self.traffic.stamp, &mut self.rng);
        }
    }

    /// Records that a connection was of use: its pool and user are no longer held back.
    pub(crate) fn proved(&mut self, conn: ConnId) {
        let c = self.links.conn_mut(conn);
        c.mark(PROVED, true);
        let (pool_id, user, since) = (c.pool, c.user, c.since);
        self.pools.proved(pool_id, since, self.traffic.stamp);
        self.troubled.proved(user);
    }
}
