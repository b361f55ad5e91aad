//! What sessions say came of exchanges: first bytes, messages, ends, requests turned away. Each is counted once.

use measure::Nanos;
use wire::{Dialogue, Ended, Event, ExchangeId, FaultKind, Network, Phase, Session};

use crate::exchange::{Exchange, NONE, Standing};
use crate::tally::Sort;
use crate::worker::{Next, Worker};

/// A request that the peer turns away is sent again so often.
const RESENT_AT_MOST: u8 = 8;

impl<N: Network, D: Dialogue> Worker<N, D> {
    /// What the session said is done; `broken` is what it found wrong with the conversation, if anything.
    pub fn settle(&mut self, conn: u32, broken: &str) {
        let mut events = std::mem::take(&mut self.done.events);
        for event in events.drain(..) {
            match event {
                Event::Ended(ended) => self.ended(conn, ended, broken),
                Event::FirstByte(id) => self.first_byte(conn, id),
                Event::Message(id, _) => self.message(id),
                Event::Heartbeat => self.heart_heard(conn),
                Event::Refused(id) => self.untouched(conn, id),
                Event::Unsolicited(_) => self.tally.counts.unsolicited += 1,
                Event::Stray(_) => self.tally.counts.stray(),
            }
        }
        self.done.events = events;
    }

    /// An answer has begun: whatever becomes of it, its connection was of use.
    fn first_byte(&mut self, conn: u32, id: ExchangeId) {
        self.exchanges.get(id).first_byte = self.stamp;
        if !self.conns[conn as usize].proved {
            self.proved(conn);
        }
    }

    /// A message of a stream.
    fn message(&mut self, id: ExchangeId) {
        let x = self.exchanges.get(id);
        let before = std::mem::replace(&mut x.last_message, self.stamp);
        if x.warmup {
            return;
        }
        self.tally.counts.messages += 1;
        if before > Nanos::ZERO {
            self.tally.latency.message_gap.record(self.stamp - before);
        }
    }

    /// The peer did not touch it: it waits for a connection again, and its time goes on.
    fn untouched(&mut self, conn: u32, id: ExchangeId) {
        self.conns[conn as usize].in_flight -= 1;
        let origin = self.conns[conn as usize].origin;
        let x = self.exchanges.get(id);
        if x.resent == RESENT_AT_MOST {
            let words = self.conns[conn as usize].session.as_ref().map(|session| session.farewell());
            let words = words.filter(|words| !words.is_empty());
            let why = words.as_deref().unwrap_or("the target turned it away again and again");
            return self.fail_now(id, FaultKind::Closed, Phase::FirstByte, None, why, true);
        }
        (x.conn, x.resent) = (NONE, x.resent + 1);
        self.tally.counts.resent += 1;
        self.pools[origin as usize].waiting.push_front(id);
    }

    /// 7. An exchange is over: counted, and its user goes on after this arrival.
    #[inline]
    fn ended(&mut self, conn: u32, mut ended: Ended<D::Request>, broken: &str) {
        let x = self.exchanges.remove(ended.id);
        let late = ended.fault.is_none() && self.too_late(&x);
        if late {
            (ended.fault, ended.follow) = (Some(FaultKind::Timeout), None);
        }
        let now = self.stamp;
        let c = &mut self.conns[conn as usize];
        c.in_flight -= 1;
        c.free_since = now;
        // Only what was closed may have had no answer at all; a wrong one is an answer.
        if !c.proved && ended.fault != Some(FaultKind::Closed) {
            self.proved(conn);
        }
        self.over_with(&x, ended.fault.is_none() && !x.warmup);
        if !x.warmup {
            // What a status says is not what became of a request that had been given up.
            match late {
                true => self.tally.counts.late += 1,
                false => self.tally.code(x.name, ended.code),
            }
            self.tally.counts.bytes.payload += ended.payload;
            if let Some(named) = &mut self.tally.named {
                named.counts(x.name).payload += ended.payload;
            }
        }
        match ended.fault {
            None => self.succeeded(&x),
            Some(kind) => {
                let phase = match kind {
                    // A stream whose messages came has begun to be answered, whatever its last word.
                    FaultKind::WrongStatus if x.last_message > Nanos::ZERO => Phase::Transfer,
                    // What is wrong with a whole answer does not depend on the pieces it came in.
                    FaultKind::WrongStatus | FaultKind::WrongHeader | FaultKind::TooManyRedirects => Phase::FirstByte,
                    FaultKind::WrongBody => Phase::Transfer,
                    FaultKind::Timeout if x.first_byte > x.started + self.limits.timeout => Phase::FirstByte,
                    _ if x.first_byte == Nanos::ZERO => Phase::FirstByte,
                    _ => Phase::Transfer,
                };
                let sort = Sort { kind, phase, errno: None };
                let detail = match kind {
                    _ if !ended.why.is_empty() => &*ended.why,
                    FaultKind::BrokenProtocol => broken,
                    FaultKind::Timeout => "the answer came later than the timeout",
                    _ => self.dialogue.code_meaning(ended.code),
                };
                self.failed(&x, ended.id, sort, ended.code, detail, ended.excerpt.as_deref());
            }
        }
        if x.request == NONE {
            self.follows.remove(&ended.id.0);
        }
        if x.user != NONE || ended.follow.is_some() {
            self.next.push(Next { user: x.user, name: x.name, hops: x.hops, follow: ended.follow, back_off: false });
        }
    }

    /// Somebody was served now: what outages are told by.
    #[inline]
    pub fn mark_success(&mut self) {
        let now = self.stamp;
        let counts = &mut self.tally.counts;
        counts.apart.last_success = (now - self.second_from).0 + 1;
        if counts.apart.first_success == 0 {
            counts.apart.first_success = counts.apart.last_success;
            counts.apart.busy_for = (now - self.in_flight.busy_since).0 + 1;
        }
    }

    fn succeeded(&mut self, x: &Exchange) {
        if let Some(early) = &mut self.early {
            early.finished += 1;
        }
        self.mark_success();
        let now = self.stamp;
        if x.warmup {
            self.tally.finished_of_warmup(x.name);
            return;
        }
        self.tally.counts.finished += 1;
        if let Some(named) = &mut self.tally.named {
            named.finished(x.name, now - if self.limits.open { x.intended } else { x.started });
        }
        let latency = &mut self.tally.latency;
        latency.service.record(now - x.started);
        if self.limits.open {
            latency.response.record(now - x.intended);
        }
        let first = if x.first_byte == Nanos::ZERO { now } else { x.first_byte };
        latency.first_byte.record(first - x.written);
        latency.transfer.record(now - first);
    }

    /// Nobody knows how long it would have taken: what of the window its user spent on it is counted.
    pub fn unanswered(&mut self, x: &Exchange) {
        if x.state != Standing::Waiting {
            let until = self.limits.end.map_or(self.stamp, |end| end.min(self.stamp));
            self.tally.counts.unanswered_ns += (until - x.started.max(self.limits.window)).0;
        }
    }

    /// Takes an exchange that is out of the slab out of the books of what is in flight. The time of those that the service
    /// histogram holds is taken from there at the end of the second: Little's law then checks what is reported.
    pub fn over_with(&mut self, x: &Exchange, in_histogram: bool) {
        self.alive -= 1;
        if x.state != Standing::Waiting {
            self.in_flight.end(x.started, self.stamp);
            self.tally.counts.apart.service_ns += if in_histogram { 0 } else { (self.stamp - x.started).0 };
        }
    }

    /// What the peer did not touch of a user's own connection that still has room.
    pub fn submit_again(&mut self, conn: u32, user: u32, origin: usize) {
        let waiting = &mut self.pools[origin].waiting;
        let Some(at) = waiting.iter().position(|id| self.exchanges.get(*id).user == user) else { return };
        if let Some(id) = waiting.remove(at) {
            self.submit(id, conn, self.stamp);
        }
    }

    /// A connection takes no more: those who were turned away on it need another.
    pub fn grow_for_untouched(&mut self, origin: usize) {
        if !self.pools[origin].waiting.is_empty() {
            self.grow(origin as u32);
        }
    }
}
