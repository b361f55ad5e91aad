//! Backoff from servers that refuse connections, or drop them before serving anything. The arithmetic is in
//! `crate::backoff`.

use brunt_contract::{FaultKind, Network};
use brunt_measure::Nanos;

use crate::backoff::MAX_PAUSE;
use crate::pool::USEFUL;

use super::WorkerConnections;
use crate::ids::{ConnId, PoolId, UserId};

impl<N: Network> WorkerConnections<N> {
    /// Returns `true` if the peer ended a connection (with `kind`) soon after it opened and before it was useful.
    pub(crate) fn was_useless(&self, conn: ConnId, kind: FaultKind) -> bool {
        let c = self.links.conn(conn);
        kind != FaultKind::Timeout && !c.is_set(USEFUL) && self.traffic.stamp < c.free_since + MAX_PAUSE
    }

    /// Returns when a user may open its next connection; zero if it may now.
    #[inline]
    pub fn backoff_until(&self, user: UserId) -> Nanos {
        self.user_backoffs.until(user)
    }

    /// Records a failed attempt of a user, which may not connect again before [`WorkerConnections::backoff_until`].
    pub(crate) fn back_off_user(&mut self, user: UserId) {
        if !self.sticky.by_arrival(user) {
            self.user_backoffs.record_failure(user, self.traffic.stamp, &mut self.rng);
        }
    }

    /// Records that a user waits until it may connect again. Pauses of its own are over by then.
    pub(crate) fn keep_out(&mut self, until: Nanos) {
        let wait = self.traffic.limits.in_window(self.traffic.stamp, until);
        self.traffic.recorder.counts().kept_out_ns += wait.0;
    }

    /// Records a failed attempt of a pool.
    pub(crate) fn back_off_pool(&mut self, pool_id: PoolId) {
        if self.pools.are_shared(pool_id) {
            self.pools.back_off(pool_id, self.traffic.stamp, &mut self.rng);
        }
    }

    /// Records that a connection was useful: its pool and its user are no longer held back.
    pub(crate) fn mark_useful(&mut self, conn: ConnId) {
        let c = self.links.conn_mut(conn);
        c.set_flag(USEFUL, true);
        let (pool_id, user, since) = (c.pool, c.user, c.since);
        self.pools.mark_useful(pool_id, since, self.traffic.stamp);
        self.user_backoffs.clear(user);
    }
}
