//! The conversation as the engine calls it: what is submitted, received, cancelled, and how much room there is.

use wire::{Broken, Done, Event, ExchangeId, FaultKind, Fill, Full, Out, Sent, Session};

use super::super::request::{Request, heartbeat};
use super::super::words;
use super::looking::WHOLE_BOUND;
use super::{
    BEGUN, Before, CONTINUED, FORGOTTEN, HEARTBEAT, OVER, PUSHED, Pending, REFUSED, REFUSES, RedisSession, UNASKED,
};
use values::watch::Watch;

impl Session for RedisSession {
    fn open(&mut self, out: &mut Out) {
        if let Some(opening) = self.rules.openings.get(self.bound as usize) {
            out.put(&opening.bytes);
        }
    }

    #[inline]
    fn submit(&mut self, id: ExchangeId, request: &wire::Request, fill: &Fill, out: &mut Out) -> Result<Sent, Full> {
        let request = request.of::<Request>();
        if self.room() == 0 {
            return Err(Full);
        }
        request.append(fill, out);
        let Request { replies, checks, .. } = *request;
        self.send(Pending { id: id.0, replies, checks, random: fill.random as u16, of: replies });
        Ok(Sent::Asked)
    }

    fn cancel(&mut self, id: ExchangeId, _out: &mut Out) -> bool {
        if self.rules.pipeline == 1 {
            return false;
        }
        // Its reply still comes, in its turn.
        let of_it = |pending: &&mut Pending| pending.id == id.0;
        if let Some(pending) = std::iter::once(&mut self.first).chain(&mut self.more).find(of_it) {
            pending.id = FORGOTTEN;
        }
        true
    }

    #[inline]
    fn receive(&mut self, bytes: &[u8], _out: &mut Out, done: &mut Done) -> Result<(), Broken> {
        if self.marks & OVER != 0 {
            return Err(UNASKED);
        }
        let (mut at, mut from) = (0, 0);
        if let Err(broken) = self.advance(bytes, &mut at, &mut from, done) {
            self.marks |= if broken == REFUSED { REFUSES } else { 0 };
            if broken == UNASKED {
                done.push(Event::Stray(u32::try_from(bytes.len() - from).unwrap_or(u32::MAX)));
            }
            self.break_off(&bytes[from..], done);
            return Err(broken);
        }
        if from < bytes.len() || self.marks & CONTINUED != 0 {
            self.more_to_come(&bytes[from..], done);
        }
        Ok(())
    }

    fn begun(&self) -> &[u8] {
        self.rare.as_ref().map_or(&[], |rare| if rare.kept.is_empty() { &rare.line } else { &rare.kept })
    }

    fn heartbeat(&mut self, out: &mut Out) -> bool {
        // Behind a command that waits (BLPOP) its answer would be as late as that one's and end a healthy connection; whoever
        // owes a reply has the timeout of the request.
        if self.opening() || self.beats || self.in_flight > 0 || self.marks & OVER != 0 {
            return false;
        }
        out.put(heartbeat());
        self.send(Pending { id: HEARTBEAT, replies: 1, ..Pending::default() });
        self.beats = true;
        true
    }

    #[inline]
    fn room(&self) -> usize {
        if self.marks & OVER != 0 || self.opening() {
            return 0;
        }
        (self.rules.pipeline + u32::from(self.beats)).saturating_sub(self.in_flight) as usize
    }

    fn refusal(&self) -> FaultKind {
        if self.marks & REFUSES != 0 { FaultKind::WrongStatus } else { FaultKind::BrokenProtocol }
    }

    fn refusal_code(&self) -> u32 {
        if self.marks & REFUSES != 0 { self.error } else { 0 }
    }

    #[inline]
    fn opening(&self) -> bool {
        self.steps > 0 && self.marks & OVER == 0
    }
}

const FULL: Broken = Broken(cause::redis::full());

impl RedisSession {
    /// An error before any answer: a server that takes no connection says so whatever it is asked, and closes.
    #[cold]
    pub(super) fn turned_away(&mut self) -> Result<(), Broken> {
        let code = self.error;
        let rare = self.rare();
        let why = match &rare.error[..] {
            text if text.starts_with(b"ERR max number of clients") => FULL,
            text if text.starts_with(b"DENIED ") => words::meaning(code).map_or(FULL, Broken),
            _ => return Ok(()),
        };
        rare.kept = [b"-", &rare.error[..], b"\r\n"].concat();
        self.marks = REFUSES;
        Err(why)
    }

    /// The reply goes on in another piece.
    #[cold]
    fn more_to_come(&mut self, fresh: &[u8], done: &mut Done) {
        let of_exchange =
            self.in_flight > 0 && !self.opening() && self.marks & PUSHED == 0 && self.first.id < FORGOTTEN;
        if of_exchange && self.marks & BEGUN == 0 {
            self.marks |= BEGUN;
            done.push(Event::FirstByte(ExchangeId(self.first.id)));
        }
        if self.captures(done) {
            self.capture(fresh);
        }
        if done.hears_unasked() {
            // Its head may not be whole: it is known later whether it is a push message.
            let begun = &mut self.rare().begun;
            begun.extend_from_slice(&fresh[..fresh.len().min(WHOLE_BOUND - begun.len())]);
        }
    }

    /// A push message is over, with these bytes: what came before it of the exchange stays.
    #[cold]
    pub(super) fn push_over(&mut self, last: &[u8], done: &mut Done) {
        let (mut before, mut message) = (Before::default(), Vec::new());
        if let Some(rare) = &mut self.rare {
            before = if self.marks & CONTINUED != 0 { rare.before } else { before };
            rare.kept.truncate(before.kept);
            rare.whole.truncate(before.whole);
            message = std::mem::take(&mut rare.begun);
            if !before.found {
                rare.watch = Watch::default();
            }
        }
        message.extend_from_slice(last);
        done.unasked(self.payload - before.payload, &message);
        self.payload = before.payload;
    }

    /// A reply of an exchange that has more of them.
    #[cold]
    pub(super) fn one_of_several(&mut self, fresh: &[u8], done: &Done) {
        if self.captures(done) {
            self.capture(fresh);
        }
        let payload = self.payload;
        let rare = self.rare();
        let (kept, whole) = (rare.kept.len(), rare.whole.len());
        rare.before = Before { payload, kept, whole, found: rare.watch.found() };
    }
}
