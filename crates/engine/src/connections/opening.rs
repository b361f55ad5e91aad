//! Opening connections: for one request, for whoever comes first, or ahead; and from a connection that is connected to one
//! that takes exchanges. TLS and the protocol's own handshake are phases of their own; the connect timeout covers each.

use measure::Nanos;
use wire::{Belongs, Broken, Errno, ExchangeId, FaultKind, Fed, Fill, Network, Phase, Values};

use crate::exchange::{NONE, Standing};
use crate::links::{Cut, Led, Step};
use crate::memories::Memories;
use crate::outcome::Outcome;
use crate::pool::{Pools, Stage};

use super::Connections;
use super::failing::Cause;

/// Addresses are looked up again at most so often.
const LOOKUP_PAUSE: Nanos = Nanos::from_secs(1);

/// The kind of failure an errno means.
pub(crate) fn kind_of(errno: Option<Errno>) -> FaultKind {
    match errno.map(|e| e.0) {
        None => FaultKind::Closed,
        Some(libc::ECONNREFUSED | libc::ENOENT) => FaultKind::Refused,
        Some(libc::EHOSTUNREACH | libc::ENETUNREACH) => FaultKind::Unreachable,
        Some(libc::EADDRNOTAVAIL) => FaultKind::NoPorts,
        Some(libc::EMFILE | libc::ENFILE) => FaultKind::NoDescriptors,
        Some(libc::ECONNRESET | libc::EPIPE | libc::ECONNABORTED) => FaultKind::Reset,
        Some(libc::ETIMEDOUT) => FaultKind::Timeout,
        Some(_) => FaultKind::Io,
    }
}

/// Where a connection to this origin leads, for this user.
fn led<'a>(
    pools: &'a Pools,
    memories: Option<&'a Memories>,
    (origin, user, fill): (u32, u32, Option<Fill<'static>>),
) -> Led<'a> {
    let values = memories.map_or(Values::NONE, |memories| memories.values_of(user));
    Led { origin: &pools.get(origin).origin, user, fill: fill.map(|fill| Fill { values, ..fill }) }
}

impl<N: Network> Connections<N> {
    /// A connection opened ahead stands or has failed.
    pub(super) fn opened_ahead_or_failed(&mut self) {
        self.ahead = self.ahead.saturating_sub(1);
    }

    /// No idle connection: open one for this exchange (closed load, one exchange a connection), or wait for the first to
    /// become free while the pool grows (open load).
    pub(crate) fn open_for(&mut self, id: ExchangeId, origin: u32) {
        let at_limit = self.pools.group(origin).open && self.pools.group(origin).is_full();
        let x = *self.flights.get(id);
        if self.pools.get(origin).places.is_empty() || at_limit || self.is_pooled(origin) {
            self.books.counts().limited += u64::from(at_limit && !x.warmup);
            self.flights.watch(id, x.intended);
            self.pools.get_mut(origin).waiting.push_back(id);
            return self.grow(origin);
        }
        self.dial_for(id, origin, if x.is_held_back() { self.stamp } else { x.intended });
    }

    /// Opens a connection that belongs to one exchange: its start is now, and service includes the opening.
    /// `ready` is when a connection was permitted: what came before is the bound's fault, what comes after ours.
    pub(crate) fn dial_for(&mut self, id: ExchangeId, origin: u32, ready: Nanos) {
        // What was done since the last reading (closing the connection before this one) is no part of this request.
        self.mark();
        let now = self.stamp;
        let x = self.flights.get(id);
        x.state = Standing::Connecting;
        if x.resent == 0 {
            self.books.started(x, ready, now);
        }
        self.flights.watch(id, now);
        match self.dial(origin) {
            Ok(conn) => {
                self.links.conn_mut(conn).last = id.0;
                self.flights.get(id).conn = conn;
            }
            Err(errno) => {
                self.books.counts().connections.failed += 1;
                let cause = Cause::new(kind_of(Some(errno)), Phase::Connect).of_system(Some(errno));
                self.fail_now(id, &cause, true);
            }
        }
    }

    /// True where connections are opened for whoever comes first, and not by a user or for one request.
    pub(crate) fn is_pooled(&self, origin: u32) -> bool {
        self.limits.shared > 1 || (self.pools.group(origin).open && !self.limits.one_shot)
    }

    /// Begins to connect. The caller has just read the clock: the call itself may take longer than what is left after it.
    pub(crate) fn dial(&mut self, origin: u32) -> Result<u32, Errno> {
        let to = self.pools.get_mut(origin).place().ok_or(Errno(libc::EADDRNOTAVAIL))?;
        let conn = self.links.dial(origin, to, self.stamp)?;
        self.pools.group_mut(origin).count += 1;
        Ok(conn)
    }

    /// Opens what those who wait may use.
    pub(crate) fn grow(&mut self, origin: u32) {
        if self.pools.get(origin).places.is_empty() {
            return self.look_up(origin);
        }
        let owned = self.belongs(origin) == Belongs::ToUser;
        if self.limits.one_shot || owned || (!self.pools.group(origin).open && self.limits.shared == 1) {
            return self.open_for_each(origin);
        }
        let shared = self.limits.shared as usize;
        while (self.pools.get(origin).opening as usize * shared) < self.pools.get(origin).waiting.len() {
            if self.pools.group(origin).is_full() && !self.spare_one(origin) {
                return;
            }
            let pool = self.pools.get(origin);
            if self.stamp < pool.setbacks.until || pool.opening >= pool.at_once {
                return;
            }
            self.mark();
            match self.dial(origin) {
                Ok(_) => self.pool_tries(origin),
                Err(errno) => {
                    self.books.counts().connections.failed += 1;
                    let cause = Cause::new(kind_of(Some(errno)), Phase::Connect).of_system(Some(errno));
                    self.growth_failed(origin, &cause);
                }
            }
        }
    }

    /// Each of those who wait has a connection opened for it.
    fn open_for_each(&mut self, origin: u32) {
        while !self.pools.group(origin).is_full() {
            let Some(id) = self.pools.get_mut(origin).waiting.pop_front() else { return };
            let ready = self.stamp.max(self.flights.get(id).intended);
            self.dial_for(id, origin, ready);
        }
    }

    /// At the bound of connections: an idle one to another origin makes room.
    pub(crate) fn spare_one(&mut self, origin: u32) -> bool {
        let other = self.pools.beside(origin).find(|other| !self.pools.get(*other).idle.is_empty());
        match other.and_then(|other| self.pools.get(other).idle.first().copied()) {
            Some(conn) => {
                self.say_goodbye(conn);
                true
            }
            None => false,
        }
    }

    /// Near the bound of connections, what one origin has no use for serves those who wait for another.
    pub(crate) fn grow_others(&mut self, origin: u32) {
        let group = self.pools.group(origin);
        let near = group.open && group.count + 1 >= group.most;
        if !near || self.pools.all().len() < 2 {
            return;
        }
        let others: Vec<u32> = self.pools.beside(origin).collect();
        for other in others {
            if !self.pools.get(other).waiting.is_empty() {
                self.grow(other);
            }
        }
    }

    /// Opens a connection that belongs to nobody yet.
    pub(crate) fn open_ahead(&mut self, origin: u32) -> bool {
        self.mark();
        let opened = self.dial(origin);
        match opened {
            Ok(_) => self.pool_tries(origin),
            Err(errno) => {
                self.books.counts().connections.failed += 1;
                self.pool_set_back(origin);
                let cause = self.not_dialled(origin, errno);
                self.connection_failed(&cause);
            }
        }
        opened.is_ok()
    }

    /// Why a connection could not even be begun.
    pub(crate) fn not_dialled(&self, origin: u32, errno: Errno) -> Cause<'static> {
        let (kind, phase) = match self.pools.get(origin).places.is_empty() {
            true => (FaultKind::Resolve, Phase::Resolve),
            false => (kind_of(Some(errno)), Phase::Connect),
        };
        Cause::new(kind, phase).of_system(Some(errno))
    }

    fn look_up(&mut self, origin: u32) {
        let pool = self.pools.get_mut(origin);
        if pool.unknown.is_some() && self.stamp < pool.looked_up + LOOKUP_PAUSE {
            return self.fail_unknown(origin);
        }
        if !std::mem::replace(&mut pool.looking_up, true) {
            pool.looked_up = self.stamp;
            self.lookups.ask(origin, &pool.origin);
        }
    }

    /// Nobody knows the way: those who wait for it fail.
    fn fail_unknown(&mut self, origin: u32) {
        let pool = self.pools.get_mut(origin);
        let why = pool.unknown.clone();
        for id in std::mem::take(&mut pool.waiting) {
            self.fail_now(id, &Cause::new(FaultKind::Resolve, Phase::Resolve).saying(why.as_ref()), true);
        }
    }

    /// Answers of look-ups.
    pub(crate) fn looked_up(&mut self) {
        while let Some((origin, found)) = self.lookups.found() {
            let pool = self.pools.get_mut(origin);
            pool.looking_up = false;
            match found {
                Ok(places) => {
                    (pool.places, pool.unknown) = (places, None);
                    self.grow(origin);
                }
                Err(why) if pool.places.is_empty() => {
                    pool.unknown = Some(why);
                    self.fail_unknown(origin);
                }
                Err(_) => {}
            }
        }
    }

    /// When connections fail, addresses are looked up again, at most once a second.
    pub(crate) fn consider_lookup(&mut self, origin: u32) {
        if self.stamp >= self.pools.get(origin).looked_up + LOOKUP_PAUSE {
            self.look_up(origin);
        }
    }

    /// It is connected, perhaps to a proxy only.
    pub(crate) fn connected(&mut self, conn: u32) {
        self.mark();
        let c = self.links.conn(conn);
        let (origin, since) = (c.origin, c.since);
        let (user, fill) = self.opened_with(conn);
        let led = led(&self.pools, self.memories.as_ref(), (origin, user, fill));
        let step = self.links.connected(conn, led, self.stamp);
        self.has_reached(since, &step);
        self.step(conn, step);
    }

    /// Connecting is over once the target is reached.
    fn has_reached(&mut self, since: Nanos, step: &Result<Step, Cut>) {
        if !matches!(step, Ok(Step::Tunnelling) | Err(Cut { kind: FaultKind::Proxy, .. })) {
            self.books.times().connect.record(self.stamp - since);
        }
    }

    /// The user whom a connection is opened for: its owner, or the one whose request waits for it; [`NONE`] where that may be
    /// anybody.
    fn opened_for(&mut self, conn: u32) -> u32 {
        let c = self.links.conn(conn);
        match (c.user, c.last) {
            (NONE, NONE) => NONE,
            (NONE, owner) => self.flights.get(ExchangeId(owner)).user,
            (user, _) => user,
        }
    }

    /// The same, and what the opening is filled with of a connection that will be that user's.
    fn opened_with(&mut self, conn: u32) -> (u32, Option<Fill<'static>>) {
        let user = self.opened_for(conn);
        let (origin, owner) = (self.links.conn(conn).origin, self.links.conn(conn).last);
        let owned = owner != NONE && self.belongs(origin) == Belongs::ToUser;
        (user, owned.then(|| self.flights.fill(ExchangeId(owner), self.stamp)))
    }

    /// An opening has come so far.
    fn step(&mut self, conn: u32, step: Result<Step, Cut>) {
        match step {
            Ok(Step::Stands) => self.stands(conn),
            Ok(Step::Opening | Step::Tunnelling) => self.links.flush(),
            Err(Cut { kind, why }) => self.break_off(conn, kind, None, why.as_ref()),
        }
    }

    /// Bytes went through TLS, or came from a proxy: what the session made of the plaintext; None where there was none, or the
    /// connection is gone.
    pub(crate) fn unsealed(&mut self, conn: u32, fed: Result<Fed, cause::Cause>) -> Option<Result<(), Broken>> {
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

    /// The proxy leads to the target from now on.
    fn led_through(&mut self, conn: u32) {
        let c = self.links.conn(conn);
        let (origin, since) = (c.origin, c.since);
        let (user, fill) = self.opened_with(conn);
        let led = led(&self.pools, self.memories.as_ref(), (origin, user, fill));
        let step = self.links.reached(conn, led, self.stamp);
        self.has_reached(since, &step);
        self.step(conn, step);
    }

    fn shaken_hands(&mut self, conn: u32) {
        let c = self.links.conn(conn);
        let origin = c.origin;
        self.books.times().tls.record(self.stamp - c.since);
        let resumed = self.links.handshake(conn).resumed;
        let connections = &mut self.books.counts().connections;
        connections.handshakes += 1;
        connections.resumed += u64::from(resumed);
        let (user, fill) = self.opened_with(conn);
        let led = led(&self.pools, self.memories.as_ref(), (origin, user, fill));
        let step = self.links.shaken_hands(conn, led, self.stamp);
        self.step(conn, Ok(step));
    }

    /// Bytes of the protocol's own handshake were read.
    pub(crate) fn greet_on(&mut self, conn: u32) {
        self.links.flush();
        let c = self.links.conn(conn);
        let (origin, since) = (c.origin, c.since);
        let step = self.links.greeted(conn, &self.pools.get(origin).origin, self.stamp);
        // It is over where the connection stands now, or where TLS goes on from here.
        if step.is_ok() && self.links.conn(conn).stage != Stage::Greeting {
            self.books.times().greeting.record(self.stamp - since);
        }
        self.step(conn, step);
    }

    /// The session takes exchanges from now on.
    fn stands(&mut self, conn: u32) {
        let c = self.links.conn(conn);
        let (owner, origin, user) = (c.last, c.origin, c.user);
        let counts = self.books.counts();
        counts.connections.opened += 1;
        counts.opening_messages += u64::from(self.links.session(conn).map_or(0, |session| session.opening_messages()));
        self.pools.get_mut(origin).alive += 1;
        self.first_heartbeat(conn);
        if owner == NONE {
            self.pools.get_mut(origin).opening -= 1;
            self.opened_ahead_or_failed();
            if user == NONE {
                self.offer(conn);
                self.grow(origin);
            } else {
                self.outcomes.push(Outcome::Connected { user });
            }
        } else {
            let id = ExchangeId(owner);
            let x = *self.flights.get(id);
            self.give_connection(x.user, conn);
            self.submit(id, conn, x.started);
        }
    }
}
