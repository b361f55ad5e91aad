//! One worker: one thread, one loop, one network, nothing shared. The file follows a request through its life: due,
//! submitted, answered. Opening and losing connections is in `connect`, time (seconds, timeouts, the end) in `pace`.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use load::Schedule;
use measure::Nanos;
use measure::random::Rng;
use scenario::Mix;
use wire::{
    Arrival, Broken, ConnId, Dialogue, Done, ExchangeId, FaultKind, Fed, Fill, Follow, Network, Out, Security, Sent,
    Session,
};

use crate::Stop;
use crate::barrier::CommonStart;
use crate::batching::Batching;
use crate::early::EarlyFailures;
use crate::exchange::{Exchange, Exchanges, NONE, ONE_WAY, REUSED, Standing};
use crate::failing::Kept;
use crate::filling::FillSource;
use crate::health::Health;
use crate::heartbeat::Beat;
use crate::held::HeldConnections;
use crate::lookup::Lookups;
use crate::message::Message;
use crate::one_way::OneWay;
use crate::pool::{Conn, Pool, Stage};
use crate::tally::{InFlight, Tally};
use crate::timers::{Pauses, Wheel};
use crate::turn::Turn;

/// Answers to pings from which on it is looked whether they leave, and the bytes unsent up to which they do.
const REPLIES_LOOKED_AT: u32 = 1024;
const REPLIES_UNSENT: usize = 64 << 10;
use crate::users::VirtualUsers;

/// Arrivals sent before the next answer is read: about 20 µs of system calls, the most that a read may be late for them.
const SENDS_BETWEEN_READS: usize = 4;

/// What a worker holds to. Moments are readings of the network's clock.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub index: u32,
    pub open: bool,
    /// When the run began.
    pub start: Nanos,
    /// When the window begins: the end of the warm-up.
    pub window: Nanos,
    /// When it ends; None: when the quota is done.
    pub end: Option<Nanos>,
    /// Over once the quota is done, though `end` may be later.
    pub until_quota: bool,
    /// Requests to start (warm-up not counted); None: until the end.
    pub quota: Option<u64>,
    /// Arrivals may be so late to leave together.
    pub slack: Nanos,
    pub drain: Nanos,
    pub timeout: Nanos,
    pub connect_timeout: Nanos,
    pub max_connections: u32,
    pub think: Option<(Nanos, Nanos)>,
    /// One exchange a connection.
    pub one_shot: bool,
    /// Exchanges that share a connection.
    pub shared: u32,
    /// Exchanges that one user keeps in flight.
    pub per_user: u32,
    /// Users or connections started per second.
    pub connect_rate: Option<f64>,
    pub sources: Vec<IpAddr>,
}

/// What comes after an exchange.
pub(crate) struct Next<R> {
    pub user: u32,
    /// What the request was called; so are the hops that follow it.
    pub name: u16,
    pub hops: u8,
    pub follow: Option<Box<Follow<R>>>,
    /// Nothing could be reached: wait before the next attempt.
    pub back_off: bool,
}

pub(crate) struct Worker<N: Network, D: Dialogue> {
    pub net: N,
    pub dialogue: Arc<D>,
    pub security: Arc<dyn Security>,
    pub lookups: Lookups,
    pub limits: Limits,
    pub report: Box<dyn FnMut(Message) + Send>,

    /// The latest reading of the clock: at most one read, and what follows from it, old.
    pub stamp: Nanos,
    /// What the turns of the loop say about what has come.
    pub turn: Turn,
    pub schedule: Option<Box<dyn Schedule>>,
    pub next_due: Nanos,
    pub crowd: Option<VirtualUsers>,
    pub common_start: Option<CommonStart>,
    pub held: Option<HeldConnections>,
    pub heartbeat: Option<Beat>,
    /// When the next connection may be begun, where they are begun at a rate.
    pub next_start: Nanos,
    /// Sent, nobody answers, perhaps not written yet.
    pub one_way: OneWay,
    pub mix: Mix,
    pub rng: Rng,
    pub serial: FillSource,
    /// Of connections.
    pub seeds: Rng,
    pub started: u64,
    /// No more requests are started.
    pub closing: bool,
    pub over: bool,

    pub conns: Vec<Conn<D::Session>>,
    pub connections: u32,
    pub exchanges: Exchanges,
    pub alive: u32,
    pub follows: BTreeMap<u32, D::Request>,
    pub pools: Vec<Pool>,
    /// When pools that were refused try again.
    pub retry_at: Nanos,
    pub next: Vec<Next<D::Request>>,
    pub next_source: usize,

    pub timeouts: Wheel,
    pub connect_timeouts: Wheel,
    pub watched: Vec<bool>,
    pub pauses: Pauses,
    pub came_up: Vec<u32>,

    pub out: Out,
    pub out_for: u32,
    pub cipher: Out,
    pub plain: Vec<u8>,
    pub done: Done<D::Request>,

    pub tally: Tally,
    pub in_flight: InFlight,
    pub second_from: Nanos,
    pub second_to: Nanos,
    pub bytes_sent: u64,
    /// Refusals of datagrams that the network has found in sends, as told so far.
    pub refused: u64,
    pub cpu: Nanos,
    pub kept: Kept,
    /// The status with which the peer refuses the connection at hand, until the request that fails with it is counted.
    pub refused_with: u32,
    pub early: Option<EarlyFailures>,
    pub batching: Batching,
    pub health: Health,
}

impl<N: Network, D: Dialogue> Worker<N, D> {
    /// The loop.
    pub fn run(&mut self, stop: &Stop) {
        self.begin();
        while !self.over {
            self.before_wait();
            let until = self.next_moment();
            self.turn.waits(self.stamp);
            self.net.wait(until);
            self.mark();
            self.after_wait(until);
            self.turn.woken(until, self.stamp);
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
            let Some(arrival) = self.net.next() else { break };
            match arrival {
                Arrival::Received(conn, bytes) => {
                    let conn = conn.0;
                    let c = &mut self.conns[conn as usize];
                    let count = bytes.len();
                    let heard = receive(c, bytes, &mut self.out, &mut self.cipher, &mut self.plain, &mut self.done);
                    self.received(conn, count, heard);
                }
                Arrival::Connected(conn) => self.connected(conn.0),
                Arrival::Closed(conn, why) => self.lost(conn.0, why),
                Arrival::Sent(conn) => self.all_sent(conn.0),
                Arrival::Accepted(_, conn) => self.net.close(conn),
            }
            if self.turn.is_long(self.stamp) {
                break;
            }
        }
        self.turn.over(self.net.rest(), self.connections, self.stamp);
    }

    /// 1. Arrivals whose time has come (open load).
    #[inline]
    fn send_due(&mut self) {
        for _ in 0..SENDS_BETWEEN_READS {
            if self.next_due > self.stamp {
                return;
            }
            let intended = self.next_due;
            self.draw_next_due();
            let request = self.mix.next() as u32;
            self.arrive(intended, request, NONE);
            self.flush();
            self.mark();
        }
    }

    /// Reads the clock; what is stamped from now on belongs to the second it lies in.
    #[inline]
    pub fn mark(&mut self) {
        self.stamp = self.net.now();
        if self.stamp >= self.second_to {
            self.roll_seconds();
        }
    }

    /// 2. A request that is due looks for a connection.
    pub fn arrive(&mut self, intended: Nanos, request: u32, user: u32) {
        let origin = self.dialogue.requests()[request as usize].origin as u32;
        let name = self.dialogue.names().of(request as usize);
        let exchange = self.new_exchange(intended, request, name, user, 0);
        self.place(exchange, origin);
    }

    /// A hop of a redirect: a request of its own, due now.
    fn arrive_by(&mut self, next: Next<D::Request>, follow: Follow<D::Request>) {
        let origin = self.pool_of(&follow.origin);
        let exchange = self.new_exchange(self.stamp, NONE, next.name, next.user, next.hops.saturating_add(1));
        self.follows.insert(exchange.0, follow.request);
        self.place(exchange, origin);
    }

    pub fn new_exchange(&mut self, intended: Nanos, request: u32, name: u16, user: u32, hops: u8) -> ExchangeId {
        let warmup = intended < self.limits.window;
        self.tally.counts.due += u64::from(!warmup);
        if let Some(named) = self.tally.named.as_mut().filter(|_| !warmup) {
            named.counts(name).due += 1;
        }
        self.alive += 1;
        self.exchanges.add(Exchange {
            intended,
            started: Nanos::ZERO,
            written: self.stamp,
            first_byte: Nanos::ZERO,
            last_message: Nanos::ZERO,
            conn: NONE,
            user,
            request,
            name,
            serial: 0,
            state: Standing::Waiting,
            warmup,
            watched: false,
            hops,
            marks: 0,
            resent: 0,
        })
    }

    /// 3. A connection with room, or one opened for it, or the queue.
    #[inline]
    fn place(&mut self, id: ExchangeId, origin: u32) {
        let user = self.exchanges.get(id).user;
        if let Some(conn) = self.own_connection(user, origin) {
            return self.submit(id, conn, self.stamp);
        }
        match self.pools[origin as usize].choose(self.held.is_some()) {
            Some(conn) => {
                self.give_connection(user, conn);
                let ready = self.exchanges.get(id).intended.max(self.pools[origin as usize].idle_since);
                self.submit(id, conn, ready);
            }
            None => self.open_for(id, origin),
        }
    }

    /// 4. The session appends its bytes; they leave with [`Worker::flush`].
    #[inline]
    pub fn submit(&mut self, id: ExchangeId, conn: u32, ready: Nanos) {
        self.aim(conn);
        let x = self.exchanges.get(id);
        if x.state == Standing::Waiting {
            x.started = self.stamp;
            self.in_flight.start(self.stamp);
            if self.limits.open && !x.warmup {
                let (wait, late) = x.blame(ready);
                self.tally.latency.wait_conn.record(wait);
                self.tally.latency.gen_late.record(late);
            }
        }
        (x.state, x.conn, x.written) = (Standing::InFlight, conn, self.stamp);
        let c = &mut self.conns[conn as usize];
        let request = match self.dialogue.requests().get(x.request as usize) {
            Some(prepared) => &prepared.request,
            None => &self.follows[&id.0],
        };
        let Some(session) = c.session.as_mut() else { return };
        let mut fill = Fill::default();
        if D::Session::SLOTS && self.serial.fills {
            fill = self.serial.fill_for(x, self.stamp);
        }
        let Ok(sent) = session.submit(id, request, &fill, &mut self.out) else { return self.not_taken(id, conn) };
        if sent == Sent::OneWay {
            x.marks |= ONE_WAY;
            self.one_way.sent(id);
        }
        let room = session.room();
        self.tally.counts.connections.reused += u64::from(c.served && !x.warmup);
        x.marks = (x.marks & !REUSED) | (REUSED * u8::from(c.served));
        c.in_flight += 1;
        (c.last, c.served) = (id.0, true);
        if x.warmup {
            self.tally.counts.warmup += u64::from(x.resent == 0);
        } else {
            self.tally.counts.sent += u64::from(x.resent == 0);
        }
        if !x.watched {
            x.watched = true;
            self.timeouts.watch(id.0, x.started + self.limits.timeout);
        }
        if room == 0 {
            let origin = c.origin as usize;
            self.pools[origin].unmake_idle(&mut self.conns, conn);
        }
    }

    /// Bytes in `out` are for one connection at a time.
    #[inline]
    pub fn aim(&mut self, conn: u32) {
        if self.out_for != conn {
            self.flush();
            self.out_for = conn;
        }
    }

    /// 5. One write for everything appended.
    #[inline]
    pub fn flush(&mut self) {
        if self.out.is_empty() {
            return;
        }
        let conn = self.out_for;
        match &mut self.conns[conn as usize].secure {
            None => self.net.send(ConnId(conn), &mut self.out),
            Some(channel) => {
                channel.seal(&self.out, &mut self.cipher);
                self.out.clear();
                self.net.send(ConnId(conn), &mut self.cipher);
            }
        }
    }

    /// 6. Bytes arrived and the session has read them.
    #[inline]
    fn received(&mut self, conn: u32, count: usize, heard: Heard) {
        self.mark();
        self.tally.counts.bytes.received += count as u64;
        self.batching.reads += 1;
        let read = match heard {
            Heard::Plain(read) => read,
            Heard::Secure(fed) => match self.fed(conn, fed) {
                Some(read) => read,
                None => return,
            },
        };
        self.out_for = conn;
        let before = (self.tally.counts.failed, self.tally.counts.strays);
        self.settle(conn, read.as_ref().err().map_or("", |broken| broken.0));
        if let Err(Broken(what)) = read {
            // Bytes that belong to no request fail none, but do not go unseen.
            let c = &self.conns[conn as usize];
            let unseen = (self.tally.counts.failed, self.tally.counts.strays) == before;
            let nobodys = c.in_flight == 0 && c.stage == Stage::Open && unseen;
            self.tally.counts.unsolicited += u64::from(nobodys);
            let kind = c.session.as_ref().map_or(FaultKind::BrokenProtocol, |session| session.refusal());
            return self.break_off(conn, kind, None, what);
        }
        let c = &self.conns[conn as usize];
        if c.session.as_ref().is_some_and(|session| session.replies() >= REPLIES_LOOKED_AT) {
            self.look_at_replies(conn);
        }
        if self.conns[conn as usize].stage == Stage::Greeting {
            return self.greet_on(conn);
        }
        self.go_on(conn);
    }

    /// Many answers were given to pings: where the peer reads, they have left, and are no flood.
    #[cold]
    fn look_at_replies(&mut self, conn: u32) {
        let few = self.net.unsent(ConnId(conn)) < REPLIES_UNSENT;
        if let Some(session) = self.conns[conn as usize].session.as_mut().filter(|_| few) {
            session.replies_left();
        }
    }

    /// After an arrival: the connection is given on or let go, users go on, bytes leave.
    #[inline]
    pub fn go_on(&mut self, conn: u32) {
        self.offer(conn);
        self.go_on_all();
        self.flush();
    }

    /// Redirects are followed, users go on: each step sends, pauses or ends a user.
    #[inline]
    pub fn go_on_all(&mut self) {
        while let Some(mut next) = self.next.pop() {
            match next.follow.take() {
                Some(_) if self.window_over() => self.user_ends(next.user),
                Some(follow) => self.arrive_by(next, *follow),
                None => self.user_goes_on(next.user, next.back_off),
            }
        }
    }

    /// Room on a connection: for those who wait, else kept; a connection that is over is closed.
    #[inline]
    pub fn offer(&mut self, conn: u32) {
        let c = &self.conns[conn as usize];
        let Some(session) = c.session.as_ref().filter(|_| c.stage == Stage::Open) else { return };
        let (room, in_flight, origin, user) = (session.room(), c.in_flight, c.origin as usize, c.user);
        if room == 0 {
            self.pools[origin].unmake_idle(&mut self.conns, conn);
            if in_flight == 0 {
                self.retire(conn);
            }
            return self.grow_for_untouched(origin);
        }
        if user != NONE {
            return self.submit_again(conn, user, origin);
        }
        if self.conns[conn as usize].idle_at == NONE {
            self.pools[origin].make_idle(&mut self.conns, conn);
        } else if self.limits.shared > 1 {
            self.pools[origin].prefer(&mut self.conns, conn);
        }
        while self.conns[conn as usize].idle_at != NONE {
            let Some(id) = self.pools[origin].waiting.pop_front() else { return self.grow_others(origin as u32) };
            let ready = self.exchanges.get(id).intended.max(self.stamp);
            self.submit(id, conn, ready);
        }
    }
}

/// What reading came to.
pub(crate) enum Heard {
    Plain(Result<(), Broken>),
    Secure(Result<Fed, String>),
}

#[inline]
pub(crate) fn receive<S: Session>(
    c: &mut Conn<S>,
    bytes: &[u8],
    out: &mut Out,
    cipher: &mut Out,
    plain: &mut Vec<u8>,
    done: &mut Done<S::Request>,
) -> Heard {
    match (&mut c.secure, &mut c.session) {
        (None, Some(session)) => Heard::Plain(session.receive(bytes, out, done)),
        (Some(channel), _) => {
            plain.clear();
            Heard::Secure(channel.feed(bytes, plain, cipher))
        }
        (None, None) => Heard::Plain(Ok(())),
    }
}
