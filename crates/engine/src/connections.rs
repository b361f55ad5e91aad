//! How wanted requests get there: pools, links, handshakes, patience, time and what is counted of it.
//!
//! A request that is wanted finds a connection ([`Connections::place`]), is submitted and leaves; a response arrives and the request is
//! over. What came of it is an [`Outcome`] for the part of the worker that knows users; nothing here knows what they do.

mod anew;
mod answers;
mod batching;
mod belonging;
mod clock;
mod failing;
mod final_read;
mod health;
mod heartbeat;
mod held;
mod losing;
mod one_way;
mod opening;
mod own;
mod patience;
mod spin;

use std::sync::Arc;

use measure::Nanos;
use measure::random::Rng;
use wire::{Broken, Dialogue, ExchangeId, FaultKind, Fed, Fill, Lesson, Network, Sent};

use crate::books::Books;
use crate::checked::Checked;
use crate::exchange::{Exchange, HELD_BACK, NONE, OF_PAGE, ONE_WAY, REUSED, Standing};
use crate::flights::Flights;
use crate::held::HeldConnections;
use crate::limits::Limits;
use crate::links::{Arrived, Links};
use crate::lookup::Lookups;
use crate::memories::Memories;
use crate::outcome::Outcome;
use crate::patience::Troubled;
use crate::pool::{Pools, Stage};
use crate::population::Population;
use crate::sources::scenario_of;
use crate::turn::Turn;
use crate::want::{Made, Want, Wanted};
use crate::withheld::Withheld;

use self::batching::Batching;
use self::failing::Examples;
use self::health::Health;
use self::one_way::OneWay;
use self::own::OwnConnections;
use self::spin::Spin;

pub(crate) use self::anew::{Anew, origins_of};
pub(crate) use self::belonging::Belongings;
pub(crate) use self::clock::ATTENTION;
pub(crate) use self::failing::{Cause, EXAMPLES_BY_NAME};
pub(crate) use self::heartbeat::Heartbeats;
pub(crate) use self::losing::fail_cut;
pub(crate) use self::spin::Spinning;

/// The connections of a worker, and the requests on their way.
pub(crate) struct Connections<N: Network> {
    pub dialogue: Arc<dyn Dialogue>,
    pub limits: Limits,
    /// The latest reading of the clock: at most one read, and what follows from it, old.
    pub stamp: Nanos,
    /// When what is dealt with now came to be known: the stamp, or before it by as much as a look into it took.
    pub heard: Nanos,
    /// Looking into a response may take so long.
    reads_closely: bool,
    /// Sessions number what is said on a connection.
    counts_messages: bool,
    /// What the turns of the loop say about what has come.
    pub turn: Turn,
    pub links: Links<N>,
    pub pools: Pools,
    pub lookups: Lookups,
    pub flights: Flights,
    pub books: Books,
    examples: Examples,
    /// What came of what was wanted, for users to hear of.
    pub outcomes: Vec<Outcome>,
    pub held: Option<HeldConnections>,
    pub heartbeats: Option<Heartbeats>,
    pub one_way: OneWay,
    pub withheld: Withheld,
    /// How many users there are, as they come and go.
    pub population: Population,
    /// Users of a closed load that have a connection of their own.
    own: OwnConnections,
    /// Where users of a flow have connections of their own.
    pub belongings: Option<Belongings>,
    own_of_one: Vec<u32>,
    pub anew: Option<Anew>,
    /// Where users keep something of answers.
    pub memories: Option<Memories>,
    /// Users keep answers, and do not ask again as long as those are good.
    pub recalls: bool,
    /// What the answer that ends now asks to be kept.
    lesson: Option<Lesson>,
    /// What is checked by name.
    pub checks: Option<Arc<Checked>>,
    /// Users whose last connection was of no use.
    troubled: Troubled,
    /// Draws what is random of pauses after attempts in vain.
    rng: Rng,
    batching: Batching,
    health: Health,
    pub spin: Spin,
    /// When arrivals were last held back in the schedule: too many waited.
    pub held_back: Nanos,
    /// Connections opened ahead that neither stand nor failed.
    pub ahead: u32,
    /// The run waits for its common start: nothing of it has begun.
    pub before_start: bool,
    /// No more requests are started.
    pub closing: bool,
}

/// What connections are made of.
pub(crate) struct Parts<N: Network> {
    pub dialogue: Arc<dyn Dialogue>,
    pub limits: Limits,
    pub now: Nanos,
    pub links: Links<N>,
    pub pools: Pools,
    pub lookups: Lookups,
    pub flights: Flights,
    pub checks: Option<Arc<Checked>>,
    pub books: Books,
    pub held: Option<HeldConnections>,
    pub heartbeats: Option<Heartbeats>,
    pub spinning: Spinning,
    /// By scenario: arrivals bring its users, who own nothing.
    pub arrive: Vec<bool>,
    /// What users of a flow have of their own.
    pub belongings: Option<Belongings>,
    pub anew: Option<Anew>,
    /// What users keep, where they keep anything.
    pub memories: Option<Memories>,
    /// Draws what is random of pauses after attempts in vain.
    pub rng: Rng,
}

impl<N: Network> Connections<N> {
    /// None yet.
    pub fn new(parts: Parts<N>) -> Connections<N> {
        let Parts { dialogue, limits, now, links, pools, lookups, flights, books, .. } = parts;
        Connections {
            stamp: now,
            heard: now,
            reads_closely: dialogue.prepared().reads_closely,
            counts_messages: dialogue.prepared().counts_messages,
            turn: Turn::begin(now),
            links,
            pools,
            lookups,
            flights,
            books,
            examples: Examples::of(dialogue.names().list().len()),
            outcomes: Vec::new(),
            held: parts.held,
            heartbeats: parts.heartbeats,
            one_way: OneWay::default(),
            withheld: Withheld::default(),
            population: Population::of(parts.arrive.iter().map(|arrive| !arrive || limits.flows)),
            own: OwnConnections::of(parts.arrive),
            belongings: parts.belongings,
            own_of_one: Vec::new(),
            anew: parts.anew,
            memories: parts.memories,
            recalls: dialogue.prepared().recalls,
            lesson: None,
            checks: parts.checks,
            troubled: Troubled::default(),
            rng: parts.rng,
            batching: Batching::NONE,
            health: Health::default(),
            spin: Spin::new(parts.spinning, now),
            held_back: Nanos::ZERO,
            ahead: 0,
            before_start: false,
            closing: false,
            dialogue,
            limits,
        }
    }

    /// Waits for what comes, `until` at the latest, with the next arrival of the schedule at `arrival`: when the wait began.
    #[inline]
    pub fn wait_for_news(&mut self, until: Nanos, arrival: Nanos) -> Nanos {
        let waits = self.stamp;
        self.turn.waits(waits);
        let until = self.wait(until, arrival);
        self.after_wait(until);
        self.turn.woken(until, self.stamp);
        waits
    }

    /// The next thing that happened in this turn.
    #[inline]
    pub fn next(&mut self) -> Option<Arrived> {
        let arrived = self.links.next()?;
        self.spin.heard(self.stamp);
        Some(arrived)
    }

    /// All that came in this turn was heard, or as much as a turn takes.
    #[inline]
    pub fn turn_over(&mut self) {
        self.turn.over(self.links.rest(), self.links.count(), self.stamp);
    }

    /// What happened on a connection; outcomes wait to be heard.
    #[inline]
    pub fn hear(&mut self, arrived: Arrived) {
        match arrived {
            Arrived::Read(conn, count, read) => self.received(conn, count, read),
            Arrived::Secure(conn, count, fed) => self.received_sealed(conn, count, fed),
            Arrived::Connected(conn) => self.connected(conn),
            Arrived::Closed(conn, why) => self.lost(conn, why),
            Arrived::Sent(conn) => self.all_sent(conn),
        }
    }

    /// Takes on a request that a user wants: it finds a connection, opens one or waits.
    #[inline]
    pub fn want(&mut self, want: Want) {
        let Want { user, due, request, on_failure, held_back } = want;
        let (id, pool) = match request {
            Wanted::Prepared(request) => {
                let origin = self.dialogue.requests()[request as usize].origin as u32;
                let (pool, name) =
                    (self.pools.of(scenario_of(user), origin), self.dialogue.names().of(request as usize));
                (self.new_exchange(due, request, name, user, 0), pool)
            }
            Wanted::Made(made) => self.take_made(user, due, made),
        };
        if on_failure.is_some() || held_back {
            let x = self.flights.get(id);
            on_failure.into_iter().for_each(|on_failure| x.follows(on_failure));
            if held_back {
                // Taken up when it was due; what it waited since is the bound's fault.
                (x.written, x.marks) = (due, x.marks | HELD_BACK);
            }
        }
        self.place(id, pool);
    }

    /// An exchange of a request that a response asked for, and the pool it goes by.
    fn take_made(&mut self, user: u32, due: Nanos, made: Made) -> (ExchangeId, u32) {
        let pool = self.pools.number_of(scenario_of(user), &made.follow.origin);
        let id = self.new_exchange(due, NONE, made.name, user, made.hops);
        self.flights.get(id).marks |= OF_PAGE * u8::from(made.of_page);
        self.flights.takes_at_most(id, made.within);
        self.flights.sends(id, made.follow.request);
        (id, pool)
    }

    fn new_exchange(&mut self, due: Nanos, request: u32, name: u16, user: u32, hops: u8) -> ExchangeId {
        let warmup = due < self.limits.window;
        self.books.due(name, user, warmup);
        self.flights.add(Exchange { warmup, hops, ..Exchange::due(due, self.taken_up(due), request, name, user) })
    }

    /// 4. A connection with room, or one opened for it, or the queue.
    #[inline]
    fn place(&mut self, id: ExchangeId, origin: u32) {
        if (self.belongings.is_some() || self.anew.is_some()) && self.place_apart(id, origin) {
            return;
        }
        let user = self.flights.get(id).user;
        if let Some(conn) = self.own_connection(user, origin) {
            let ready = self.free_for(id, conn);
            return self.submit(id, conn, ready);
        }
        match self.pools.get_mut(origin).choose(self.held.is_some()) {
            Some(conn) => {
                self.give_connection(user, conn);
                let idle_since = self.pools.get(origin).idle_since;
                let x = self.flights.get(id);
                let ready = if x.is_held_back() { self.stamp } else { x.intended.max(idle_since) };
                self.submit(id, conn, ready);
            }
            None => self.open_for(id, origin),
        }
    }

    /// 5. The session appends its bytes; a connection was permitted at `ready`.
    #[inline]
    fn submit(&mut self, id: ExchangeId, conn: u32, ready: Nanos) {
        let x = self.flights.get(id);
        if x.state == Standing::Waiting {
            self.books.started(x, ready, self.stamp);
        }
        (x.state, x.conn, x.written) = (Standing::InFlight, conn, self.stamp);
        let fill = if self.flights.fills() { self.flights.fill(id, self.stamp) } else { Fill::default() };
        let x = *self.flights.get(id);
        let Some(request) = self.flights.request(&*self.dialogue, &x, id) else { return };
        let sent = match &mut self.memories {
            None => self.links.submit(conn, id, request, &fill),
            Some(memories) => {
                let memory = memories.of(x.user);
                let fill = Fill { values: &memory.values, ..fill };
                self.links.submit_with(conn, id, request, &fill, memory)
            }
        };
        let Ok(sent) = sent else { return self.not_taken(id, conn) };
        if self.belongings.is_some() {
            self.takes_for_own(x.user, conn);
        }
        let c = self.links.conn_mut(conn);
        let room = c.session.as_ref().map_or(0, |session| session.room());
        if self.counts_messages
            && let Some(sequence) = c.session.as_ref().map(|session| session.sequence()).filter(|number| *number > 0)
        {
            self.flights.took(id, sequence);
        }
        let c = self.links.conn_mut(conn);
        let reused = std::mem::replace(&mut c.served, true);
        c.in_flight += 1;
        c.last = id.0;
        let origin = c.origin;
        self.books.sent(&x, reused);
        let x = self.flights.get(id);
        x.marks = (x.marks & !REUSED) | (REUSED * u8::from(reused));
        let since = x.started;
        match sent {
            Sent::Asked => {}
            Sent::OneWay => {
                x.marks |= ONE_WAY;
                self.one_way.sent(id);
            }
            Sent::Withheld(at_most) => self.withheld.waits(id, self.stamp, at_most),
            Sent::There => return self.was_there(conn),
        }
        self.flights.watch(id, since);
        if room == 0 {
            self.pools.get_mut(origin).unmake_idle(self.links.conns_mut(), conn);
        }
    }

    /// 7. Bytes arrived, and the session has read them.
    #[inline]
    fn received(&mut self, conn: u32, count: usize, read: Result<(), Broken>) {
        self.mark_read();
        self.books.counts().bytes.received += count as u64;
        self.batching.heard();
        self.take_in(conn, read);
    }

    /// The same through TLS.
    fn received_sealed(&mut self, conn: u32, count: usize, fed: Result<Fed, cause::Cause>) {
        self.mark();
        self.books.counts().bytes.received += count as u64;
        self.batching.heard();
        if let Some(read) = self.unsealed(conn, fed) {
            self.take_in(conn, read);
        }
    }

    /// What the session found is counted, and the connection goes on.
    #[inline]
    fn take_in(&mut self, conn: u32, read: Result<(), Broken>) {
        let before = (self.books.counts().failed, self.books.counts().strays);
        self.settle(conn, read.as_ref().err().map(|broken| broken.0));
        if self.reads_closely {
            // What follows is late by what that took; the response was not.
            let now = self.links.net().now();
            self.is_now(now);
        }
        if let Err(Broken(what)) = read {
            // Bytes that belong to no request fail none, but do not go unseen.
            let unseen = (self.books.counts().failed, self.books.counts().strays) == before;
            let c = self.links.conn(conn);
            let nobodys = c.in_flight == 0 && c.stage == Stage::Open && unseen;
            let kind = c.session.as_ref().map_or(FaultKind::BrokenProtocol, |session| session.refusal());
            self.books.counts().unsolicited += u64::from(nobodys);
            return self.break_off(conn, kind, None, Some(&what.into()));
        }
        self.links.look_at_replies(conn);
        match self.links.conn(conn).stage {
            Stage::Greeting => self.greet_on(conn),
            _ => self.offer(conn),
        }
    }

    /// Room on a connection: for those who wait, else kept; a connection that is over is closed.
    #[inline]
    fn offer(&mut self, conn: u32) {
        let c = self.links.conn(conn);
        let Some(session) = c.session.as_ref().filter(|_| c.stage == Stage::Open) else { return };
        let (room, in_flight, origin, user) = (session.room(), c.in_flight, c.origin, c.user);
        let idle = c.idle_at != NONE;
        if room == 0 {
            self.pools.get_mut(origin).unmake_idle(self.links.conns_mut(), conn);
            if in_flight == 0 {
                self.retire(conn);
            }
            return self.grow_for_untouched(origin);
        }
        if user != NONE {
            return self.submit_again(conn, user, origin);
        }
        let pool = self.pools.get_mut(origin);
        if !idle {
            pool.make_idle(self.links.conns_mut(), conn);
        } else if self.limits.shared > 1 {
            pool.prefer(self.links.conns_mut(), conn);
        }
        while self.links.conn(conn).idle_at != NONE {
            let Some(id) = self.pools.get_mut(origin).waiting.pop_front() else { return self.grow_others(origin) };
            if self.anew.is_some() && self.takes_none_of_others(id, conn) {
                return self.grow_others(origin);
            }
            let ready = self.flights.get(id).intended.max(self.heard);
            self.submit(id, conn, ready);
        }
    }

    /// True where no further arrival may wait for a connection. Those who wait are found out by difference: nothing is counted for it.
    #[inline]
    pub(crate) fn queue_is_full(&self) -> bool {
        u64::from(self.flights.alive()) > self.books.in_flight() + self.limits.queue
    }

    /// An arrival is due and stays in the schedule.
    #[cold]
    pub(crate) fn hold_back(&mut self) {
        self.held_back = self.stamp;
    }

    /// When an arrival was taken up that is taken from the schedule now: it is not our lateness where the queue was full.
    #[inline]
    pub(crate) fn taken_up(&self, due: Nanos) -> Nanos {
        if due <= self.held_back { due } else { self.stamp }
    }
}
