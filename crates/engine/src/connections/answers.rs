//! Events of sessions: first bytes, messages, ends and refused requests. Each is counted once.

use brunt_cause::StaticCause;
use brunt_contract::{Event, ExchangeEnd, FaultKind, Network, Phase, Request, ResourceSearch};
use brunt_measure::Nanos;

use crate::ids::{ConnId, ExchangeId, PoolId, RequestId, UserId};

use super::WorkerConnections;
use crate::failure_cause::FailureCause;
use crate::pool::{SENT_IN_PIECES, USEFUL};

/// Maximum number of times a request refused by the peer is sent again.
const RESENT_AT_MOST: u8 = 8;

impl<N: Network> WorkerConnections<N> {
    /// Processes the events of a session; `broken` is the protocol error that the session found, if any.
    #[inline]
    pub(crate) fn process_events(&mut self, conn: ConnId, broken: Option<StaticCause>) {
        let mut events = std::mem::take(&mut self.links.done().events);
        for event in events.drain(..) {
            match event {
                Event::Ended(ended) => self.ended(conn, ended, broken),
                Event::StateUpdate(_, lesson) => self.traffic.state_update = Some(lesson),
                Event::FirstByte(id) => self.first_byte(conn, id),
                Event::Message(id, _) => {
                    self.traffic.recorder.message(self.traffic.in_flight.get(id), self.traffic.stamp)
                }
                Event::PeerCode(word) => self.traffic.recorder.count_close_code(word),
                Event::Heartbeat => self.heartbeat_answered(conn),
                Event::Refused(id) => self.requeue(conn, id),
                Event::RestNotSent(id) => {
                    self.traffic.recorder.counts().declined += u64::from(!self.traffic.in_flight.get(id).is_warmup())
                }
                Event::Released(id) => self.check_written(id),
                Event::Unsolicited(_, message) => self.unsolicited(conn, message),
                Event::ReplyDue => self.write_replies(conn),
                Event::SurplusResponse(_) => self.traffic.recorder.counts().stray(),
            }
        }
        let done = self.links.done();
        done.events = events;
        done.clear_failed_checks();
        self.traffic.examples.notify_sessions(done);
    }

    /// Counts an unsolicited message, and passes it to the user of the connection if users receive such messages.
    fn unsolicited(&mut self, conn: ConnId, message: Option<Box<[u8]>>) {
        self.traffic.recorder.counts().unsolicited += 1;
        let user = self.links.conn(conn).user;
        self.traffic.messages.extend(message.filter(|_| user != UserId::NONE).map(|message| (user, message)));
    }

    /// Writes the replies due to the peer.
    fn write_replies(&mut self, conn: ConnId) {
        let replies = self.links.write_replies(conn, self.traffic.stamp);
        self.traffic.recorder.counts().replies += u64::from(replies);
    }

    /// Records the first byte of a response, which marks the connection as useful, however the response ends.
    fn first_byte(&mut self, conn: ConnId, id: ExchangeId) {
        self.traffic.in_flight.get(id).first_byte = self.traffic.stamp;
        if !self.links.conn(conn).is_set(USEFUL) {
            self.mark_useful(conn);
        }
    }

    /// Requeues a request that the peer did not process: it waits for a connection again, and its latency continues to
    /// count.
    fn requeue(&mut self, conn: ConnId, id: ExchangeId) {
        let c = self.links.conn_mut(conn);
        c.end_exchange();
        let (pool_id, in_pieces) = (c.pool, c.is_set(SENT_IN_PIECES));
        let x = self.traffic.in_flight.get(id);
        if x.resent == RESENT_AT_MOST {
            let session = self.links.session(conn);
            let why =
                session.map(|session| session.close_cause().unwrap_or_else(|| session.not_processed_reason().into()));
            let cause = FailureCause::new(FaultKind::Closed, Phase::FirstByte).with_details(why.as_ref());
            return self.traffic.fail(id, &cause, true);
        }
        (x.conn, x.resent) = (ConnId::NONE, x.resent + 1);
        x.delayed.add(self.gaps.delay_of(x, in_pieces, self.traffic.stamp));
        self.traffic.recorder.counts().resent += 1;
        self.pools.get_mut(pool_id).waiting.push_front(id);
    }

    /// Counts the end of an exchange; its user continues once this event has been processed.
    #[inline]
    fn ended(&mut self, conn: ConnId, mut ended: ExchangeEnd, broken: Option<StaticCause>) {
        let x = self.traffic.in_flight.take(ended.id);
        let late = ended.fault.is_none() && self.too_late(ended.id, &x);
        if late {
            (ended.fault, ended.follow_up) = (Some(FaultKind::Timeout), None);
        }
        if ended.fault == Some(FaultKind::BrokenProtocol) && broken.is_some_and(StaticCause::is_own_limit) {
            ended.fault = Some(FaultKind::Unchecked);
        }
        let c = self.links.conn_mut(conn);
        c.end_exchange();
        c.free_since = self.traffic.stamp;
        // Only a request that failed with `Closed` may have had no response at all; a wrong response is still a
        // response.
        if !c.is_set(USEFUL) && ended.fault != Some(FaultKind::Closed) {
            self.mark_useful(conn);
        }
        let c = self.links.conn(conn);
        let late_by = self.gaps.delay_of(&x, c.is_set(SENT_IN_PIECES), self.traffic.stamp);
        let (now, delayed) = (self.traffic.stamp, x.delayed.get());
        self.freed_late = self.freed_late.max(late_by + delayed);
        self.gaps.record_response(now, now - x.timed_from(), delayed);
        self.traffic.ended(&x, ended, (late, broken), late_by, self.links.done());
    }

    /// Looks a prepared request up in its user's cache. Returns `None` if it must be sent, otherwise the search for
    /// page resources in the cached answer, if any. Reads the clock again, because the lookup delays the events that
    /// follow.
    pub fn cached_prepared(&mut self, user: UserId, request: RequestId, due: Nanos) -> Option<Option<ResourceSearch>> {
        let found = self.traffic.cached_prepared(user, request, due)?;
        self.advance_clock();
        Some(found)
    }

    /// Like [`WorkerConnections::cached_prepared`], for a request derived from an answer.
    pub fn cached_derived(
        &mut self,
        of: (UserId, u16),
        due: Nanos,
        request: &Request,
    ) -> Option<Option<ResourceSearch>> {
        let found = self.traffic.cached_derived(of, due, request)?;
        self.advance_clock();
        Some(found)
    }

    /// Resubmits a request that the peer did not process, on its user's own connection, which still has room.
    pub(crate) fn resubmit(&mut self, conn: ConnId, user: UserId, pool_id: PoolId) {
        let waiting = &mut self.pools.get_mut(pool_id).waiting;
        let Some(at) = waiting.iter().position(|id| self.traffic.in_flight.get(*id).user == user) else { return };
        if let Some(id) = waiting.remove(at) {
            self.submit(id, conn, self.traffic.stamp);
        }
    }

    /// Grows the pool of a connection that accepts no more requests, because those that it refused need another
    /// connection.
    pub(crate) fn grow_for_requeued(&mut self, pool_id: PoolId) {
        if !self.pools.get(pool_id).waiting.is_empty() {
            self.grow(pool_id);
        }
    }
}
