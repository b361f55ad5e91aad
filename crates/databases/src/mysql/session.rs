//! The client session on one connection: one exchange at a time, each of one statement or several.
//!
//! Whole packets are read in place; only the length and the first byte of rows are examined, so that a result of any
//! size is counted and none of it kept. A split packet is reassembled only if its content matters. An idle session
//! takes some 200 bytes, plus eight for each prepared statement.

use std::sync::Arc;

use wire::{Broken, Done, Event, ExchangeId, FaultKind, Fill, Full, Out, Sent, Session, Values};

use super::codec::{COM_PING, COM_QUIT, EOF, ERR, HEADER, WHOLE, length, put_packet};
use super::dialogue::Plan;
use super::greeting::Agreed;
use super::looking::Own;
use super::opening::Opening;
use super::statement::Ready;
use crate::sql::{Checks, Request};

/// Maximum size of the excerpt of a server's error, in bytes.
pub const EXCERPT_BOUND: usize = 1024;

/// Maximum size of a packet that must be read whole (an OK, an error, a public key).
const KEPT_BOUND: usize = 64 * 1024;

/// The packet that is awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The connection is not open yet.
    Opening,
    /// No exchange in flight.
    Idle,
    /// The first packet of an answer.
    Answer,
    /// The column descriptions, `left` of them.
    Columns,
    /// The packet between columns and rows, from servers that send one.
    ColumnsEnd,
    /// Rows and their end.
    Rows,
    /// The answer to the ROLLBACK after a failure.
    Rollback,
    /// The answer to a statement that is prepared late, because preparing it failed when the connection opened.
    Prepared,
    /// The packets that describe the late statement, `left` of them.
    Described,
    /// Closed: no exchange in flight, and none will be.
    Over,
}

/// The client side of a MySQL connection.
#[derive(Debug)]
pub struct MysqlSession {
    pub(super) plan: Arc<Plan>,
    pub(super) opening: Option<Box<Opening>>,
    pub(super) ready: Box<[Ready]>,
    /// Incomplete packet.
    pub(super) kept: Vec<u8>,
    /// Error message of the server if it refused.
    pub(super) told: Box<[u8]>,
    pub(super) fill: Fill<'static>,
    /// State that only flow steps need.
    pub(super) own: Option<Box<Own>>,
    /// Bytes of rows of the exchange in flight; below it, the number of rows returned or changed.
    pub(super) payload: u64,
    pub(super) rows: u64,
    pub(super) left: u64,
    /// Number of bytes still to be skipped of a packet that is only counted.
    pub(super) skip: u32,
    pub(super) id: ExchangeId,
    pub(super) script: u32,
    pub(super) statement: u32,
    /// Status flags of the last answer.
    pub(super) status: u16,
    /// Error number of the exchange in flight, if it failed.
    pub(super) code: u16,
    /// Expected sequence number of the next packet.
    pub(super) number: u8,
    /// Expected sequence number of the answer that follows a ping's.
    pub(super) after_pong: u8,
    pub(super) stage: Stage,
    pub(super) agreed: Agreed,
    /// Set if the previous packet was full, so that the next one continues it.
    pub(super) continued: bool,
    /// Set if the answer to a ping is awaited before any other.
    pub(super) pinged: bool,
    /// Set once the first byte of the answer was reported.
    pub(super) begun: bool,
    /// Set if the server closes the connection after this exchange.
    pub(super) last: bool,
    /// Set if the server ended the connection with an unsolicited error: a refused login, an idle limit.
    pub(super) refused: bool,
}

impl MysqlSession {
    pub(super) fn new(plan: Arc<Plan>, login: u32) -> MysqlSession {
        MysqlSession {
            plan,
            opening: Some(Box::new(Opening::new(login))),
            ready: Box::default(),
            kept: Vec::new(),
            told: Box::default(),
            fill: Fill::default(),
            own: None,
            payload: 0,
            rows: 0,
            left: 0,
            skip: 0,
            id: ExchangeId(0),
            script: 0,
            statement: 0,
            status: 0,
            code: 0,
            number: 0,
            after_pong: 0,
            stage: Stage::Opening,
            agreed: Agreed::default(),
            continued: false,
            pinged: false,
            begun: false,
            last: false,
            refused: false,
        }
    }

    #[inline]
    fn in_flight(&self) -> bool {
        !matches!(self.stage, Stage::Opening | Stage::Idle | Stage::Over)
    }

    /// Returns the checks of the exchange in flight.
    pub(super) fn checks(&self) -> &Checks {
        &self.plan.scripts[self.script as usize].checks
    }

    /// Returns `true` if rows are captured from.
    #[inline]
    pub(super) fn looks(&self) -> bool {
        self.own.as_ref().is_some_and(|own| own.looks)
    }

    /// Sends the current statement.
    #[inline]
    pub(super) fn send(&mut self, out: &mut Out) {
        let Some(script) = self.plan.scripts.get(self.script as usize) else { return };
        let Some(statement) = script.statements.get(self.statement as usize) else { return };
        let unprepared = statement.unprepared(&self.ready);
        let number = match unprepared.and_then(|number| self.plan.prepares.get(number)) {
            // Statements of 16 MiB, which take several packets, are sent as text.
            Some(prepare) => {
                out.put(prepare);
                1
            }
            None => {
                let values = self.own.as_ref().map_or(Values::NONE, |own| &own.values);
                statement.put(&Fill { values, ..self.fill }, &mut self.ready, out.buffer())
            }
        };
        // The answer to a ping is numbered separately and arrives first.
        *if self.pinged { &mut self.after_pong } else { &mut self.number } = number;
        self.stage = if unprepared.is_some() { Stage::Prepared } else { Stage::Answer };
    }

    /// Returns `true` if a packet with this first byte is counted and skipped.
    #[inline]
    pub(super) fn passes_over(&self, first: u8, size: usize) -> bool {
        match self.stage {
            _ if self.continued => true,
            Stage::Rows if !self.pinged => !self.looks() && first != ERR && (first != EOF || size == WHOLE),
            Stage::Columns if !self.pinged => !self.looks(),
            // The last description is handled, because it ends the answer.
            Stage::Described => self.left > 1,
            Stage::Opening => self.opening.as_ref().is_some_and(|opening| opening.passes_over()),
            _ => false,
        }
    }

    /// Counts a packet of `size` bytes without reading it.
    #[inline]
    pub(super) fn count(&mut self, size: usize, out: &mut Out) -> Result<(), Broken> {
        match self.stage {
            Stage::Rows => {
                self.payload += size as u64;
                self.rows = self.rows.saturating_add(u64::from(!self.continued));
                self.continued = size == WHOLE;
            }
            _ if size == WHOLE => return Err(Broken(cause::mysql::long_description())),
            Stage::Columns => {
                self.left -= 1;
                if self.left == 0 {
                    self.stage = if self.agreed.without_eof { Stage::Rows } else { Stage::ColumnsEnd };
                }
            }
            Stage::Described => {
                self.left -= 1;
                if self.left == 0 {
                    self.send(out);
                }
            }
            _ => {
                if let Some(opening) = &mut self.opening {
                    let came = opening.passed_over(&self.plan);
                    self.opened(came);
                }
            }
        }
        Ok(())
    }

    /// Checks the sequence number of a packet and advances it.
    #[inline]
    fn numbered(&mut self, header: &[u8], first: Option<u8>) -> Result<(), Broken> {
        // The message with which a server ends an idle connection belongs to no command, and has any number.
        if header[3] != self.number && (self.stage != Stage::Idle || first != Some(ERR)) {
            return Err(Broken(cause::mysql::out_of_order()));
        }
        self.number = self.number.wrapping_add(1);
        Ok(())
    }

    /// Continues a packet that was partly received; returns the remaining bytes.
    #[cold]
    fn take_on<'a>(&mut self, bytes: &'a [u8], out: &mut Out, done: &mut Done) -> Result<&'a [u8], Broken> {
        let mut rest = bytes;
        loop {
            let size = if self.kept.len() < HEADER { 0 } else { length(&self.kept) };
            let wanted = match self.kept.len() {
                // The first byte of a packet decides whether the rest matters.
                0..=HEADER if size > 0 => HEADER + 1,
                0..HEADER => HEADER,
                _ => HEADER + size,
            };
            let (taken, left) = rest.split_at(rest.len().min(wanted - self.kept.len()));
            self.kept.extend_from_slice(taken);
            rest = left;
            if self.kept.len() < wanted {
                return Ok(rest);
            }
            if wanted == HEADER && length(&self.kept) > 0 {
                continue;
            }
            if wanted == HEADER + 1 && self.passes_over(self.kept[HEADER], size) {
                let header = [self.kept[0], self.kept[1], self.kept[2], self.kept[3]];
                self.kept.clear();
                self.numbered(&header, None)?;
                self.skip = size as u32 - 1;
                self.count(size, out)?;
                return Ok(rest);
            }
            if size > KEPT_BOUND {
                return Err(TOO_LARGE);
            }
            if self.kept.len() == HEADER + size {
                let mut kept = std::mem::take(&mut self.kept);
                self.numbered(&kept, kept.get(HEADER).copied())?;
                let read = self.packet(&kept[HEADER..], out, done);
                kept.clear();
                // An idle connection should not hold a large buffer.
                kept.shrink_to(64);
                self.kept = kept;
                return read.map(|()| rest);
            }
        }
    }
}

const TOO_LARGE: Broken = Broken(cause::mysql::too_large());

impl Session for MysqlSession {
    #[inline]
    fn submit(&mut self, id: ExchangeId, request: &wire::Request, fill: &Fill, out: &mut Out) -> Result<Sent, Full> {
        let request = request.of::<Request>();
        if self.stage != Stage::Idle {
            return Err(Full);
        }
        (self.id, self.script, self.statement, self.fill) = (id, request.script, 0, fill.without_values());
        let looks = self.checks().looks();
        if looks || self.own.is_some() || !std::ptr::eq(fill.values, Values::NONE) {
            self.own.get_or_insert_default().begin(fill, looks);
        }
        (self.payload, self.rows, self.status, self.begun) = (0, 0, 0, false);
        self.send(out);
        Ok(Sent::Asked)
    }

    #[inline]
    fn receive(&mut self, bytes: &[u8], out: &mut Out, done: &mut Done) -> Result<(), Broken> {
        let read = self.read(bytes, out, done);
        if read.is_err() && self.stage == Stage::Idle {
            // An answer without a request; the message with which a server ends an idle connection is an error.
            done.push(Event::Stray(u32::try_from(bytes.len()).unwrap_or(u32::MAX)));
            self.stage = Stage::Over;
        }
        read
    }

    fn closed(&mut self, _done: &mut Done) {
        self.stage = Stage::Over;
    }

    fn begun(&self) -> &[u8] {
        &self.told
    }

    fn heartbeat(&mut self, out: &mut Out) -> bool {
        if self.stage != Stage::Idle || self.pinged {
            return false;
        }
        put_packet(0, &[COM_PING], out.buffer());
        (self.pinged, self.number) = (true, 1);
        true
    }

    fn finish(&mut self, out: &mut Out) {
        if matches!(self.stage, Stage::Idle) {
            put_packet(0, &[COM_QUIT], out.buffer());
        }
    }

    #[inline]
    fn room(&self) -> usize {
        usize::from(self.stage == Stage::Idle)
    }

    fn refusal(&self) -> FaultKind {
        if self.refused { FaultKind::WrongStatus } else { FaultKind::BrokenProtocol }
    }

    fn refusal_code(&self) -> u32 {
        if self.refused { self.code.into() } else { 0 }
    }

    fn opening(&self) -> bool {
        self.stage == Stage::Opening
    }

    fn secures_now(&self) -> bool {
        self.opening.as_ref().is_some_and(|opening| opening.secures_now())
    }

    fn secured(&mut self, out: &mut Out) {
        if let Some(opening) = &mut self.opening {
            opening.secured(&self.plan, out.buffer());
            // The response to the greeting was packet 2.
            self.number = 3;
        }
    }
}

impl MysqlSession {
    /// Reads packets, whole and in pieces.
    #[inline]
    fn read(&mut self, bytes: &[u8], out: &mut Out, done: &mut Done) -> Result<(), Broken> {
        let (mut rest, pinged) = (bytes, self.pinged);
        while !rest.is_empty() {
            if self.skip > 0 {
                let skipped = rest.len().min(self.skip as usize);
                self.skip -= skipped as u32;
                rest = &rest[skipped..];
                continue;
            }
            if !self.kept.is_empty() {
                rest = self.take_on(rest, out, done)?;
                continue;
            }
            if rest.len() < HEADER {
                self.kept.extend_from_slice(rest);
                break;
            }
            let size = length(rest);
            let Some(packet) = rest.get(HEADER..HEADER + size) else {
                rest = self.take_on(rest, out, done)?;
                continue;
            };
            self.numbered(rest, packet.first().copied())?;
            rest = &rest[HEADER + size..];
            self.packet(packet, out, done)?;
            if !rest.is_empty() && self.secures_now() {
                return Err(Broken(cause::mysql::data_after_greeting()));
            }
        }
        if !self.begun && self.in_flight() && !(pinged && self.stage == Stage::Answer && self.kept.is_empty()) {
            self.begun = true;
            done.push(Event::FirstByte(self.id));
        }
        Ok(())
    }
}
