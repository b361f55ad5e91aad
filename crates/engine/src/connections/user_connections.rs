//! Connections owned by a user during its flow, because requests on them may depend on earlier requests (a
//! transaction), or because they were opened with values of that user (a WebSocket).
//!
//! A user owns at most one connection to each origin, from its first request there to the end of its iteration. The
//! loss of such a connection is not hidden: the next request fails, and only the one after that opens another
//! connection.

use brunt_cause::StaticCause;
use brunt_contract::{ConnectionOwner, FaultKind, Network, Phase, Workload};
use brunt_measure::Nanos;

use crate::ids::{ConnId, ExchangeId, PoolId, UserId};

use super::WorkerConnections;
use crate::failure_cause::FailureCause;

const LOST: StaticCause = brunt_cause::response::step_lost();
const BUSY: StaticCause = brunt_cause::response::step_busy();

/// The connections owned by users, by user and origin.
#[derive(Debug)]
pub(crate) struct UserConnections {
    /// The owner of connections, by origin. Connections to origins reached only by redirects are not owned.
    belongs: Vec<ConnectionOwner>,
    /// The index of each origin among the owned connections of a user; `None` if connections to it are shared.
    indexes: Vec<Option<u32>>,
    /// Number of origins whose connections are owned.
    per_user: usize,
    /// The entries of each scenario: `per_user` for each user.
    conns: Vec<Vec<OwnedConnection>>,
}

/// The connection of one user to one origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum OwnedConnection {
    #[default]
    None,
    Open(ConnId),
    /// The connection was lost with no request in flight on it.
    Lost,
}

impl UserConnections {
    /// Creates the state for the origins of a workload; `None` if no connection is owned by a user.
    pub fn of(workload: &dyn Workload, scenarios: usize) -> Option<UserConnections> {
        let belongs: Vec<ConnectionOwner> =
            workload.origins().iter().map(|origin| workload.connection_owner(origin)).collect();
        let mut each = 0;
        let place = |belongs: &ConnectionOwner| match belongs {
            ConnectionOwner::Pool => None,
            ConnectionOwner::Iteration | ConnectionOwner::User => {
                each += 1;
                Some(each as u32 - 1)
            }
        };
        let places = belongs.iter().map(place).collect();
        (each > 0).then(|| UserConnections {
            belongs,
            indexes: places,
            per_user: each,
            conns: vec![Vec::new(); scenarios.max(1)],
        })
    }

    fn belongs(&self, pool_id: PoolId) -> ConnectionOwner {
        self.origin_index(pool_id).map_or(ConnectionOwner::default(), |at| self.belongs[at])
    }

    /// Returns the index of a pool's origin, if the origin was known before the run. Each scenario has its own pools.
    fn origin_index(&self, pool: PoolId) -> Option<usize> {
        let (pool, origins) = (pool.at(), self.belongs.len());
        (pool < origins * self.conns.len()).then(|| pool % origins)
    }

    /// Returns a user's entry for an origin whose connections are owned.
    fn entry(&mut self, user: UserId, pool_id: PoolId) -> Option<&mut OwnedConnection> {
        let place = self.origin_index(pool_id).and_then(|at| self.indexes[at]).filter(|_| user != UserId::NONE)?;
        let conns = self.conns.get_mut(user.scenario().at())?;
        let user = user.index().at();
        let at = user * self.per_user + place as usize;
        if conns.len() <= at {
            conns.resize((user + 1) * self.per_user, OwnedConnection::None);
        }
        conns.get_mut(at)
    }

    /// Returns the connection that a user owns to an origin.
    pub fn connection(&mut self, user: UserId, pool_id: PoolId) -> Option<ConnId> {
        match self.entry(user, pool_id) {
            Some(OwnedConnection::Open(conn)) => Some(*conn),
            _ => None,
        }
    }

    /// Clears a user's entry for an origin, so that it neither owns nor has lost a connection there.
    pub fn clear(&mut self, user: UserId, pool_id: PoolId) {
        if let Some(own) = self.entry(user, pool_id) {
            *own = OwnedConnection::None;
        }
    }

    /// Moves all connections that a user owns to `all`, so that the user no longer owns them.
    fn take_all(&mut self, user: UserId, all: &mut Vec<ConnId>) {
        let from = user.index().at() * self.per_user;
        let conns = self.conns.get_mut(user.scenario().at());
        let own = conns.and_then(|conns| conns.get_mut(from..from + self.per_user)).unwrap_or_default();
        all.extend(own.iter_mut().filter_map(|own| match std::mem::take(own) {
            OwnedConnection::Open(conn) => Some(conn),
            OwnedConnection::None | OwnedConnection::Lost => None,
        }));
    }
}

impl<N: Network> WorkerConnections<N> {
    /// Returns who owns the connections to this origin.
    #[inline]
    pub(crate) fn belongs(&self, pool_id: PoolId) -> ConnectionOwner {
        self.owned.as_ref().map_or(ConnectionOwner::Pool, |belongings| belongings.belongs(pool_id))
    }

    /// Returns when a request could have been sent on its user's own connection: when it was due or, if the connection
    /// was busy then, when it became free.
    #[inline]
    pub(crate) fn ready_time(&mut self, id: ExchangeId, conn: ConnId) -> Nanos {
        let x = self.traffic.in_flight.get(id);
        if x.is_held_back() { self.traffic.stamp } else { x.intended.max(self.links.conn(conn).free_since) }
    }

    /// Places a request on the connection to the origin that its user owns, or opens that connection. Returns `false`
    /// if the request takes a free connection, which the user may then own.
    #[cold]
    pub(crate) fn place_on_owned(&mut self, id: ExchangeId, pool_id: PoolId) -> bool {
        let x = *self.traffic.in_flight.get(id);
        let Some(belongings) = &mut self.owned else { return false };
        let belongs = belongings.belongs(pool_id);
        let Some(own) = belongings.entry(x.user, pool_id) else { return false };
        match *own {
            OwnedConnection::Open(conn) => {
                let room = self.links.session(conn).map_or(0, |session| session.room());
                let busy = self.links.conn(conn).in_flight() > 0;
                match belongs {
                    _ if room > 0 => {
                        let ready = self.ready_time(id, conn);
                        self.submit(id, conn, ready);
                    }
                    // Of several simultaneous requests, all but the first take free connections, which stay shared.
                    ConnectionOwner::Iteration if busy => return false,
                    _ => {
                        let why = if busy { BUSY } else { LOST };
                        self.traffic.fail(
                            id,
                            &FailureCause::new(FaultKind::Closed, Phase::Wait)
                                .with_details(&brunt_cause::Cause::from(why)),
                            false,
                        );
                    }
                }
            }
            OwnedConnection::Lost => {
                *own = OwnedConnection::None;
                self.traffic.fail(
                    id,
                    &FailureCause::new(FaultKind::Closed, Phase::Wait).with_details(&brunt_cause::Cause::from(LOST)),
                    false,
                );
            }
            OwnedConnection::None if belongs == ConnectionOwner::User && self.pools.get(pool_id).has_address() => {
                self.dial_for(id, pool_id, x.intended);
            }
            OwnedConnection::None => return false,
        }
        true
    }

    /// Makes a user own the connection on which its request was submitted, if connections to that origin are owned.
    #[cold]
    pub(crate) fn take_ownership(&mut self, user: UserId, conn: ConnId) {
        let pool_id = self.links.conn(conn).pool;
        let Some(own) = self.owned.as_mut().and_then(|belongings| belongings.entry(user, pool_id)) else { return };
        if *own != OwnedConnection::None {
            return;
        }
        *own = OwnedConnection::Open(conn);
        self.links.conn_mut(conn).user = user;
        self.pools.get_mut(pool_id).remove_idle(self.links.conns_mut(), conn);
    }

    /// Records the loss of a connection. Returns `true` if connections to its origin are owned by users.
    pub(crate) fn owned_connection_lost(&mut self, conn: ConnId) -> bool {
        let c = self.links.conn(conn);
        let (user, pool_id, busy) = (c.user, c.pool, c.in_flight() > 0);
        let Some(own) = self.owned.as_mut().and_then(|belongings| belongings.entry(user, pool_id)) else {
            return false;
        };
        if *own == OwnedConnection::Open(conn) {
            // The request in flight on it has failed, which already reports the loss.
            *own = if busy { OwnedConnection::None } else { OwnedConnection::Lost };
        }
        true
    }

    /// Ends a user's iteration. Connections that the user opened for itself are closed. Pooled connections that it
    /// owned are closed if the iteration failed, because their state is unknown; otherwise they return to the pool.
    pub(crate) fn release_owned(&mut self, user: UserId, passed: bool) {
        let Some(belongings) = &mut self.owned else { return };
        let mut all = std::mem::take(&mut self.released);
        belongings.take_all(user, &mut all);
        for conn in all.drain(..) {
            let c = self.links.conn_mut(conn);
            c.user = UserId::NONE;
            let (pool_id, busy) = (c.pool, c.in_flight() > 0);
            if passed && !busy && self.belongs(pool_id) == ConnectionOwner::Iteration {
                self.offer(conn);
            } else if !busy {
                self.close_and_grow(conn);
            }
        }
        self.released = all;
    }

    /// Ends a request whose response arrived before the request was sent.
    #[cold]
    pub(crate) fn end_answered_early(&mut self, conn: ConnId) {
        self.links.report_early_answer(conn);
        self.process_events(conn, None);
    }

    /// Counts unread messages as unsolicited, now that no request can await them any more.
    pub(crate) fn count_unawaited(&mut self, conn: ConnId) {
        let unheard = self.links.session(conn).map_or(0, |session| session.unread_messages());
        self.traffic.recorder.counts().unsolicited += u64::from(unheard);
    }
}
