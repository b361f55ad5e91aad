//! Connections owned by users of a closed load.

use wire::{Belongs, Network};

use crate::ids::{ConnId, OriginId, PoolId, UserId};

use super::Connections;
use crate::pool::SPARE;

/// The connection that each user owns.
#[derive(Debug, Default)]
pub(super) struct OwnConnections {
    /// Set for a scenario if arrivals bring its users, who then own no connection.
    arrive: Vec<bool>,
    conns: Vec<Vec<ConnId>>,
}

impl OwnConnections {
    /// Creates the state for scenarios whose users come with arrivals (`true`) or own connections.
    pub fn of(arrive: Vec<bool>) -> OwnConnections {
        OwnConnections { conns: vec![Vec::new(); arrive.len()], arrive }
    }

    /// Returns `true` if a user was brought by an arrival.
    #[inline]
    pub fn arrives(&self, user: UserId) -> bool {
        self.arrive[user.scenario().at()]
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
    pub fn lose(&mut self, user: UserId) {
        if let Some(conn) = self.conns[user.scenario().at()].get_mut(user.index().at()) {
            *conn = ConnId::NONE;
        }
    }
}

impl<N: Network> Connections<N> {
    /// Returns the origin of a user's own connection, if it has one.
    #[inline]
    pub fn own_leads_to(&self, user: UserId) -> Option<OriginId> {
        let conn = self.own.conn(user);
        if conn == ConnId::NONE { None } else { Some(self.pools.leads_to(self.links.conn(conn).pool)) }
    }

    /// Closes what a user that leaves owns; `ending` is set once all requests of the run were started.
    #[inline]
    pub fn user_leaves(&mut self, user: UserId, ending: bool) {
        if let Some(memories) = &mut self.traffic.memories {
            memories.forget(user);
        }
        if self.anew.is_some() {
            self.comes_no_more(user);
        }
        let conn = self.own.conn(user);
        if conn == ConnId::NONE {
            return;
        }
        if self.links.conn(conn).in_flight() == 0 && !self.is_kept_for_final_read(conn, ending) {
            self.let_go(conn);
        } else {
            self.links.conn_mut(conn).mark(SPARE, true);
        }
    }

    /// Returns the user's own connection, if it leads to this origin and has room.
    #[inline]
    pub(crate) fn own_connection(&mut self, user: UserId, pool_id: PoolId) -> Option<ConnId> {
        let conn = self.own.conn(user);
        if conn == ConnId::NONE {
            return None;
        }
        let c = self.links.conn(conn);
        let room = c.session.as_ref().map_or(0, |session| session.room());
        (c.pool == pool_id && room > 0).then_some(conn)
    }

    /// Assigns a connection to a user; the one it had returns to the pool.
    pub(crate) fn give_connection(&mut self, user: UserId, conn: ConnId) {
        let belongs = self.belongs(self.links.conn(conn).pool);
        if self.traffic.limits.shared > 1 || self.own.arrives(user) || belongs != Belongs::ToNobody {
            return;
        }
        let had = self.own.set(user, conn);
        self.links.conn_mut(conn).user = user;
        if had != ConnId::NONE && had != conn {
            self.links.conn_mut(had).user = UserId::NONE;
            self.offer(had);
        }
    }
}
