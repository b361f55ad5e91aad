//! What sessions say came of exchanges: first bytes, messages, ends, requests turned away. Each is counted once.

use cause::Plain;
use measure::Nanos;
use wire::{Ended, Event, FaultKind, Found, Network, Phase, Request};

use crate::ids::{ConnId, ExchangeId, PoolId, RequestId, UserId};

use super::Connections;
use crate::failing::Cause;
use crate::pool::PROVED;

/// A request that the peer turns away is sent again so often.
const RESENT_AT_MOST: u8 = 8;

impl<N: Network> Connections<N> {
    /// What the session said is done; `broken` is what it found wrong with the conversation, if anything.
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

    /// A message came that nobody asked for: the user of its connection hears it, where users do.
    fn unasked(&mut self, conn: ConnId, message: Option<Box<[u8]>>) {
        self.traffic.books.counts().unsolicited += 1;
        let user = self.links.conn(conn).user;
        self.traffic.messages.extend(message.filter(|_| user != UserId::NONE).map(|message| (user, message)));
    }

    /// The peer said what is to be replied to.
    fn reply(&mut self, conn: ConnId) {
        let replies = self.links.pay(conn, self.traffic.stamp);
        self.traffic.books.counts().replies += u64::from(replies);
    }

    /// A response has begun: whatever becomes of it, its connection was of use.
    fn first_byte(&mut self, conn: ConnId, id: ExchangeId) {
        self.traffic.flights.get(id).first_byte = self.traffic.stamp;
        if !self.links.conn(conn).is(PROVED) {
            self.proved(conn);
        }
    }

    /// The peer did not touch it: it waits for a connection again, and its time goes on.
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

    /// An exchange is over: counted, and its user goes on after this arrival.
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
        // Only what was closed may have had no response at all; a wrong one is a response.
        if !c.is(PROVED) && ended.fault != Some(FaultKind::Closed) {
            self.proved(conn);
        }
        self.traffic.ended(&x, ended, (late, broken), self.links.done());
    }

    /// What a user has of the answer to a prepared request, where it need not ask for it; what follows is late by what looking took.
    pub fn recalled_prepared(&mut self, user: UserId, request: RequestId, due: Nanos) -> Option<Option<Found>> {
        let found = self.traffic.recalled_prepared(user, request, due)?;
        self.look_at_clock();
        Some(found)
    }

    /// The same of a request that an answer asked for.
    pub fn recalled_made(&mut self, of: (UserId, u16), due: Nanos, request: &Request) -> Option<Option<Found>> {
        let found = self.traffic.recalled_made(of, due, request)?;
        self.look_at_clock();
        Some(found)
    }

    /// What the peer did not touch of a user's own connection that still has room.
    pub(crate) fn submit_again(&mut self, conn: ConnId, user: UserId, pool_id: PoolId) {
        let waiting = &mut self.pools.get_mut(pool_id).waiting;
        let Some(at) = waiting.iter().position(|id| self.traffic.flights.get(*id).user == user) else { return };
        if let Some(id) = waiting.remove(at) {
            self.submit(id, conn, self.traffic.stamp);
        }
    }

    /// A connection takes no more: those who were turned away on it need another.
    pub(crate) fn grow_for_untouched(&mut self, pool_id: PoolId) {
        if !self.pools.get(pool_id).waiting.is_empty() {
            self.grow(pool_id);
        }
    }
}
