//! Connection handling of a worker: pools, links, handshakes, backoff, timeouts, and the requests carried.
//!
//! A request that is due is placed on a connection ([`Connections::place`]), submitted and written; a response arrives
//! and the request is over. The result is an [`Outcome`] for the part of the worker that knows users; nothing here
//! knows what users do.

mod anew;
mod answers;
mod batching;
mod belonging;
mod clock;
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
pub(crate) mod traffic;

use measure::Nanos;
use measure::random::Rng;
use wire::{Broken, Draft, FaultKind, Fed, Fill, Network, Phase, Sent};

use crate::exchange::{HELD_BACK, OF_PAGE, ONE_WAY, REUSED, Standing};
use crate::failing::Cause;
use crate::ids::{ConnId, ExchangeId, OriginId, PoolId, RequestId, UserId};
use crate::limits::Limits;
use crate::links::{Arrived, Links};
use crate::lookup::Lookups;
use crate::patience::Troubled;
use crate::pool::{NOWHERE, Pools, Stage};
use crate::turn::Turn;
use crate::want::{Made, Want, Wanted};
use crate::withheld::Withheld;

use self::batching::Batching;
use self::health::Health;
use self::one_way::OneWay;
use self::own::OwnConnections;
use self::spin::{Spin, Wait};
use self::traffic::Traffic;

pub(crate) use self::anew::{Anew, origins_of};
pub(crate) use self::belonging::Belongings;
pub(crate) use self::clock::ATTENTION;
pub(crate) use self::heartbeat::Heartbeats;
pub(crate) use self::held::Fixed;
pub(crate) use self::losing::fail_cut;
pub(crate) use self::spin::Spinning;

/// The connections of a worker, and the requests in flight on them.
pub(crate) struct Connections<N: Network> {
    traffic: Traffic,
    links: Links<N>,
    pools: Pools,
    lookups: Lookups,
    /// Set if parsing a response can take long enough that the clock is read again afterwards.
    reads_closely: bool,
    /// Set if sessions number the messages of a connection.
    counts_messages: bool,
    /// The current turn of the loop: how far the sockets have been read.
    turn: Turn,
    /// Set if the number of connections is part of the plan.
    fixed: Option<Fixed>,
    heartbeats: Option<Heartbeats>,
    one_way: OneWay,
    withheld: Withheld,
    /// Connections owned by users of a closed load.
    own: OwnConnections,
    /// Connections owned by users of a flow.
    belongings: Option<Belongings>,
    own_of_one: Vec<ConnId>,
    anew: Option<Anew>,
    /// Users whose last connection was of no use.
    troubled: Troubled,
    /// Source of the jitter of backoff pauses.
    rng: Rng,
    batching: Batching,
    health: Health,
    spin: Spin,
    /// Set while the run waits for its common start: no figure has begun.
    before_start: bool,
    /// Set once no more requests are started.
    closing: bool,
}

/// The parts from which [`Connections`] is built.
pub(crate) struct Parts<N: Network> {
    pub traffic: traffic::Parts,
    pub links: Links<N>,
    pub pools: Pools,
    pub lookups: Lookups,
    pub fixed: Option<Fixed>,
    pub heartbeats: Option<Heartbeats>,
    pub spinning: Spinning,
    /// Set for a scenario if arrivals bring its users, who then own no connection.
    pub arrive: Vec<bool>,
    /// Connections owned by users of a flow.
    pub belongings: Option<Belongings>,
    pub anew: Option<Anew>,
    /// Source of the jitter of backoff pauses.
    pub rng: Rng,
}

impl<N: Network> Connections<N> {
    /// Creates a set without connections.
    pub fn new(parts: Parts<N>) -> Connections<N> {
        let Parts { traffic, links, pools, lookups, .. } = parts;
        let now = traffic.now;
        Connections {
            reads_closely: traffic.dialogue.prepared().reads_closely,
            counts_messages: traffic.dialogue.prepared().counts_messages,
            traffic: Traffic::new(traffic),
            links,
            pools,
            lookups,
            turn: Turn::begin(now),
            fixed: parts.fixed,
            heartbeats: parts.heartbeats,
            one_way: OneWay::default(),
            withheld: Withheld::default(),
            own: OwnConnections::of(parts.arrive),
            belongings: parts.belongings,
            own_of_one: Vec::new(),
            anew: parts.anew,
            troubled: Troubled::default(),
            rng: parts.rng,
            batching: Batching::NONE,
            health: Health::default(),
            spin: Spin::new(parts.spinning, now),
            before_start: false,
            closing: false,
        }
    }

    /// Returns the requests that these connections carry.
    #[inline]
    pub fn traffic(&mut self) -> &mut Traffic {
        &mut self.traffic
    }

    /// Returns the latest reading of the clock.
    #[inline]
    pub fn now(&self) -> Nanos {
        self.traffic.stamp
    }

    /// Returns the time at which the event now being processed was read.
    #[inline]
    pub fn heard(&self) -> Nanos {
        self.traffic.heard
    }

    #[inline]
    pub fn limits(&self) -> &Limits {
        &self.traffic.limits
    }

    /// Ends a turn before the next wait. A turn cut short for timers goes on: the sockets are not polled
    /// again before its end.
    #[inline]
    pub fn before_wait(&mut self) {
        self.mark();
        if !self.turn.is_cut() {
            self.health.looks(self.traffic.stamp, self.links.net(), self.traffic.books.times());
        }
        self.spin.turn_is_over(self.traffic.stamp);
    }

    /// Waits for events until `until` at the latest, where the next arrival of the schedule is due at `arrival`;
    /// returns when the wait began.
    #[inline]
    pub fn wait_for_news(&mut self, until: Nanos, arrival: Nanos) -> Nanos {
        let began = self.traffic.stamp;
        self.turn.waits(began);
        let wait = self.spin.wait(began, until, arrival);
        let until = match wait {
            Wait::Asleep(until, _) => {
                self.health.waits(until);
                until
            }
            Wait::Poll => {
                // A thread that waits for this core runs first.
                std::thread::yield_now();
                began
            }
        };
        self.links.net().wait(until);
        self.mark();
        self.spin.waited(wait, began, self.traffic.stamp);
        if !self.turn.is_cut() {
            self.health.woke(until, self.traffic.stamp, self.links.net(), self.traffic.books.times());
        }
        self.turn.woken(until, self.traffic.stamp);
        began
    }

    /// Returns the next event of this turn.
    #[inline]
    pub fn next(&mut self) -> Option<Arrived> {
        let arrived = self.links.next()?;
        self.spin.heard(self.traffic.stamp);
        Some(arrived)
    }

    /// Records that everything that came in this turn was read, or as much as a turn takes.
    #[inline]
    pub fn turn_over(&mut self) {
        self.turn.over(self.links.rest(), self.links.count(), self.traffic.stamp);
    }

    /// Records that everything that came was read.
    #[inline]
    pub fn all_was_heard(&mut self) {
        self.traffic.heard = self.traffic.stamp;
    }

    /// Returns `true` if requests are in flight.
    pub fn has_requests(&self) -> bool {
        self.traffic.flights.alive() > 0
    }

    /// Returns `true` if no further arrival may wait for a connection.
    #[inline]
    pub fn queue_is_full(&self) -> bool {
        self.traffic.queue_is_full()
    }

    /// Returns the number of names that requests have in figures.
    pub fn names(&self) -> usize {
        self.traffic.names().list().len()
    }

    /// Writes what was appended.
    #[inline]
    pub fn flush(&mut self) {
        self.links.flush();
    }

    /// Returns `true` if this turn has taken so long that timers must not wait for its end.
    #[inline]
    pub fn is_turn_long(&self) -> bool {
        self.turn.is_long(self.traffic.stamp)
    }

    /// Records that a request that was due has been sent.
    #[inline]
    pub fn sent_what_was_due(&mut self) {
        self.spin.sent(self.traffic.stamp);
        self.mark();
    }

    /// Processes an event of a connection; the resulting outcomes are queued.
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

    /// Takes on a request that a user wants: it is placed on a connection, has one opened, or waits.
    #[inline]
    pub fn want(&mut self, want: Want) {
        let Want { user, due, request, on_failure, held_back } = want;
        let (id, pool) = match request {
            Wanted::Prepared(request) => {
                let origin = OriginId::of(self.traffic.dialogue.requests()[request.at()].origin);
                let (pool, name) =
                    (self.pools.of(user.scenario(), origin), self.traffic.dialogue.names().of(request.at()));
                (self.traffic.add(due, request, name, user, 0), pool)
            }
            Wanted::Made(made) => self.take_made(user, due, made),
        };
        if on_failure.is_some() || held_back {
            let x = self.traffic.flights.get(id);
            on_failure.into_iter().for_each(|on_failure| x.follows(on_failure));
            if held_back {
                // Taken up when it was due; the time waited since is due to the batch's concurrency limit.
                (x.written, x.marks) = (due, x.marks | HELD_BACK);
            }
        }
        self.place(id, pool);
    }

    /// Like [`Connections::want`], for a request that is composed now. One that cannot be composed counts as due and
    /// failed.
    pub fn want_composed(&mut self, user: UserId, due: Nanos, draft: &Draft) {
        let like = draft.like;
        let (name, within) = (self.traffic.dialogue.names().of(like.at()), self.traffic.flights.timeout_of(like));
        match self.traffic.dialogue.compose(&self.traffic.dialogue.requests()[like.at()].request, draft) {
            Ok(follow) => {
                let request = Wanted::Made(Made { follow, name, hops: 0, within, of_page: false });
                self.want(Want { user, due, request, on_failure: None, held_back: false });
            }
            Err(why) => {
                let id = self.traffic.add(due, RequestId::NONE, name, user, 0);
                self.traffic.fail(id, &Cause::new(FaultKind::Resolve, Phase::Resolve).saying(&why), true);
            }
        }
    }

    /// Creates the exchange of a request derived from a response, and returns it with its pool.
    fn take_made(&mut self, user: UserId, due: Nanos, made: Made) -> (ExchangeId, PoolId) {
        let pool = self.pools.number_of(user.scenario(), &made.follow.origin);
        let id = self.traffic.add(due, RequestId::NONE, made.name, user, made.hops);
        self.traffic.flights.get(id).marks |= OF_PAGE * u8::from(made.of_page);
        self.traffic.flights.takes_at_most(id, made.within);
        self.traffic.flights.sends(id, made.follow.request);
        (id, pool)
    }

    /// Step 4: finds a connection with room, opens one, or queues the exchange.
    #[inline]
    fn place(&mut self, id: ExchangeId, pool_id: PoolId) {
        if (self.belongings.is_some() || self.anew.is_some()) && self.place_apart(id, pool_id) {
            return;
        }
        let user = self.traffic.flights.get(id).user;
        if let Some(conn) = self.own_connection(user, pool_id) {
            let ready = self.free_for(id, conn);
            return self.submit(id, conn, ready);
        }
        match self.pools.get_mut(pool_id).choose(self.fixed.is_some()) {
            Some(conn) => {
                self.give_connection(user, conn);
                let idle_since = self.pools.get(pool_id).idle_since;
                let x = self.traffic.flights.get(id);
                let ready = if x.is_held_back() { self.traffic.stamp } else { x.intended.max(idle_since) };
                self.submit(id, conn, ready);
            }
            None => self.open_for(id, pool_id),
        }
    }

    /// Step 5: the session appends the request's bytes; `ready` is when a connection became available.
    #[inline]
    fn submit(&mut self, id: ExchangeId, conn: ConnId, ready: Nanos) {
        let x = self.traffic.flights.get(id);
        if x.state == Standing::Waiting {
            self.traffic.books.started(x, ready, self.traffic.stamp);
        }
        (x.state, x.conn, x.written) = (Standing::InFlight, conn, self.traffic.stamp);
        let fill = if self.traffic.flights.fills() {
            self.traffic.flights.fill(id, self.traffic.stamp)
        } else {
            Fill::default()
        };
        let x = *self.traffic.flights.get(id);
        let Some(request) = self.traffic.flights.request(&*self.traffic.dialogue, &x, id) else { return };
        let sent = match &mut self.traffic.memories {
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
            self.traffic.flights.took(id, sequence);
        }
        let c = self.links.conn_mut(conn);
        let reused = c.begins(id);
        let pool_id = c.pool;
        self.traffic.books.sent(&x, reused);
        let x = self.traffic.flights.get(id);
        x.marks = (x.marks & !REUSED) | (REUSED * u8::from(reused));
        let since = x.started;
        match sent {
            Sent::Asked => {}
            Sent::OneWay => {
                x.marks |= ONE_WAY;
                self.one_way.sent(id);
            }
            Sent::Withheld(at_most) => self.withheld.waits(id, self.traffic.stamp, at_most),
            Sent::There => return self.was_there(conn),
        }
        self.traffic.flights.watch(id, since);
        if room == 0 {
            self.pools.get_mut(pool_id).unmake_idle(self.links.conns_mut(), conn);
        }
    }

    /// Step 7: bytes arrived, and the session has parsed them.
    #[inline]
    fn received(&mut self, conn: ConnId, count: usize, read: Result<(), Broken>) {
        self.mark_read();
        self.traffic.books.counts().bytes.received += count as u64;
        self.batching.heard();
        self.take_in(conn, read);
    }

    /// Like [`Connections::received`], through TLS.
    fn received_sealed(&mut self, conn: ConnId, count: usize, fed: Result<Fed, cause::Cause>) {
        self.mark();
        self.traffic.books.counts().bytes.received += count as u64;
        self.batching.heard();
        if let Some(read) = self.unsealed(conn, fed) {
            self.take_in(conn, read);
        }
    }

    /// Counts what the session parsed, and lets the connection go on.
    #[inline]
    fn take_in(&mut self, conn: ConnId, read: Result<(), Broken>) {
        let before = (self.traffic.books.counts().failed, self.traffic.books.counts().strays);
        self.settle(conn, read.as_ref().err().map(|broken| broken.0));
        if self.reads_closely {
            // Later events are late by the time that parsing took; the response was not.
            self.look_at_clock();
        }
        if let Err(Broken(what)) = read {
            // Bytes that belong to no request fail none, but are still counted.
            let unseen = (self.traffic.books.counts().failed, self.traffic.books.counts().strays) == before;
            let c = self.links.conn(conn);
            let nobodys = c.in_flight() == 0 && c.stage == Stage::Open && unseen;
            let kind = c.session.as_ref().map_or(FaultKind::BrokenProtocol, |session| session.refusal());
            self.traffic.books.counts().unsolicited += u64::from(nobodys);
            return self.break_off(conn, kind, None, Some(&what.into()));
        }
        self.links.look_at_replies(conn);
        match self.links.conn(conn).stage {
            Stage::Greeting => self.greet_on(conn),
            _ => self.offer(conn),
        }
    }

    /// Offers a connection with room to the waiting exchanges, else keeps it idle; closes one that is over.
    #[inline]
    fn offer(&mut self, conn: ConnId) {
        let c = self.links.conn(conn);
        let Some(session) = c.session.as_ref().filter(|_| c.stage == Stage::Open) else { return };
        let (room, in_flight, pool_id, user) = (session.room(), c.in_flight(), c.pool, c.user);
        let idle = c.idle_at != NOWHERE;
        if room == 0 {
            self.pools.get_mut(pool_id).unmake_idle(self.links.conns_mut(), conn);
            if in_flight == 0 {
                self.retire(conn);
            }
            return self.grow_for_untouched(pool_id);
        }
        if user != UserId::NONE {
            return self.submit_again(conn, user, pool_id);
        }
        let pool = self.pools.get_mut(pool_id);
        if !idle {
            pool.make_idle(self.links.conns_mut(), conn);
        } else if self.traffic.limits.shared > 1 {
            pool.prefer(self.links.conns_mut(), conn);
        }
        while self.links.conn(conn).idle_at != NOWHERE {
            let Some(id) = self.pools.get_mut(pool_id).waiting.pop_front() else { return self.grow_others(pool_id) };
            if self.anew.is_some() && self.takes_none_of_others(id, conn) {
                return self.grow_others(pool_id);
            }
            let ready = self.traffic.flights.get(id).intended.max(self.traffic.heard);
            self.submit(id, conn, ready);
        }
    }
}
