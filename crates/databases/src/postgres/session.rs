//! The client session on one connection: one exchange at a time, its statements in one write.
//!
//! An exchange ends with ReadyForQuery; the messages before it determine the result. Rows are counted and skipped. A
//! transaction left open by a failure is rolled back before the exchange ends, so that the next one finds the
//! connection clean. Several exchanges in flight are not supported; opening more connections is a cheap alternative.

use std::sync::Arc;

use brunt_cause::Cause;
use brunt_contract::{
    Event, EventBuffer, ExchangeEnd, ExchangeId, FaultKind, OutputBuffer, ProtocolError, Session, SessionFull,
    SlotContext, SubmitOutcome,
};

use super::codec::{self, ErrorResponse, READ_BOUND, put_message, put_text};
use super::errors;
use super::login::PostgresLogin;
use super::message::{BackendMessage, MessageReader};
use super::statement::SYNC;
use super::workload::PostgresPlan;
use crate::sql::{CapturedRows, SqlChecks, SqlRequest, row_count_mismatch};

/// Maximum size of an error kept as an example, in bytes.
const EXCERPT_BOUND: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PostgresStage {
    /// The login is in progress.
    Opening,
    /// No exchange is in flight.
    Idle,
    /// An exchange or a heartbeat is in flight.
    Busy,
    /// A failed transaction is being rolled back.
    RollingBack,
    /// The session is closed: no exchange is in flight, and none will be accepted.
    Over,
}

/// The client side of a PostgreSQL connection.
#[derive(Debug)]
pub struct PostgresSession {
    pub(super) plan: Arc<PostgresPlan>,
    /// Statements prepared on this connection.
    ready: Box<[bool]>,
    reader: MessageReader,
    extras: Option<Box<PostgresExtras>>,
    pub(super) payload: u64,
    rows: u64,
    /// Rows from which values are captured, and random bits of the request.
    pub(super) looking: Option<Box<(CapturedRows, u64)>>,
    pub(super) id: ExchangeId,
    script: u32,
    /// Code of the first error of the exchange; 0 for none.
    error: u32,
    stage: PostgresStage,
    /// Set once the first byte of the answer was reported.
    first_byte_reported: bool,
    /// Set if a heartbeat is in flight, which ends before the exchange.
    heartbeat_in_flight: bool,
    /// Set if an exchange is in flight.
    in_flight: bool,
    /// Set if the server refused the connection.
    refused: bool,
}

/// The state that most exchanges never need.
#[derive(Debug, Default)]
struct PostgresExtras {
    login: Option<PostgresLogin>,
    /// Text of an error.
    error: Vec<u8>,
    /// Statements that this exchange prepares, and the number of those prepared so far.
    preparing: Vec<u32>,
    prepared: usize,
    /// Set once a COPY of this exchange was refused, which ends all of it.
    copy_refused: bool,
}

impl PostgresSession {
    pub(super) fn new(plan: Arc<PostgresPlan>, bound: u32, seed: u64) -> PostgresSession {
        let login = PostgresLogin::new(plan.ssl, bound, seed);
        PostgresSession {
            ready: vec![false; plan.parses.len()].into(),
            plan,
            reader: MessageReader::default(),
            extras: Some(Box::new(PostgresExtras { login: Some(login), ..PostgresExtras::default() })),
            payload: 0,
            rows: 0,
            looking: None,
            id: ExchangeId(0),
            script: 0,
            error: 0,
            stage: PostgresStage::Opening,
            first_byte_reported: false,
            heartbeat_in_flight: false,
            in_flight: false,
            refused: false,
        }
    }

    /// Returns the checks of the exchange in flight.
    pub(super) fn checks(&self) -> &SqlChecks {
        &self.plan.scripts[self.script as usize].checks
    }

    fn extras(&mut self) -> &mut PostgresExtras {
        self.extras.get_or_insert_default()
    }

    fn login(&mut self) -> Option<&mut PostgresLogin> {
        self.extras.as_mut()?.login.as_mut()
    }

    fn advance(&mut self, bytes: &[u8], out: &mut OutputBuffer, done: &mut EventBuffer) -> Result<(), ProtocolError> {
        let mut at = 0;
        let mut reader = std::mem::take(&mut self.reader);
        let mut outcome = Ok(());
        while at < bytes.len() && outcome.is_ok() {
            if self.stage == PostgresStage::Over {
                outcome = Err(UNASKED);
                break;
            }
            outcome = match reader.next(bytes, &mut at) {
                Ok(Some(message)) => self.on_message(&message, out, done),
                Ok(None) => break,
                Err(broken) => Err(broken),
            };
        }
        // A peer that is not PostgreSQL may announce a message of gigabytes.
        if outcome.is_ok() && self.stage == PostgresStage::Opening && reader.body_size() > READ_BOUND {
            outcome = Err(MISPLACED);
        }
        self.reader = reader;
        outcome
    }

    #[inline]
    fn on_message(
        &mut self,
        message: &BackendMessage<'_>,
        out: &mut OutputBuffer,
        done: &mut EventBuffer,
    ) -> Result<(), ProtocolError> {
        match message.kind {
            b'T' | b'D' if self.stage == PostgresStage::Busy && self.looking.is_some() => return self.on_row(message),
            // DataRow, CopyData: the row begins with two bytes that count its columns.
            b'D' | b'd' if self.stage == PostgresStage::Busy => self.payload += u64::from(message.size),
            // BindComplete, RowDescription, CommandComplete and other messages of statements.
            b'2' | b'T' | b'n' | b't' | b's' | b'I' | b'3' | b'c' | b'H' if self.stage == PostgresStage::Busy => {}
            b'C' if self.stage == PostgresStage::Busy && self.checks().rows.is_some() => {
                self.rows = self.rows.saturating_add(codec::completed_rows(message.body));
            }
            b'C' if matches!(self.stage, PostgresStage::Busy | PostgresStage::RollingBack) => {}
            b'Z' => return self.ready_for_query(message.body, out, done),
            b'1' if self.stage == PostgresStage::Busy => self.extras().prepared += 1,
            b'E' => return self.on_error(&codec::parse_error(message.body), done),
            // ParameterStatus, NoticeResponse, BackendKeyData, NegotiateProtocolVersion.
            b'S' | b'N' => {}
            b'K' | b'v' if self.stage == PostgresStage::Opening => {}
            b'A' => done.push_unsolicited(u64::from(message.size), message.body),
            b'R' if self.stage == PostgresStage::Opening => return self.authentication(message.body, out),
            b'G' if self.stage == PostgresStage::Busy && !self.extras().copy_refused => self.refuse_copy(out),
            b'W' => return Err(ProtocolError(brunt_cause::postgres::copy_both())),
            _ => return Err(MISPLACED),
        }
        Ok(())
    }

    #[cold]
    fn authentication(&mut self, body: &[u8], out: &mut OutputBuffer) -> Result<(), ProtocolError> {
        let plan = Arc::clone(&self.plan);
        let asked = self.login().ok_or(UNASKED)?.on_authentication(body, &plan, out.buffer());
        // Without a password there is nothing to reply: the server follows its protocol, so this counts as a refused
        // login.
        self.refused |= asked == Err(super::login::NO_PASSWORD);
        asked
    }

    /// Refuses COPY … FROM STDIN. The server discarded the Sync after the statement, so another one is sent.
    #[cold]
    fn refuse_copy(&mut self, out: &mut OutputBuffer) {
        self.extras().copy_refused = true;
        let out = out.buffer();
        put_message(b'f', out, |out| put_text(b"brunt sends no data for COPY", out));
        if self.plan.scripts.get(self.script as usize).is_some_and(|script| script.ends_with_sync()) {
            out.extend_from_slice(SYNC);
        }
    }

    /// Handles ReadyForQuery: the exchange is over, unless a transaction must be rolled back first.
    #[inline]
    fn ready_for_query(
        &mut self,
        body: &[u8],
        out: &mut OutputBuffer,
        done: &mut EventBuffer,
    ) -> Result<(), ProtocolError> {
        match self.stage {
            PostgresStage::Busy if self.heartbeat_in_flight => {
                self.heartbeat_in_flight = false;
                self.stage = if self.in_flight { PostgresStage::Busy } else { PostgresStage::Idle };
                done.push(Event::Heartbeat);
            }
            PostgresStage::Busy if body == b"E" => {
                self.stage = PostgresStage::RollingBack;
                put_message(b'Q', out.buffer(), |out| put_text(b"ROLLBACK", out));
            }
            PostgresStage::Busy | PostgresStage::RollingBack => {
                self.stage = PostgresStage::Idle;
                self.end_exchange(done);
            }
            PostgresStage::Opening => return self.on_opened(),
            PostgresStage::Idle | PostgresStage::Over => return Err(UNASKED),
        }
        Ok(())
    }

    #[cold]
    fn on_opened(&mut self) -> Result<(), ProtocolError> {
        if !self.login().is_some_and(|login| login.is_accepted()) {
            return Err(ProtocolError(brunt_cause::postgres::ready_too_soon()));
        }
        self.extras = None;
        self.stage = PostgresStage::Idle;
        Ok(())
    }

    /// Handles an ErrorResponse. FATAL and PANIC end the connection, other errors only the exchange.
    #[cold]
    fn on_error(&mut self, refusal: &ErrorResponse<'_>, done: &mut EventBuffer) -> Result<(), ProtocolError> {
        let fatal = refusal.severity != b"ERROR";
        if self.error == 0 {
            self.error = errors::code(refusal.state);
            self.extras().error = refusal.excerpt(EXCERPT_BOUND);
        }
        match self.stage {
            PostgresStage::Busy | PostgresStage::RollingBack if !fatal => Ok(()),
            PostgresStage::Busy | PostgresStage::RollingBack if self.in_flight && !self.heartbeat_in_flight => {
                self.stage = PostgresStage::Over;
                self.end_exchange(done);
                Ok(())
            }
            // An answer without a request; the message that ends an idle connection is fatal.
            PostgresStage::Idle if !fatal => Err(UNASKED),
            _ => {
                self.stage = PostgresStage::Over;
                self.refused = true;
                Err(ProtocolError(errors::refused(refusal.state)))
            }
        }
    }

    /// Ends the exchange.
    #[inline]
    fn end_exchange(&mut self, done: &mut EventBuffer) {
        self.in_flight = false;
        let outside = self.checks().rows.as_ref().is_some_and(|span| !span.contains(&self.rows));
        let (payload, id) = (self.payload, self.id);
        let missing = if self.error == 0 && !outside { self.report_captures(done) } else { None };
        if self.error == 0 && !outside && missing.is_none() {
            let ended =
                ExchangeEnd { id, fault: None, code: errors::OK, payload, excerpt: None, follow_up: None, cause: None };
            return done.push(Event::Ended(ended));
        }
        self.end_with_checks(missing, done);
    }

    #[cold]
    fn end_with_checks(&mut self, missing: Option<Cause>, done: &mut EventBuffer) {
        let (id, payload, rows) = (self.id, self.payload, self.rows);
        let (fault, code, excerpt) = match std::mem::take(&mut self.error) {
            0 => {
                let unless_own = |why| FaultKind::WrongBody.unless_own_limit(why);
                let fault = missing.as_ref().map_or(FaultKind::WrongBody, unless_own);
                (fault, errors::OK, format!("{rows} rows").into_bytes())
            }
            error => (FaultKind::WrongStatus, error, self.extras().error.clone()),
        };
        // Statements that were not prepared because of the error are prepared again by the next exchange.
        if let Some(rare) = &mut self.extras {
            for number in rare.preparing.drain(..).skip(rare.prepared) {
                self.ready[number as usize] = false;
            }
        }
        let why = match &self.checks().rows {
            _ if missing.is_some() => missing,
            Some(asked) if fault == FaultKind::WrongBody && done.wants_example(fault) => {
                Some(row_count_mismatch(asked, rows))
            }
            _ => None,
        };
        let excerpt = done.wants_example(fault).then(|| excerpt.into_boxed_slice());
        if let Some(asked) = &self.checks().rows {
            done.record_failed_checks(id, u32::from(fault == FaultKind::WrongStatus || !asked.contains(&rows)));
        }
        done.push(Event::Ended(ExchangeEnd {
            id,
            fault: Some(fault),
            code,
            payload,
            excerpt,
            follow_up: None,
            cause: why,
        }));
    }

    /// Ends the session after a protocol error.
    #[cold]
    fn abort(&mut self, bytes: &[u8], done: &mut EventBuffer) {
        if self.in_flight {
            self.in_flight = false;
            let excerpt = done.wants_example(FaultKind::BrokenProtocol);
            let excerpt = excerpt.then(|| bytes[..bytes.len().min(EXCERPT_BOUND)].into());
            let (id, fault) = (self.id, Some(FaultKind::BrokenProtocol));
            done.push(Event::Ended(ExchangeEnd {
                id,
                fault,
                code: 0,
                payload: self.payload,
                excerpt,
                follow_up: None,
                cause: None,
            }));
        }
        self.stage = PostgresStage::Over;
    }
}

const MISPLACED: ProtocolError = ProtocolError(brunt_cause::postgres::misplaced());
const UNASKED: ProtocolError = ProtocolError(brunt_cause::postgres::unsolicited());

impl Session for PostgresSession {
    fn open(&mut self, out: &mut OutputBuffer) {
        let plan = Arc::clone(&self.plan);
        if let Some(login) = self.login() {
            login.begin(&plan, out.buffer());
        }
    }

    #[inline]
    fn submit(
        &mut self,
        id: ExchangeId,
        request: &brunt_contract::Request,
        context: &SlotContext,
        out: &mut OutputBuffer,
    ) -> Result<SubmitOutcome, SessionFull> {
        let request = request.downcast::<SqlRequest>();
        if self.room() == 0 {
            return Err(SessionFull);
        }
        if let Some(rare) = &mut self.extras {
            rare.preparing.clear();
            (rare.prepared, rare.copy_refused) = (0, false);
        }
        if let Some(script) = self.plan.scripts.get(request.script as usize) {
            let rare = &mut self.extras;
            let prepare = |number| rare.get_or_insert_default().preparing.push(number);
            script.append(context, &self.plan.parses, &mut self.ready, prepare, out.buffer());
        }
        (self.id, self.script, self.stage) = (id, request.script, PostgresStage::Busy);
        self.looking = self.checks().captures_rows().then(|| Box::new((CapturedRows::default(), context.random)));
        self.reader.rows = self.looking.is_some();
        (self.payload, self.rows, self.first_byte_reported, self.in_flight) = (0, 0, false, true);
        Ok(SubmitOutcome::AwaitingResponse)
    }

    #[inline]
    fn receive(&mut self, bytes: &[u8], out: &mut OutputBuffer, done: &mut EventBuffer) -> Result<(), ProtocolError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let beats = self.heartbeat_in_flight;
        let login = self.extras.as_mut().and_then(|rare| rare.login.as_mut()).filter(|login| login.awaits_tls_answer());
        let outcome = match (self.stage, login) {
            (PostgresStage::Over, _) => Err(UNASKED),
            (PostgresStage::Opening, Some(login)) => login.on_tls_answer(bytes),
            _ => self.advance(bytes, out, done),
        };
        if outcome.is_err() {
            if self.stage == PostgresStage::Idle {
                done.push(Event::SurplusResponse(u32::try_from(bytes.len()).unwrap_or(u32::MAX)));
            }
            self.abort(bytes, done);
        } else if self.in_flight && !self.first_byte_reported && !beats {
            self.first_byte_reported = true;
            done.push(Event::FirstByte(self.id));
        }
        outcome
    }

    fn partial_response(&self) -> &[u8] {
        self.extras.as_ref().map_or(&[], |rare| &rare.error)
    }

    fn heartbeat(&mut self, out: &mut OutputBuffer) -> bool {
        if self.stage != PostgresStage::Idle {
            return false;
        }
        // An empty statement, answered by EmptyQueryResponse and ReadyForQuery.
        out.put(b"Q\0\0\0\x05\0");
        (self.heartbeat_in_flight, self.stage) = (true, PostgresStage::Busy);
        true
    }

    fn finish(&mut self, out: &mut OutputBuffer) {
        if self.stage != PostgresStage::Over {
            out.put(b"X\0\0\0\x04");
        }
    }

    #[inline]
    fn room(&self) -> usize {
        usize::from(
            self.stage == PostgresStage::Idle
                || self.stage == PostgresStage::Busy && self.heartbeat_in_flight && !self.in_flight,
        )
    }

    fn refusal_kind(&self) -> FaultKind {
        if self.refused { FaultKind::WrongStatus } else { FaultKind::BrokenProtocol }
    }

    fn refusal_code(&self) -> u32 {
        if self.refused { self.error } else { 0 }
    }

    fn is_opening(&self) -> bool {
        self.stage == PostgresStage::Opening
    }

    fn starts_tls(&self) -> bool {
        self.extras.as_ref().and_then(|rare| rare.login.as_ref()).is_some_and(PostgresLogin::secures_now)
    }

    fn tls_established(&mut self, out: &mut OutputBuffer) {
        self.open(out);
    }
}
