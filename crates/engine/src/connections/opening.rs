//! Opening of connections, for one request, for any waiting request, or ahead of time, until they accept exchanges. TLS
//! and the protocol's own handshake are separate phases; the connect timeout applies to each.

use brunt_contract::{
    ChannelProgress, ConnectionOwner, Errno, FaultKind, Network, Phase, ProtocolError, SlotContext, UserValues,
};
use brunt_measure::Nanos;

use crate::exchange::ExchangeState;
use crate::ids::{ConnId, ExchangeId, OriginId, PoolId, ScenarioId, UserId};
use crate::links::{Destination, OpeningError, OpeningStep};
use crate::outcome::UserOutcome;
use crate::pool::{ConnStage, Pools};
use crate::user_states::UserStates;

use super::WorkerConnections;
use crate::failure_cause::{FailureCause, kind_of};

/// Minimum time between two lookups of the addresses of an origin.
const LOOKUP_PAUSE: Nanos = Nanos::from_secs(1);

/// Returns the destination of a connection to this origin for this user.
fn destination<'a>(
    pools: &'a Pools,
    memories: Option<&'a UserStates>,
    (pool_id, user, fill): (PoolId, UserId, Option<SlotContext<'static>>),
) -> Destination<'a> {
    let values = memories.map_or(UserValues::NONE, |memories| memories.values_of(user));
    Destination { origin: &pools.get(pool_id).origin, user, fill: fill.map(|fill| SlotContext { values, ..fill }) }
}

impl<N: Network> WorkerConnections<N> {
    /// Handles an exchange that found no idle connection: opens one for it (closed load, or one exchange per
    /// connection), or queues it while the pool grows (open load).
    pub(crate) fn open_for(&mut self, id: ExchangeId, pool_id: PoolId) {
        let at_limit = self.pools.group(pool_id).by_arrivals && self.pools.group(pool_id).is_full();
        let x = *self.traffic.in_flight.get(id);
        if !self.pools.get(pool_id).has_address() || at_limit || self.pools.are_shared(pool_id) {
            self.traffic.recorder.counts().limited += u64::from(at_limit && !x.is_warmup());
            self.traffic.in_flight.watch(id, x.timed_from());
            self.pools.get_mut(pool_id).waiting.push_back(id);
            return self.grow(pool_id);
        }
        self.dial_for(id, pool_id, if x.is_held_back() { self.traffic.stamp } else { x.intended });
    }

    /// Opens a connection for one exchange, which starts now: its service time includes the opening. `ready` is the
    /// time from which a connection could be opened: the wait before it is caused by the connection limit, the wait
    /// after it by us.
    pub(crate) fn dial_for(&mut self, id: ExchangeId, pool_id: PoolId, ready: Nanos) {
        // Work done since the last reading (such as closing the previous connection) must not count for this request.
        self.read_clock();
        let now = self.traffic.stamp;
        let x = self.traffic.in_flight.get(id);
        x.state = ExchangeState::Connecting;
        if x.resent == 0 {
            self.traffic.recorder.started(x, (ready, self.freed_late), now);
        }
        self.traffic.in_flight.watch(id, now);
        match self.dial(pool_id) {
            Ok(conn) => {
                self.links.conn_mut(conn).last = id;
                self.traffic.in_flight.get(id).conn = conn;
            }
            Err(errno) => {
                self.traffic.recorder.counts().connections.failed += 1;
                let cause = FailureCause::new(kind_of(Some(errno)), Phase::Connect).with_errno(Some(errno));
                self.traffic.fail(id, &cause, true);
            }
        }
    }

    /// Starts connecting. The caller must have just read the clock, because the call itself may dominate the time
    /// taken.
    pub(crate) fn dial(&mut self, pool_id: PoolId) -> Result<ConnId, Errno> {
        let to = self.pools.get_mut(pool_id).next_address().ok_or(Errno(libc::EADDRNOTAVAIL))?;
        let conn = self.links.dial(pool_id, to, self.traffic.stamp)?;
        self.pools.group_mut(pool_id).count += 1;
        Ok(conn)
    }

    /// Opens connections for waiting exchanges.
    pub(crate) fn grow(&mut self, pool_id: PoolId) {
        if !self.pools.get(pool_id).has_address() {
            return self.look_up(pool_id);
        }
        let owned = self.belongs(pool_id) == ConnectionOwner::User;
        if self.traffic.limits.one_exchange_per_connection
            || owned
            || (!self.pools.group(pool_id).by_arrivals && self.traffic.limits.exchanges_per_connection == 1)
        {
            return self.open_for_each(pool_id);
        }
        let shared = self.traffic.limits.exchanges_per_connection as usize;
        while (self.pools.get(pool_id).opening as usize * shared) < self.pools.get(pool_id).waiting.len() {
            if self.pools.group(pool_id).is_full() {
                // An idle connection to another origin is closed to make room.
                let Some(spare) = self.pools.spare(pool_id) else { return };
                self.close_gracefully(spare);
            }
            let pool = self.pools.get(pool_id);
            if self.traffic.stamp < pool.backoff.until || pool.opening >= pool.max_opening {
                return;
            }
            self.read_clock();
            match self.dial(pool_id) {
                Ok(_) => self.pools.record_attempt(pool_id, self.traffic.stamp, &mut self.rng),
                Err(errno) => {
                    self.traffic.recorder.counts().connections.failed += 1;
                    let cause = FailureCause::new(kind_of(Some(errno)), Phase::Connect).with_errno(Some(errno));
                    self.growth_failed(pool_id, &cause);
                }
            }
        }
    }

    /// Opens a connection for each waiting exchange.
    fn open_for_each(&mut self, pool_id: PoolId) {
        while !self.pools.group(pool_id).is_full() {
            let Some(id) = self.pools.get_mut(pool_id).waiting.pop_front() else { return };
            let ready = self.traffic.stamp.max(self.traffic.in_flight.get(id).intended);
            self.dial_for(id, pool_id, ready);
        }
    }

    /// Grows the other pools of the scenario near the connection limit: a connection that one origin no longer needs
    /// makes room for requests that wait for another origin.
    pub(crate) fn grow_others(&mut self, pool_id: PoolId) {
        let group = self.pools.group(pool_id);
        let near = group.by_arrivals && group.count + 1 >= group.limit;
        if !near || self.pools.all().len() < 2 {
            return;
        }
        let others: Vec<PoolId> = self.pools.siblings(pool_id).collect();
        for other in others {
            if !self.pools.get(other).waiting.is_empty() {
                self.grow(other);
            }
        }
    }

    /// Opens a connection ahead of time, not owned by any user.
    pub(crate) fn preopen(&mut self, origin: OriginId) {
        let pool_id = self.pools.of(ScenarioId(0), origin);
        self.read_clock();
        match self.dial(pool_id) {
            Ok(_) => self.pools.record_attempt(pool_id, self.traffic.stamp, &mut self.rng),
            Err(errno) => {
                self.traffic.recorder.counts().connections.failed += 1;
                self.back_off_pool(pool_id);
                let cause = self.pools.connect_error(pool_id, errno);
                self.traffic.connection_failed(&cause);
            }
        }
    }

    fn look_up(&mut self, pool_id: PoolId) {
        let pool = self.pools.get_mut(pool_id);
        if pool.lookup_error.is_some() && self.traffic.stamp < pool.looked_up + LOOKUP_PAUSE {
            return self.fail_unknown(pool_id);
        }
        if !std::mem::replace(&mut pool.looking_up, true) {
            pool.looked_up = self.traffic.stamp;
            self.lookups.ask(pool_id, &pool.origin);
        }
    }

    /// Fails the waiting exchanges, because the origin's address is unknown.
    fn fail_unknown(&mut self, pool_id: PoolId) {
        let pool = self.pools.get_mut(pool_id);
        let why = pool.lookup_error.clone();
        for id in std::mem::take(&mut pool.waiting) {
            self.traffic.fail(
                id,
                &FailureCause::new(FaultKind::Resolve, Phase::Resolve).with_details(why.as_ref()),
                true,
            );
        }
    }

    /// Processes the results of lookups.
    pub(crate) fn looked_up(&mut self) {
        while let Some((pool_id, found)) = self.lookups.next_result() {
            let pool = self.pools.get_mut(pool_id);
            pool.looking_up = false;
            match found {
                Ok(places) => {
                    pool.set_addresses(places);
                    pool.lookup_error = None;
                    self.grow(pool_id);
                }
                Err(why) if !pool.has_address() => {
                    pool.lookup_error = Some(why);
                    self.fail_unknown(pool_id);
                }
                Err(_) => {}
            }
        }
    }

    /// Looks the addresses of all origins up again at the planned interval (`--dns-refresh`). Open connections stay.
    pub(crate) fn refresh_addresses(&mut self) {
        let Some(interval) = self.traffic.limits.dns_refresh else { return };
        self.refresh_at = self.traffic.stamp.saturating_add(interval);
        if !self.closing {
            self.pools.ids().for_each(|pool_id| self.look_up(pool_id));
        }
    }

    /// Repeats the address lookup after a failed connection, at most once a second.
    pub(crate) fn consider_lookup(&mut self, pool_id: PoolId) {
        if self.traffic.stamp >= self.pools.get(pool_id).looked_up + LOOKUP_PAUSE {
            self.look_up(pool_id);
        }
    }

    /// Handles an established TCP connection, which may only lead to a proxy.
    pub(crate) fn connected(&mut self, conn: ConnId) {
        self.read_clock();
        let c = self.links.conn(conn);
        let (pool_id, since) = (c.pool, c.since);
        let (user, fill) = self.opening_values(conn);
        let led = destination(&self.pools, self.traffic.user_states.as_ref(), (pool_id, user, fill));
        let step = self.links.connected(conn, led, self.traffic.stamp);
        self.record_connect_time(since, &step);
        self.apply_step(conn, step);
    }

    /// Records the connect time once the target is reached.
    fn record_connect_time(&mut self, since: Nanos, step: &Result<OpeningStep, OpeningError>) {
        if !matches!(step, Ok(OpeningStep::Tunnelling) | Err(OpeningError { kind: FaultKind::Proxy, .. })) {
            self.traffic.recorder.times().connect.record(self.traffic.stamp - since);
        }
    }

    /// Returns the user for whom a connection is opened (its owner, the user of the request that waits for it, or
    /// [`UserId::NONE`] if it is shared), and the slot values of the opening if that user will own the connection.
    fn opening_values(&mut self, conn: ConnId) -> (UserId, Option<SlotContext<'static>>) {
        let c = self.links.conn(conn);
        let (pool_id, owner) = (c.pool, c.last);
        let user = match (c.user, owner) {
            (UserId::NONE, ExchangeId::NONE) => UserId::NONE,
            (UserId::NONE, owner) => self.traffic.in_flight.get(owner).user,
            (user, _) => user,
        };
        let owned = owner != ExchangeId::NONE && self.belongs(pool_id) == ConnectionOwner::User;
        (user, owned.then(|| self.traffic.in_flight.fill(owner, self.traffic.stamp)))
    }

    /// Handles the step that an opening connection has reached.
    fn apply_step(&mut self, conn: ConnId, step: Result<OpeningStep, OpeningError>) {
        let (owner, read_late) = (self.links.conn(conn).last, self.gaps.read_late(self.traffic.stamp));
        if owner != ExchangeId::NONE {
            let x = self.traffic.in_flight.get(owner);
            x.delayed.add(read_late + self.gaps.began_late(x.started));
        }
        self.freed_late = read_late;
        match step {
            Ok(OpeningStep::Open) => self.connection_opened(conn),
            Ok(OpeningStep::Opening | OpeningStep::Tunnelling) => self.links.flush(),
            Err(OpeningError { kind, why }) => self.drop_connection(conn, kind, None, why.as_ref()),
        }
    }

    /// Processes bytes received through TLS or from a proxy. Returns the result of parsing the plaintext; `None` if
    /// there was none or the connection is gone.
    pub(crate) fn read_tls(
        &mut self,
        conn: ConnId,
        fed: Result<ChannelProgress, brunt_cause::Cause>,
    ) -> Option<Result<(), ProtocolError>> {
        let in_tunnel = self.links.in_tunnel(conn);
        match fed {
            Err(why) => {
                self.drop_connection(conn, if in_tunnel { FaultKind::Proxy } else { FaultKind::Tls }, None, Some(&why));
                return None;
            }
            Ok(ChannelProgress::Established) if in_tunnel => self.tunnel_established(conn),
            Ok(ChannelProgress::Established) => self.tls_established(conn),
            Ok(ChannelProgress::More | ChannelProgress::PeerFinished) => {}
        }
        let read = self.links.read_plain(conn).unwrap_or(Ok(()));
        if fed == Ok(ChannelProgress::PeerFinished) && read.is_ok() {
            self.process_events(conn, None);
            self.ended_by_peer(conn, None, false);
            return None;
        }
        matches!(self.links.conn(conn).stage, ConnStage::Open | ConnStage::Greeting).then_some(read)
    }

    /// Handles a proxy tunnel that has been established.
    fn tunnel_established(&mut self, conn: ConnId) {
        let c = self.links.conn(conn);
        let (pool_id, since) = (c.pool, c.since);
        let (user, fill) = self.opening_values(conn);
        let led = destination(&self.pools, self.traffic.user_states.as_ref(), (pool_id, user, fill));
        let step = self.links.reached(conn, led, self.traffic.stamp);
        self.record_connect_time(since, &step);
        self.apply_step(conn, step);
    }

    fn tls_established(&mut self, conn: ConnId) {
        let c = self.links.conn(conn);
        let pool_id = c.pool;
        self.traffic.recorder.times().tls.record(self.traffic.stamp - c.since);
        let resumed = self.links.handshake(conn).resumed;
        let connections = &mut self.traffic.recorder.counts().connections;
        connections.handshakes += 1;
        connections.resumed += u64::from(resumed);
        let (user, fill) = self.opening_values(conn);
        let led = destination(&self.pools, self.traffic.user_states.as_ref(), (pool_id, user, fill));
        let step = self.links.tls_established(conn, led, self.traffic.stamp);
        self.apply_step(conn, Ok(step));
    }

    /// Continues the protocol's own handshake with the bytes just read.
    pub(crate) fn continue_handshake(&mut self, conn: ConnId) {
        self.links.flush();
        let c = self.links.conn(conn);
        let (pool_id, since) = (c.pool, c.since);
        let step = self.links.handshake_read(conn, &self.pools.get(pool_id).origin, self.traffic.stamp);
        // The greeting is over if the connection is now open, or if TLS starts now.
        if step.is_ok() && self.links.conn(conn).stage != ConnStage::Greeting {
            self.traffic.recorder.times().greeting.record(self.traffic.stamp - since);
        }
        self.apply_step(conn, step);
    }

    /// Handles a connection that is now open.
    fn connection_opened(&mut self, conn: ConnId) {
        let c = self.links.conn(conn);
        let (owner, pool_id, user) = (c.last, c.pool, c.user);
        let counts = self.traffic.recorder.counts();
        counts.connections.opened += 1;
        counts.opening_messages += u64::from(self.links.session(conn).map_or(0, |session| session.opening_messages()));
        self.pools.get_mut(pool_id).live += 1;
        if let Some(beat) = &self.heartbeats {
            // The first heartbeat is due within one interval.
            self.links.conn_mut(conn).since = self.traffic.stamp - beat.initial_lead(conn);
        }
        if owner == ExchangeId::NONE {
            self.pools.get_mut(pool_id).opening -= 1;
            if user == UserId::NONE {
                self.offer(conn);
                self.grow(pool_id);
            } else {
                self.traffic.outcomes.push(UserOutcome::Connected { user });
            }
        } else {
            let id = owner;
            let x = *self.traffic.in_flight.get(id);
            self.assign_connection(x.user, conn);
            self.submit(id, conn, x.started);
        }
    }
}
