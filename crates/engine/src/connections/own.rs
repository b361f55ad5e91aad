//! Connections that users of a closed load have of their own.

use wire::{Belongs, Network};

use crate::exchange::NONE;
use crate::sources::{scenario_of, within};

use super::Connections;

/// By user: the connection that is its own.
#[derive(Debug, Default)]
pub(super) struct OwnConnections {
    /// By scenario: arrivals bring its users, who own nothing.
    arrive: Vec<bool>,
    conns: Vec<Vec<u32>>,
}

impl OwnConnections {
    /// Of scenarios whose users come with arrivals, or own connections.
    pub fn of(arrive: Vec<bool>) -> OwnConnections {
        OwnConnections { conns: vec![Vec::new(); arrive.len()], arrive }
    }

    /// True of a user whom an arrival brings.
    #[inline]
    pub fn arrives(&self, user: u32) -> bool {
        self.arrive[scenario_of(user)]
    }

    /// The connection of a user; [`NONE`]: it has none.
    #[inline]
    pub fn conn(&self, user: u32) -> u32 {
        self.conns[scenario_of(user)].get(within(user) as usize).copied().unwrap_or(NONE)
    }

    /// Gives a connection to a user; the one it had.
    #[inline]
    pub fn set(&mut self, user: u32, conn: u32) -> u32 {
        let (conns, at) = (&mut self.conns[scenario_of(user)], within(user) as usize);
        if conns.len() <= at {
            conns.resize(at + 1, NONE);
        }
        std::mem::replace(&mut conns[at], conn)
    }

    /// A user has none any more.
    pub fn lose(&mut self, user: u32) {
        if let Some(conn) = self.conns[scenario_of(user)].get_mut(within(user) as usize) {
            *conn = NONE;
        }
    }
}

impl<N: Network> Connections<N> {
    /// The connection that is a user's own; [`NONE`]: it has none.
    #[inline]
    pub fn conn_of(&self, user: u32) -> u32 {
        self.own.conn(user)
    }

    /// A user does nothing more: what was its own is closed; `ending`: all requests of the run were started.
    #[inline]
    pub fn user_lets_go(&mut self, user: u32, ending: bool) {
        let conn = self.own.conn(user);
        if conn != NONE && self.links.conn(conn).in_flight == 0 && !self.is_kept_for_final_read(conn, ending) {
            self.let_go(conn);
        }
    }

    /// The user's own connection, where it leads to this origin and has room.
    #[inline]
    pub(crate) fn own_connection(&mut self, user: u32, origin: u32) -> Option<u32> {
        let conn = self.own.conn(user);
        if conn == NONE {
            return None;
        }
        let c = self.links.conn(conn);
        let room = c.session.as_ref().map_or(0, |session| session.room());
        (c.origin == origin && room > 0).then_some(conn)
    }

    /// Gives a connection to a user; the one it had goes to whoever comes.
    pub(crate) fn give_connection(&mut self, user: u32, conn: u32) {
        let belongs = self.belongs(self.links.conn(conn).origin);
        if self.limits.shared > 1 || self.own.arrives(user) || belongs != Belongs::ToNobody {
            return;
        }
        let had = self.own.set(user, conn);
        self.links.conn_mut(conn).user = user;
        if had != NONE && had != conn {
            self.links.conn_mut(had).user = NONE;
            self.offer(had);
        }
    }
}
