//! Connections owned by users of a closed load.

use brunt_contract::{ConnectionOwner, Network};

use crate::ids::{ConnId, OriginId, PoolId, UserId};

use super::WorkerConnections;
use crate::pool::SPARE;

/// The connection that each user owns.
#[derive(Debug, Default)]
pub(super) struct StickyConnections {
    /// Set, by scenario, if its users come with arrivals and thus own no connections.
    by_arrivals: Vec<bool>,
    conns: Vec<Vec<ConnId>>,
}

impl StickyConnections {
    /// Creates the state for scenarios whose users come with arrivals (`true`) or own connections (`false`).
    pub fn of(arrive: Vec<bool>) -> StickyConnections {
        StickyConnections { conns: vec![Vec::new(); arrive.len()], by_arrivals: arrive }
    }

    /// Returns `true` if a user came with an arrival.
    #[inline]
    pub fn by_arrival(&self, user: UserId) -> bool {
        self.by_arrivals[user.scenario().at()]
    }

    /// Returns the connection of a user, or [`ConnId::NONE`].
    #[inline]
    pub fn conn(&self, user: UserId) -> ConnId {
        self.conns[user.scenario().at()].get(user.index().at()).copied().unwrap_or(ConnId::NONE)
    }

    /// Assigns a connection to a user; returns the one it had.
    #[inline]
    pub fn set(&mut self, user: UserId, conn: ConnId) -> ConnId {
        let (conns, at) = (&mut self.conns[user.scenario().at()], user.index().at());
        if conns.len() <= at {
            conns.resize(at + 1, ConnId::NONE);
        }
        std::mem::replace(&mut conns[at], conn)
    }

    /// Clears the connection of a user.
    pub fn clear(&mut self, user: UserId) {
        if let Some(conn) = self.conns[user.scenario().at()].get_mut(user.index().at()) {
            *conn = ConnId::NONE;
        }
    }
}

impl<N: Network> WorkerConnections<N> {
    /// Returns the origin of a user's own connection, if it has one.
    #[inline]
    pub fn user_origin(&self, user: UserId) -> Option<OriginId> {
        let conn = self.sticky.conn(user);
        if conn == ConnId::NONE { None } else { Some(self.pools.origin(self.links.conn(conn).pool)) }
    }

    /// Closes the connections of a user that leaves; `ending` is set once all requests of the run were started.
    #[inline]
    pub fn user_leaves(&mut self, user: UserId, ending: bool) {
        if let Some(memories) = &mut self.traffic.user_states {
            memories.forget(user);
        }
        if self.reconnects.is_some() {
            self.forget_reconnects(user);
        }
        let conn = self.sticky.conn(user);
        if conn == ConnId::NONE {
            return;
        }
        if self.links.conn(conn).in_flight() == 0 && !self.is_kept_for_final_read(conn, ending) {
            self.close_and_grow(conn);
        } else {
            self.links.conn_mut(conn).set_flag(SPARE, true);
        }
    }

    /// Returns the user's own connection, if it belongs to this pool and has room.
    #[inline]
    pub(crate) fn sticky_connection(&mut self, user: UserId, pool_id: PoolId) -> Option<ConnId> {
        let conn = self.sticky.conn(user);
        if conn == ConnId::NONE {
            return None;
        }
        let c = self.links.conn(conn);
        let room = c.session.as_ref().map_or(0, |session| session.room());
        (c.pool == pool_id && room > 0).then_some(conn)
    }

    /// Assigns a connection to a user, and returns the previous one to the pool.
    pub(crate) fn assign_connection(&mut self, user: UserId, conn: ConnId) {
        let belongs = self.belongs(self.links.conn(conn).pool);
        if self.traffic.limits.exchanges_per_connection > 1
            || self.sticky.by_arrival(user)
            || belongs != ConnectionOwner::Pool
        {
            return;
        }
        let had = self.sticky.set(user, conn);
        self.links.conn_mut(conn).user = user;
        if had != ConnId::NONE && had != conn {
            self.links.conn_mut(had).user = UserId::NONE;
            self.offer(had);
        }
    }
}
