//! Connections that are part of the plan (WebSocket, `--hold`): the number being opened, and their users.

use wire::Network;

use super::Connections;
use crate::failing::Cause;
use crate::ids::{ConnId, OriginId, ScenarioId, UserId};
use crate::pool::SPARE;

/// Maximum number of connections of a run being opened at a time: a usual listen backlog (net.core.somaxconn is 4096).
const COMING: u32 = 1024;
/// Minimum of that number for a worker.
const COMING_AT_LEAST: u32 = 8;

/// A plan with a fixed number of connections.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fixed {
    /// Set if connections are held once all requests on them are over.
    holds: bool,
    /// Maximum number of connections being opened.
    most_coming: u32,
}

impl Fixed {
    /// Creates the state of one of `of` workers.
    pub fn new(holds: bool, of: u32) -> Fixed {
        Fixed { holds, most_coming: (COMING / of).max(COMING_AT_LEAST) }
    }
}

impl<N: Network> Connections<N> {
    /// Returns `true` if another connection may be opened now.
    pub(crate) fn may_come(&self) -> bool {
        self.fixed.is_none_or(|fixed| self.pools.opening() < fixed.most_coming)
    }

    /// Returns the number of connections being opened for no particular request, including those of users who open
    /// their own.
    pub fn opening(&self) -> u32 {
        self.pools.opening()
    }

    /// Returns `true` if a lost connection to this origin may be replaced now.
    pub fn may_replace(&self, origin: OriginId) -> bool {
        let pool_id = self.pools.of(ScenarioId(0), origin);
        let pool = self.pools.get(pool_id);
        let pauses = self.traffic.stamp < pool.setbacks.until || pool.opening >= pool.at_once;
        !self.pools.group(pool_id).is_full() && !pauses && self.may_come()
    }

    /// Returns `true` if the number of connections is part of the plan.
    #[inline]
    pub fn are_fixed(&self) -> bool {
        self.fixed.is_some()
    }

    /// Assigns a connection opened ahead of a common start to a user; returns `false` if there is none.
    pub fn takes_one_opened_ahead(&mut self, user: UserId) -> bool {
        let Some(conn) = self.pools.all().iter().find_map(|pool| pool.idle.last().copied()) else { return false };
        let pool_id = self.links.conn(conn).pool;
        self.pools.get_mut(pool_id).unmake_idle(self.links.conns_mut(), conn);
        self.own(user, conn);
        true
    }

    /// Opens the connection of a user who sends requests on its own connection.
    ///
    /// # Errors
    /// The cause, if connecting cannot even begin.
    pub fn connect_for(&mut self, user: UserId, origin: OriginId) -> Result<(), Cause<'static>> {
        self.mark();
        let pool_id = self.pools.of(user.scenario(), origin);
        match self.dial(pool_id) {
            Ok(conn) => {
                self.pools.get_mut(pool_id).opening += 1;
                self.own(user, conn);
                Ok(())
            }
            Err(errno) => {
                self.traffic.books.counts().connections.failed += 1;
                let cause = self.pools.not_dialled(pool_id, errno);
                self.consider_lookup(pool_id);
                Err(cause)
            }
        }
    }

    /// Makes a connection a user's own.
    fn own(&mut self, user: UserId, conn: ConnId) {
        self.links.conn_mut(conn).user = user;
        self.own.set(user, conn);
    }

    /// Returns `true` if a connection is part of the plan. The connection of a user who is done is not: it is kept for
    /// a final read.
    pub(crate) fn is_wanted(&self, conn: ConnId) -> bool {
        self.fixed.is_some() && !self.links.conn(conn).is(SPARE)
    }

    /// Counts the loss of a connection that is part of the plan by its cause. The peer's own message is preferred to
    /// ours.
    pub(crate) fn count_loss(&mut self, conn: ConnId, cause: &Cause<'_>) {
        let words = self.links.session(conn).and_then(|session| session.farewell());
        self.traffic.books.connection_lost(cause.sort.kind, cause.sort.errno, words.as_ref().or(cause.why));
    }

    /// Returns `true` if users open their own connection to send requests again and again: a failed opening then counts
    /// as a failed request.
    pub(crate) fn users_speak(&self) -> bool {
        self.fixed.is_some_and(|fixed| !fixed.holds)
            && !self.traffic.limits.open
            && !self.traffic.dialogue.prepared().silent
    }
}
