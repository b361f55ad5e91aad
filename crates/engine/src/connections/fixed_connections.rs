//! Connections that are part of the plan (WebSocket, `--hold`): their users, and the number being opened.

use brunt_contract::Network;

use super::WorkerConnections;
use crate::failure_cause::FailureCause;
use crate::ids::{ConnId, OriginId, ScenarioId, UserId};
use crate::pool::SPARE;

/// Maximum number of connections that a run opens at a time: a usual listen backlog (net.core.somaxconn is 4096).
const MAX_OPENING: u32 = 1024;
/// Minimum share of [`MAX_OPENING`] for one worker.
const MIN_OPENING: u32 = 8;

/// State of a worker whose number of connections is fixed by the plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FixedConnections {
    /// Set if connections are held once all requests on them have ended.
    holds: bool,
    /// Maximum number of connections being opened.
    max_opening: u32,
}

impl FixedConnections {
    /// Creates the state for one of `of` workers.
    pub fn new(holds: bool, of: u32) -> FixedConnections {
        FixedConnections { holds, max_opening: (MAX_OPENING / of).max(MIN_OPENING) }
    }
}

impl<N: Network> WorkerConnections<N> {
    /// Returns `true` if another connection may be opened now.
    pub(crate) fn may_open(&self) -> bool {
        self.fixed.is_none_or(|fixed| self.pools.opening() < fixed.max_opening)
    }

    /// Returns the number of connections being opened, except those opened for a specific request; includes those that
    /// users open for themselves.
    pub fn opening(&self) -> u32 {
        self.pools.opening()
    }

    /// Returns `true` if a lost connection to this origin may be replaced now.
    pub fn may_replace(&self, origin: OriginId) -> bool {
        let pool_id = self.pools.of(ScenarioId(0), origin);
        let pool = self.pools.get(pool_id);
        let pauses = self.traffic.stamp < pool.backoff.until || pool.opening >= pool.max_opening;
        !self.pools.group(pool_id).is_full() && !pauses && self.may_open()
    }

    /// Returns `true` if the number of connections is part of the plan.
    #[inline]
    pub fn are_fixed(&self) -> bool {
        self.fixed.is_some()
    }

    /// Assigns a connection opened ahead of a common start to a user; returns `false` if there is none.
    pub fn take_preopened(&mut self, user: UserId) -> bool {
        let Some(conn) = self.pools.all().iter().find_map(|pool| pool.idle.last().copied()) else { return false };
        let pool_id = self.links.conn(conn).pool;
        self.pools.get_mut(pool_id).remove_idle(self.links.conns_mut(), conn);
        self.assign_own(user, conn);
        true
    }

    /// Opens the connection of a user who sends requests on its own connection.
    ///
    /// # Errors
    /// The cause, if connecting cannot even be started.
    pub fn connect_for(&mut self, user: UserId, origin: OriginId) -> Result<(), FailureCause<'static>> {
        self.read_clock();
        let pool_id = self.pools.of(user.scenario(), origin);
        match self.dial(pool_id) {
            Ok(conn) => {
                self.pools.get_mut(pool_id).opening += 1;
                self.assign_own(user, conn);
                Ok(())
            }
            Err(errno) => {
                self.traffic.recorder.counts().connections.failed += 1;
                let cause = self.pools.connect_error(pool_id, errno);
                self.consider_lookup(pool_id);
                Err(cause)
            }
        }
    }

    /// Assigns a connection to a user as its own.
    fn assign_own(&mut self, user: UserId, conn: ConnId) {
        self.links.conn_mut(conn).user = user;
        self.sticky.set(user, conn);
    }

    /// Returns `true` if a connection is part of the plan. The connection of a user that is done is not; it is kept
    /// only for the final read.
    pub(crate) fn is_planned(&self, conn: ConnId) -> bool {
        self.fixed.is_some() && !self.links.conn(conn).is_set(SPARE)
    }

    /// Counts the loss of a connection that is part of the plan by its cause. The peer's own message is preferred to
    /// ours.
    pub(crate) fn count_loss(&mut self, conn: ConnId, cause: &FailureCause<'_>) {
        let words = self.links.session(conn).and_then(|session| session.close_cause());
        self.traffic.recorder.connection_lost(cause.sort.kind, cause.sort.errno, words.as_ref().or(cause.why));
    }

    /// Returns `true` if users send requests on connections they open themselves, in which case a failed opening counts
    /// as a failed request.
    pub(crate) fn users_send_on_own(&self) -> bool {
        self.fixed.is_some_and(|fixed| !fixed.holds)
            && !self.traffic.limits.open
            && !self.traffic.workload.prepared().holds_only
    }
}
