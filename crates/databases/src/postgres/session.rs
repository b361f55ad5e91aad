//! The client session on one connection: one exchange at a time, its statements in one write.
//!
//! An exchange ends with ReadyForQuery; the messages before it determine the result. Rows are counted and skipped. A
//! transaction left open by a failure is rolled back before the exchange ends, so that the next one finds the
//! connection clean. Several exchanges in flight are not supported; more connections are a cheap replacement.

use std::sync::Arc;

use cause::Cause;
use wire::{Broken, Done, Ended, Event, ExchangeId, FaultKind, Fill, Full, Out, Sent, Session};

use super::codec::{self, READ_BOUND, Refusal, put, text};
use super::dialogue::Plan;
use super::errors;
use super::login::Login;
use super::message::{Message, Reader};
use super::statement::SYNC;
use crate::sql::{Checks, Looking, Request, other_rows};

/// Maximum size of an error kept as an example, in bytes.
const EXCERPT_BOUND: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The login is in progress.
    Opening,
    /// No exchange in flight.
    Idle,
    /// An exchange or a heartbeat is in flight.
    Busy,
    /// A failed transaction is being rolled back.
    RollingBack,
    /// Closed: no exchange in flight, and none will be.
    Over,
}

/// The client side of a PostgreSQL connection.
#[derive(Debug)]
pub struct PostgresSession {
    pub(super) plan: Arc<Plan>,
    /// Statements prepared on this connection.
    ready: Box<[bool]>,
    reader: Reader,
    rare: Option<Box<Rare>>,
    pub(super) payload: u64,
    rows: u64,
    /// Rows that values are captured from, and random bits of the request.
    pub(super) looking: Option<Box<(Looking, u64)>>,
    pub(super) id: ExchangeId,
    script: u32,
    /// Code of the first error of the exchange; 0 for none.
    error: u32,
    stage: Stage,
    /// Set once the first byte of the answer was reported.
    begun: bool,
    /// Set if a heartbeat is in flight, which ends before the exchange.
    beats: bool,
    /// Set if an exchange is in flight.
    asked: bool,
    /// Set if the server refused the connection.
    refused: bool,
}

/// The state that most exchanges never need.
#[derive(Debug, Default)]
struct Rare {
    login: Option<Login>,
    /// Text of an error.
    error: Vec<u8>,
    /// Statements that this exchange prepares, and the number of those prepared so far.
    preparing: Vec<u32>,
    prepared: usize,
    /// Set once a COPY of this exchange was refused, which ends all of it.
    copies: bool,
}

impl PostgresSession {
    pub(super) fn new(plan: Arc<Plan>, bound: u32, seed: u64) -> PostgresSession {
        let login = Login::new(plan.ssl, bound, seed);
        PostgresSession {
            ready: vec![false; plan.parses.len()].into(),
            plan,
            reader: Reader::default(),
            rare: Some(Box::new(Rare { login: Some(login), ..Rare::default() })),
            payload: 0,
            rows: 0,
            looking: None,
            id: ExchangeId(0),
            script: 0,
            error: 0,
            stage: Stage::Opening,
            begun: false,
            beats: false,
            asked: false,
            refused: false,
        }
    }

    /// Returns the checks of the exchange in flight.
    pub(super) fn checks(&self) -> &Checks {
        &self.plan.scripts[self.script as usize].checks
    }

    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    fn login(&mut self) -> Option<&mut Login> {
        self.rare.as_mut()?.login.as_mut()
    }

    fn advance(&mut self, bytes: &[u8], out: &mut Out, done: &mut Done) -> Result<(), Broken> {
        let mut at = 0;
        let mut reader = std::mem::take(&mut self.reader);
        let mut outcome = Ok(());
        while at < bytes.len() && outcome.is_ok() {
            if self.stage == Stage::Over {
                outcome = Err(UNASKED);
                break;
            }
            outcome = match reader.next(bytes, &mut at) {
                Ok(Some(message)) => self.hear(&message, out, done),
                Ok(None) => break,
                Err(broken) => Err(broken),
            };
        }
        // A peer that is not PostgreSQL may announce a message of gigabytes.
        if outcome.is_ok() && self.stage == Stage::Opening && reader.under_way() > READ_BOUND {
            outcome = Err(MISPLACED);
        }
        self.reader = reader;
        outcome
    }

    #[inline]
    fn hear(&mut self, message: &Message<'_>, out: &mut Out, done: &mut Done) -> Result<(), Broken> {
        match message.kind {
            b'T' | b'D' if self.stage == Stage::Busy && self.looking.is_some() => return self.look(message),
            // DataRow, CopyData: the row begins with two bytes that count its columns.
            b'D' | b'd' if self.stage == Stage::Busy => self.payload += u64::from(message.size),
            // BindComplete, RowDescription, CommandComplete and other messages of statements.
            b'2' | b'T' | b'n' | b't' | b's' | b'I' | b'3' | b'c' | b'H' if self.stage == Stage::Busy => {}
            b'C' if self.stage == Stage::Busy && self.checks().rows.is_some() => {
                self.rows = self.rows.saturating_add(codec::rows(message.body));
            }
            b'C' if matches!(self.stage, Stage::Busy | Stage::RollingBack) => {}
            b'Z' => return self.ready_for_query(message.body, out, done),
            b'1' if self.stage == Stage::Busy => self.rare().prepared += 1,
            b'E' => return self.erred(&codec::refusal(message.body), done),
            // ParameterStatus, NoticeResponse, BackendKeyData, NegotiateProtocolVersion.
            b'S' | b'N' => {}
            b'K' | b'v' if self.stage == Stage::Opening => {}
            b'A' => done.unasked(u64::from(message.size), message.body),
            b'R' if self.stage == Stage::Opening => return self.authentication(message.body, out),
            b'G' if self.stage == Stage::Busy && !self.rare().copies => self.refuse_copy(out),
            b'W' => return Err(Broken(cause::postgres::copy_both())),
            _ => return Err(MISPLACED),
        }
        Ok(())
    }

    #[cold]
    fn authentication(&mut self, body: &[u8], out: &mut Out) -> Result<(), Broken> {
        let plan = Arc::clone(&self.plan);
        let asked = self.login().ok_or(UNASKED)?.asked(body, &plan, out.buffer());
        // There is no answer without a password: the server follows its protocol, and the login is refused.
        self.refused |= asked == Err(super::login::NO_PASSWORD);
        asked
    }

    /// Refuses COPY … FROM STDIN. The server swallowed a Sync after the statement, so another one follows.
    #[cold]
    fn refuse_copy(&mut self, out: &mut Out) {
        self.rare().copies = true;
        let out = out.buffer();
        put(b'f', out, |out| text(b"brunt sends no data for COPY", out));
        if self.plan.scripts.get(self.script as usize).is_some_and(|script| script.syncs()) {
            out.extend_from_slice(SYNC);
        }
    }

    /// Handles ReadyForQuery: the exchange is over, unless a transaction must be rolled back first.
    #[inline]
    fn ready_for_query(&mut self, body: &[u8], out: &mut Out, done: &mut Done) -> Result<(), Broken> {
        match self.stage {
            Stage::Busy if self.beats => {
                self.beats = false;
                self.stage = if self.asked { Stage::Busy } else { Stage::Idle };
                done.push(Event::Heartbeat);
            }
            Stage::Busy if body == b"E" => {
                self.stage = Stage::RollingBack;
                put(b'Q', out.buffer(), |out| text(b"ROLLBACK", out));
            }
            Stage::Busy | Stage::RollingBack => {
                self.stage = Stage::Idle;
                self.end(done);
            }
            Stage::Opening => return self.opened(),
            Stage::Idle | Stage::Over => return Err(UNASKED),
        }
        Ok(())
    }

    #[cold]
    fn opened(&mut self) -> Result<(), Broken> {
        if !self.login().is_some_and(|login| login.entered()) {
            return Err(Broken(cause::postgres::ready_too_soon()));
        }
        self.rare = None;
        self.stage = Stage::Idle;
        Ok(())
    }

    /// Handles an ErrorResponse. FATAL and PANIC end the connection, other errors only the exchange.
    #[cold]
    fn erred(&mut self, refusal: &Refusal<'_>, done: &mut Done) -> Result<(), Broken> {
        let fatal = refusal.severity != b"ERROR";
        if self.error == 0 {
            self.error = errors::code(refusal.state);
            self.rare().error = refusal.shown(EXCERPT_BOUND);
        }
        match self.stage {
            Stage::Busy | Stage::RollingBack if !fatal => Ok(()),
            Stage::Busy | Stage::RollingBack if self.asked && !self.beats => {
                self.stage = Stage::Over;
                self.end(done);
                Ok(())
            }
            // An answer without a request; the message that ends an idle connection is fatal.
            Stage::Idle if !fatal => Err(UNASKED),
            _ => {
                self.stage = Stage::Over;
                self.refused = true;
                Err(Broken(errors::refused(refusal.state)))
            }
        }
    }

    /// Ends the exchange.
    #[inline]
    fn end(&mut self, done: &mut Done) {
        self.asked = false;
        let outside = self.checks().rows.as_ref().is_some_and(|span| !span.contains(&self.rows));
        let (payload, id) = (self.payload, self.id);
        let missing = if self.error == 0 && !outside { self.taken(done) } else { None };
        if self.error == 0 && !outside && missing.is_none() {
            let ended = Ended { id, fault: None, code: errors::OK, payload, excerpt: None, follow: None, why: None };
            return done.push(Event::Ended(ended));
        }
        self.end_closely(missing, done);
    }

    #[cold]
    fn end_closely(&mut self, missing: Option<Cause>, done: &mut Done) {
        let (id, payload, rows) = (self.id, self.payload, self.rows);
        let (fault, code, excerpt) = match std::mem::take(&mut self.error) {
            0 => (FaultKind::WrongBody, errors::OK, format!("{rows} rows").into_bytes()),
            error => (FaultKind::WrongStatus, error, self.rare().error.clone()),
        };
        // Statements that were not prepared because of the error are prepared again by the next exchange.
        if let Some(rare) = &mut self.rare {
            for number in rare.preparing.drain(..).skip(rare.prepared) {
                self.ready[number as usize] = false;
            }
        }
        let why = match &self.checks().rows {
            _ if missing.is_some() => missing,
            Some(asked) if fault == FaultKind::WrongBody && done.wants_example(fault) => Some(other_rows(asked, rows)),
            _ => None,
        };
        let excerpt = done.wants_example(fault).then(|| excerpt.into_boxed_slice());
        if let Some(asked) = &self.checks().rows {
            done.failed(id, u32::from(fault == FaultKind::WrongStatus || !asked.contains(&rows)));
        }
        done.push(Event::Ended(Ended { id, fault: Some(fault), code, payload, excerpt, follow: None, why }));
    }

    /// Ends the session after a protocol error.
    #[cold]
    fn break_off(&mut self, bytes: &[u8], done: &mut Done) {
        if self.asked {
            self.asked = false;
            let excerpt = done.wants_example(FaultKind::BrokenProtocol);
            let excerpt = excerpt.then(|| bytes[..bytes.len().min(EXCERPT_BOUND)].into());
            let (id, fault) = (self.id, Some(FaultKind::BrokenProtocol));
            done.push(Event::Ended(Ended {
                id,
                fault,
                code: 0,
                payload: self.payload,
                excerpt,
                follow: None,
                why: None,
            }));
        }
        self.stage = Stage::Over;
    }
}

const MISPLACED: Broken = Broken(cause::postgres::misplaced());
const UNASKED: Broken = Broken(cause::postgres::unsolicited());

impl Session for PostgresSession {
    fn open(&mut self, out: &mut Out) {
        let plan = Arc::clone(&self.plan);
        if let Some(login) = self.login() {
            login.begin(&plan, out.buffer());
        }
    }

    #[inline]
    fn submit(&mut self, id: ExchangeId, request: &wire::Request, fill: &Fill, out: &mut Out) -> Result<Sent, Full> {
        let request = request.of::<Request>();
        if self.room() == 0 {
            return Err(Full);
        }
        if let Some(rare) = &mut self.rare {
            rare.preparing.clear();
            (rare.prepared, rare.copies) = (0, false);
        }
        if let Some(script) = self.plan.scripts.get(request.script as usize) {
            let rare = &mut self.rare;
            let prepare = |number| rare.get_or_insert_default().preparing.push(number);
            script.put(fill, &self.plan.parses, &mut self.ready, prepare, out.buffer());
        }
        (self.id, self.script, self.stage) = (id, request.script, Stage::Busy);
        self.looking = self.checks().looks().then(|| Box::new((Looking::default(), fill.random)));
        self.reader.rows = self.looking.is_some();
        (self.payload, self.rows, self.begun, self.asked) = (0, 0, false, true);
        Ok(Sent::Asked)
    }

    #[inline]
    fn receive(&mut self, bytes: &[u8], out: &mut Out, done: &mut Done) -> Result<(), Broken> {
        if bytes.is_empty() {
            return Ok(());
        }
        let beats = self.beats;
        let login = self.rare.as_mut().and_then(|rare| rare.login.as_mut()).filter(|login| login.asked_for_tls());
        let outcome = match (self.stage, login) {
            (Stage::Over, _) => Err(UNASKED),
            (Stage::Opening, Some(login)) => login.tls_answered(bytes),
            _ => self.advance(bytes, out, done),
        };
        if outcome.is_err() {
            if self.stage == Stage::Idle {
                done.push(Event::Stray(u32::try_from(bytes.len()).unwrap_or(u32::MAX)));
            }
            self.break_off(bytes, done);
        } else if self.asked && !self.begun && !beats {
            self.begun = true;
            done.push(Event::FirstByte(self.id));
        }
        outcome
    }

    fn begun(&self) -> &[u8] {
        self.rare.as_ref().map_or(&[], |rare| &rare.error)
    }

    fn heartbeat(&mut self, out: &mut Out) -> bool {
        if self.stage != Stage::Idle {
            return false;
        }
        // An empty statement, answered by EmptyQueryResponse and ReadyForQuery.
        out.put(b"Q\0\0\0\x05\0");
        (self.beats, self.stage) = (true, Stage::Busy);
        true
    }

    fn finish(&mut self, out: &mut Out) {
        if self.stage != Stage::Over {
            out.put(b"X\0\0\0\x04");
        }
    }

    #[inline]
    fn room(&self) -> usize {
        usize::from(self.stage == Stage::Idle || self.stage == Stage::Busy && self.beats && !self.asked)
    }

    fn refusal(&self) -> FaultKind {
        if self.refused { FaultKind::WrongStatus } else { FaultKind::BrokenProtocol }
    }

    fn refusal_code(&self) -> u32 {
        if self.refused { self.error } else { 0 }
    }

    fn opening(&self) -> bool {
        self.stage == Stage::Opening
    }

    fn secures_now(&self) -> bool {
        self.rare.as_ref().and_then(|rare| rare.login.as_ref()).is_some_and(Login::secures_now)
    }

    fn secured(&mut self, out: &mut Out) {
        self.open(out);
    }
}
