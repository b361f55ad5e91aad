//! Users that disconnect and reconnect (`close` in a flow): their connections are closed, and their next request to
//! each server is sent on a new connection.
//!
//! If connections are shared, the connection used last, which the user would have taken next, is closed, and the user
//! is marked so that its next request does not take a connection used by others. Each `close` thus costs a connect, as
//! it does for real users that return, and the size of the pool stays the same.

use brunt_contract::{Network, Workload};
use brunt_plan::Plan;
use brunt_plan::flow::server_of;
use brunt_scenario::FlowProgram;

use super::WorkerConnections;
use crate::api::CHECKED;
use crate::ids::{ConnId, ExchangeId, OriginId, PoolId, UserId};
use crate::pool::SERVED;

/// The users whose next request must open a connection.
#[derive(Debug)]
pub(crate) struct Reconnects {
    /// The origins affected, by scenario and by `close` of its flow; `None` for all.
    closes: Vec<Vec<Option<Vec<OriginId>>>>,
    /// The state of each user with respect to each pool, by pool and user.
    states: Vec<Vec<ReconnectState>>,
    /// Reused buffer for the pools of one `close`.
    pools: Vec<PoolId>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ReconnectState {
    #[default]
    Unused,
    /// The user has sent requests in this pool.
    Used,
    /// The user's next request in this pool must open a connection.
    Reconnect,
}

/// Returns the origins of a run that a `close` of these servers affects; `None` for all of them.
pub(crate) fn origins_of(servers: &[String], plan: &Plan, workload: &dyn Workload) -> Option<Vec<OriginId>> {
    let meant = |url: &str| servers.iter().any(|server| server_of(server) == server_of(url));
    let urls = plan.urls.iter().zip(workload.requests().iter());
    let mut origins: Vec<OriginId> =
        urls.filter(|(url, _)| meant(&url.url)).map(|(_, request)| OriginId::of(request.origin)).collect();
    origins.sort_unstable();
    origins.dedup();
    (!servers.is_empty()).then_some(origins)
}

impl Reconnects {
    /// Creates the state for the flows of a plan; `None` if none of them closes connections.
    pub fn of(plan: &Plan, workload: &dyn Workload) -> Option<Reconnects> {
        let of_flow = |(_, flow)| {
            let program = FlowProgram::of(flow).expect(CHECKED);
            program.closes().iter().map(|servers| origins_of(servers, plan, workload)).collect()
        };
        let closes: Vec<Vec<_>> = plan.flows().map(of_flow).collect();
        let any = closes.iter().any(|closes: &Vec<_>| !closes.is_empty());
        any.then(|| Reconnects { closes, states: Vec::new(), pools: Vec::new() })
    }

    fn state(&mut self, pool: PoolId, user: UserId) -> &mut ReconnectState {
        let (pool, user) = (pool.at(), user.index().at());
        if self.states.len() <= pool {
            self.states.resize(pool + 1, Vec::new());
        }
        let users = &mut self.states[pool];
        if users.len() <= user {
            users.resize(user + 1, ReconnectState::Unused);
        }
        &mut users[user]
    }
}

impl<N: Network> WorkerConnections<N> {
    /// Disconnects a user from the servers of the `close` with the index `which` in its flow. `ending` is set once all
    /// requests of the run were started.
    #[cold]
    pub(crate) fn disconnect_user(&mut self, user: UserId, which: usize, ending: bool) {
        let Some(anew) = &mut self.reconnects else { return };
        let (scenario, mut pools) = (user.scenario(), std::mem::take(&mut anew.pools));
        match anew.closes.get(scenario.at()).and_then(|closes| closes.get(which)) {
            Some(Some(origins)) => pools.extend(origins.iter().map(|origin| self.pools.of(scenario, *origin))),
            Some(None) => pools.extend(self.pools.ids().filter(|pool| self.pools.scenario(*pool) == scenario)),
            None => {}
        }
        for pool in pools.drain(..) {
            self.disconnect_user_from(user, pool, ending);
        }
        if let Some(anew) = &mut self.reconnects {
            anew.pools = pools;
        }
    }

    fn disconnect_user_from(&mut self, user: UserId, pool: PoolId, ending: bool) {
        let Some(anew) = &mut self.reconnects else { return };
        let used = std::mem::replace(anew.state(pool, user), ReconnectState::Reconnect) == ReconnectState::Used;
        let own = self.owned.as_mut().and_then(|belongings| belongings.connection(user, pool));
        let of_user = self.sticky.conn(user);
        let of_user = Some(of_user).filter(|conn| *conn != ConnId::NONE && self.links.conn(*conn).pool == pool);
        let last = || if used { self.pools.get(pool).idle.last().copied() } else { None };
        let conn = own.or(of_user).or_else(last).filter(|conn| self.links.conn(*conn).in_flight() == 0);
        let Some(conn) = conn.filter(|conn| !self.is_kept_for_final_read(*conn, ending)) else { return };
        if own.is_some() {
            self.links.conn_mut(conn).user = UserId::NONE;
        }
        if let Some(belongings) = &mut self.owned {
            belongings.clear(user, pool);
        }
        self.close_and_grow(conn);
    }

    /// Places a request of a user that owns connections or must reconnect. Returns `false` if the request may take any
    /// free connection.
    #[cold]
    pub(crate) fn place_on_user_connection(&mut self, id: ExchangeId, pool: PoolId) -> bool {
        self.reconnects.is_some() && self.open_for_reconnect(id, pool)
            || self.owned.is_some() && self.place_on_owned(id, pool)
    }

    /// Opens a connection for a request whose user has disconnected. Returns `false` if the request must take a
    /// connection like any other.
    #[cold]
    fn open_for_reconnect(&mut self, id: ExchangeId, pool: PoolId) -> bool {
        let x = *self.traffic.in_flight.get(id);
        let Some(anew) = self.reconnects.as_mut().filter(|_| x.user != UserId::NONE) else { return false };
        let stand = anew.state(pool, x.user);
        if *stand != ReconnectState::Reconnect {
            *stand = ReconnectState::Used;
            return false;
        }
        if !self.pools.get(pool).has_address() {
            return false;
        }
        let full = |pools: &crate::pool::Pools| pools.group(pool).by_arrivals && pools.group(pool).is_full();
        if full(&self.pools) {
            // Closes one connection to make room for the new one.
            let idle = self.pools.get(pool).idle.last().copied().filter(|conn| self.links.conn(*conn).in_flight() == 0);
            if let Some(conn) = idle.or_else(|| self.pools.spare(pool)) {
                self.close_gracefully(conn);
            }
        }
        if full(&self.pools) {
            return false;
        }
        self.mark_reconnected(pool, x.user);
        self.dial_for(id, pool, if x.is_held_back() { self.traffic.stamp } else { x.intended });
        true
    }

    fn mark_reconnected(&mut self, pool: PoolId, user: UserId) {
        if let Some(anew) = &mut self.reconnects {
            *anew.state(pool, user) = ReconnectState::Used;
        }
    }

    /// Closes the connection that a waiting request is about to get and opens a new one, if others have used it and the
    /// user of the request has disconnected. Returns `false` if the request may use the connection.
    #[cold]
    pub(crate) fn open_instead_of_used(&mut self, id: ExchangeId, conn: ConnId) -> bool {
        let (user, c) = (self.traffic.in_flight.get(id).user, self.links.conn(conn));
        let (pool, served, in_flight) = (c.pool, c.is_set(SERVED), c.in_flight());
        let Some(anew) = self.reconnects.as_mut().filter(|_| user != UserId::NONE) else { return false };
        let comes = std::mem::replace(anew.state(pool, user), ReconnectState::Used) == ReconnectState::Reconnect;
        if !comes || !served || in_flight > 0 {
            return false;
        }
        self.close_gracefully(conn);
        let ready = self.traffic.in_flight.get(id).intended.max(self.traffic.event_time);
        self.dial_for(id, pool, ready);
        true
    }

    /// Clears the state of a user that has left: its index may be assigned to another user.
    #[cold]
    pub(crate) fn forget_reconnects(&mut self, user: UserId) {
        let Some(anew) = &mut self.reconnects else { return };
        let (scenario, user) = (user.scenario(), user.index().at());
        for (pool, users) in anew.states.iter_mut().enumerate() {
            if self.pools.scenario(PoolId::of(pool)) == scenario
                && let Some(stand) = users.get_mut(user)
            {
                *stand = ReconnectState::Unused;
            }
        }
    }
}
