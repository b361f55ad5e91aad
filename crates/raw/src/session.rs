//! A session on one connection or socket, client side: sends requests as they are filled, and splits answers by the
//! declared framing.
//!
//! An answer that arrives whole is judged in place. One in pieces has a box of its own until it is complete, so an idle
//! connection holds no buffer. Without `--match`, a request that times out ends the connection: its late answer could
//! only be taken for the answer of the next one.

use std::collections::VecDeque;
use std::sync::Arc;

use wire::{Broken, Done, Ended, Event, ExchangeId, Failed, FaultKind, Fill, Full, Out, Sent, Session};

use super::field::FARTHEST;
use super::framing::End;
use super::pieces::Pieces;
use super::request::Request;
use super::rules::Rules;
use values::beside::{Heard, Talk};

/// A request in flight.
#[derive(Clone, Copy, Debug)]
struct Flight {
    id: ExchangeId,
    unchecked: bool,
    /// The value that identifies its answer.
    key: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Opening messages are exchanged before any request.
    Opening,
    Open,
    /// The server's answer to an opening message was not the expected one.
    Refused,
    /// No exchange may follow those in flight.
    Over,
}

/// A session with declared framing.
#[derive(Debug)]
pub struct RawSession {
    rules: Arc<Rules>,
    flights: VecDeque<Flight>,
    pieces: Option<Box<Pieces>>,
    state: State,
    /// The side conversation.
    talk: Option<Box<Talk>>,
}

/// The output and the events.
type Told<'a> = (&'a mut Out, &'a mut Done);

const UNASKED: Broken = Broken(cause::raw::unsolicited());

impl RawSession {
    pub(super) fn new(rules: Arc<Rules>, fill: &Fill) -> RawSession {
        let state = if rules.beside.opens() { State::Opening } else { State::Open };
        let talk = rules.beside.talk(fill).map(Box::new);
        RawSession { rules, flights: VecDeque::new(), pieces: None, state, talk }
    }

    /// Sends opening messages as far as possible now.
    fn introduce(&mut self, out: &mut Out) {
        let Some(talk) = &mut self.talk else { return };
        talk.go_on(&self.rules.beside, |template, fill| template.fill(fill, out.buffer()));
        if self.state == State::Opening && !talk.is_opening(&self.rules.beside) {
            self.state = State::Open;
        }
    }

    /// Handles a message during the opening.
    #[cold]
    fn hear_opening(&mut self, message: &[u8], size: u64, (out, done): Told<'_>) -> Result<(), Broken> {
        let Some(talk) = &mut self.talk else { return Ok(()) };
        match talk.hear_opening(&self.rules.beside, message) {
            Ok(None) => self.introduce(out),
            Ok(Some(heard)) => heard.tell(size, message, done),
            Err(refused) => {
                self.state = State::Refused;
                self.pieces = Some(Box::new(Pieces::of(message)));
                return Err(refused);
            }
        }
        Ok(())
    }

    /// Passes a message to the reply rules; returns `true` if one of them recognizes it.
    fn prompted(&mut self, message: &[u8], size: u64, done: &mut Done) -> Result<bool, Broken> {
        let Some(talk) = &mut self.talk else { return Ok(false) };
        let heard = talk.hear(&self.rules.beside, message)?;
        if heard != Heard::Unknown {
            heard.tell(size, message, done);
        }
        Ok(heard != Heard::Unknown)
    }

    /// Handles a message that belongs to no request.
    #[cold]
    fn unasked(&mut self, message: &[u8], size: u64, done: &mut Done) -> Result<(), Broken> {
        if self.rules.matched.is_some() && self.rules.beside.listens() && self.prompted(message, size, done)? {
            return Ok(());
        }
        if self.rules.matched.is_some() || self.rules.one_way {
            done.unasked(size, message);
            return Ok(());
        }
        done.push(Event::Stray(u32::try_from(size).unwrap_or(u32::MAX)));
        Err(UNASKED)
    }

    /// Consumes bytes of one answer; returns how many belong to it, or `None` if more must come.
    #[inline]
    fn advance(&mut self, bytes: &[u8]) -> Result<Option<usize>, Broken> {
        if let Some(pieces) = &mut self.pieces {
            return pieces.feed(&self.rules, bytes);
        }
        let found = self.rules.end.find(bytes);
        if !matches!(found, Ok(Some(_))) {
            // Feeding finds the same end, and keeps the part of the beginning that is needed.
            return self.pieces.insert(Box::default()).feed(&self.rules, bytes);
        }
        found
    }

    /// Finishes an answer; `last` is the piece that completed it.
    #[inline]
    fn answered(&mut self, last: &[u8], (out, done): Told<'_>) -> Result<(), Broken> {
        let pieces = self.pieces.take();
        let (beginning, payload) = match &pieces {
            Some(pieces) => (&pieces.kept[..], pieces.got),
            None => (last, last.len() as u64),
        };
        if self.state == State::Opening {
            return self.hear_opening(beginning, payload, (out, done));
        }
        let by_order = self.rules.matched.is_none();
        if by_order && self.rules.beside.listens() && self.prompted(beginning, payload, done)? {
            return Ok(());
        }
        let Some(flight) = take_flight(&mut self.flights, &self.rules, beginning) else {
            return self.unasked(beginning, payload, done);
        };
        let (fault, code, failed) = if flight.unchecked || self.rules.checks.none() {
            (None, 0, Failed::default())
        } else if let Some(pieces) = &pieces {
            self.rules.checks.verdict(beginning, pieces.content(&self.rules))
        } else {
            self.rules.checks.judge(last)
        };
        let shown = fault.is_some_and(|kind| done.wants_example(kind));
        let excerpt = shown.then(|| beginning[..beginning.len().min(FARTHEST)].into());
        let why = match fault {
            Some(FaultKind::WrongBody) if shown => Some(self.rules.checks.why(beginning, payload)),
            _ => None,
        };
        if fault.is_some() {
            done.failed(flight.id, failed.bits());
        }
        done.push(Event::Ended(Ended { id: flight.id, fault, code, payload, excerpt, follow: None, why }));
        if self.rules.one_shot {
            self.state = State::Over;
        }
        Ok(())
    }

    /// Returns whether a message may arrive now.
    fn expects(&self) -> bool {
        let Rules { matched, one_way, beside, .. } = &*self.rules;
        !self.flights.is_empty() || matched.is_some() || self.state == State::Opening || *one_way || beside.listens()
    }

    /// Reports the first byte of an answer that continues in another piece.
    fn more_to_come(&mut self, first: bool, done: &mut Done) {
        // With reply rules, only the whole message shows whether it is an answer.
        let first = first && !self.rules.beside.listens();
        if let (true, None, Some(flight)) = (first, self.rules.matched, self.flights.front()) {
            done.push(Event::FirstByte(flight.id));
        }
    }
}

/// Removes and returns the request that an answer belongs to.
#[inline]
fn take_flight(flights: &mut VecDeque<Flight>, rules: &Rules, beginning: &[u8]) -> Option<Flight> {
    let Some((_, in_answer)) = &rules.matched else { return flights.pop_front() };
    let key = in_answer.read(beginning, &[])?;
    let at = flights.iter().position(|flight| flight.key == Some(key))?;
    flights.remove(at)
}

impl Session for RawSession {
    fn open(&mut self, out: &mut Out) {
        self.introduce(out);
    }

    #[inline]
    fn submit(&mut self, id: ExchangeId, request: &wire::Request, fill: &Fill, out: &mut Out) -> Result<Sent, Full> {
        let request = request.of::<Request>();
        if self.room() == 0 {
            return Err(Full);
        }
        let from = out.bytes().len();
        match &mut self.talk {
            Some(talk) if request.template.is_numbered() => request.template.fill(&talk.numbered(fill), out.buffer()),
            _ => request.template.fill(fill, out.buffer()),
        }
        let key = self.rules.matched.as_ref().and_then(|(field, _)| field.read(&out.bytes()[from..], &[]));
        if self.rules.datagrams {
            out.end_datagram();
        }
        if self.rules.one_way {
            if self.rules.one_shot {
                self.state = State::Over;
            }
            return Ok(Sent::OneWay);
        }
        self.flights.push_back(Flight { id, unchecked: request.unchecked, key });
        Ok(Sent::Asked)
    }

    fn cancel(&mut self, id: ExchangeId, _out: &mut Out) -> bool {
        if self.rules.matched.is_none() {
            return false;
        }
        self.flights.retain(|flight| flight.id != id);
        !self.rules.one_shot
    }

    #[inline]
    fn receive(&mut self, bytes: &[u8], out: &mut Out, done: &mut Done) -> Result<(), Broken> {
        let read = self.read(bytes, (out, done));
        if read.is_err() && self.state != State::Refused {
            self.state = State::Over;
        }
        read
    }

    fn closed(&mut self, done: &mut Done) {
        // An answer without any byte does not count: a server that crashed closes in the same way.
        if matches!(self.rules.end, End::Close) && self.pieces.is_some() {
            // An answer that ends with the connection is complete; nothing more is sent.
            let _ = self.answered(&[], (&mut Out::default(), done));
        }
        self.state = State::Over;
    }

    fn begun(&self) -> &[u8] {
        self.pieces.as_ref().map_or(&[], |pieces| &pieces.kept)
    }

    fn sequence(&self) -> u64 {
        self.talk.as_ref().map_or(0, |talk| talk.last_number())
    }

    fn opening_messages(&self) -> u32 {
        self.talk.as_ref().map_or(0, |talk| talk.opening_messages())
    }

    fn pay(&mut self, unix_ns: u64, out: &mut Out) -> u32 {
        let (State::Opening | State::Open, Some(talk)) = (self.state, &mut self.talk) else { return 0 };
        let beside = &self.rules.beside;
        talk.pay(beside, unix_ns, |template, fill, captured| template.fill_captured(fill, captured, out.buffer()))
    }

    #[inline]
    fn replies(&self) -> u32 {
        self.talk.as_ref().map_or(0, |talk| talk.unread())
    }

    fn replies_left(&mut self) {
        if let Some(talk) = &mut self.talk {
            talk.were_read();
        }
    }

    #[inline]
    fn room(&self) -> usize {
        match self.state {
            State::Open => self.rules.pipeline.saturating_sub(self.flights.len()),
            State::Opening | State::Refused | State::Over => 0,
        }
    }

    fn opening(&self) -> bool {
        self.state == State::Opening
    }

    fn refusal(&self) -> FaultKind {
        if self.state == State::Refused { FaultKind::WrongBody } else { FaultKind::BrokenProtocol }
    }
}

impl RawSession {
    /// Reads whole messages, and the beginning of another.
    #[inline]
    fn read(&mut self, bytes: &[u8], (out, done): Told<'_>) -> Result<(), Broken> {
        if matches!(self.rules.end, End::Never) {
            done.unasked(bytes.len() as u64, bytes);
            return Ok(());
        }
        if matches!(self.rules.end, End::Datagram) && !self.expects() {
            done.push(Event::Stray(bytes.len() as u32));
            return Ok(());
        }
        if matches!(self.rules.end, End::Datagram) {
            return self.answered(bytes, (out, done));
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            if !self.expects() {
                done.push(Event::Stray(u32::try_from(rest.len()).unwrap_or(u32::MAX)));
                return Err(UNASKED);
            }
            let first = self.pieces.is_none();
            let Some(used) = self.advance(rest)? else {
                self.more_to_come(first, done);
                return Ok(());
            };
            let (message, after) = rest.split_at(used);
            self.answered(message, (out, done))?;
            rest = after;
        }
        Ok(())
    }
}
