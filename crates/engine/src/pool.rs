//! Connections of one worker by origin: which have room, who waits for one, when to open more. Scenarios share none: each has
//! pools of its own, so that one whose server stands still takes no connection from another.

use std::collections::VecDeque;

use measure::Nanos;
use measure::random::Rng;
use wire::{Errno, FaultKind, Origin, Phase, Place, SecureChannel, Session};

use crate::failing::{Cause, kind_of};
use crate::ids::{ConnId, ExchangeId, OriginId, PoolId, ScenarioId, UserId};
use crate::limits::Limits;
use crate::patience::{LONGEST, LONGEST_OF_ARRIVALS, Setbacks};

/// Not among the idle ones.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// One connection as the engine sees it: one cache line, at the index the network gave it.
#[repr(align(64))]
pub(crate) struct Conn {
    /// The conversation; None until the connection stands.
    pub session: Option<Box<dyn Session>>,
    /// TLS between network and session. Most have none, which takes one word.
    pub secure: Option<Box<Channel>>,
    pub pool: PoolId,
    /// Exchanges on it.
    in_flight: u32,
    /// The last one submitted; with one in flight the only one.
    pub last: ExchangeId,
    /// The user it belongs to (closed load); [`UserId::NONE`]: whoever comes.
    pub user: UserId,
    /// Position among the idle ones of its pool; [`NOWHERE`]: it is none of them.
    pub idle_at: u32,
    pub stage: Stage,
    /// What is known of it: [`SERVED`], [`PROVED`], [`BEATING`], [`SPARE`].
    marks: u8,
    /// When its room became free.
    pub free_since: Nanos,
    /// When its opening, then its handshake, began; on a standing connection, when its last heartbeat was sent, or would have
    /// been for its first one to be due in time.
    pub since: Nanos,
}

/// A channel behind a pointer of one word.
pub(crate) struct Channel(pub Box<dyn SecureChannel>);

/// It has carried a request before.
pub(crate) const SERVED: u8 = 1;
/// It has been of use: something was answered on it.
pub(crate) const PROVED: u8 = 2;
/// Its heartbeat has no answer yet.
pub(crate) const BEATING: u8 = 4;
/// Its user is done, and nobody needs it: it is kept for a final read.
pub(crate) const SPARE: u8 = 8;

const _: () = assert!(size_of::<Conn>() == 64, "one cache line");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Vacant,
    Connecting,
    Handshaking,
    /// The session shakes hands of its own.
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
            idle_at: NOWHERE,
            stage: Stage::Vacant,
            marks: 0,
            free_since: Nanos::ZERO,
            since: Nanos::ZERO,
        }
    }

    /// One that is being connected since `now`.
    pub fn dialled(pool: PoolId, now: Nanos) -> Conn {
        Conn { pool, stage: Stage::Connecting, since: now, ..Conn::vacant() }
    }

    /// Exchanges on it.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// An exchange is on it from now on; true where it had carried one before.
    #[inline]
    pub fn begins(&mut self, id: ExchangeId) -> bool {
        self.in_flight += 1;
        self.last = id;
        self.mark(SERVED, true)
    }

    /// An exchange is on it no more.
    #[inline]
    pub fn ends(&mut self) {
        self.in_flight -= 1;
    }

    /// True where this is known of it.
    #[inline]
    pub fn is(&self, mark: u8) -> bool {
        self.marks & mark != 0
    }

    /// This is known of it from now on, or is not so any more; whether it was so before.
    #[inline]
    pub fn mark(&mut self, mark: u8, on: bool) -> bool {
        let was = self.is(mark);
        self.marks = if on { self.marks | mark } else { self.marks & !mark };
        was
    }
}

/// The connections of one scenario.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    /// Arrivals share them; else users have their own.
    pub open: bool,
    /// So many of this worker.
    pub most: u32,
    /// Open, or being opened.
    pub count: u32,
}

impl Group {
    /// True where as many as may be are.
    pub fn is_full(&self) -> bool {
        self.count >= self.most
    }
}

/// The pools of a worker, one an origin and scenario.
#[derive(Debug)]
pub(crate) struct Pools {
    all: Vec<Pool>,
    groups: Vec<Group>,
    /// Origins of each scenario that were known before the run.
    origins: u32,
    /// When pools that were refused try again.
    retry_at: Nanos,
    /// Which address a pool uses first.
    first: usize,
    /// Exchanges that share a connection.
    shared: u32,
    /// One exchange a connection.
    one_shot: bool,
}

impl Pools {
    /// To these origins, of each of the scenarios, of the worker with this number.
    pub fn new(origins: &[(Origin, Vec<Place>)], index: u32, groups: Vec<Group>) -> Pools {
        let first = index as usize;
        let of = |group| {
            let pool =
                move |(origin, places): &(Origin, Vec<Place>)| Pool::new(origin.clone(), places.clone(), first, group);
            origins.iter().map(pool)
        };
        let all = (0..groups.len()).map(ScenarioId::of).flat_map(of).collect();
        let (shared, one_shot) = (1, false);
        Pools { all, origins: origins.len() as u32, groups, retry_at: Nanos::MAX, first, shared, one_shot }
    }

    /// The same of a run in which so many exchanges share a connection, or each has one of its own.
    pub fn serving(self, limits: &Limits) -> Pools {
        Pools { shared: limits.shared, one_shot: limits.one_shot, ..self }
    }

    /// The pool of a scenario to one of the origins that were known before the run.
    #[inline]
    pub fn of(&self, scenario: ScenarioId, origin: OriginId) -> PoolId {
        PoolId(scenario.0 * self.origins + origin.0)
    }

    /// Where the connections of a pool lead.
    pub fn leads_to(&self, pool_id: PoolId) -> OriginId {
        OriginId(pool_id.0 - self.scenario(pool_id).0 * self.origins)
    }

    /// The connections that those of a pool are among.
    #[inline]
    pub fn group(&self, pool_id: PoolId) -> &Group {
        &self.groups[self.all[pool_id.at()].group.at()]
    }

    /// The same, to count.
    #[inline]
    pub fn group_mut(&mut self, pool_id: PoolId) -> &mut Group {
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

    /// The scenario whose connections a pool has.
    pub fn scenario(&self, pool: PoolId) -> ScenarioId {
        self.get(pool).group
    }

    /// The other pools of the same scenario.
    pub fn beside(&self, pool_id: PoolId) -> impl Iterator<Item = PoolId> + '_ {
        let group = self.get(pool_id).group;
        self.numbers().filter(move |other| *other != pool_id && self.get(*other).group == group)
    }

    /// True where connections are opened for whoever comes first, and not by a user or for one request.
    pub fn are_shared(&self, pool_id: PoolId) -> bool {
        self.shared > 1 || (self.group(pool_id).open && !self.one_shot)
    }

    /// An idle connection to another origin of the same scenario: at the bound of connections it makes room.
    pub fn spare(&self, pool_id: PoolId) -> Option<ConnId> {
        self.beside(pool_id).find_map(|other| self.get(other).idle.first().copied())
    }

    /// Why a connection could not even be begun.
    pub fn not_dialled(&self, pool_id: PoolId, errno: Errno) -> Cause<'static> {
        let (kind, phase) = match self.get(pool_id).places.is_empty() {
            true => (FaultKind::Resolve, Phase::Resolve),
            false => (kind_of(Some(errno)), Phase::Connect),
        };
        Cause::new(kind, phase).of_system(Some(errno))
    }

    /// The numbers of all of them.
    pub fn numbers(&self) -> impl Iterator<Item = PoolId> + use<> {
        (0..self.all.len()).map(PoolId::of)
    }

    /// The pool of a scenario to an origin, new where a redirect leads somewhere new.
    pub fn number_of(&mut self, scenario: ScenarioId, origin: &Origin) -> PoolId {
        if let Some(known) = self.all.iter().position(|pool| pool.group == scenario && pool.origin == *origin) {
            return PoolId::of(known);
        }
        self.all.push(Pool::new(origin.clone(), Vec::new(), self.first, scenario));
        PoolId::of(self.all.len() - 1)
    }

    /// Connections being opened for whoever comes first.
    pub fn opening(&self) -> u32 {
        self.all.iter().map(|pool| pool.opening).sum()
    }

    /// Requests that wait for a connection.
    pub fn waiting(&self) -> u64 {
        self.all.iter().map(|pool| pool.waiting.len() as u64).sum()
    }

    /// When pools that were refused try again.
    #[inline]
    pub fn retry_at(&self) -> Nanos {
        self.retry_at
    }

    /// They are asked again no later than then.
    pub fn retry_by(&mut self, at: Nanos) {
        self.retry_at = self.retry_at.min(at);
    }

    /// It is time: those whose pause is over and where somebody waits.
    pub fn ready_again(&mut self, now: Nanos) -> Vec<PoolId> {
        let paused = self.all.iter().map(|pool| pool.setbacks.until).filter(|until| *until > now);
        self.retry_at = paused.min().unwrap_or(Nanos::MAX);
        let ready = |pool: &Pool| pool.setbacks.until <= now && !pool.waiting.is_empty();
        self.numbers().filter(|pool_id| ready(self.get(*pool_id))).collect()
    }

    /// The longest pause after attempts in vain.
    fn longest_pause(&self, pool_id: PoolId) -> Nanos {
        if self.group(pool_id).open { LONGEST_OF_ARRIVALS } else { LONGEST }
    }

    /// An attempt came to nothing: one at a time is made from now on, and none before a pause.
    pub fn set_back(&mut self, pool_id: PoolId, now: Nanos, rng: &mut Rng) {
        let longest = self.longest_pause(pool_id);
        let pool = self.get_mut(pool_id);
        pool.at_once = 1;
        let until = pool.setbacks.add(now, longest, rng);
        self.retry_by(until);
    }

    /// A pool opens a connection. After a setback the next one has to wait until this one has shown what it is worth; where
    /// the one before is still there, that halves the pause.
    pub fn tries(&mut self, pool_id: PoolId, now: Nanos, rng: &mut Rng) {
        let longest = self.longest_pause(pool_id);
        let pool = self.get_mut(pool_id);
        pool.opening += 1;
        if pool.setbacks.any() {
            if pool.setbacks.tries_again() {
                pool.at_once = pool.at_once.saturating_mul(2);
            }
            let until = pool.setbacks.pause(now, longest, rng);
            self.retry_by(until);
        }
    }

    /// A connection that was begun at `since` was of use: a pool that was held back grows again, twice as many at a time with
    /// each that was begun since.
    pub fn proved(&mut self, pool_id: PoolId, since: Nanos, now: Nanos) {
        let pool = self.get_mut(pool_id);
        if pool.at_once < u32::MAX && pool.setbacks.are_before(since) {
            pool.at_once = pool.at_once.saturating_mul(2);
            pool.setbacks = Setbacks::default();
            self.retry_at = now;
        }
    }
}

/// The connections to one origin.
#[derive(Debug)]
pub(crate) struct Pool {
    pub origin: Origin,
    pub places: Vec<Place>,
    /// Whose they are: the number of the scenario.
    group: ScenarioId,
    next_place: usize,
    turn: usize,
    /// Connections with room; the last one was used last and is taken first.
    pub idle: Vec<ConnId>,
    /// Since when there has been one without a break.
    pub idle_since: Nanos,
    /// Arrivals that found none, oldest first.
    pub waiting: VecDeque<ExchangeId>,
    /// Being opened for whoever comes first.
    pub opening: u32,
    /// Standing, or being opened for one exchange.
    pub alive: u32,
    /// Attempts to open one that came to nothing.
    pub setbacks: Setbacks,
    /// So many are opened at a time, at most.
    pub at_once: u32,
    /// A look-up is under way.
    pub looking_up: bool,
    /// When the last look-up was asked for.
    pub looked_up: Nanos,
    /// Why it found nothing.
    pub unknown: Option<cause::Cause>,
}

impl Pool {
    pub fn new(origin: Origin, places: Vec<Place>, first: usize, group: ScenarioId) -> Pool {
        Pool {
            origin,
            places,
            group,
            next_place: first,
            turn: 0,
            idle: Vec::new(),
            idle_since: Nanos::ZERO,
            waiting: VecDeque::new(),
            opening: 0,
            alive: 0,
            setbacks: Setbacks::default(),
            at_once: u32::MAX,
            looking_up: false,
            looked_up: Nanos::ZERO,
            unknown: None,
        }
    }

    /// The address for the next connection: all of them in turn.
    pub fn place(&mut self) -> Option<Place> {
        let place = self.places.get(self.next_place % self.places.len().max(1))?.clone();
        self.next_place = self.next_place.wrapping_add(1);
        Some(place)
    }

    #[inline]
    pub fn make_idle(&mut self, conns: &mut [Conn], conn: ConnId) {
        conns[conn.at()].idle_at = self.idle.len() as u32;
        if self.idle.is_empty() {
            self.idle_since = conns[conn.at()].free_since;
        }
        self.idle.push(conn);
    }

    /// Puts an idle connection on top: it is taken next.
    #[inline]
    pub fn prefer(&mut self, conns: &mut [Conn], conn: ConnId) {
        let (at, last) = (conns[conn.at()].idle_at as usize, self.idle.len() - 1);
        self.idle.swap(at, last);
        conns[self.idle[at].at()].idle_at = at as u32;
        conns[conn.at()].idle_at = last as u32;
    }

    /// The idle connection to use: the last one used, or each in turn.
    #[inline]
    pub fn choose(&mut self, in_turn: bool) -> Option<ConnId> {
        if !in_turn {
            return self.idle.last().copied();
        }
        self.turn = self.turn.wrapping_add(1);
        self.idle.get(self.turn % self.idle.len().max(1)).copied()
    }

    #[inline]
    pub fn unmake_idle(&mut self, conns: &mut [Conn], conn: ConnId) {
        let at = std::mem::replace(&mut conns[conn.at()].idle_at, NOWHERE);
        if at == NOWHERE {
            return;
        }
        self.idle.swap_remove(at as usize);
        if let Some(&moved) = self.idle.get(at as usize) {
            conns[moved.at()].idle_at = at;
        }
    }
}
