//! Connection handling of a worker: pools, links, handshakes, backoff, timeouts, and the requests carried.
//!
//! A due request is placed on a connection ([`WorkerConnections::place`]), submitted and written; the response ends it.
//! The result is a [`crate::outcome::FinishedRequest`] for the part of the worker that handles users; this module knows
//! nothing about their behaviour.

mod answers;
mod backoff;
mod batching;
mod clock;
mod closing;
mod final_read;
mod fixed_connections;
mod health;
mod heartbeat;
mod leave;
mod one_way;
mod opening;
mod reconnect;
mod spin;
mod sticky_connections;
pub(crate) mod traffic;
mod user_connections;

use brunt_contract::{
    ChannelProgress, FaultKind, Network, Phase, ProtocolError, RequestDraft, SlotContext, SubmitOutcome,
};
use brunt_measure::Nanos;
use brunt_measure::random::Rng;

use crate::backoff::UserBackoffs;
use crate::due_request::{DerivedRequest, DueRequest, RequestRef};
use crate::exchange::{ExchangeState, HELD_BACK, OF_PAGE, ONE_WAY, REUSED};
use crate::expect_continue::ContinueTimers;
use crate::failure_cause::FailureCause;
use crate::ids::{ConnId, ExchangeId, OriginId, PoolId, RequestId, UserId};
use crate::limits::Limits;
use crate::links::{LinkEvent, Links};
use crate::lookup::Lookups;
use crate::outcome::NextHop;
use crate::own_delay::{EndedWait, ReadGaps};
use crate::pool::{ConnStage, NOT_IDLE, Pools};
use crate::turn::Turn;

use self::batching::Batching;
use self::health::Health;
use self::one_way::OneWayRequests;
use self::spin::{SpinWait, Wait};
use self::sticky_connections::StickyConnections;
use self::traffic::Traffic;

pub(crate) use self::clock::STOP_CHECK_INTERVAL;
pub(crate) use self::closing::fail_truncated;
pub(crate) use self::fixed_connections::FixedConnections;
pub(crate) use self::heartbeat::HeartbeatRounds;
pub(crate) use self::reconnect::{Reconnects, origins_of};
pub(crate) use self::spin::SpinBudget;
pub(crate) use self::user_connections::UserConnections;

/// The connections of a worker, and the requests in flight on them.
pub(crate) struct WorkerConnections<N: Network> {
    traffic: Traffic,
    links: Links<N>,
    pools: Pools,
    lookups: Lookups,
    /// Time of the next planned lookup of all origins.
    refresh_at: Nanos,
    /// Set if parsing a response can take so long that the clock must be read again afterwards.
    parses_slowly: bool,
    /// Set if sessions number the messages on a connection.
    counts_messages: bool,
    /// The current turn of the loop: how far the sockets have been read.
    turn: Turn,
    /// Set if the number of connections is part of the plan.
    fixed: Option<FixedConnections>,
    heartbeats: Option<HeartbeatRounds>,
    one_way: OneWayRequests,
    continue_timers: ContinueTimers,
    /// Connections owned by users of a closed load.
    sticky: StickyConnections,
    /// Connections owned by users of a flow.
    owned: Option<UserConnections>,
    released: Vec<ConnId>,
    reconnects: Option<Reconnects>,
    /// Backoff of users whose last connection was useless.
    user_backoffs: UserBackoffs,
    /// Source of the jitter of backoff pauses.
    rng: Rng,
    batching: Batching,
    health: Health,
    gaps: ReadGaps,
    /// Delay that may be brunt's own of the event that made the next connection available.
    freed_late: Nanos,
    spin: SpinWait,
    /// Set while the run waits for its common start: nothing is recorded yet.
    before_start: bool,
    /// Set once no more requests are started.
    closing: bool,
}

/// The parts from which [`WorkerConnections`] is built.
pub(crate) struct ConnectionParts<N: Network> {
    pub traffic: traffic::TrafficParts,
    pub links: Links<N>,
    pub pools: Pools,
    pub lookups: Lookups,
    pub fixed: Option<FixedConnections>,
    pub heartbeats: Option<HeartbeatRounds>,
    pub spinning: SpinBudget,
    /// Set, by scenario, if its users come with arrivals and thus own no connections.
    pub by_arrivals: Vec<bool>,
    /// Connections owned by users of a flow.
    pub owned: Option<UserConnections>,
    pub reconnects: Option<Reconnects>,
    /// Source of the jitter of backoff pauses.
    pub rng: Rng,
}

impl<N: Network> WorkerConnections<N> {
    /// Creates a set without connections.
    pub fn new(parts: ConnectionParts<N>) -> WorkerConnections<N> {
        let ConnectionParts { traffic, links, pools, lookups, .. } = parts;
        let now = traffic.now;
        WorkerConnections {
            refresh_at: traffic.limits.dns_refresh.map_or(Nanos::MAX, |interval| now.saturating_add(interval)),
            parses_slowly: traffic.workload.prepared().inspects_responses,
            counts_messages: traffic.workload.prepared().counts_messages,
            traffic: Traffic::new(traffic),
            links,
            pools,
            lookups,
            turn: Turn::begin(now),
            fixed: parts.fixed,
            heartbeats: parts.heartbeats,
            one_way: OneWayRequests::default(),
            continue_timers: ContinueTimers::default(),
            sticky: StickyConnections::of(parts.by_arrivals),
            owned: parts.owned,
            released: Vec::new(),
            reconnects: parts.reconnects,
            user_backoffs: UserBackoffs::default(),
            rng: parts.rng,
            batching: Batching::NONE,
            health: Health::default(),
            gaps: ReadGaps::new(now),
            freed_late: Nanos::ZERO,
            spin: SpinWait::new(parts.spinning, now),
            before_start: false,
            closing: false,
        }
    }

    /// Returns the requests carried by these connections.
    #[inline]
    pub fn traffic(&mut self) -> &mut Traffic {
        &mut self.traffic
    }

    /// Returns the latest reading of the clock.
    #[inline]
    pub fn now(&self) -> Nanos {
        self.traffic.stamp
    }

    /// Returns the time at which the current event was read.
    #[inline]
    pub fn event_time(&self) -> Nanos {
        self.traffic.event_time
    }

    #[inline]
    pub fn limits(&self) -> &Limits {
        &self.traffic.limits
    }

    /// Prepares for the next wait. A turn interrupted for timers continues after the wait: the sockets are not polled
    /// again before the turn ends.
    #[inline]
    pub fn before_wait(&mut self) {
        self.read_clock();
        if !self.turn.is_cut() {
            self.health.begin_poll(self.traffic.stamp, self.traffic.recorder.times());
        }
        self.spin.end_turn(self.traffic.stamp);
    }

    /// Waits for events until `until` at the latest; the next arrival of the schedule is due at `arrival`. Returns the
    /// time at which the wait began.
    #[inline]
    pub fn wait_for_events(&mut self, until: Nanos, arrival: Nanos) -> Nanos {
        let began = self.traffic.stamp;
        self.turn.begin_wait(began);
        let wait = self.spin.wait(began, until, arrival);
        let until = match wait {
            Wait::Sleep(until, _) => {
                self.health.begin_wait(until);
                until
            }
            Wait::Poll => {
                // Lets a thread that is waiting for this core run first.
                std::thread::yield_now();
                began
            }
        };
        self.links.net().wait(until);
        self.read_clock_after_wait();
        self.spin.end_wait(wait, began, self.traffic.stamp);
        if self.turn.is_cut() {
            self.gaps.read_clock(began, self.traffic.stamp);
        } else {
            self.health.end_wait(until, self.traffic.stamp, self.traffic.recorder.times());
            let wait = EndedWait {
                began,
                until,
                ended: self.traffic.stamp,
                unread_since: self.turn.unread_since(),
                expecting: self.traffic.in_flight.alive() > 0,
            };
            self.gaps.end_wait(wait, self.links.net(), &mut self.traffic.recorder);
        }
        self.turn.end_wait(until, self.traffic.stamp);
        began
    }

    /// Returns the next event of this turn.
    #[inline]
    pub fn next(&mut self) -> Option<LinkEvent> {
        let arrived = self.links.next()?;
        self.spin.record_arrival(self.traffic.stamp);
        Some(arrived)
    }

    /// Records that everything that arrived in this turn was read, or as much as one turn may read.
    #[inline]
    pub fn end_turn(&mut self) {
        self.freed_late = Nanos::ZERO;
        self.turn.end(self.links.rest(), self.links.count(), self.traffic.stamp);
    }

    /// Records that all pending data has been read.
    #[inline]
    pub fn mark_all_read(&mut self) {
        self.traffic.event_time = self.traffic.stamp;
    }

    /// Returns `true` if requests are in flight.
    pub fn has_requests(&self) -> bool {
        self.traffic.in_flight.alive() > 0
    }

    /// Returns `true` if no more arrivals may wait for a connection.
    #[inline]
    pub fn queue_is_full(&self) -> bool {
        self.traffic.queue_is_full()
    }

    /// Returns the number of request names in the figures.
    pub fn names(&self) -> usize {
        self.traffic.names().list().len()
    }

    /// Sends all appended bytes.
    #[inline]
    pub fn flush(&mut self) {
        self.links.flush();
    }

    /// Returns `true` if this turn has taken so long that timers must not wait for its end.
    #[inline]
    pub fn is_turn_long(&self) -> bool {
        self.turn.is_long(self.traffic.stamp)
    }

    /// Records that a due request has been sent.
    #[inline]
    pub fn mark_due_sent(&mut self) {
        self.spin.record_send(self.traffic.stamp);
        self.read_clock();
    }

    /// Processes an event of a connection; the resulting outcomes are queued.
    #[inline]
    pub fn process(&mut self, arrived: LinkEvent) {
        self.freed_late = Nanos::ZERO;
        match arrived {
            LinkEvent::Read(conn, count, read) => self.received(conn, count, read),
            LinkEvent::TlsRead(conn, count, fed) => self.received_tls(conn, count, fed),
            LinkEvent::Connected(conn) => self.connected(conn),
            LinkEvent::Closed(conn, why) => self.connection_lost(conn, why),
            LinkEvent::Sent(conn) => self.all_sent(conn),
        }
    }

    /// Accepts a request of a user, which is placed on a connection, opens one, or waits.
    #[inline]
    pub fn add_request(&mut self, want: DueRequest) {
        let DueRequest { user, due, request, on_failure, held_back } = want;
        let (id, mut pool) = match request {
            RequestRef::Prepared(request) => {
                let origin = OriginId::of(self.traffic.workload.requests()[request.at()].origin);
                let (pool, name) =
                    (self.pools.of(user.scenario(), origin), self.traffic.workload.names().index_of(request.at()));
                (self.traffic.add(due, request, name, user), pool)
            }
            RequestRef::Derived(made) => self.add_derived(user, due, made),
            RequestRef::Hop(next) => self.add_hop(due, *next),
        };
        if on_failure.is_some() || held_back {
            let x = self.traffic.in_flight.get(id);
            on_failure.into_iter().for_each(|on_failure| x.set_on_failure(on_failure));
            if held_back {
                // It counts as taken up when it was due: the wait since then is caused by the concurrency limit of the
                // batch.
                (x.written, x.flags) = (due, x.flags | HELD_BACK);
            }
        }
        if self.traffic.workload.prepared().follows_links {
            match self.traffic.address(id) {
                None => {}
                Some(Ok(origin)) => pool = self.pools.get_or_create(user.scenario(), &origin),
                Some(Err(why)) => {
                    let cause = FailureCause::new(FaultKind::BadValue, Phase::Wait).with_details(&why);
                    return self.traffic.fail(id, &cause, true);
                }
            }
        }
        self.place(id, pool);
    }

    /// Like [`WorkerConnections::add_request`], for a request composed from a draft. If it cannot be composed, it
    /// counts as due and failed.
    pub fn add_composed(&mut self, user: UserId, due: Nanos, draft: &RequestDraft) {
        let like = draft.base;
        let (name, within) =
            (self.traffic.workload.names().index_of(like.at()), self.traffic.in_flight.timeout_of(like));
        match self.traffic.workload.compose(&self.traffic.workload.requests()[like.at()].request, draft) {
            Ok(follow) => {
                let request = RequestRef::Derived(DerivedRequest { follow, name, timeout: within, of_page: false });
                self.add_request(DueRequest { user, due, request, on_failure: None, held_back: false });
            }
            Err(why) => {
                let id = self.traffic.add(due, RequestId::NONE, name, user);
                self.traffic.fail(id, &FailureCause::new(FaultKind::Resolve, Phase::Resolve).with_details(&why), true);
            }
        }
    }

    /// Creates the exchange of a request derived from a response, and returns it with its pool.
    fn add_derived(&mut self, user: UserId, due: Nanos, made: DerivedRequest) -> (ExchangeId, PoolId) {
        let pool = self.pools.get_or_create(user.scenario(), &made.follow.origin);
        let id = self.traffic.add(due, RequestId::NONE, made.name, user);
        self.traffic.in_flight.get(id).flags |= OF_PAGE * u8::from(made.of_page);
        self.traffic.in_flight.set_timeout(id, made.timeout);
        self.traffic.in_flight.set_request(id, made.follow.request);
        (id, pool)
    }

    /// Creates the exchange of the next hop of a visit, and returns it with its pool.
    #[cold]
    fn add_hop(&mut self, due: Nanos, next: NextHop) -> (ExchangeId, PoolId) {
        let NextHop { follow, visit, timeout } = next;
        let pool = self.pools.get_or_create(visit.user.scenario(), &follow.origin);
        let id = self.traffic.in_flight.add(visit.next_hop(due, self.traffic.stamp));
        self.traffic.in_flight.set_timeout(id, timeout);
        self.traffic.in_flight.set_request(id, follow.request);
        (id, pool)
    }

    /// Submits the exchange on a connection with room, opens a connection for it, or queues it.
    #[inline]
    fn place(&mut self, id: ExchangeId, pool_id: PoolId) {
        if (self.owned.is_some() || self.reconnects.is_some()) && self.place_on_user_connection(id, pool_id) {
            return;
        }
        let user = self.traffic.in_flight.get(id).user;
        if let Some(conn) = self.sticky_connection(user, pool_id) {
            let ready = self.ready_time(id, conn);
            return self.submit(id, conn, ready);
        }
        match self.pools.get_mut(pool_id).choose_idle(self.fixed.is_some()) {
            Some(conn) => {
                self.assign_connection(user, conn);
                let (idle_since, freed_late) = self.pools.get(pool_id).idle_since;
                let x = self.traffic.in_flight.get(id);
                if idle_since > x.intended {
                    self.freed_late = freed_late;
                }
                let ready = if x.is_held_back() { self.traffic.stamp } else { x.intended.max(idle_since) };
                self.submit(id, conn, ready);
            }
            None => self.open_for(id, pool_id),
        }
    }

    /// Step 5: lets the session append the bytes of the request. `ready` is the time at which a connection became
    /// available.
    #[inline]
    fn submit(&mut self, id: ExchangeId, conn: ConnId, ready: Nanos) {
        let x = self.traffic.in_flight.get(id);
        if x.state == ExchangeState::Waiting {
            self.traffic.recorder.started(x, (ready, self.freed_late), self.traffic.stamp);
        }
        (x.state, x.conn, x.written) = (ExchangeState::InFlight, conn, self.traffic.stamp);
        let fill = if self.traffic.in_flight.has_slots() {
            self.traffic.in_flight.fill(id, self.traffic.stamp)
        } else {
            SlotContext::default()
        };
        let x = *self.traffic.in_flight.get(id);
        let Some(request) = self.traffic.in_flight.request(&*self.traffic.workload, &x, id) else { return };
        let sent = match &mut self.traffic.user_states {
            None => self.links.submit(conn, id, request, &fill),
            Some(memories) => {
                let memory = memories.of(x.user);
                let fill = SlotContext { values: &memory.values, ..fill };
                self.links.submit_with(conn, id, request, &fill, memory)
            }
        };
        let Ok(sent) = sent else { return self.submit_refused(id, conn) };
        if self.owned.is_some() {
            self.take_ownership(x.user, conn);
        }
        let c = self.links.conn_mut(conn);
        let room = c.session.as_ref().map_or(0, |session| session.room());
        if self.counts_messages
            && let Some(sequence) = c.session.as_ref().map(|session| session.sequence()).filter(|number| *number > 0)
        {
            self.traffic.in_flight.set_sequence(id, sequence);
        }
        let c = self.links.conn_mut(conn);
        let reused = c.begin_exchange(id);
        let pool_id = c.pool;
        self.traffic.recorder.sent(&x, reused);
        let x = self.traffic.in_flight.get(id);
        x.flags = (x.flags & !(REUSED | ONE_WAY)) | (REUSED * u8::from(reused));
        let since = x.timed_from();
        match sent {
            SubmitOutcome::AwaitingResponse | SubmitOutcome::OneWayHeldBack => {}
            SubmitOutcome::OneWay => self.check_written(id),
            SubmitOutcome::AwaitingContinue(at_most) => self.continue_timers.watch(id, self.traffic.stamp, at_most),
            SubmitOutcome::AlreadyComplete => return self.end_answered_early(conn),
        }
        self.traffic.in_flight.watch(id, since);
        if room == 0 {
            self.pools.get_mut(pool_id).remove_idle(self.links.conns_mut(), conn);
        }
    }

    /// Step 7: records received bytes that the session has parsed.
    #[inline]
    fn received(&mut self, conn: ConnId, count: usize, read: Result<(), ProtocolError>) {
        self.use_read_time();
        self.traffic.recorder.counts().bytes.received += count as u64;
        self.batching.count_read();
        self.process_read(conn, read);
    }

    /// Like [`WorkerConnections::received`], for bytes through TLS.
    fn received_tls(&mut self, conn: ConnId, count: usize, fed: Result<ChannelProgress, brunt_cause::Cause>) {
        self.read_clock();
        self.traffic.recorder.counts().bytes.received += count as u64;
        self.batching.count_read();
        if let Some(read) = self.read_tls(conn, fed) {
            self.process_read(conn, read);
        }
    }

    /// Processes the events that the session parsed, then lets the connection continue or be reused.
    #[inline]
    fn process_read(&mut self, conn: ConnId, read: Result<(), ProtocolError>) {
        let before = (self.traffic.recorder.counts().failed, self.traffic.recorder.counts().strays);
        self.process_events(conn, read.as_ref().err().map(|broken| broken.0));
        if self.parses_slowly {
            // Parsing delays the events that follow, but not this response.
            self.advance_clock();
        }
        if let Err(ProtocolError(what)) = read {
            // Malformed bytes that belong to no request do not fail any, but are counted.
            let unseen = (self.traffic.recorder.counts().failed, self.traffic.recorder.counts().strays) == before;
            let c = self.links.conn(conn);
            let nobodys = c.in_flight() == 0 && c.stage == ConnStage::Open && unseen;
            let kind = c.session.as_ref().map_or(FaultKind::BrokenProtocol, |session| session.refusal_kind());
            let kind = if what.is_own_limit() { FaultKind::Unchecked } else { kind };
            self.traffic.recorder.counts().unsolicited += u64::from(nobodys);
            return self.drop_connection(conn, kind, None, Some(&what.into()));
        }
        self.links.check_replies(conn);
        match self.links.conn(conn).stage {
            ConnStage::Greeting => self.continue_handshake(conn),
            _ => self.offer(conn),
        }
    }

    /// Offers a connection with room to waiting exchanges, or keeps it idle; closes it if it accepts no more exchanges
    /// and has none in flight.
    #[inline]
    fn offer(&mut self, conn: ConnId) {
        let c = self.links.conn(conn);
        let Some(session) = c.session.as_ref().filter(|_| c.stage == ConnStage::Open) else { return };
        let (room, in_flight, pool_id, user) = (session.room(), c.in_flight(), c.pool, c.user);
        let idle = c.idle_at != NOT_IDLE;
        if room == 0 {
            self.pools.get_mut(pool_id).remove_idle(self.links.conns_mut(), conn);
            if in_flight == 0 {
                self.retire(conn);
            }
            return self.grow_for_requeued(pool_id);
        }
        if user != UserId::NONE {
            return self.resubmit(conn, user, pool_id);
        }
        let pool = self.pools.get_mut(pool_id);
        if !idle {
            pool.add_idle(self.links.conns_mut(), conn, self.freed_late);
        } else if self.traffic.limits.exchanges_per_connection > 1 {
            pool.prefer(self.links.conns_mut(), conn);
        }
        while self.links.conn(conn).idle_at != NOT_IDLE {
            let Some(id) = self.pools.get_mut(pool_id).waiting.pop_front() else { return self.grow_others(pool_id) };
            if self.reconnects.is_some() && self.open_instead_of_used(id, conn) {
                return self.grow_others(pool_id);
            }
            let ready = self.traffic.in_flight.get(id).intended.max(self.traffic.event_time);
            self.submit(id, conn, ready);
        }
    }
}
