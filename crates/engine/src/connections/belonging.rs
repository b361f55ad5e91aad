//! Connections that are a user's while it goes through its flow: what is said on them may depend on what was said before (a
//! transaction), or they were opened with what only this user knows (a WebSocket).
//!
//! A user has at most one to each origin, from its first request there to the end of its iteration. What is lost with such a
//! connection is not made good in silence: the next request on it fails, and the one after that opens another.

use cause::Plain;
use measure::Nanos;
use wire::{Belongs, Dialogue, ExchangeId, FaultKind, Network, Phase};

use crate::exchange::NONE;
use crate::sources::{scenario_of, within};

use super::Connections;
use super::failing::Cause;

const LOST: Plain = cause::response::step_lost();
const BUSY: Plain = cause::response::step_busy();

/// What users have of their own, by user and origin.
#[derive(Debug)]
pub(crate) struct Belongings {
    /// By origin; those that redirects found are nobody's.
    belongs: Vec<Belongs>,
    /// Where an origin's connections stand among those of a user; [`NONE`]: they are nobody's.
    places: Vec<u32>,
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
    Is(u32),
    /// It was lost while nothing was under way on it.
    Lost,
}

impl Belongings {
    /// Of a dialogue with these origins; None where nothing is anybody's own.
    pub fn of(dialogue: &dyn Dialogue, scenarios: usize) -> Option<Belongings> {
        let belongs: Vec<Belongs> = dialogue.origins().iter().map(|origin| dialogue.belongs(origin)).collect();
        let mut each = 0;
        let place = |belongs: &Belongs| match belongs {
            Belongs::ToNobody => NONE,
            Belongs::ForIteration | Belongs::ToUser => {
                each += 1;
                each as u32 - 1
            }
        };
        let places = belongs.iter().map(place).collect();
        (each > 0).then(|| Belongings { belongs, places, each, conns: vec![Vec::new(); scenarios.max(1)] })
    }

    fn belongs(&self, origin: u32) -> Belongs {
        self.known(origin).map_or(Belongs::default(), |at| self.belongs[at])
    }

    /// The origin that a pool leads to, where it was known before the run: each scenario has pools of its own.
    fn known(&self, pool: u32) -> Option<usize> {
        let (pool, origins) = (pool as usize, self.belongs.len());
        (pool < origins * self.conns.len()).then(|| pool % origins)
    }

    /// What a user has to an origin whose connections are somebody's.
    fn own(&mut self, user: u32, origin: u32) -> Option<&mut Own> {
        let place = self.known(origin).map(|at| self.places[at]).filter(|place| *place != NONE && user != NONE)?;
        let conns = self.conns.get_mut(scenario_of(user))?;
        let user = within(user) as usize;
        let at = user * self.each + place as usize;
        if conns.len() <= at {
            conns.resize((user + 1) * self.each, Own::None);
        }
        conns.get_mut(at)
    }

    /// The connection that a user has to an origin.
    pub fn has(&mut self, user: u32, origin: u32) -> Option<u32> {
        match self.own(user, origin) {
            Some(Own::Is(conn)) => Some(*conn),
            _ => None,
        }
    }

    /// A user has nothing to an origin any more, nor has it lost anything.
    pub fn leaves(&mut self, user: u32, origin: u32) {
        if let Some(own) = self.own(user, origin) {
            *own = Own::None;
        }
    }

    /// All that a user has, which is its own no longer.
    fn take(&mut self, user: u32, all: &mut Vec<u32>) {
        let from = within(user) as usize * self.each;
        let conns = self.conns.get_mut(scenario_of(user));
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
    pub(crate) fn belongs(&self, origin: u32) -> Belongs {
        self.belongings.as_ref().map_or(Belongs::ToNobody, |belongings| belongings.belongs(origin))
    }

    /// When a request could have left on a connection that is its user's own: when it was due, unless that was busy then.
    #[inline]
    pub(crate) fn free_for(&mut self, id: ExchangeId, conn: u32) -> Nanos {
        let x = self.flights.get(id);
        if x.is_held_back() { self.stamp } else { x.intended.max(self.links.conn(conn).free_since) }
    }

    /// Finds the connection for a request to an origin where its user has one of its own, or opens that. False: it takes one that is
    /// free, which is then its own.
    #[cold]
    pub(crate) fn place_on_own(&mut self, id: ExchangeId, origin: u32) -> bool {
        let x = *self.flights.get(id);
        let Some(belongings) = &mut self.belongings else { return false };
        let belongs = belongings.belongs(origin);
        let Some(own) = belongings.own(x.user, origin) else { return false };
        match *own {
            Own::Is(conn) => {
                let room = self.links.session(conn).map_or(0, |session| session.room());
                let busy = self.links.conn(conn).in_flight > 0;
                match belongs {
                    _ if room > 0 => {
                        let ready = self.free_for(id, conn);
                        self.submit(id, conn, ready);
                    }
                    // Several at once: the others take what is free, which is nobody's afterwards.
                    Belongs::ForIteration if busy => return false,
                    _ => {
                        let why = if busy { BUSY } else { LOST };
                        self.fail_now(
                            id,
                            &Cause::new(FaultKind::Closed, Phase::Wait).saying(&cause::Cause::from(why)),
                            false,
                        );
                    }
                }
            }
            Own::Lost => {
                *own = Own::None;
                self.fail_now(id, &Cause::new(FaultKind::Closed, Phase::Wait).saying(&cause::Cause::from(LOST)), false);
            }
            Own::None if belongs == Belongs::ToUser && !self.pools.get(origin).places.is_empty() => {
                self.dial_for(id, origin, x.intended);
            }
            Own::None => return false,
        }
        true
    }

    /// A request is submitted on a connection that is its user's from now on, where connections to that origin are anybody's.
    #[cold]
    pub(crate) fn takes_for_own(&mut self, user: u32, conn: u32) {
        let origin = self.links.conn(conn).origin;
        let Some(own) = self.belongings.as_mut().and_then(|belongings| belongings.own(user, origin)) else { return };
        if *own != Own::None {
            return;
        }
        *own = Own::Is(conn);
        self.links.conn_mut(conn).user = user;
        self.pools.get_mut(origin).unmake_idle(self.links.conns_mut(), conn);
    }

    /// A connection is gone. True where it was somebody's own, as connections to its origin are.
    pub(crate) fn own_is_gone(&mut self, conn: u32) -> bool {
        let c = self.links.conn(conn);
        let (user, origin, busy) = (c.user, c.origin, c.in_flight > 0);
        let Some(own) = self.belongings.as_mut().and_then(|belongings| belongings.own(user, origin)) else {
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
    #[cold]
    pub(crate) fn lets_go_of_own(&mut self, user: u32, passed: bool) {
        let Some(belongings) = &mut self.belongings else { return };
        let mut all = std::mem::take(&mut self.own_of_one);
        belongings.take(user, &mut all);
        for conn in all.drain(..) {
            let c = self.links.conn_mut(conn);
            c.user = NONE;
            let (origin, busy) = (c.origin, c.in_flight > 0);
            if passed && !busy && self.belongs(origin) == Belongs::ForIteration {
                self.offer(conn);
            } else if !busy {
                self.let_go(conn);
            }
        }
        self.own_of_one = all;
    }

    /// What ends a request came before it was sent: it is over now.
    #[cold]
    pub(crate) fn was_there(&mut self, conn: u32) {
        self.links.tell(conn);
        self.settle(conn, None);
    }

    /// Messages that nobody awaited are pushes, now that nobody can any more.
    pub(crate) fn count_unheard(&mut self, conn: u32) {
        let unheard = self.links.session(conn).map_or(0, |session| session.unheard());
        self.books.counts().unsolicited += u64::from(unheard);
    }
}
