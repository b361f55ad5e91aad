//! Opening of connections: for one request, for any waiting request, or ahead; from connected to accepting exchanges.
//! TLS and the protocol's own handshake are phases of their own; the connect timeout covers each.

use measure::Nanos;
use wire::{Belongs, Broken, Errno, FaultKind, Fed, Fill, Network, Phase, Values};

use crate::exchange::Standing;
use crate::ids::{ConnId, ExchangeId, OriginId, PoolId, ScenarioId, UserId};
use crate::links::{Cut, Led, Step};
use crate::memories::Memories;
use crate::outcome::Outcome;
use crate::pool::{Pools, Stage};

use super::Connections;
use crate::failing::{Cause, kind_of};

/// Minimum time between two lookups of the addresses of an origin.
const LOOKUP_PAUSE: Nanos = Nanos::from_secs(1);

/// Returns the destination of a connection to this origin for this user.
fn led<'a>(
    pools: &'a Pools,
    memories: Option<&'a Memories>,
    (pool_id, user, fill): (PoolId, UserId, Option<Fill<'static>>),
) -> Led<'a> {
    let values = memories.map_or(Values::NONE, |memories| memories.values_of(user));
    Led { origin: &pools.get(pool_id).origin, user, fill: fill.map(|fill| Fill { values, ..fill }) }
}

impl<N: Network> Connections<N> {
    /// Handles an exchange without an idle connection: opens one for it (closed load, one exchange per connection), or
    /// queues it while the pool grows (open load).
    pub(crate) fn open_for(&mut self, id: ExchangeId, pool_id: PoolId) {
        let at_limit = self.pools.group(pool_id).open && self.pools.group(pool_id).is_full();
        let x = *self.traffic.flights.get(id);
        if self.pools.get(pool_id).places.is_empty() || at_limit || self.pools.are_shared(pool_id) {
            self.traffic.books.counts().limited += u64::from(at_limit && !x.warmup);
            self.traffic.flights.watch(id, x.intended);
            self.pools.get_mut(pool_id).waiting.push_back(id);
            return self.grow(pool_id);
        }
        self.dial_for(id, pool_id, if x.is_held_back() { self.traffic.stamp } else { x.intended });
    }

    /// Opens a connection owned by one exchange: its start is now, and its service time includes the opening. `ready`
    /// is when a connection became available: the time before is due to the limit, the time after to us.
    pub(crate) fn dial_for(&mut self, id: ExchangeId, pool_id: PoolId, ready: Nanos) {
        // Work done since the last reading (closing the previous connection) is no part of this request.
        self.mark();
        let now = self.traffic.stamp;
        let x = self.traffic.flights.get(id);
        x.state = Standing::Connecting;
        if x.resent == 0 {
            self.traffic.books.started(x, ready, now);
        }
        self.traffic.flights.watch(id, now);
        match self.dial(pool_id) {
            Ok(conn) => {
                self.links.conn_mut(conn).last = id;
                self.traffic.flights.get(id).conn = conn;
            }
            Err(errno) => {
                self.traffic.books.counts().connections.failed += 1;
                let cause = Cause::new(kind_of(Some(errno)), Phase::Connect).of_system(Some(errno));
                self.traffic.fail(id, &cause, true);
            }
        }
    }

    /// Begins to connect. The caller has just read the clock, because the call itself may take longer than the rest.
    pub(crate) fn dial(&mut self, pool_id: PoolId) -> Result<ConnId, Errno> {
        let to = self.pools.get_mut(pool_id).place().ok_or(Errno(libc::EADDRNOTAVAIL))?;
        let conn = self.links.dial(pool_id, to, self.traffic.stamp)?;
        self.pools.group_mut(pool_id).count += 1;
        Ok(conn)
    }

    /// Opens connections for waiting exchanges.
    pub(crate) fn grow(&mut self, pool_id: PoolId) {
        if self.pools.get(pool_id).places.is_empty() {
            return self.look_up(pool_id);
        }
        let owned = self.belongs(pool_id) == Belongs::ToUser;
        if self.traffic.limits.one_shot || owned || (!self.pools.group(pool_id).open && self.traffic.limits.shared == 1)
        {
            return self.open_for_each(pool_id);
        }
        let shared = self.traffic.limits.shared as usize;
        while (self.pools.get(pool_id).opening as usize * shared) < self.pools.get(pool_id).waiting.len() {
            if self.pools.group(pool_id).is_full() {
                // An idle connection to another origin is closed to make room.
                let Some(spare) = self.pools.spare(pool_id) else { return };
                self.say_goodbye(spare);
            }
            let pool = self.pools.get(pool_id);
            if self.traffic.stamp < pool.setbacks.until || pool.opening >= pool.at_once {
                return;
            }
            self.mark();
            match self.dial(pool_id) {
                Ok(_) => self.pools.tries(pool_id, self.traffic.stamp, &mut self.rng),
                Err(errno) => {
                    self.traffic.books.counts().connections.failed += 1;
                    let cause = Cause::new(kind_of(Some(errno)), Phase::Connect).of_system(Some(errno));
                    self.growth_failed(pool_id, &cause);
                }
            }
        }
    }

    /// Opens a connection for each waiting exchange.
    fn open_for_each(&mut self, pool_id: PoolId) {
        while !self.pools.group(pool_id).is_full() {
            let Some(id) = self.pools.get_mut(pool_id).waiting.pop_front() else { return };
            let ready = self.traffic.stamp.max(self.traffic.flights.get(id).intended);
            self.dial_for(id, pool_id, ready);
        }
    }

    /// Near the connection limit, grows the other pools: a connection that one origin does not need serves those who
    /// wait for another.
    pub(crate) fn grow_others(&mut self, pool_id: PoolId) {
        let group = self.pools.group(pool_id);
        let near = group.open && group.count + 1 >= group.most;
        if !near || self.pools.all().len() < 2 {
            return;
        }
        let others: Vec<PoolId> = self.pools.beside(pool_id).collect();
        for other in others {
            if !self.pools.get(other).waiting.is_empty() {
                self.grow(other);
            }
        }
    }

    /// Opens a connection ahead, owned by no user.
    pub(crate) fn open_ahead(&mut self, origin: OriginId) {
        let pool_id = self.pools.of(ScenarioId(0), origin);
        self.mark();
        match self.dial(pool_id) {
            Ok(_) => self.pools.tries(pool_id, self.traffic.stamp, &mut self.rng),
            Err(errno) => {
                self.traffic.books.counts().connections.failed += 1;
                self.pool_set_back(pool_id);
                let cause = self.pools.not_dialled(pool_id, errno);
                self.traffic.connection_failed(&cause);
            }
        }
    }

    fn look_up(&mut self, pool_id: PoolId) {
        let pool = self.pools.get_mut(pool_id);
        if pool.unknown.is_some() && self.traffic.stamp < pool.looked_up + LOOKUP_PAUSE {
            return self.fail_unknown(pool_id);
        }
        if !std::mem::replace(&mut pool.looking_up, true) {
            pool.looked_up = self.traffic.stamp;
            self.lookups.ask(pool_id, &pool.origin);
        }
    }

    /// Fails the waiting exchanges, if the address is unknown.
    fn fail_unknown(&mut self, pool_id: PoolId) {
        let pool = self.pools.get_mut(pool_id);
        let why = pool.unknown.clone();
        for id in std::mem::take(&mut pool.waiting) {
            self.traffic.fail(id, &Cause::new(FaultKind::Resolve, Phase::Resolve).saying(why.as_ref()), true);
        }
    }

    /// Processes the results of lookups.
    pub(crate) fn looked_up(&mut self) {
        while let Some((pool_id, found)) = self.lookups.found() {
            let pool = self.pools.get_mut(pool_id);
            pool.looking_up = false;
            match found {
                Ok(places) => {
                    (pool.places, pool.unknown) = (places, None);
                    self.grow(pool_id);
                }
                Err(why) if pool.places.is_empty() => {
                    pool.unknown = Some(why);
                    self.fail_unknown(pool_id);
                }
                Err(_) => {}
            }
        }
    }

    /// Looks addresses up again after failed connections, at most once a second.
    pub(crate) fn consider_lookup(&mut self, pool_id: PoolId) {
        if self.traffic.stamp >= self.pools.get(pool_id).looked_up + LOOKUP_PAUSE {
            self.look_up(pool_id);
        }
    }

    /// Handles an established TCP connection, possibly to a proxy only.
    pub(crate) fn connected(&mut self, conn: ConnId) {
        self.mark();
        let c = self.links.conn(conn);
        let (pool_id, since) = (c.pool, c.since);
        let (user, fill) = self.opened_with(conn);
        let led = led(&self.pools, self.traffic.memories.as_ref(), (pool_id, user, fill));
        let step = self.links.connected(conn, led, self.traffic.stamp);
        self.has_reached(since, &step);
        self.step(conn, step);
    }

    /// Records the connect time once the target is reached.
    fn has_reached(&mut self, since: Nanos, step: &Result<Step, Cut>) {
        if !matches!(step, Ok(Step::Tunnelling) | Err(Cut { kind: FaultKind::Proxy, .. })) {
            self.traffic.books.times().connect.record(self.traffic.stamp - since);
        }
    }

    /// Returns the user for whom a connection is opened: its owner, or the user of the request that waits for it, or
    /// [`UserId::NONE`] if it is shared; and the slot values of the opening, if that user will own the connection.
    fn opened_with(&mut self, conn: ConnId) -> (UserId, Option<Fill<'static>>) {
        let c = self.links.conn(conn);
        let (pool_id, owner) = (c.pool, c.last);
        let user = match (c.user, owner) {
            (UserId::NONE, ExchangeId::NONE) => UserId::NONE,
            (UserId::NONE, owner) => self.traffic.flights.get(owner).user,
            (user, _) => user,
        };
        let owned = owner != ExchangeId::NONE && self.belongs(pool_id) == Belongs::ToUser;
        (user, owned.then(|| self.traffic.flights.fill(owner, self.traffic.stamp)))
    }

    /// Acts on the step that an opening has reached.
    fn step(&mut self, conn: ConnId, step: Result<Step, Cut>) {
        match step {
            Ok(Step::Stands) => self.stands(conn),
            Ok(Step::Opening | Step::Tunnelling) => self.links.flush(),
            Err(Cut { kind, why }) => self.break_off(conn, kind, None, why.as_ref()),
        }
    }

    /// Processes bytes that went through TLS or came from a proxy; returns how the session parsed the plaintext, or
    /// `None` if there was none or the connection is gone.
    pub(crate) fn unsealed(&mut self, conn: ConnId, fed: Result<Fed, cause::Cause>) -> Option<Result<(), Broken>> {
        let in_tunnel = self.links.in_tunnel(conn);
        match fed {
            Err(why) => {
                self.break_off(conn, if in_tunnel { FaultKind::Proxy } else { FaultKind::Tls }, None, Some(&why));
                return None;
            }
            Ok(Fed::Established) if in_tunnel => self.led_through(conn),
            Ok(Fed::Established) => self.shaken_hands(conn),
            Ok(Fed::More | Fed::Ended) => {}
        }
        let read = self.links.read_plain(conn).unwrap_or(Ok(()));
        if fed == Ok(Fed::Ended) && read.is_ok() {
            self.settle(conn, None);
            self.ended_by_peer(conn, None, false);
            return None;
        }
        matches!(self.links.conn(conn).stage, Stage::Open | Stage::Greeting).then_some(read)
    }

    /// Handles a proxy tunnel that has been established.
    fn led_through(&mut self, conn: ConnId) {
        let c = self.links.conn(conn);
        let (pool_id, since) = (c.pool, c.since);
        let (user, fill) = self.opened_with(conn);
        let led = led(&self.pools, self.traffic.memories.as_ref(), (pool_id, user, fill));
        let step = self.links.reached(conn, led, self.traffic.stamp);
        self.has_reached(since, &step);
        self.step(conn, step);
    }

    fn shaken_hands(&mut self, conn: ConnId) {
        let c = self.links.conn(conn);
        let pool_id = c.pool;
        self.traffic.books.times().tls.record(self.traffic.stamp - c.since);
        let resumed = self.links.handshake(conn).resumed;
        let connections = &mut self.traffic.books.counts().connections;
        connections.handshakes += 1;
        connections.resumed += u64::from(resumed);
        let (user, fill) = self.opened_with(conn);
        let led = led(&self.pools, self.traffic.memories.as_ref(), (pool_id, user, fill));
        let step = self.links.shaken_hands(conn, led, self.traffic.stamp);
        self.step(conn, Ok(step));
    }

    /// Handles bytes of the protocol's own handshake.
    pub(crate) fn greet_on(&mut self, conn: ConnId) {
        self.links.flush();
        let c = self.links.conn(conn);
        let (pool_id, since) = (c.pool, c.since);
        let step = self.links.greeted(conn, &self.pools.get(pool_id).origin, self.traffic.stamp);
        // The handshake is over if the connection is open now, or if TLS goes on from here.
        if step.is_ok() && self.links.conn(conn).stage != Stage::Greeting {
            self.traffic.books.times().greeting.record(self.traffic.stamp - since);
        }
        self.step(conn, step);
    }

    /// Handles a connection whose session now takes exchanges.
    fn stands(&mut self, conn: ConnId) {
        let c = self.links.conn(conn);
        let (owner, pool_id, user) = (c.last, c.pool, c.user);
        let counts = self.traffic.books.counts();
        counts.connections.opened += 1;
        counts.opening_messages += u64::from(self.links.session(conn).map_or(0, |session| session.opening_messages()));
        self.pools.get_mut(pool_id).alive += 1;
        if let Some(beat) = &self.heartbeats {
            // Its first heartbeat is due within an interval.
            self.links.conn_mut(conn).since = self.traffic.stamp - beat.ahead(conn);
        }
        if owner == ExchangeId::NONE {
            self.pools.get_mut(pool_id).opening -= 1;
            if user == UserId::NONE {
                self.offer(conn);
                self.grow(pool_id);
            } else {
                self.traffic.outcomes.push(Outcome::Connected { user });
            }
        } else {
            let id = owner;
            let x = *self.traffic.flights.get(id);
            self.give_connection(x.user, conn);
            self.submit(id, conn, x.started);
        }
    }
}
