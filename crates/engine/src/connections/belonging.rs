//! Connections that are a user's while it goes through its flow: what is said on them may depend on what was said before (a
//! transaction), or they were opened with what only this user knows (a WebSocket).
//!
//! A user has at most one to each origin, from its first request there to the end of its iteration. What is lost with such a
//! connection is not made good in silence: the next request on it fails, and the one after that opens another.

use cause::Plain;
use measure::Nanos;
use wire::{Belongs, Dialogue, FaultKind, Network, Phase};

use crate::ids::{ConnId, ExchangeId, PoolId, UserId};

use super::Connections;
use crate::failing::Cause;

const LOST: Plain = cause::response::step_lost();
const BUSY: Plain = cause::response::step_busy();

/// What users have of their own, by user and origin.
#[derive(Debug)]
pub(crate) struct Belongings {
    /// By origin; those that redirects found are nobody's.
    belongs: Vec<Belongs>,
    /// Where an origin's connections stand among those of a user; None: they are nobody's.
    places: Vec<Option<u32>>,
    /// So many origins have such connections.
    each: usize,
    /// Of each scenario.
    conns: Vec<Vec<Own>>,
}

/// One user's connection to one origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Own {
    #[default]
    None,
    Is(ConnId),
    /// It was lost while nothing was under way on it.
    Lost,
}

impl Belongings {
    /// Of a dialogue with these origins; None where nothing is anybody's own.
    pub fn of(dialogue: &dyn Dialogue, scenarios: usize) -> Option<Belongings> {
        let belongs: Vec<Belongs> = dialogue.origins().iter().map(|origin| dialogue.belongs(origin)).collect();
        let mut each = 0;
        let place = |belongs: &Belongs| match belongs {
            Belongs::ToNobody => None,
            Belongs::ForIteration | Belongs::ToUser => {
                each += 1;
                Some(each as u32 - 1)
            }
        };
        let places = belongs.iter().map(place).collect();
        (each > 0).then(|| Belongings { belongs, places, each, conns: vec![Vec::new(); scenarios.max(1)] })
    }

    fn belongs(&self, pool_id: PoolId) -> Belongs {
        self.known(pool_id).map_or(Belongs::default(), |at| self.belongs[at])
    }

    /// The origin that a pool leads to, where it was known before the run: each scenario has pools of its own.
    fn known(&self, pool: PoolId) -> Option<usize> {
        let (pool, origins) = (pool.at(), self.belongs.len());
        (pool < origins * self.conns.len()).then(|| pool % origins)
    }

    /// What a user has to an origin whose connections are somebody's.
    fn own(&mut self, user: UserId, pool_id: PoolId) -> Option<&mut Own> {
        let place = self.known(pool_id).and_then(|at| self.places[at]).filter(|_| user != UserId::NONE)?;
        let conns = self.conns.get_mut(user.scenario().at())?;
        let user = user.index().at();
        let at = user * self.each + place as usize;
        if conns.len() <= at {
            conns.resize((user + 1) * self.each, Own::None);
        }
        conns.get_mut(at)
    }

    /// The connection that a user has to an origin.
    pub fn has(&mut self, user: UserId, pool_id: PoolId) -> Option<ConnId> {
        match self.own(user, pool_id) {
            Some(Own::Is(conn)) => Some(*conn),
            _ => None,
        }
    }

    /// A user has nothing to an origin any more, nor has it lost anything.
    pub fn leaves(&mut self, user: UserId, pool_id: PoolId) {
        if let Some(own) = self.own(user, pool_id) {
            *own = Own::None;
        }
    }

    /// All that a user has, which is its own no longer.
    fn take(&mut self, user: UserId, all: &mut Vec<ConnId>) {
        let from = user.index().at() * self.each;
        let conns = self.conns.get_mut(user.scenario().at());
        let own = conns.and_then(|conns| conns.get_mut(from..from + self.each)).unwrap_or_default();
        all.extend(own.iter_mut().filter_map(|own| match std::mem::take(own) {
            Own::Is(conn) => Some(conn),
            Own::None | Own::Lost => None,
        }));
    }
}

impl<N: Network> Connections<N> {
    /// Whose connections to this origin are.
    #[inline]
    pub(crate) fn belongs(&self, pool_id: PoolId) -> Belongs {
        self.belongings.as_ref().map_or(Belongs::ToNobody, |belongings| belongings.belongs(pool_id))
    }

    /// When a request could have left on a connection that is its user's own: when it was due, unless that was busy then.
    #[inline]
    pub(crate) fn free_for(&mut self, id: ExchangeId, conn: ConnId) -> Nanos {
        let x = self.traffic.flights.get(id);
        if x.is_held_back() { self.traffic.stamp } else { x.intended.max(self.links.conn(conn).free_since) }
    }

    /// Finds the connection for a request to an origin where its user has one of its own, or opens that. False: it takes one that is
    /// free, which is then its own.
    #[cold]
    pub(crate) fn place_on_own(&mut self, id: ExchangeId, pool_id: PoolId) -> bool {
        let x = *self.traffic.flights.get(id);
        let Some(belongings) = &mut self.belongings else { return false };
        let belongs = belongings.belongs(pool_id);
        let Some(own) = belongings.own(x.user, pool_id) else { return false };
        match *own {
            Own::Is(conn) => {
                let room = self.links.session(conn).map_or(0, |session| session.room());
                let busy = self.links.conn(conn).in_flight() > 0;
                match belongs {
                    _ if room > 0 => {
                        let ready = self.free_for(id, conn);
                        self.submit(id, conn, ready);
                    }
                    // Several at once: the others take what is free, which is nobody's afterwards.
                    Belongs::ForIteration if busy => return false,
                    _ => {
                        let why = if busy { BUSY } else { LOST };
                        self.traffic.fail(
                            id,
                            &Cause::new(FaultKind::Closed, Phase::Wait).saying(&cause::Cause::from(why)),
                            false,
                        );
                    }
                }
            }
            Own::Lost => {
                *own = Own::None;
                self.traffic.fail(
                    id,
                    &Cause::new(FaultKind::Closed, Phase::Wait).saying(&cause::Cause::from(LOST)),
                    false,
                );
            }
            Own::None if belongs == Belongs::ToUser && !self.pools.get(pool_id).places.is_empty() => {
                self.dial_for(id, pool_id, x.intended);
            }
            Own::None => return false,
        }
        true
    }

    /// A request is submitted on a connection that is its user's from now on, where connections to that origin are anybody's.
    #[cold]
    pub(crate) fn takes_for_own(&mut self, user: UserId, conn: ConnId) {
        let pool_id = self.links.conn(conn).pool;
        let Some(own) = self.belongings.as_mut().and_then(|belongings| belongings.own(user, pool_id)) else { return };
        if *own != Own::None {
            return;
        }
        *own = Own::Is(conn);
        self.links.conn_mut(conn).user = user;
        self.pools.get_mut(pool_id).unmake_idle(self.links.conns_mut(), conn);
    }

    /// A connection is gone. True where it was somebody's own, as connections to its origin are.
    pub(crate) fn own_is_gone(&mut self, conn: ConnId) -> bool {
        let c = self.links.conn(conn);
        let (user, pool_id, busy) = (c.user, c.pool, c.in_flight() > 0);
        let Some(own) = self.belongings.as_mut().and_then(|belongings| belongings.own(user, pool_id)) else {
            return false;
        };
        if *own == Own::Is(conn) {
            // What was under way on it has failed, which is enough.
            *own = if busy { Own::None } else { Own::Lost };
        }
        true
    }

    /// A user's iteration is over: what it opened for itself is closed, and so is, where the iteration failed, what it had of others,
    /// for nobody knows what was left open on it. The rest goes to whoever comes.
    pub(crate) fn lets_go_of_own(&mut self, user: UserId, passed: bool) {
        let Some(belongings) = &mut self.belongings else { return };
        let mut all = std::mem::take(&mut self.own_of_one);
        belongings.take(user, &mut all);
        for conn in all.drain(..) {
            let c = self.links.conn_mut(conn);
            c.user = UserId::NONE;
            let (pool_id, busy) = (c.pool, c.in_flight() > 0);
            if passed && !busy && self.belongs(pool_id) == Belongs::ForIteration {
                self.offer(conn);
            } else if !busy {
                self.let_go(conn);
            }
        }
        self.own_of_one = all;
    }

    /// What ends a request came before it was sent: it is over now.
    #[cold]
    pub(crate) fn was_there(&mut self, conn: ConnId) {
        self.links.tell(conn);
        self.settle(conn, None);
    }

    /// Messages that nobody awaited are pushes, now that nobody can any more.
    pub(crate) fn count_unheard(&mut self, conn: ConnId) {
        let unheard = self.links.session(conn).map_or(0, |session| session.unheard());
        self.traffic.books.counts().unsolicited += u64::from(unheard);
    }
}
