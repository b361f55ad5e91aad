//! Lost and closed connections: the requests on them fail, and waiting requests get another connection.

use brunt_contract::{ConnectionOwner, Errno, Event, ExchangeEnd, FaultKind, Network, Phase};

use crate::exchange::ExchangeState;
use crate::ids::{ConnId, ExchangeId, PoolId, UserId};
use crate::pool::ConnStage;

use crate::outcome::{NotSentCause, UserOutcome};

use super::WorkerConnections;
use crate::failure_cause::{FailureCause, kind_of};

/// Fails answers delimited by the end of the connection, because they may be truncated (RFC 8446 6.1, RFC 9112 9.8).
pub(crate) fn fail_truncated(events: &mut [Event], came: Box<[u8]>) {
    for event in events {
        if let Event::Ended(ended @ ExchangeEnd { fault: None, .. }) = event {
            (ended.fault, ended.follow_up, ended.cause) =
                (Some(FaultKind::Closed), None, Some(brunt_cause::response::cut().into()));
            ended.excerpt = Some(came.clone()).filter(|came| !came.is_empty());
        }
    }
}

/// How a connection's socket ends.
#[derive(Clone, Copy)]
enum SocketEnding {
    Closed,
    /// The peer sees a reset.
    Aborted,
    /// Closed once the peer has closed it.
    Parted,
}

impl<N: Network> WorkerConnections<N> {
    /// Abandons a request as unfinished, and drops its connection if the request cannot be cancelled on it.
    pub fn abandon_request(&mut self, id: ExchangeId) {
        let x = self.traffic.in_flight.take(id);
        self.traffic.recorder.unfinished(&x, &self.traffic.limits, self.traffic.stamp);
        self.traffic.in_flight.forget(&x, id);
        match x.state {
            _ if x.conn == ConnId::NONE => self.stop_waiting(id),
            ExchangeState::InFlight if !self.is_stuck(&x) && self.links.cancel(x.conn, id) => {
                self.links.conn_mut(x.conn).end_exchange();
                self.offer(x.conn);
            }
            _ => self.abandon(x.conn),
        }
    }

    /// Handles a connection that the peer closed, or that failed to open.
    pub(crate) fn connection_lost(&mut self, conn: ConnId, why: Option<Errno>) {
        // With TLS, a close_notify must come first: without it, anyone on the path may have truncated the data.
        let cut = self.links.conn(conn).secure.is_some();
        self.ended_by_peer(conn, why, cut);
    }

    /// Like [`WorkerConnections::connection_lost`]; `cut` is set if an answer that ends with the connection may be
    /// truncated.
    pub(crate) fn ended_by_peer(&mut self, conn: ConnId, why: Option<Errno>, cut: bool) {
        self.read_clock();
        self.freed_late = self.gaps.read_late(self.traffic.stamp);
        self.count_refusal(conn, why);
        if self.links.conn(conn).stage == ConnStage::Open && why.is_none() {
            let wanted = cut && self.links.done().wants_example(FaultKind::Closed);
            let came = if wanted { self.links.partial_response(conn) } else { Vec::new() };
            self.links.closed(conn);
            if cut {
                fail_truncated(&mut self.links.done().events, came.into());
            }
            self.process_events(conn, None);
        }
        let goodbye = self.links.close_reason(conn, why);
        let kind = if self.links.in_tunnel(conn) { FaultKind::Proxy } else { kind_of(why) };
        self.drop_connection(conn, kind, why, goodbye.as_ref());
    }

    /// Drops a connection: the requests on it fail.
    pub(crate) fn drop_connection(
        &mut self,
        conn: ConnId,
        kind: FaultKind,
        errno: Option<Errno>,
        why: Option<&brunt_cause::Cause>,
    ) {
        let c = self.links.conn(conn);
        let (stage, pool_id, user) = (c.stage, c.pool, c.user);
        let idle_user = user != UserId::NONE && c.in_flight() == 0 && self.belongs(pool_id) == ConnectionOwner::Pool;
        let in_vain = stage != ConnStage::Open || self.was_useless(conn, kind);
        if !in_vain && kind != FaultKind::Timeout {
            self.mark_useful(conn);
        }
        let phase = match stage {
            ConnStage::Vacant => return,
            ConnStage::Connecting => Phase::Connect,
            ConnStage::Handshaking => Phase::Tls,
            ConnStage::Greeting => Phase::Greeting,
            ConnStage::Open => Phase::FirstByte,
        };
        self.traffic.recorder.counts().heartbeats.missed += self.heartbeat_unanswered(conn);
        let code = match stage {
            ConnStage::Greeting | ConnStage::Open => {
                self.links.session(conn).map_or(0, |session| session.refusal_code())
            }
            _ => 0,
        };
        let cause = FailureCause::new(kind, phase).with_errno(errno).with_code(code).with_details(why);
        if stage == ConnStage::Open {
            self.fail_in_flight(conn, &cause, in_vain);
            if in_vain {
                self.back_off_pool(pool_id);
                self.fail_waiting(pool_id, &cause.in_phase(Phase::Wait));
            }
        } else if self.opening_failed(conn, &cause) {
            return;
        }
        if idle_user {
            self.traffic.outcomes.push(UserOutcome::Lost { user, stood: stage == ConnStage::Open, in_vain });
        }
        self.grow(pool_id);
        self.grow_others(pool_id);
    }

    /// Handles a connection that failed to open. Returns `true` if that counts as a failed request of its user.
    fn opening_failed(&mut self, conn: ConnId, cause: &FailureCause<'_>) -> bool {
        let c = self.links.conn(conn);
        let (owner, pool_id, user, greeting) = (c.last, c.pool, c.user, c.stage == ConnStage::Greeting);
        self.traffic.recorder.counts().connections.failed += 1;
        if c.stage == ConnStage::Connecting
            && let Some(which) = self.pools.get(pool_id).one_address(c.address)
        {
            self.traffic.recorder.address_failed(cause.sort, &which);
        }
        if greeting {
            // The bytes with which the peer refused the connection.
            let came = Some(self.links.partial_response(conn)).filter(|came| !came.is_empty());
            self.traffic.keep_example(&cause.with_code(0), None, came.as_deref());
        }
        self.discard(conn, SocketEnding::Aborted);
        self.consider_lookup(pool_id);
        if owner == ExchangeId::NONE && user != UserId::NONE && self.users_send_on_own() {
            self.traffic.outcomes.push(UserOutcome::NotSent { user, why: NotSentCause::of(cause) });
            return true;
        }
        match owner {
            ExchangeId::NONE => self.growth_failed(pool_id, cause),
            owner => self.traffic.fail(owner, cause, true),
        }
        false
    }

    /// Handles a session that refused a request although it seemed to have room: the request does not count as sent. If
    /// nothing else is in flight on the connection, it is closed.
    #[cold]
    pub(crate) fn submit_refused(&mut self, id: ExchangeId, conn: ConnId) {
        self.traffic.in_flight.get(id).state = ExchangeState::Connecting;
        let c = self.links.conn(conn);
        let (pool_id, idle) = (c.pool, c.in_flight() == 0);
        let words = c.session.as_ref().and_then(|session| session.close_reason()).map(brunt_cause::Cause::from);
        self.pools.get_mut(pool_id).remove_idle(self.links.conns_mut(), conn);
        if idle {
            self.retire(conn);
        }
        let cause = FailureCause::new(FaultKind::Closed, Phase::FirstByte).with_details(words.as_ref());
        self.traffic.fail(id, &cause, true);
        self.fail_waiting(pool_id, &cause.in_phase(Phase::Wait));
    }

    /// Drops an open connection: the requests on it fail.
    fn fail_in_flight(&mut self, conn: ConnId, cause: &FailureCause<'_>, in_vain: bool) {
        let c = self.links.conn(conn);
        let on_it = match (c.in_flight(), c.last) {
            (0, _) => Vec::new(),
            // If several exchanges shared the connection, the last one submitted need not be the one that remains.
            (1, last) if self.traffic.in_flight.get(last).is_on(conn) => vec![last],
            _ => self.traffic.in_flight.on(conn),
        };
        let kind = cause.sort.kind;
        let came = if self.links.done().wants_example(kind) { self.links.partial_response(conn) } else { Vec::new() };
        // A keep-alive connection that the peer closes does not count as lost unless it is part of the plan.
        let wanted = self.is_planned(conn);
        if wanted {
            self.count_loss(conn, cause);
        }
        if on_it.is_empty() && wanted {
            self.traffic.keep_example(&cause.in_phase(Phase::Hold), None, Some(&came));
        }
        // A connection that the peer closed gracefully is closed gracefully; a broken one is aborted.
        let end = if kind == FaultKind::Closed { SocketEnding::Closed } else { SocketEnding::Aborted };
        self.discard(conn, end);
        let came = Some(&came[..]).filter(|came| !came.is_empty());
        for id in on_it {
            let begun = self.traffic.in_flight.get(id).first_byte != brunt_measure::Nanos::ZERO;
            let phase = if begun { Phase::Transfer } else { cause.sort.phase };
            self.traffic.fail_with(id, &cause.in_phase(phase), came, in_vain);
        }
    }

    /// Handles a failed opening that was not for a specific exchange. Exchanges continue to wait while the pool has
    /// open connections; otherwise the oldest fails. If no other attempt is pending, all of them fail.
    pub(crate) fn growth_failed(&mut self, pool_id: PoolId, cause: &FailureCause<'_>) {
        self.back_off_pool(pool_id);
        let pool = self.pools.get_mut(pool_id);
        let oldest = if pool.live == 0 { pool.waiting.pop_front() } else { None };
        match oldest {
            Some(id) => self.traffic.fail(id, cause, true),
            None => self.traffic.connection_failed(cause),
        }
        self.fail_waiting(pool_id, cause);
    }

    /// Fails the waiting exchanges with the cause of the last failure, if no connection is open or being opened.
    pub(crate) fn fail_waiting(&mut self, pool_id: PoolId, cause: &FailureCause<'_>) {
        let pooled = self.pools.are_shared(pool_id);
        let pool = self.pools.get_mut(pool_id);
        if pooled && pool.live + pool.opening == 0 {
            for id in std::mem::take(&mut pool.waiting) {
                self.traffic.fail(id, cause, true);
            }
        }
    }

    /// Closes an idle connection on which the peer accepts no more requests. If it is part of the plan, it counts as
    /// lost.
    pub(crate) fn retire(&mut self, conn: ConnId) {
        let c = self.links.conn(conn);
        let (user, pool_id) = (c.user, c.pool);
        let lost = self.is_planned(conn) && !self.closing;
        let in_vain = self.was_useless(conn, FaultKind::Closed);
        if in_vain {
            self.back_off_pool(pool_id);
        }
        if lost {
            let cause = FailureCause::new(FaultKind::Closed, Phase::Hold);
            self.count_loss(conn, &cause);
            self.traffic.recorder.counts().heartbeats.missed += self.heartbeat_unanswered(conn);
            let words =
                self.links.session(conn).and_then(|session| session.close_reason()).map(brunt_cause::Cause::from);
            let came = Some(self.links.partial_response(conn)).filter(|came| !came.is_empty());
            self.traffic.keep_example(&cause.with_details(words.as_ref()), None, came.as_deref());
        }
        self.links.close_gracefully(conn);
        self.discard(conn, SocketEnding::Closed);
        self.grow_after(pool_id);
        if lost && user != UserId::NONE {
            self.traffic.outcomes.push(UserOutcome::Lost { user, stood: true, in_vain });
        }
    }

    /// Closes a connection gracefully, and opens others if requests wait for them.
    pub(crate) fn close_and_grow(&mut self, conn: ConnId) {
        let pool_id = self.links.conn(conn).pool;
        self.close_gracefully(conn);
        self.grow_after(pool_id);
    }

    /// Opens connections for waiting requests after one of this pool has ended.
    fn grow_after(&mut self, pool_id: PoolId) {
        if self.pools.group(pool_id).by_arrivals && !self.pools.get(pool_id).waiting.is_empty() {
            self.grow(pool_id);
        }
        self.grow_others(pool_id);
    }

    pub(crate) fn close_gracefully(&mut self, conn: ConnId) {
        let end = if self.parts(conn) { SocketEnding::Parted } else { SocketEnding::Closed };
        self.links.close_gracefully(conn);
        self.discard(conn, end);
    }

    /// Detaches a connection from its user and its pool, and releases it.
    fn discard(&mut self, conn: ConnId, end: SocketEnding) {
        self.traffic.recorder.counts().heartbeats.open += self.heartbeat_unanswered(conn);
        let c = self.links.conn(conn);
        let (pool_id, stage, owner, user) = (c.pool, c.stage, c.last, c.user);
        if stage == ConnStage::Greeting {
            let said = c.session.as_ref().map_or(0, |session| session.opening_messages());
            self.traffic.recorder.counts().opening_messages += u64::from(said);
        }
        self.count_unawaited(conn);
        if !self.owned_connection_lost(conn) {
            self.sticky.clear(user);
        }
        self.pools.group_mut(pool_id).count -= 1;
        let pool = self.pools.get_mut(pool_id);
        pool.remove_idle(self.links.conns_mut(), conn);
        match stage {
            ConnStage::Open => pool.live -= 1,
            _ if owner == ExchangeId::NONE => pool.opening -= 1,
            _ => {}
        }
        self.one_way.forget(conn);
        match end {
            SocketEnding::Closed => self.links.discard(conn, false),
            SocketEnding::Aborted => self.links.discard(conn, true),
            SocketEnding::Parted => self.links.part(conn),
        }
    }

    /// Fails the exchanges that timed out while they waited for a connection, including those that a peer did not
    /// process.
    pub(crate) fn time_out_waiting(&mut self) {
        for pool_id in self.pools.ids() {
            // Waiting exchanges are ordered by due time, so those that timed out come first.
            while let Some(&id) = self.pools.get(pool_id).waiting.front() {
                if !self.traffic.in_flight.waited_too_long(id, self.turn.caught_up) {
                    break;
                }
                self.pools.get_mut(pool_id).waiting.pop_front();
                self.traffic.fail(id, &FailureCause::new(FaultKind::Timeout, Phase::Wait), false);
            }
        }
    }

    /// Removes an exchange from the queues of waiting exchanges.
    pub(crate) fn stop_waiting(&mut self, id: ExchangeId) {
        self.pools.all_mut().iter_mut().for_each(|pool| pool.waiting.retain(|waiting| *waiting != id));
    }

    /// Aborts a connection whose request was abandoned, because nothing more can be sent on it.
    pub(crate) fn abandon(&mut self, conn: ConnId) {
        if self.links.conn(conn).stage != ConnStage::Vacant {
            self.discard(conn, SocketEnding::Aborted);
        }
    }

    /// Times out an exchange.
    pub(crate) fn time_out_exchange(&mut self, id: ExchangeId) {
        let x = *self.traffic.in_flight.get(id);
        match x.state {
            ExchangeState::Vacant => {}
            // If exchanges have different timeouts, those ahead of it may have more time left.
            ExchangeState::Waiting if self.traffic.in_flight.has_own_timeouts() => {
                self.stop_waiting(id);
                self.traffic.fail(id, &FailureCause::new(FaultKind::Timeout, Phase::Wait), false);
            }
            ExchangeState::Waiting => self.time_out_waiting(),
            ExchangeState::Connecting => self.drop_connection(x.conn, FaultKind::Timeout, None, None),
            ExchangeState::InFlight if x.conn == ConnId::NONE => {
                self.stop_waiting(id);
                self.traffic.fail(id, &FailureCause::new(FaultKind::Timeout, Phase::Wait), false);
            }
            ExchangeState::InFlight if !self.is_stuck(&x) && self.links.cancel(x.conn, id) => {
                self.links.conn_mut(x.conn).end_exchange();
                let begun = x.first_byte != brunt_measure::Nanos::ZERO;
                let phase = if begun { Phase::Transfer } else { Phase::FirstByte };
                self.traffic.fail(id, &FailureCause::new(FaultKind::Timeout, phase), false);
                self.offer(x.conn);
            }
            ExchangeState::InFlight => self.drop_connection(x.conn, FaultKind::Timeout, None, None),
        }
    }
}
