//! One worker: one thread, one loop, one network, nothing shared.
//!
//! The file follows a request through its life, in one direction: its moment comes (1), its user says what it sends (2), it is
//! due (3), finds a connection (4), is submitted (5) and leaves (6); a response arrives (7), the request is over (8), and what
//! its user does next is asked again (2). The parts that do it have files of their own beside this one: [`Sources`] (who does
//! what, and when), [`Links`] (connections and bytes), [`Pools`] (which connection), [`Flights`] (requests that are not
//! over), [`Books`] (what is counted). The files below `worker` hold what happens off that path.

mod anew;
mod answers;
mod backlog;
mod batching;
mod belonging;
mod caching;
mod common_start;
mod failing;
mod final_read;
mod flowing;
mod health;
mod heartbeat;
mod held;
mod losing;
mod next;
mod one_way;
mod opening;
mod pace;
mod pages;
mod patience;
mod spin;
mod users;

use std::sync::Arc;

use measure::Nanos;
use scenario::{InBatch, News};
use wire::{Broken, Dialogue, ExchangeId, FaultKind, Fed, Fill, Follow, Lesson, Network, Sent};

use crate::Stop;
use crate::books::Books;
use crate::checked::Checked;
use crate::control::Heeding;
use crate::exchange::{Exchange, HELD_BACK, NONE, ONE_WAY, REUSED, Standing};
use crate::flights::Flights;
use crate::limits::Limits;
use crate::links::{Arrived, Links};
use crate::lookup::Lookups;
use crate::memories::Memories;
use crate::pool::{Pools, Stage};
use crate::sources::{Sources, scenario_of};
use crate::turn::Turn;
use crate::withheld::Withheld;

use self::batching::Batching;
use self::failing::Examples;
use self::health::Health;
use self::next::Next;
use self::one_way::OneWay;
use self::pages::Pages;
use self::spin::Spin;

pub(crate) use self::anew::{Anew, origins_of};
pub(crate) use self::belonging::Belongings;
pub(crate) use self::common_start::CommonStart;
pub(crate) use self::failing::EXAMPLES_BY_NAME;
pub(crate) use self::heartbeat::Heartbeats;
pub(crate) use self::held::HeldConnections;
pub(crate) use self::losing::fail_cut;
pub(crate) use self::spin::Spinning;

/// Arrivals sent before the next answer is read: about 20 µs of system calls, the most that a read may be late for them.
const SENDS_BETWEEN_READS: usize = 4;

/// One worker. [`crate::builder::WorkerBuilder`] makes it.
pub(crate) struct Worker<N: Network> {
    dialogue: Arc<dyn Dialogue>,
    limits: Limits,
    /// The latest reading of the clock: at most one read, and what follows from it, old.
    stamp: Nanos,
    /// When what is dealt with now came to be known: the stamp, or before it by as much as a look into it took.
    heard: Nanos,
    /// Looking into a response may take so long.
    reads_closely: bool,
    /// Sessions number what is said on a connection.
    counts_messages: bool,
    /// What the turns of the loop say about what has come.
    turn: Turn,
    source: Sources,
    links: Links<N>,
    pools: Pools,
    lookups: Lookups,
    flights: Flights,
    books: Books,
    examples: Examples,
    next: Vec<Next>,
    common_start: Option<CommonStart>,
    held: Option<HeldConnections>,
    heartbeats: Option<Heartbeats>,
    heeding: Heeding,
    one_way: OneWay,
    withheld: Withheld,
    /// Where users of a flow have connections of their own.
    belongings: Option<Belongings>,
    own_of_one: Vec<u32>,
    anew: Option<Anew>,
    /// Where users keep something of answers.
    memories: Option<Memories>,
    /// Users keep answers, and do not ask again as long as those are good.
    recalls: bool,
    /// What the answer that ends now asks to be kept.
    lesson: Option<Lesson>,
    /// Where users fetch what pages name.
    pages: Pages,
    /// What is checked by name.
    checks: Option<Arc<Checked>>,
    batching: Batching,
    health: Health,
    spin: Spin,
    /// When arrivals were last held back in the schedule: too many waited.
    held_back: Nanos,
    /// No more requests are started.
    closing: bool,
    over: bool,
}

/// What a worker is made of.
pub(crate) struct Parts<N: Network> {
    pub dialogue: Arc<dyn Dialogue>,
    pub limits: Limits,
    pub now: Nanos,
    pub source: Sources,
    pub links: Links<N>,
    pub pools: Pools,
    pub lookups: Lookups,
    pub flights: Flights,
    pub checks: Option<Arc<Checked>>,
    pub books: Books,
    pub common_start: Option<CommonStart>,
    pub held: Option<HeldConnections>,
    pub heartbeats: Option<Heartbeats>,
    pub heeding: Heeding,
    pub spinning: Spinning,
    /// What users of a flow have of their own.
    pub belongings: Option<Belongings>,
    pub anew: Option<Anew>,
    /// What users keep, where they keep anything.
    pub memories: Option<Memories>,
}

impl<N: Network> Worker<N> {
    /// A worker that has not begun.
    pub fn new(parts: Parts<N>) -> Worker<N> {
        let Parts { dialogue, limits, now, source, links, pools, lookups, flights, books, .. } = parts;
        Worker {
            stamp: now,
            heard: now,
            reads_closely: dialogue.reads_closely(),
            counts_messages: dialogue.counts_messages(),
            turn: Turn::begin(now),
            source,
            links,
            pools,
            lookups,
            flights,
            books,
            examples: Examples::of(dialogue.names().list().len()),
            next: Vec::new(),
            common_start: parts.common_start,
            held: parts.held,
            heartbeats: parts.heartbeats,
            heeding: parts.heeding,
            one_way: OneWay::default(),
            withheld: Withheld::default(),
            belongings: parts.belongings,
            own_of_one: Vec::new(),
            anew: parts.anew,
            memories: parts.memories,
            recalls: dialogue.recalls(),
            lesson: None,
            pages: Pages::default(),
            checks: parts.checks,
            batching: Batching::NONE,
            health: Health::default(),
            spin: Spin::new(parts.spinning, now),
            held_back: Nanos::ZERO,
            closing: false,
            over: false,
            dialogue,
            limits,
        }
    }

    /// The loop.
    pub fn run(&mut self, stop: &Stop) {
        self.begin();
        while !self.over {
            self.before_wait();
            self.spin.turn_is_over(self.stamp);
            let until = self.next_moment();
            let waits = self.stamp;
            self.turn.waits(waits);
            let until = self.wait(until);
            self.after_wait(until);
            self.turn.woken(until, self.stamp);
            if stop.requested() {
                self.interrupted(stop, waits);
                break;
            }
            self.take_turn();
            self.keep_time(stop);
        }
    }

    /// Hears what came, a piece of each connection, and sends what is due in between. A turn that takes long is left for a
    /// look at the time, and goes on after it.
    #[inline]
    fn take_turn(&mut self) {
        loop {
            self.send_due();
            let Some(arrived) = self.links.next() else { break };
            self.spin.heard(self.stamp);
            self.hear(arrived);
            if self.turn.is_long(self.stamp) {
                break;
            }
        }
        self.turn.over(self.links.rest(), self.links.count(), self.stamp);
    }

    #[inline]
    fn hear(&mut self, arrived: Arrived) {
        match arrived {
            Arrived::Read(conn, count, read) => self.received(conn, count, read),
            Arrived::Secure(conn, count, fed) => self.received_sealed(conn, count, fed),
            Arrived::Connected(conn) => self.connected(conn),
            Arrived::Closed(conn, why) => self.lost(conn, why),
            Arrived::Sent(conn) => self.all_sent(conn),
        }
        self.heard = self.stamp;
    }

    /// 1. Arrivals whose time has come (open load): each is the visit of a user. Users of a closed load are started and woken by
    ///    `users`.
    #[inline]
    fn send_due(&mut self) {
        for _ in 0..SENDS_BETWEEN_READS {
            if self.source.next_due() > self.stamp {
                return;
            }
            if self.queue_is_full() {
                return self.hold_back();
            }
            let scenario = self.source.next_to_arrive();
            let source = &mut self.source.all_mut()[scenario];
            let due = source.take_arrival(&self.limits);
            match source.come(self.stamp) {
                Some(user) => self.ask(user, due, News::Begin),
                None => self.dropped(scenario, due),
            }
            self.go_on_without();
            self.spin.sent(self.stamp);
            self.mark();
        }
    }

    // 2. What the user does next: `users.rs`, `ask`.

    /// 3. A request is due.
    #[inline]
    fn arrive(&mut self, due: Nanos, request: u32, user: u32) {
        let origin = self.dialogue.requests()[request as usize].origin as u32;
        let origin = self.pools.of(scenario_of(user), origin);
        let name = self.dialogue.names().of(request as usize);
        let id = self.new_exchange(due, request, name, user, 0);
        self.place(id, origin);
    }

    /// The same of one of several that were due together at `began`, of which as many are under way as may be: it may leave since `now`.
    fn arrive_of_batch(&mut self, (batch, now): (InBatch, Nanos), request: u32, user: u32) {
        let origin = self.dialogue.requests()[request as usize].origin as u32;
        let origin = self.pools.of(scenario_of(user), origin);
        let name = self.dialogue.names().of(request as usize);
        let id = self.new_exchange(batch.began, request, name, user, 0);
        let x = self.flights.get(id);
        x.follows(batch.on_failure);
        if batch.began < now {
            // Taken up when it was due; what it waited since is the bound's fault.
            (x.written, x.marks) = (batch.began, x.marks | HELD_BACK);
        }
        self.place(id, origin);
    }

    /// A hop of a redirect: a request of its own, due when that was heard.
    fn arrive_by(&mut self, next: Next, follow: Follow) {
        if self.recalls && self.hop_is_there(&next, &follow) {
            return;
        }
        let origin = self.pools.number_of(scenario_of(next.user), &follow.origin);
        let id = self.new_exchange(self.heard, NONE, next.name, next.user, next.hops.saturating_add(1));
        if let News::Ended { on_failure, .. } = next.news {
            self.flights.get(id).follows(on_failure);
        }
        self.flights.takes_at_most(id, next.within);
        self.flights.sends(id, follow.request);
        self.place(id, origin);
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

    // 6. Bytes leave with [`Links::flush`], once for all that was submitted together.

    /// 7. Bytes arrived, and the session has read them.
    #[inline]
    fn received(&mut self, conn: u32, count: usize, read: Result<(), Broken>) {
        self.mark_read();
        self.books.counts().bytes.received += count as u64;
        self.batching.heard();
        self.take_in(conn, read);
    }

    /// The same through TLS.
    fn received_sealed(&mut self, conn: u32, count: usize, fed: Result<Fed, String>) {
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
        self.settle(conn, read.as_ref().err().map_or("", |broken| broken.0));
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
            return self.break_off(conn, kind, None, what);
        }
        self.links.look_at_replies(conn);
        match self.links.conn(conn).stage {
            Stage::Greeting => self.greet_on(conn),
            _ => self.go_on(conn),
        }
    }

    // 8. What the session found is over: `answers.rs`, `settle` and `ended`.

    /// After an arrival: the connection is given on or let go, users go on, bytes leave.
    #[inline]
    fn go_on(&mut self, conn: u32) {
        self.offer(conn);
        self.go_on_without();
    }

    /// What follows an exchange that ended without an arrival on a connection.
    #[inline]
    fn go_on_without(&mut self) {
        self.go_on_all();
        self.links.flush();
        if self.pages.are_heard() {
            self.read_pages();
        }
    }

    /// Redirects are followed, users go on: each sends, pauses or leaves.
    #[inline]
    fn go_on_all(&mut self) {
        while let Some(mut next) = self.next.pop() {
            match next.follow.take() {
                Some(_) if self.window_over() && !self.source.has_flows() => self.user_ends(next.user),
                Some(follow) => self.arrive_by(next, *follow),
                None if self.pages.has(next.user) => self.resource_ended(&next),
                None if next.back_off => self.user_backs_off(next.user, next.news),
                None => self.ask(next.user, self.heard, next.news),
            }
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
}
