//! The client's conversation on one connection or socket: requests as they are filled, answers by the declared framing.
//!
//! An answer that arrives whole is judged where it lies. One in pieces has a box of its own until it is complete, so that
//! an idle connection holds no buffer. Without `--match` a request whose time passed ends the connection: its late answer
//! could only be taken for the answer of the next one.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use wire::{Broken, Done, Ended, Event, ExchangeId, FaultKind, Fill, Full, Out, Sent, Session};

use super::field::FARTHEST;
use super::framing::End;
use super::pieces::Pieces;
use super::request::Request;
use super::rules::Rules;

/// A request that was sent.
#[derive(Clone, Copy, Debug)]
struct Flight {
    id: ExchangeId,
    unchecked: bool,
    /// What its answer will hold.
    key: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The server's greeting has not come yet.
    Greeting,
    Open,
    /// No exchange after those in flight.
    Over,
}

/// A conversation with declared framing.
#[derive(Debug)]
pub struct RawSession {
    rules: Arc<Rules>,
    flights: VecDeque<Flight>,
    pieces: Option<Box<Pieces>>,
    state: State,
}

const UNASKED: Broken = Broken("bytes nobody asked for");

impl RawSession {
    pub(super) fn new(rules: Arc<Rules>) -> RawSession {
        let state = if rules.greeting { State::Greeting } else { State::Open };
        RawSession { rules, flights: VecDeque::new(), pieces: None, state }
    }

    /// Takes bytes of one answer: how many were its own, and None where more must come.
    #[inline]
    fn advance(&mut self, bytes: &[u8]) -> Result<Option<usize>, Broken> {
        if let Some(pieces) = &mut self.pieces {
            return pieces.feed(&self.rules, bytes);
        }
        let found = self.rules.end.find(bytes);
        if !matches!(found, Ok(Some(_))) {
            // Feeding comes to the same end, and keeps what is needed of the beginning.
            return self.pieces.insert(Box::default()).feed(&self.rules, bytes);
        }
        found
    }

    /// An answer is complete; `last` is the piece that completed it.
    #[inline]
    fn answered(&mut self, last: &[u8], done: &mut Done<Request>) {
        let pieces = self.pieces.take();
        if self.state == State::Greeting {
            self.state = State::Open;
            return;
        }
        let (beginning, payload) = match &pieces {
            Some(pieces) => (&pieces.kept[..], pieces.got),
            None => (last, last.len() as u64),
        };
        let Some(flight) = take_flight(&mut self.flights, &self.rules, beginning) else {
            done.push(Event::Unsolicited(u32::try_from(payload).unwrap_or(u32::MAX)));
            return;
        };
        let (fault, code) = if flight.unchecked || self.rules.checks.none() {
            (None, 0)
        } else if let Some(pieces) = &pieces {
            self.rules.checks.verdict(beginning, pieces.content(&self.rules))
        } else {
            self.rules.checks.judge(last)
        };
        let shown = fault.is_some_and(|kind| done.wants_example(kind));
        let excerpt = shown.then(|| beginning[..beginning.len().min(FARTHEST)].into());
        let why = match fault {
            Some(FaultKind::WrongBody) if shown => self.rules.checks.why(beginning, payload).into(),
            _ => Cow::Borrowed(""),
        };
        done.push(Event::Ended(Ended { id: flight.id, fault, code, payload, excerpt, follow: None, why }));
        if self.rules.one_shot {
            self.state = State::Over;
        }
    }

    /// Whether an answer may come now.
    fn expects(&self) -> bool {
        !self.flights.is_empty() || self.rules.matched.is_some() || self.state == State::Greeting
    }

    /// Tells of the first byte of an answer that goes on in another piece.
    fn more_to_come(&mut self, first: bool, done: &mut Done<Request>) {
        if let (true, None, Some(flight)) = (first, self.rules.matched, self.flights.front()) {
            done.push(Event::FirstByte(flight.id));
        }
    }
}

/// Whose answer it is.
#[inline]
fn take_flight(flights: &mut VecDeque<Flight>, rules: &Rules, beginning: &[u8]) -> Option<Flight> {
    let Some((_, in_answer)) = &rules.matched else { return flights.pop_front() };
    let key = in_answer.read(beginning, &[])?;
    let at = flights.iter().position(|flight| flight.key == Some(key))?;
    flights.remove(at)
}

impl Session for RawSession {
    type Request = Request;
    const SLOTS: bool = true;

    #[inline]
    fn submit(&mut self, id: ExchangeId, request: &Request, fill: &Fill, out: &mut Out) -> Result<Sent, Full> {
        if self.room() == 0 {
            return Err(Full);
        }
        let from = out.bytes().len();
        request.template.fill(fill, out.buffer());
        let key = self.rules.matched.as_ref().and_then(|(field, _)| field.read(&out.bytes()[from..], &[]));
        if self.rules.datagrams {
            out.end_datagram();
        }
        if matches!(self.rules.end, End::Never) {
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
    fn receive(&mut self, bytes: &[u8], _out: &mut Out, done: &mut Done<Request>) -> Result<(), Broken> {
        if matches!(self.rules.end, End::Never) {
            done.push(Event::Unsolicited(bytes.len() as u32));
            return Ok(());
        }
        if matches!(self.rules.end, End::Datagram) && !self.expects() {
            done.push(Event::Stray(bytes.len() as u32));
            return Ok(());
        }
        if matches!(self.rules.end, End::Datagram) {
            self.answered(bytes, done);
            return Ok(());
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            if !self.expects() {
                done.push(Event::Stray(u32::try_from(rest.len()).unwrap_or(u32::MAX)));
                self.state = State::Over;
                return Err(UNASKED);
            }
            let first = self.pieces.is_none();
            match self.advance(rest) {
                Ok(Some(used)) => {
                    self.answered(&rest[..used], done);
                    rest = &rest[used..];
                }
                Ok(None) => {
                    self.more_to_come(first, done);
                    return Ok(());
                }
                Err(broken) => {
                    self.state = State::Over;
                    return Err(broken);
                }
            }
        }
        Ok(())
    }

    fn closed(&mut self, done: &mut Done<Request>) {
        // An answer without a byte is none: a server that fell over closes just so.
        if matches!(self.rules.end, End::Close) && self.pieces.is_some() {
            self.answered(&[], done);
        }
        self.state = State::Over;
    }

    fn begun(&self) -> &[u8] {
        self.pieces.as_ref().map_or(&[], |pieces| &pieces.kept)
    }

    #[inline]
    fn room(&self) -> usize {
        match self.state {
            State::Open => self.rules.pipeline.saturating_sub(self.flights.len()),
            State::Greeting | State::Over => 0,
        }
    }

    fn opening(&self) -> bool {
        self.state == State::Greeting
    }
}
