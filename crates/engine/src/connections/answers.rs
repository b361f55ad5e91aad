//! What sessions say came of exchanges: first bytes, messages, ends, requests turned away. Each is counted once.

use cause::Plain;
use measure::Nanos;
use scenario::News;
use wire::{Ended, Event, ExchangeId, FaultKind, Fill, Found, Lesson, Memory, Network, Phase, Request};

use crate::exchange::{Exchange, NONE, OF_PAGE};
use crate::tally::Sort;
use crate::traces;

use super::Connections;
use super::failing::Cause;
use crate::outcome::{Outcome, Over};

/// A request that the peer turns away is sent again so often.
const RESENT_AT_MOST: u8 = 8;

impl<N: Network> Connections<N> {
    /// What the session said is done; `broken` is what it found wrong with the conversation, if anything.
    #[inline]
    pub(crate) fn settle(&mut self, conn: u32, broken: Option<Plain>) {
        let mut events = std::mem::take(&mut self.links.done().events);
        for event in events.drain(..) {
            match event {
                Event::Ended(ended) => self.ended(conn, ended, broken),
                Event::Learnt(_, lesson) => self.lesson = Some(lesson),
                Event::FirstByte(id) => self.first_byte(conn, id),
                Event::Message(id, _) => self.books.message(self.flights.get(id), self.stamp),
                Event::Word(word) => self.books.word(word),
                Event::Heartbeat => self.heartbeat_answered(conn),
                Event::Refused(id) => self.untouched(conn, id),
                Event::Declined(id) => self.books.counts().declined += u64::from(!self.flights.get(id).warmup),
                Event::Unsolicited(_) => self.books.counts().unsolicited += 1,
                Event::Owed => self.reply(conn),
                Event::Stray(_) => self.books.counts().stray(),
            }
        }
        let done = self.links.done();
        done.events = events;
        done.forget_failed();
    }

    /// The peer said what is to be replied to.
    fn reply(&mut self, conn: u32) {
        let replies = self.links.pay(conn, self.stamp);
        self.books.counts().replies += u64::from(replies);
    }

    /// A response has begun: whatever becomes of it, its connection was of use.
    fn first_byte(&mut self, conn: u32, id: ExchangeId) {
        self.flights.get(id).first_byte = self.stamp;
        if !self.links.conn(conn).proved {
            self.proved(conn);
        }
    }

    /// The peer did not touch it: it waits for a connection again, and its time goes on.
    fn untouched(&mut self, conn: u32, id: ExchangeId) {
        let c = self.links.conn_mut(conn);
        c.in_flight -= 1;
        let origin = c.origin;
        let x = self.flights.get(id);
        if x.resent == RESENT_AT_MOST {
            let session = self.links.session(conn);
            let why = session.map(|session| session.farewell().unwrap_or_else(|| session.why_refused().into()));
            return self.fail_now(id, &Cause::new(FaultKind::Closed, Phase::FirstByte).saying(why.as_ref()), true);
        }
        (x.conn, x.resent) = (NONE, x.resent + 1);
        self.books.counts().resent += 1;
        self.pools.get_mut(origin).waiting.push_front(id);
    }

    /// An exchange is over: counted, and its user goes on after this arrival.
    #[inline]
    fn ended(&mut self, conn: u32, mut ended: Ended, broken: Option<Plain>) {
        let x = self.flights.take(ended.id);
        let late = ended.fault.is_none() && self.too_late(ended.id, &x);
        if late {
            (ended.fault, ended.follow) = (Some(FaultKind::Timeout), None);
        }
        let c = self.links.conn_mut(conn);
        c.in_flight -= 1;
        c.free_since = self.stamp;
        // Only what was closed may have had no response at all; a wrong one is a response.
        if !c.proved && ended.fault != Some(FaultKind::Closed) {
            self.proved(conn);
        }
        self.books.over(&x, self.stamp, ended.fault.is_none() && !x.warmup);
        self.books.responded(&x, ended.code, ended.payload, late);
        if let Some(checks) = &self.checks {
            let failed = match ended.fault {
                None => Some(0),
                Some(_) => self.links.done().take_failed(ended.id),
            };
            // What a redirect asks for is looked at in its place; what a page names has no checks.
            if let Some(failed) = failed.filter(|_| ended.follow.is_none() && x.marks & OF_PAGE == 0) {
                self.books.checked(x.warmup, checks.set(&x), failed);
            }
        }
        match ended.fault {
            None => {
                self.books.succeeded(&x, self.stamp);
                self.traced(&x, ended.id, traces::Outcome { code: ended.code, failed: None });
            }
            Some(kind) => self.ended_badly(&x, &ended, kind, broken),
        }
        let lesson = self.lesson.take();
        let found = lesson.and_then(|lesson| self.learn(&x, ended.id, lesson)).filter(|_| ended.fault.is_none());
        self.flights.forget(&x, ended.id);
        let news = News::Ended { code: ended.code, fault: ended.fault, on_failure: x.on_failure() };
        let (within, follow) = (self.flights.timeout(ended.id), ended.follow);
        let (user, name, hops) = (x.user, x.name, x.hops);
        let over = Over { user, name, hops, follow, page: found, within, news, back_off: false };
        self.outcomes.push(Outcome::Over(over));
    }

    /// A user keeps what the response to its request asked for.
    #[cold]
    fn learn(&mut self, x: &Exchange, id: ExchangeId, lesson: Lesson) -> Option<Found> {
        let fill = self.flights.filled(x, id);
        let request = self.flights.request(&*self.dialogue, x, id)?;
        let mut none = Memory::default();
        let memory = self.memories.as_mut().map_or(&mut none, |memories| memories.of(x.user));
        let found = self.dialogue.learn(request, &fill, lesson, memory);
        if self.recalls {
            self.books.cached(x, std::mem::take(&mut memory.saved));
        }
        found
    }

    /// A user has the answer: it is counted, and what it holds is learnt. What comes back finds what it names beside, where it is a page.
    pub fn recalled(
        &mut self,
        (user, name): (u32, u16),
        due: Nanos,
        (request, fill): (&Request, &Fill<'_>),
    ) -> Option<Option<Found>> {
        let memory = self.memories.as_mut()?.of(user);
        let recalled = self.dialogue.recall(request, fill, memory)?;
        let found = recalled.lesson.and_then(|lesson| self.dialogue.learn(request, fill, lesson, memory));
        self.books.recalled((name, user), recalled.bytes, due < self.limits.window);
        // What follows is late by what that took.
        let now = self.links.net().now();
        self.is_now(now);
        Some(found)
    }

    fn ended_badly(&mut self, x: &Exchange, ended: &Ended, kind: FaultKind, broken: Option<Plain>) {
        let phase = match kind {
            // A stream whose messages came has begun to be answered, whatever its last word.
            FaultKind::WrongStatus if x.last_message > Nanos::ZERO => Phase::Transfer,
            // What is wrong with a whole response does not depend on the pieces it came in.
            FaultKind::WrongStatus | FaultKind::WrongHeader | FaultKind::TooManyRedirects => Phase::FirstByte,
            FaultKind::WrongBody => Phase::Transfer,
            FaultKind::Timeout if self.flights.began_late(ended.id, x) => Phase::FirstByte,
            _ if x.first_byte == Nanos::ZERO => Phase::FirstByte,
            _ => Phase::Transfer,
        };
        let known = || match kind {
            FaultKind::BrokenProtocol => broken,
            FaultKind::Timeout => Some(cause::response::late()),
            _ => self.dialogue.code_meaning(ended.code),
        };
        let known = if ended.why.is_none() { known().map(cause::Cause::from) } else { None };
        let why = ended.why.as_ref().or(known.as_ref());
        let cause = Cause { sort: Sort { kind, phase, errno: None }, code: ended.code, why };
        self.failed(x, ended.id, &cause, ended.excerpt.as_deref());
    }

    /// What the peer did not touch of a user's own connection that still has room.
    pub(crate) fn submit_again(&mut self, conn: u32, user: u32, origin: u32) {
        let waiting = &mut self.pools.get_mut(origin).waiting;
        let Some(at) = waiting.iter().position(|id| self.flights.get(*id).user == user) else { return };
        if let Some(id) = waiting.remove(at) {
            self.submit(id, conn, self.stamp);
        }
    }

    /// A connection takes no more: those who were turned away on it need another.
    pub(crate) fn grow_for_untouched(&mut self, origin: u32) {
        if !self.pools.get(origin).waiting.is_empty() {
            self.grow(origin);
        }
    }
}
