//! Connections of one worker by origin: which have room, who waits for one, when to open more. Scenarios share none: each has
//! pools of its own, so that one whose server stands still takes no connection from another.

use std::collections::VecDeque;

use measure::Nanos;
use measure::random::Rng;
use wire::{ExchangeId, Origin, Place, SecureChannel, Session};

use crate::exchange::NONE;
use crate::patience::{LONGEST, LONGEST_OF_ARRIVALS, Setbacks};

/// One connection as the engine sees it; lives at the index the network gave it.
pub(crate) struct Conn {
    /// The conversation; None until the connection stands.
    pub session: Option<Box<dyn Session>>,
    /// TLS between network and session.
    pub secure: Option<Box<dyn SecureChannel>>,
    pub origin: u32,
    pub stage: Stage,
    /// Exchanges on it.
    pub in_flight: u32,
    /// The last one submitted; with `in_flight == 1` the only one.
    pub last: u32,
    /// The user it belongs to (closed load); [`NONE`]: whoever comes.
    pub user: u32,
    /// Position among the idle ones of its origin.
    pub idle_at: u32,
    /// Whether it has carried a request before.
    pub served: bool,
    /// When its room became free.
    pub free_since: Nanos,
    /// Has been of use: something was answered on it.
    pub proved: bool,
    /// When its opening, then its handshake, began; on a standing connection, when its last heartbeat was sent, or would have
    /// been for its first one to be due in time.
    pub since: Nanos,
    /// That heartbeat has no answer yet.
    pub beating: bool,
}

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
            origin: 0,
            stage: Stage::Vacant,
            in_flight: 0,
            last: NONE,
            user: NONE,
            idle_at: NONE,
            served: false,
            proved: false,
            free_since: Nanos::ZERO,
            since: Nanos::ZERO,
            beating: false,
        }
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
        let all = (0..groups.len()).flat_map(of).collect();
        Pools { all, origins: origins.len() as u32, groups, retry_at: Nanos::MAX, first }
    }

    /// The pool of a scenario to one of the origins that were known before the run.
    #[inline]
    pub fn of(&self, scenario: usize, origin: u32) -> u32 {
        scenario as u32 * self.origins + origin
    }

    /// The connections that those of a pool are among.
    #[inline]
    pub fn group(&self, origin: u32) -> &Group {
        &self.groups[self.all[origin as usize].group]
    }

    /// The same, to count.
    #[inline]
    pub fn group_mut(&mut self, origin: u32) -> &mut Group {
        &mut self.groups[self.all[origin as usize].group]
    }

    #[inline]
    pub fn get(&self, origin: u32) -> &Pool {
        &self.all[origin as usize]
    }

    #[inline]
    pub fn get_mut(&mut self, origin: u32) -> &mut Pool {
        &mut self.all[origin as usize]
    }

    pub fn all(&self) -> &[Pool] {
        &self.all
    }

    pub fn all_mut(&mut self) -> &mut [Pool] {
        &mut self.all
    }

    /// The scenario whose connections a pool has.
    pub fn scenario(&self, pool: u32) -> usize {
        self.get(pool).group
    }

    /// The other pools of the same scenario.
    pub fn beside(&self, origin: u32) -> impl Iterator<Item = u32> + '_ {
        let group = self.get(origin).group;
        self.numbers().filter(move |other| *other != origin && self.get(*other).group == group)
    }

    /// The numbers of all of them.
    pub fn numbers(&self) -> std::ops::Range<u32> {
        0..self.all.len() as u32
    }

    /// The pool of a scenario to an origin, new where a redirect leads somewhere new.
    pub fn number_of(&mut self, scenario: usize, origin: &Origin) -> u32 {
        if let Some(known) = self.all.iter().position(|pool| pool.group == scenario && pool.origin == *origin) {
            return known as u32;
        }
        self.all.push(Pool::new(origin.clone(), Vec::new(), self.first, scenario));
        (self.all.len() - 1) as u32
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
    pub fn ready_again(&mut self, now: Nanos) -> Vec<u32> {
        let paused = self.all.iter().map(|pool| pool.setbacks.until).filter(|until| *until > now);
        self.retry_at = paused.min().unwrap_or(Nanos::MAX);
        let ready = |pool: &Pool| pool.setbacks.until <= now && !pool.waiting.is_empty();
        self.numbers().filter(|origin| ready(self.get(*origin))).collect()
    }

    /// The longest pause after attempts in vain.
    fn longest_pause(&self, origin: u32) -> Nanos {
        if self.group(origin).open { LONGEST_OF_ARRIVALS } else { LONGEST }
    }

    /// An attempt came to nothing: one at a time is made from now on, and none before a pause.
    pub fn set_back(&mut self, origin: u32, now: Nanos, rng: &mut Rng) {
        let longest = self.longest_pause(origin);
        let pool = self.get_mut(origin);
        pool.at_once = 1;
        let until = pool.setbacks.add(now, longest, rng);
        self.retry_by(until);
    }

    /// A pool opens a connection. After a setback the next one has to wait until this one has shown what it is worth; where
    /// the one before is still there, that halves the pause.
    pub fn tries(&mut self, origin: u32, now: Nanos, rng: &mut Rng) {
        let longest = self.longest_pause(origin);
        let pool = self.get_mut(origin);
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
    pub fn proved(&mut self, origin: u32, since: Nanos, now: Nanos) {
        let pool = self.get_mut(origin);
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
    group: usize,
    next_place: usize,
    turn: usize,
    /// Connections with room; the last one was used last and is taken first.
    pub idle: Vec<u32>,
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
    pub fn new(origin: Origin, places: Vec<Place>, first: usize, group: usize) -> Pool {
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
    pub fn make_idle(&mut self, conns: &mut [Conn], conn: u32) {
        conns[conn as usize].idle_at = self.idle.len() as u32;
        if self.idle.is_empty() {
            self.idle_since = conns[conn as usize].free_since;
        }
        self.idle.push(conn);
    }

    /// Puts an idle connection on top: it is taken next.
    #[inline]
    pub fn prefer(&mut self, conns: &mut [Conn], conn: u32) {
        let (at, last) = (conns[conn as usize].idle_at as usize, self.idle.len() - 1);
        self.idle.swap(at, last);
        conns[self.idle[at] as usize].idle_at = at as u32;
        conns[conn as usize].idle_at = last as u32;
    }

    /// The idle connection to use: the last one used, or each in turn.
    #[inline]
    pub fn choose(&mut self, in_turn: bool) -> Option<u32> {
        if !in_turn {
            return self.idle.last().copied();
        }
        self.turn = self.turn.wrapping_add(1);
        self.idle.get(self.turn % self.idle.len().max(1)).copied()
    }

    #[inline]
    pub fn unmake_idle(&mut self, conns: &mut [Conn], conn: u32) {
        let at = std::mem::replace(&mut conns[conn as usize].idle_at, NONE);
        if at == NONE {
            return;
        }
        self.idle.swap_remove(at as usize);
        if let Some(&moved) = self.idle.get(at as usize) {
            conns[moved as usize].idle_at = at;
        }
    }
}
