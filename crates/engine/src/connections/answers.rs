//! Events of sessions: first bytes, messages, ends, refused requests. Each is counted once.

use cause::Plain;
use measure::Nanos;
use wire::{Ended, Event, FaultKind, Found, Network, Phase, Request};

use crate::ids::{ConnId, ExchangeId, PoolId, RequestId, UserId};

use super::Connections;
use crate::failing::Cause;
use crate::pool::PROVED;

/// Maximum number of times a request refused by the peer is sent again.
const RESENT_AT_MOST: u8 = 8;

impl<N: Network> Connections<N> {
    /// Processes the events of a session; `broken` is the protocol error that it found, if any.
    #[inline]
    pub(crate) fn settle(&mut self, conn: ConnId, broken: Option<Plain>) {
        let mut events = std::mem::take(&mut self.links.done().events);
        for event in events.drain(..) {
            match event {
                Event::Ended(ended) => self.ended(conn, ended, broken),
                Event::Learnt(_, lesson) => self.traffic.lesson = Some(lesson),
                Event::FirstByte(id) => self.first_byte(conn, id),
                Event::Message(id, _) => self.traffic.books.message(self.traffic.flights.get(id), self.traffic.stamp),
                Event::Word(word) => self.traffic.books.word(word),
                Event::Heartbeat => self.heartbeat_answered(conn),
                Event::Refused(id) => self.untouched(conn, id),
                Event::Declined(id) => {
                    self.traffic.books.counts().declined += u64::from(!self.traffic.flights.get(id).warmup)
                }
                Event::Unsolicited(_, message) => self.unasked(conn, message),
                Event::Owed => self.reply(conn),
                Event::Stray(_) => self.traffic.books.counts().stray(),
            }
        }
        let done = self.links.done();
        done.events = events;
        done.forget_failed();
        self.traffic.examples.tell_enough(done);
    }

    /// Counts an unsolicited message and passes it to the user of the connection, where users receive such messages.
    fn unasked(&mut self, conn: ConnId, message: Option<Box<[u8]>>) {
        self.traffic.books.counts().unsolicited += 1;
        let user = self.links.conn(conn).user;
        self.traffic.messages.extend(message.filter(|_| user != UserId::NONE).map(|message| (user, message)));
    }

    /// Writes the replies due to the peer.
    fn reply(&mut self, conn: ConnId) {
        let replies = self.links.pay(conn, self.traffic.stamp);
        self.traffic.books.counts().replies += u64::from(replies);
    }

    /// Records the first byte of a response: whatever becomes of it, the connection was of use.
    fn first_byte(&mut self, conn: ConnId, id: ExchangeId) {
        self.traffic.flights.get(id).first_byte = self.traffic.stamp;
        if !self.links.conn(conn).is(PROVED) {
            self.proved(conn);
        }
    }

    /// Requeues a request that the peer did not process: it waits for a connection again, and its time runs on.
    fn untouched(&mut self, conn: ConnId, id: ExchangeId) {
        let c = self.links.conn_mut(conn);
        c.ends();
        let pool_id = c.pool;
        let x = self.traffic.flights.get(id);
        if x.resent == RESENT_AT_MOST {
            let session = self.links.session(conn);
            let why = session.map(|session| session.farewell().unwrap_or_else(|| session.why_refused().into()));
            let cause = Cause::new(FaultKind::Closed, Phase::FirstByte).saying(why.as_ref());
            return self.traffic.fail(id, &cause, true);
        }
        (x.conn, x.resent) = (ConnId::NONE, x.resent + 1);
        self.traffic.books.counts().resent += 1;
        self.pools.get_mut(pool_id).waiting.push_front(id);
    }

    /// Ends an exchange: it is counted, and its user goes on after this arrival.
    #[inline]
    fn ended(&mut self, conn: ConnId, mut ended: Ended, broken: Option<Plain>) {
        let x = self.traffic.flights.take(ended.id);
        let late = ended.fault.is_none() && self.too_late(ended.id, &x);
        if late {
            (ended.fault, ended.follow) = (Some(FaultKind::Timeout), None);
        }
        let c = self.links.conn_mut(conn);
        c.ends();
        c.free_since = self.traffic.stamp;
        // Only a request that failed with `Closed` may have had no response at all; a wrong response is a response.
        if !c.is(PROVED) && ended.fault != Some(FaultKind::Closed) {
            self.proved(conn);
        }
        self.traffic.ended(&x, ended, (late, broken), self.links.done());
    }

    /// Returns what a user's cache holds of the answer to a prepared request, if the request need not be sent; later
    /// events are late by the time of the lookup.
    pub fn recalled_prepared(&mut self, user: UserId, request: RequestId, due: Nanos) -> Option<Option<Found>> {
        let found = self.traffic.recalled_prepared(user, request, due)?;
        self.look_at_clock();
        Some(found)
    }

    /// Like [`Connections::recalled_prepared`], for a request derived from an answer.
    pub fn recalled_made(&mut self, of: (UserId, u16), due: Nanos, request: &Request) -> Option<Option<Found>> {
        let found = self.traffic.recalled_made(of, due, request)?;
        self.look_at_clock();
        Some(found)
    }

    /// Resubmits a request that the peer did not process on its user's own connection, if that still has room.
    pub(crate) fn submit_again(&mut self, conn: ConnId, user: UserId, pool_id: PoolId) {
        let waiting = &mut self.pools.get_mut(pool_id).waiting;
        let Some(at) = waiting.iter().position(|id| self.traffic.flights.get(*id).user == user) else { return };
        if let Some(id) = waiting.remove(at) {
            self.submit(id, conn, self.traffic.stamp);
        }
    }

    /// Grows the pool of a connection that takes no more: requests refused on it need another.
    pub(crate) fn grow_for_untouched(&mut self, pool_id: PoolId) {
        if !self.pools.get(pool_id).waiting.is_empty() {
            self.grow(pool_id);
        }
    }
}
