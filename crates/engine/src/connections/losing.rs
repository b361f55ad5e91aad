//! Lost and closed connections: requests on them fail, and those that need another connection get one.

use wire::{Belongs, Ended, Errno, Event, FaultKind, Network, Phase};

use crate::exchange::Standing;
use crate::ids::{ConnId, ExchangeId, PoolId, UserId};
use crate::pool::Stage;

use crate::outcome::{Outcome, Unspoken};

use super::Connections;
use crate::failing::{Cause, kind_of};

/// Fails answers that would have ended well with the end of a connection that was truncated (RFC 8446 6.1, RFC 9112
/// 9.8).
pub(crate) fn fail_cut(events: &mut [Event], came: Box<[u8]>) {
    for event in events {
        if let Event::Ended(ended @ Ended { fault: None, .. }) = event {
            (ended.fault, ended.follow, ended.why) =
                (Some(FaultKind::Closed), None, Some(cause::response::cut().into()));
            ended.excerpt = Some(came.clone()).filter(|came| !came.is_empty());
        }
    }
}

impl<N: Network> Connections<N> {
    /// Abandons a request as unfinished; a connection that cannot cancel it is dropped.
    pub fn cut_request(&mut self, id: ExchangeId) {
        let x = self.traffic.flights.take(id);
        self.traffic.books.unfinished(&x, &self.traffic.limits, self.traffic.stamp);
        self.traffic.flights.forget(&x, id);
        match x.state {
            _ if x.conn == ConnId::NONE => self.wait_no_more(id),
            Standing::InFlight if self.links.cancel(x.conn, id) => {
                self.links.conn_mut(x.conn).ends();
                self.offer(x.conn);
            }
            _ => self.abandon(x.conn),
        }
    }

    /// Handles a connection that the peer closed, or that failed to open.
    pub(crate) fn lost(&mut self, conn: ConnId, why: Option<Errno>) {
        // With TLS, a close_notify must come first: without it, the rest may have been truncated by anyone on the path.
        let cut = self.links.conn(conn).secure.is_some();
        self.ended_by_peer(conn, why, cut);
    }

    /// Like [`Connections::lost`]; `cut` is set if what ends with the connection may be truncated.
    pub(crate) fn ended_by_peer(&mut self, conn: ConnId, why: Option<Errno>, cut: bool) {
        self.mark();
        self.see_refusal(conn, why);
        if self.links.conn(conn).stage == Stage::Open && why.is_none() {
            let wanted = cut && self.links.done().wants_example(FaultKind::Closed);
            let came = if wanted { self.links.begun(conn) } else { Vec::new() };
            self.links.closed(conn);
            if cut {
                fail_cut(&mut self.links.done().events, came.into());
            }
            self.settle(conn, None);
        }
        let goodbye = self.links.farewell(conn, why);
        let kind = if self.links.in_tunnel(conn) { FaultKind::Proxy } else { kind_of(why) };
        self.break_off(conn, kind, why, goodbye.as_ref());
    }

    /// Drops a connection: the requests on it fail.
    pub(crate) fn break_off(
        &mut self,
        conn: ConnId,
        kind: FaultKind,
        errno: Option<Errno>,
        why: Option<&cause::Cause>,
    ) {
        let c = self.links.conn(conn);
        let (stage, pool_id, user) = (c.stage, c.pool, c.user);
        let idle_user = user != UserId::NONE && c.in_flight() == 0 && self.belongs(pool_id) == Belongs::ToNobody;
        let in_vain = stage != Stage::Open || self.is_in_vain(conn, kind);
        if !in_vain && kind != FaultKind::Timeout {
            self.proved(conn);
        }
        let phase = match stage {
            Stage::Vacant => return,
            Stage::Connecting => Phase::Connect,
            Stage::Handshaking => Phase::Tls,
            Stage::Greeting => Phase::Greeting,
            Stage::Open => Phase::FirstByte,
        };
        self.traffic.books.counts().heartbeats.missed += self.heartbeat_unanswered(conn);
        let code = match stage {
            Stage::Greeting | Stage::Open => self.links.session(conn).map_or(0, |session| session.refusal_code()),
            _ => 0,
        };
        let cause = Cause::new(kind, phase).of_system(errno).with_code(code).saying(why);
        if stage == Stage::Open {
            self.fail_what_is_on(conn, &cause, in_vain);
            if in_vain {
                self.pool_set_back(pool_id);
                self.nobody_answers(pool_id, &cause.in_phase(Phase::Wait));
            }
        } else if self.not_opened(conn, &cause) {
            return;
        }
        if idle_user {
            self.traffic.outcomes.push(Outcome::Lost { user, stood: stage == Stage::Open, in_vain });
        }
        self.grow(pool_id);
        self.grow_others(pool_id);
    }

    /// Handles a connection that failed to open. Returns `true` if its user counts that as a failed request.
    fn not_opened(&mut self, conn: ConnId, cause: &Cause<'_>) -> bool {
        let c = self.links.conn(conn);
        let (owner, pool_id, user, greeting) = (c.last, c.pool, c.user, c.stage == Stage::Greeting);
        self.traffic.books.counts().connections.failed += 1;
        if greeting {
            // The bytes of a peer that refused us.
            let came = Some(self.links.begun(conn)).filter(|came| !came.is_empty());
            self.traffic.keep_example(&cause.with_code(0), None, came.as_deref());
        }
        self.discard(conn, true);
        self.consider_lookup(pool_id);
        if owner == ExchangeId::NONE && user != UserId::NONE && self.users_speak() {
            self.traffic.outcomes.push(Outcome::Unspoken { user, why: Unspoken::of(cause) });
            return true;
        }
        match owner {
            ExchangeId::NONE => self.growth_failed(pool_id, cause),
            owner => self.traffic.fail(owner, cause, true),
        }
        false
    }

    /// Handles a session that refuses a request it was thought to have room for: nothing is sent, and nothing counts as
    /// sent. Without room and without a request in flight the connection is over.
    #[cold]
    pub(crate) fn not_taken(&mut self, id: ExchangeId, conn: ConnId) {
        self.traffic.flights.get(id).state = Standing::Connecting;
        let c = self.links.conn(conn);
        let (pool_id, idle) = (c.pool, c.in_flight() == 0);
        let words = c.session.as_ref().and_then(|session| session.goodbye()).map(cause::Cause::from);
        self.pools.get_mut(pool_id).unmake_idle(self.links.conns_mut(), conn);
        if idle {
            self.retire(conn);
        }
        let cause = Cause::new(FaultKind::Closed, Phase::FirstByte).saying(words.as_ref());
        self.traffic.fail(id, &cause, true);
        self.nobody_answers(pool_id, &cause.in_phase(Phase::Wait));
    }

    /// Drops a connection that was open: the requests on it fail.
    fn fail_what_is_on(&mut self, conn: ConnId, cause: &Cause<'_>, in_vain: bool) {
        let c = self.links.conn(conn);
        let on_it = match (c.in_flight(), c.last) {
            (0, _) => Vec::new(),
            // Where several shared the connection, the last one submitted need not be the one left.
            (1, last) if self.traffic.flights.get(last).is_on(conn) => vec![last],
            _ => self.traffic.flights.on(conn),
        };
        let kind = cause.sort.kind;
        let came = if self.links.done().wants_example(kind) { self.links.begun(conn) } else { Vec::new() };
        // Otherwise connections come and go: a keep-alive connection closed by the peer is no loss.
        let wanted = self.is_wanted(conn);
        if wanted {
            self.count_loss(conn, cause);
        }
        if on_it.is_empty() && wanted {
            self.traffic.keep_example(&cause.in_phase(Phase::Hold), None, Some(&came));
        }
        // A connection that the peer closed in order is closed in order; a broken one is aborted.
        self.discard(conn, kind != FaultKind::Closed);
        let came = Some(&came[..]).filter(|came| !came.is_empty());
        for id in on_it {
            let begun = self.traffic.flights.get(id).first_byte != measure::Nanos::ZERO;
            let phase = if begun { Phase::Transfer } else { cause.sort.phase };
            self.traffic.fail_with(id, &cause.in_phase(phase), came, in_vain);
        }
    }

    /// Handles a failed opening that no exchange owned. Waiting exchanges go on waiting while other connections live;
    /// else the oldest fails. With the last attempt all of them fail: no connection is left to wait for.
    pub(crate) fn growth_failed(&mut self, pool_id: PoolId, cause: &Cause<'_>) {
        self.pool_set_back(pool_id);
        let pool = self.pools.get_mut(pool_id);
        let oldest = if pool.alive == 0 { pool.waiting.pop_front() } else { None };
        match oldest {
            Some(id) => self.traffic.fail(id, cause, true),
            None => self.traffic.connection_failed(cause),
        }
        self.nobody_answers(pool_id, cause);
    }

    /// Fails the waiting exchanges with the cause of the last failure, if no connection is open or being opened.
    pub(crate) fn nobody_answers(&mut self, pool_id: PoolId, cause: &Cause<'_>) {
        let pooled = self.pools.are_shared(pool_id);
        let pool = self.pools.get_mut(pool_id);
        if pooled && pool.alive + pool.opening == 0 {
            for id in std::mem::take(&mut pool.waiting) {
                self.traffic.fail(id, cause, true);
            }
        }
    }

    /// Closes an idle connection on which the peer takes nothing more. One that is part of the plan counts as lost.
    pub(crate) fn retire(&mut self, conn: ConnId) {
        let c = self.links.conn(conn);
        let (user, pool_id) = (c.user, c.pool);
        let lost = self.is_wanted(conn) && !self.closing;
        let in_vain = self.is_in_vain(conn, FaultKind::Closed);
        if in_vain {
            self.pool_set_back(pool_id);
        }
        if lost {
            let cause = Cause::new(FaultKind::Closed, Phase::Hold);
            self.count_loss(conn, &cause);
            self.traffic.books.counts().heartbeats.missed += self.heartbeat_unanswered(conn);
            let words = self.links.session(conn).and_then(|session| session.goodbye()).map(cause::Cause::from);
            let came = Some(self.links.begun(conn)).filter(|came| !came.is_empty());
            self.traffic.keep_example(&cause.saying(words.as_ref()), None, came.as_deref());
        }
        self.let_go(conn);
        if lost && user != UserId::NONE {
            self.traffic.outcomes.push(Outcome::Lost { user, stood: true, in_vain });
        }
    }

    /// Closes a connection in order: the session writes its closing message first.
    pub(crate) fn let_go(&mut self, conn: ConnId) {
        let pool_id = self.links.conn(conn).pool;
        self.say_goodbye(conn);
        if self.pools.group(pool_id).open && !self.pools.get(pool_id).waiting.is_empty() {
            self.grow(pool_id);
        }
        self.grow_others(pool_id);
    }

    pub(crate) fn say_goodbye(&mut self, conn: ConnId) {
        self.links.say_goodbye(conn);
        self.discard(conn, false);
    }

    /// Removes a connection from its user and its pool.
    fn discard(&mut self, conn: ConnId, abort: bool) {
        self.traffic.books.counts().heartbeats.open += self.heartbeat_unanswered(conn);
        let c = self.links.conn(conn);
        let (pool_id, stage, owner, user) = (c.pool, c.stage, c.last, c.user);
        if stage == Stage::Greeting {
            let said = c.session.as_ref().map_or(0, |session| session.opening_messages());
            self.traffic.books.counts().opening_messages += u64::from(said);
        }
        self.count_unheard(conn);
        if !self.own_is_gone(conn) {
            self.own.lose(user);
        }
        self.pools.group_mut(pool_id).count -= 1;
        let pool = self.pools.get_mut(pool_id);
        pool.unmake_idle(self.links.conns_mut(), conn);
        match stage {
            Stage::Open => pool.alive -= 1,
            _ if owner == ExchangeId::NONE => pool.opening -= 1,
            _ => {}
        }
        self.one_way.forget(conn);
        self.links.discard(conn, abort);
    }

    /// Fails the exchanges whose time passed while they waited for a connection, including those that a peer did not
    /// process.
    pub(crate) fn give_up_waiting(&mut self) {
        for pool_id in self.pools.numbers() {
            // Waiting exchanges are in the order in which they were due: those that timed out are in front.
            while let Some(&id) = self.pools.get(pool_id).waiting.front() {
                if !self.traffic.flights.waited_too_long(id, self.turn.caught_up) {
                    break;
                }
                self.pools.get_mut(pool_id).waiting.pop_front();
                self.traffic.fail(id, &Cause::new(FaultKind::Timeout, Phase::Wait), false);
            }
        }
    }

    /// Removes an exchange from the queues of those that wait for a connection.
    pub(crate) fn wait_no_more(&mut self, id: ExchangeId) {
        self.pools.all_mut().iter_mut().for_each(|pool| pool.waiting.retain(|waiting| *waiting != id));
    }

    /// Aborts a connection whose request was abandoned: nothing more can be sent on it.
    pub(crate) fn abandon(&mut self, conn: ConnId) {
        if self.links.conn(conn).stage != Stage::Vacant {
            self.discard(conn, true);
        }
    }

    /// Times out an exchange.
    pub(crate) fn give_up(&mut self, id: ExchangeId) {
        let x = *self.traffic.flights.get(id);
        match x.state {
            Standing::Vacant => {}
            // Those in front may have more time.
            Standing::Waiting if self.traffic.flights.times_apart() => {
                self.wait_no_more(id);
                self.traffic.fail(id, &Cause::new(FaultKind::Timeout, Phase::Wait), false);
            }
            Standing::Waiting => self.give_up_waiting(),
            Standing::Connecting => self.break_off(x.conn, FaultKind::Timeout, None, None),
            Standing::InFlight if x.conn == ConnId::NONE => {
                self.wait_no_more(id);
                self.traffic.fail(id, &Cause::new(FaultKind::Timeout, Phase::Wait), false);
            }
            Standing::InFlight if self.links.cancel(x.conn, id) => {
                self.links.conn_mut(x.conn).ends();
                let begun = x.first_byte != measure::Nanos::ZERO;
                let phase = if begun { Phase::Transfer } else { Phase::FirstByte };
                self.traffic.fail(id, &Cause::new(FaultKind::Timeout, phase), false);
                self.offer(x.conn);
            }
            Standing::InFlight => self.break_off(x.conn, FaultKind::Timeout, None, None),
        }
    }
}
