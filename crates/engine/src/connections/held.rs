//! Connections that are part of the plan (WebSocket, `--hold`): how many are on their way, and whose they are.

use wire::Network;

use super::Connections;
use crate::failing::Cause;
use crate::ids::{ConnId, OriginId, ScenarioId, UserId};
use crate::pool::SPARE;

/// Connections that one run has on their way at a time: what a usual listen queue takes (net.core.somaxconn is 4096).
const COMING: u32 = 1024;
/// The fewest a worker has on their way.
const COMING_AT_LEAST: u32 = 8;

/// The number of connections is part of the plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fixed {
    /// Connections are kept once everything was said on them.
    holds: bool,
    /// Most connections on their way.
    most_coming: u32,
}

impl Fixed {
    /// Of a worker among `of`.
    pub fn new(holds: bool, of: u32) -> Fixed {
        Fixed { holds, most_coming: (COMING / of).max(COMING_AT_LEAST) }
    }
}

impl<N: Network> Connections<N> {
    /// True where another connection may be begun now.
    pub(crate) fn may_come(&self) -> bool {
        self.fixed.is_none_or(|fixed| self.pools.opening() < fixed.most_coming)
    }

    /// Connections on their way that are nobody's, or of who opens one of its own.
    pub fn opening(&self) -> u32 {
        self.pools.opening()
    }

    /// True where one may be opened there in the place of one that was lost.
    pub fn may_replace(&self, origin: OriginId) -> bool {
        let pool_id = self.pools.of(ScenarioId(0), origin);
        let pool = self.pools.get(pool_id);
        let pauses = self.traffic.stamp < pool.setbacks.until || pool.opening >= pool.at_once;
        !self.pools.group(pool_id).is_full() && !pauses && self.may_come()
    }

    /// True where the number of connections is part of the plan.
    #[inline]
    pub fn are_fixed(&self) -> bool {
        self.fixed.is_some()
    }

    /// A user takes a connection that was opened ahead, for a common start; false: there is none.
    pub fn takes_one_opened_ahead(&mut self, user: UserId) -> bool {
        let Some(conn) = self.pools.all().iter().find_map(|pool| pool.idle.last().copied()) else { return false };
        let pool_id = self.links.conn(conn).pool;
        self.pools.get_mut(pool_id).unmake_idle(self.links.conns_mut(), conn);
        self.own(user, conn);
        true
    }

    /// Opens the connection of a user who says something on its own.
    ///
    /// # Errors
    /// Why it cannot even be begun.
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

    /// A connection is a user's own from now on.
    fn own(&mut self, user: UserId, conn: ConnId) {
        self.links.conn_mut(conn).user = user;
        self.own.set(user, conn);
    }

    /// True of a connection that is part of the plan. Nobody needs that of a user who is done: it is kept for a final read.
    pub(crate) fn is_wanted(&self, conn: ConnId) -> bool {
        self.fixed.is_some() && !self.links.conn(conn).is(SPARE)
    }

    /// A connection that is part of the plan is lost: counted by what ended it. The peer's own words say more than ours.
    pub(crate) fn count_loss(&mut self, conn: ConnId, cause: &Cause<'_>) {
        let words = self.links.session(conn).and_then(|session| session.farewell());
        self.traffic.books.connection_lost(cause.sort.kind, cause.sort.errno, words.as_ref().or(cause.why));
    }

    /// True where a user opens its connection to say something, again and again: then what it could not say is a request.
    pub(crate) fn users_speak(&self) -> bool {
        self.fixed.is_some_and(|fixed| !fixed.holds)
            && !self.traffic.limits.open
            && !self.traffic.dialogue.prepared().silent
    }
}
