//! Connections of one worker by origin: which have room, which exchanges wait for one, and when to open more. Each
//! scenario has its own pools, so that a scenario whose server stalls takes no connections from another.

use std::collections::VecDeque;

use brunt_contract::{Errno, FaultKind, Origin, PeerAddress, Phase, SecureChannel, Session};
use brunt_measure::Nanos;
use brunt_measure::random::Rng;

use crate::backoff::{Backoff, MAX_ARRIVAL_PAUSE, MAX_PAUSE};
use crate::failure_cause::{FailureCause, kind_of};
use crate::ids::{ConnId, ExchangeId, OriginId, PoolId, ScenarioId, UserId};
use crate::limits::Limits;

/// Index of a connection that is not idle.
pub(crate) const NOT_IDLE: u32 = u32::MAX;

/// One connection as seen by the engine: one cache line, stored at the index assigned by the network.
#[repr(align(64))]
pub(crate) struct Conn {
    /// The session; `None` until the connection is open.
    pub session: Option<Box<dyn Session>>,
    /// TLS between network and session. Most connections have none, so it takes only one word.
    pub secure: Option<Box<Channel>>,
    pub pool: PoolId,
    /// Number of exchanges on the connection.
    in_flight: u32,
    /// The last exchange submitted, or the one for which the connection is being opened.
    pub last: ExchangeId,
    /// The user that owns the connection (closed load), or [`UserId::NONE`].
    pub user: UserId,
    /// Index among the idle connections of its pool, or [`NOT_IDLE`].
    pub idle_at: u32,
    pub stage: ConnStage,
    /// Flags: [`SERVED`], [`USEFUL`], [`HEARTBEAT_PENDING`], [`SPARE`],
    /// [`SENT_IN_PIECES`].
    flags: u8,
    /// Index of its address among those that the pool has ever had.
    pub address: u16,
    /// Time at which it last became free for an exchange.
    pub free_since: Nanos,
    /// Time at which its opening, or the current handshake, began. On an open connection with heartbeats, the time of
    /// the last one, or a fictitious time from which the first one is due.
    pub since: Nanos,
}

/// A TLS channel behind a thin pointer.
pub(crate) struct Channel {
    pub channel: Box<dyn SecureChannel>,
    /// Bytes of large sends that wait to be sealed.
    pub unsealed: Option<Box<brunt_net::SendBacklog>>,
}

impl From<Box<dyn SecureChannel>> for Channel {
    fn from(channel: Box<dyn SecureChannel>) -> Channel {
        Channel { channel, unsealed: None }
    }
}

/// Flag: the connection has carried a request.
pub(crate) const SERVED: u8 = 1;
/// Flag: the connection was useful, i.e. something was answered on it.
pub(crate) const USEFUL: u8 = 2;
/// Flag: a heartbeat is unanswered.
pub(crate) const HEARTBEAT_PENDING: u8 = 4;
/// Flag: the user is done, and the connection is kept only for the final read.
pub(crate) const SPARE: u8 = 8;
/// Flag: the last exchange submitted on it did not fit into the socket at once.
pub(crate) const SENT_IN_PIECES: u8 = 16;

const _: () = assert!(size_of::<Conn>() == 64, "one cache line");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnStage {
    Vacant,
    Connecting,
    Handshaking,
    /// The protocol's own handshake is under way.
    Greeting,
    Open,
}

impl Conn {
    pub fn vacant() -> Conn {
        Conn {
            session: None,
            secure: None,
            pool: PoolId(0),
            in_flight: 0,
            last: ExchangeId::NONE,
            user: UserId::NONE,
            idle_at: NOT_IDLE,
            stage: ConnStage::Vacant,
            flags: 0,
            address: 0,
            free_since: Nanos::ZERO,
            since: Nanos::ZERO,
        }
    }

    /// Creates a connection to one of the pool's addresses whose opening begins at `now`.
    pub fn connecting((pool, address): (PoolId, u16), now: Nanos) -> Conn {
        Conn { pool, address, stage: ConnStage::Connecting, since: now, ..Conn::vacant() }
    }

    /// Returns the number of exchanges on the connection.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Records that an exchange was submitted on the connection; returns `true` if it had carried one before.
    #[inline]
    pub fn begin_exchange(&mut self, id: ExchangeId) -> bool {
        self.in_flight += 1;
        self.last = id;
        self.flags &= !SENT_IN_PIECES;
        self.set_flag(SERVED, true)
    }

    /// Records that an exchange on the connection ended.
    #[inline]
    pub fn end_exchange(&mut self) {
        self.in_flight -= 1;
    }

    /// Returns `true` if this flag is set.
    #[inline]
    pub fn is_set(&self, mark: u8) -> bool {
        self.flags & mark != 0
    }

    /// Sets or clears a flag; returns whether it was set before.
    #[inline]
    pub fn set_flag(&mut self, mark: u8, on: bool) -> bool {
        let was = self.is_set(mark);
        self.flags = if on { self.flags | mark } else { self.flags & !mark };
        was
    }
}

/// The connections of one scenario.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolGroup {
    /// Set if arrivals share the connections; otherwise each user owns one.
    pub by_arrivals: bool,
    /// Maximum number of connections of this worker.
    pub limit: u32,
    /// Number of connections open or being opened.
    pub count: u32,
}

impl PoolGroup {
    /// Returns `true` if the maximum number of connections is reached.
    pub fn is_full(&self) -> bool {
        self.count >= self.limit
    }
}

/// The pools of a worker, one per origin and scenario.
#[derive(Debug)]
pub(crate) struct Pools {
    all: Vec<Pool>,
    groups: Vec<PoolGroup>,
    /// Number of origins of each scenario that were known before the run.
    origins: u32,
    /// Time at which pools that are backing off try again.
    retry_at: Nanos,
    /// Index of the address that each pool uses first.
    first_address: usize,
    /// Number of exchanges that share a connection.
    shared: u32,
    /// Set if each connection carries one exchange.
    one_shot: bool,
}

impl Pools {
    /// Creates the pools for these origins in each scenario, for the worker with this index.
    pub fn new(origins: &[(Origin, Vec<PeerAddress>)], index: u32, groups: Vec<PoolGroup>) -> Pools {
        let first = index as usize;
        let of = |group| {
            let pool = move |(origin, places): &(Origin, Vec<PeerAddress>)| {
                Pool::new(origin.clone(), places.clone(), first, group)
            };
            origins.iter().map(pool)
        };
        let all = (0..groups.len()).map(ScenarioId::of).flat_map(of).collect();
        let (shared, one_shot) = (1, false);
        Pools {
            all,
            origins: origins.len() as u32,
            groups,
            retry_at: Nanos::MAX,
            first_address: first,
            shared,
            one_shot,
        }
    }

    /// Sets the number of exchanges per connection from the limits.
    pub fn with_limits(self, limits: &Limits) -> Pools {
        Pools { shared: limits.exchanges_per_connection, one_shot: limits.one_exchange_per_connection, ..self }
    }

    /// Returns the pool of a scenario for an origin that was known before the run.
    #[inline]
    pub fn of(&self, scenario: ScenarioId, origin: OriginId) -> PoolId {
        PoolId(scenario.0 * self.origins + origin.0)
    }

    /// Returns the origin of a pool.
    pub fn origin(&self, pool_id: PoolId) -> OriginId {
        OriginId(pool_id.0 - self.scenario(pool_id).0 * self.origins)
    }

    /// Returns the group of a pool.
    #[inline]
    pub fn group(&self, pool_id: PoolId) -> &PoolGroup {
        &self.groups[self.all[pool_id.at()].group.at()]
    }

    /// Returns the group of a pool, mutably.
    #[inline]
    pub fn group_mut(&mut self, pool_id: PoolId) -> &mut PoolGroup {
        &mut self.groups[self.all[pool_id.at()].group.at()]
    }

    #[inline]
    pub fn get(&self, pool_id: PoolId) -> &Pool {
        &self.all[pool_id.at()]
    }

    #[inline]
    pub fn get_mut(&mut self, pool_id: PoolId) -> &mut Pool {
        &mut self.all[pool_id.at()]
    }

    pub fn all(&self) -> &[Pool] {
        &self.all
    }

    pub fn all_mut(&mut self) -> &mut [Pool] {
        &mut self.all
    }

    /// Returns the scenario of a pool.
    pub fn scenario(&self, pool: PoolId) -> ScenarioId {
        self.get(pool).group
    }

    /// Returns the other pools of the same scenario.
    pub fn siblings(&self, pool_id: PoolId) -> impl Iterator<Item = PoolId> + '_ {
        let group = self.get(pool_id).group;
        self.ids().filter(move |other| *other != pool_id && self.get(*other).group == group)
    }

    /// Returns `true` if connections are opened for any waiting request, not for a specific user or request.
    pub fn are_shared(&self, pool_id: PoolId) -> bool {
        self.shared > 1 || (self.group(pool_id).by_arrivals && !self.one_shot)
    }

    /// Returns an idle connection to another origin of the same scenario, which can be closed to make room at the
    /// connection limit.
    pub fn spare(&self, pool_id: PoolId) -> Option<ConnId> {
        self.siblings(pool_id).find_map(|other| self.get(other).idle.first().copied())
    }

    /// Returns the cause of a connect call that failed immediately.
    pub fn connect_error(&self, pool_id: PoolId, errno: Errno) -> FailureCause<'static> {
        let (kind, phase) = match self.get(pool_id).has_address() {
            false => (FaultKind::Resolve, Phase::Resolve),
            true => (kind_of(Some(errno)), Phase::Connect),
        };
        FailureCause::new(kind, phase).with_errno(Some(errno))
    }

    /// Returns the ids of all pools.
    pub fn ids(&self) -> impl Iterator<Item = PoolId> + use<> {
        (0..self.all.len()).map(PoolId::of)
    }

    /// Returns the pool of a scenario for an origin, creating it if a redirect leads to a new one.
    pub fn get_or_create(&mut self, scenario: ScenarioId, origin: &Origin) -> PoolId {
        if let Some(known) = self.all.iter().position(|pool| pool.group == scenario && pool.origin == *origin) {
            return PoolId::of(known);
        }
        self.all.push(Pool::new(origin.clone(), Vec::new(), self.first_address, scenario));
        PoolId::of(self.all.len() - 1)
    }

    /// Returns the number of connections being opened for any waiting request.
    pub fn opening(&self) -> u32 {
        self.all.iter().map(|pool| pool.opening).sum()
    }

    /// Returns the number of requests that wait for a connection.
    pub fn waiting(&self) -> u64 {
        self.all.iter().map(|pool| pool.waiting.len() as u64).sum()
    }

    /// Returns when pools that are backing off try again.
    #[inline]
    pub fn retry_at(&self) -> Nanos {
        self.retry_at
    }

    /// Makes pools that are backing off try again at `at` at the latest.
    pub fn retry_by(&mut self, at: Nanos) {
        self.retry_at = self.retry_at.min(at);
    }

    /// Returns the pools whose pause is over and that have waiting requests.
    pub fn take_ready(&mut self, now: Nanos) -> Vec<PoolId> {
        let paused = self.all.iter().map(|pool| pool.backoff.until).filter(|until| *until > now);
        self.retry_at = paused.min().unwrap_or(Nanos::MAX);
        let ready = |pool: &Pool| pool.backoff.until <= now && !pool.waiting.is_empty();
        self.ids().filter(|pool_id| ready(self.get(*pool_id))).collect()
    }

    /// Returns the longest pause after failed attempts.
    fn longest_pause(&self, pool_id: PoolId) -> Nanos {
        if self.group(pool_id).by_arrivals { MAX_ARRIVAL_PAUSE } else { MAX_PAUSE }
    }

    /// Records a failed attempt. From now on, attempts are made one at a time, after a pause.
    pub fn back_off(&mut self, pool_id: PoolId, now: Nanos, rng: &mut Rng) {
        let longest = self.longest_pause(pool_id);
        let pool = self.get_mut(pool_id);
        pool.max_opening = 1;
        let until = pool.backoff.record_failure(now, longest, rng);
        self.retry_by(until);
    }

    /// Records an attempt to open a connection. After a failure, the next attempt waits until this one has proved
    /// useful, or for a pause, which is halved if the connection of the previous attempt is still open.
    pub fn record_attempt(&mut self, pool_id: PoolId, now: Nanos, rng: &mut Rng) {
        let longest = self.longest_pause(pool_id);
        let pool = self.get_mut(pool_id);
        pool.opening += 1;
        if pool.backoff.any() {
            if pool.backoff.record_attempt() {
                pool.max_opening = pool.max_opening.saturating_mul(2);
            }
            let until = pool.backoff.pause(now, longest, rng);
            self.retry_by(until);
        }
    }

    /// Records that a connection whose opening began at `since` was useful. In a pool that was held back, the number of
    /// connections opened at a time then doubles, unless an attempt has failed since.
    pub fn mark_useful(&mut self, pool_id: PoolId, since: Nanos, now: Nanos) {
        let pool = self.get_mut(pool_id);
        if pool.max_opening < u32::MAX && pool.backoff.all_before(since) {
            pool.max_opening = pool.max_opening.saturating_mul(2);
            pool.backoff = Backoff::default();
            self.retry_at = now;
        }
    }
}

/// The connections of one scenario to one origin.
#[derive(Debug)]
pub(crate) struct Pool {
    pub origin: Origin,
    /// Current addresses.
    addresses: Vec<PeerAddress>,
    /// For each current address, its index among the known ones.
    address_indexes: Vec<u16>,
    /// All addresses that the origin has ever had, so that a connection knows its own after they changed.
    known_addresses: Vec<PeerAddress>,
    /// The scenario to which the pool belongs.
    group: ScenarioId,
    next_address: usize,
    turn: usize,
    /// Connections with room, as a stack: the one used last is taken first.
    pub idle: Vec<ConnId>,
    /// Time since which at least one connection has been idle, and the delay of that which may be brunt's own.
    pub idle_since: (Nanos, Nanos),
    /// Exchanges that found no connection, oldest first.
    pub waiting: VecDeque<ExchangeId>,
    /// Number of connections being opened for any waiting request.
    pub opening: u32,
    /// Number of connections open.
    pub live: u32,
    /// Backoff after failed attempts to open a connection.
    pub backoff: Backoff,
    /// Maximum number of connections opened at a time.
    pub max_opening: u32,
    /// Set while a lookup is in progress.
    pub looking_up: bool,
    /// Time at which the last lookup was requested.
    pub looked_up: Nanos,
    /// Cause of the last failed lookup, if any.
    pub lookup_error: Option<brunt_cause::Cause>,
}

impl Pool {
    pub fn new(origin: Origin, places: Vec<PeerAddress>, first: usize, group: ScenarioId) -> Pool {
        let mut pool = Pool {
            origin,
            addresses: Vec::new(),
            address_indexes: Vec::new(),
            known_addresses: Vec::new(),
            group,
            next_address: first,
            turn: 0,
            idle: Vec::new(),
            idle_since: (Nanos::ZERO, Nanos::ZERO),
            waiting: VecDeque::new(),
            opening: 0,
            live: 0,
            backoff: Backoff::default(),
            max_opening: u32::MAX,
            looking_up: false,
            looked_up: Nanos::ZERO,
            lookup_error: None,
        };
        pool.set_addresses(places);
        pool
    }

    /// Returns `true` if the origin has an address.
    pub fn has_address(&self) -> bool {
        !self.addresses.is_empty()
    }

    /// Replaces the addresses.
    pub fn set_addresses(&mut self, places: Vec<PeerAddress>) {
        let known = &mut self.known_addresses;
        let index = |place: &PeerAddress| {
            let at = known.iter().position(|known| known == place).unwrap_or_else(|| {
                known.push(place.clone());
                known.len() - 1
            });
            u16::try_from(at).unwrap_or(u16::MAX)
        };
        self.address_indexes = places.iter().map(index).collect();
        self.addresses = places;
    }

    /// Returns the address for the next connection, with its index among the known ones; addresses are used in turn.
    pub fn next_address(&mut self) -> Option<(PeerAddress, u16)> {
        let at = self.next_address % self.addresses.len().max(1);
        let place = (self.addresses.get(at)?.clone(), self.address_indexes[at]);
        self.next_address = self.next_address.wrapping_add(1);
        Some(place)
    }

    /// Returns the sentence that names the address of a connection, if the origin has others.
    pub fn one_address(&self, address: u16) -> Option<brunt_cause::Cause> {
        let (of, host) = (self.addresses.len(), &*self.origin.host);
        let (PeerAddress::Tcp(place) | PeerAddress::Udp(place)) = self.known_addresses.get(usize::from(address))?
        else {
            return None;
        };
        (of > 1).then(|| brunt_cause::connecting::one_address(place.to_string(), of.to_string(), host))
    }

    #[inline]
    pub fn add_idle(&mut self, conns: &mut [Conn], conn: ConnId, freed_late: Nanos) {
        conns[conn.at()].idle_at = self.idle.len() as u32;
        if self.idle.is_empty() {
            self.idle_since = (conns[conn.at()].free_since, freed_late);
        }
        self.idle.push(conn);
    }

    /// Moves an idle connection to the top of the stack, so that it is taken next.
    #[inline]
    pub fn prefer(&mut self, conns: &mut [Conn], conn: ConnId) {
        let (at, last) = (conns[conn.at()].idle_at as usize, self.idle.len() - 1);
        self.idle.swap(at, last);
        conns[self.idle[at].at()].idle_at = at as u32;
        conns[conn.at()].idle_at = last as u32;
    }

    /// Returns the idle connection to use: the one used last or, with `in_turn`, each in turn.
    #[inline]
    pub fn choose_idle(&mut self, in_turn: bool) -> Option<ConnId> {
        if !in_turn {
            return self.idle.last().copied();
        }
        self.turn = self.turn.wrapping_add(1);
        self.idle.get(self.turn % self.idle.len().max(1)).copied()
    }

    #[inline]
    pub fn remove_idle(&mut self, conns: &mut [Conn], conn: ConnId) {
        let at = std::mem::replace(&mut conns[conn.at()].idle_at, NOT_IDLE);
        if at == NOT_IDLE {
            return;
        }
        self.idle.swap_remove(at as usize);
        if let Some(&moved) = self.idle.get(at as usize) {
            conns[moved.at()].idle_at = at;
        }
    }
}
