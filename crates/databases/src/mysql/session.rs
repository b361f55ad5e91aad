//! The client session on one connection: one exchange at a time, each of one statement or several.
//!
//! Whole packets are read in place; only the length and the first byte of rows are examined, so that a result of any
//! size is counted, but none of it is kept. A split packet is reassembled only if its content matters. An idle session
//! takes about 200 bytes, plus eight for each prepared statement.

use std::sync::Arc;

use brunt_contract::{
    Event, EventBuffer, ExchangeId, FaultKind, OutputBuffer, ProtocolError, Session, SessionFull, SlotContext,
    SubmitOutcome, UserValues,
};

use super::codec::{COM_PING, COM_QUIT, EOF, ERR, HEADER, WHOLE, payload_length, put_packet};
use super::greeting::AgreedCapabilities;
use super::opening::MysqlOpening;
use super::row_capture::MysqlFlowState;
use super::statement::PreparedStatement;
use super::workload::MysqlPlan;
use crate::sql::{SqlChecks, SqlRequest};

/// Maximum size of the excerpt of a server's error, in bytes.
pub const EXCERPT_BOUND: usize = 1024;

/// Maximum size of a packet that must be read whole (an OK, an error, a public key).
const KEPT_BOUND: usize = 64 * 1024;

/// The packet that is awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MysqlStage {
    /// The connection is not open yet.
    Opening,
    /// No exchange is in flight.
    Idle,
    /// The first packet of an answer.
    Answer,
    /// The column descriptions, `remaining` of them.
    Columns,
    /// The packet between columns and rows, from servers that send one.
    ColumnsEnd,
    /// Rows and their end.
    Rows,
    /// The answer to the ROLLBACK after a failure.
    Rollback,
    /// The answer to a statement that is prepared late, because preparing it failed when the connection opened.
    Prepared,
    /// The packets that describe the late statement, `remaining` of them.
    Described,
    /// The session is closed: no exchange is in flight, and none will be accepted.
    Over,
}

/// The client side of a MySQL connection.
#[derive(Debug)]
pub struct MysqlSession {
    pub(super) plan: Arc<MysqlPlan>,
    pub(super) opening: Option<Box<MysqlOpening>>,
    pub(super) ready: Box<[PreparedStatement]>,
    /// Incomplete packet.
    pub(super) partial_packet: Vec<u8>,
    /// Error message of a server that refused the connection.
    pub(super) error_text: Box<[u8]>,
    pub(super) context: SlotContext<'static>,
    /// State that only flow steps need.
    pub(super) flow_state: Option<Box<MysqlFlowState>>,
    /// Number of bytes in the rows of the exchange in flight.
    pub(super) payload: u64,
    /// Number of rows returned or changed.
    pub(super) rows: u64,
    /// Number of descriptions still to come.
    pub(super) remaining: u64,
    /// Number of bytes still to be skipped in a packet that is only counted.
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
    /// Expected sequence number of the answer that follows the answer to a ping.
    pub(super) after_pong: u8,
    pub(super) stage: MysqlStage,
    pub(super) agreed: AgreedCapabilities,
    /// Set if the previous packet was full, so that the next one continues it.
    pub(super) continued: bool,
    /// Set if the answer to a ping is awaited before any other.
    pub(super) pinged: bool,
    /// Set once the first byte of the answer was reported.
    pub(super) first_byte_reported: bool,
    /// Set if the server closes the connection after this exchange.
    pub(super) closes_after: bool,
    /// Set if the server ended the connection with an unsolicited error: a refused login, an idle limit.
    pub(super) refused: bool,
}

impl MysqlSession {
    pub(super) fn new(plan: Arc<MysqlPlan>, login: u32) -> MysqlSession {
        MysqlSession {
            plan,
            opening: Some(Box::new(MysqlOpening::new(login))),
            ready: Box::default(),
            partial_packet: Vec::new(),
            error_text: Box::default(),
            context: SlotContext::default(),
            flow_state: None,
            payload: 0,
            rows: 0,
            remaining: 0,
            skip: 0,
            id: ExchangeId(0),
            script: 0,
            statement: 0,
            status: 0,
            code: 0,
            number: 0,
            after_pong: 0,
            stage: MysqlStage::Opening,
            agreed: AgreedCapabilities::default(),
            continued: false,
            pinged: false,
            first_byte_reported: false,
            closes_after: false,
            refused: false,
        }
    }

    #[inline]
    fn in_flight(&self) -> bool {
        !matches!(self.stage, MysqlStage::Opening | MysqlStage::Idle | MysqlStage::Over)
    }

    /// Returns the checks of the exchange in flight.
    pub(super) fn checks(&self) -> &SqlChecks {
        &self.plan.scripts[self.script as usize].checks
    }

    /// Returns `true` if values are captured from rows.
    #[inline]
    pub(super) fn captures_rows(&self) -> bool {
        self.flow_state.as_ref().is_some_and(|own| own.captures_rows)
    }

    /// Sends the current statement.
    #[inline]
    pub(super) fn send_statement(&mut self, out: &mut OutputBuffer) {
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
                let values = self.flow_state.as_ref().map_or(UserValues::NONE, |own| &own.values);
                statement.append(&SlotContext { values, ..self.context }, &mut self.ready, out.buffer())
            }
        };
        // The answer to a ping is numbered separately and arrives first.
        *if self.pinged { &mut self.after_pong } else { &mut self.number } = number;
        self.stage = if unprepared.is_some() { MysqlStage::Prepared } else { MysqlStage::Answer };
    }

    /// Returns `true` if a packet with this first byte is counted and skipped.
    #[inline]
    pub(super) fn skips_packet(&self, first: u8, size: usize) -> bool {
        match self.stage {
            _ if self.continued => true,
            MysqlStage::Rows if !self.pinged => {
                !self.captures_rows() && first != ERR && (first != EOF || size == WHOLE)
            }
            MysqlStage::Columns if !self.pinged => !self.captures_rows(),
            // The last description is handled, because it ends the answer.
            MysqlStage::Described => self.remaining > 1,
            MysqlStage::Opening => self.opening.as_ref().is_some_and(|opening| opening.skips_packet()),
            _ => false,
        }
    }

    /// Counts a packet of `size` bytes without reading it.
    #[inline]
    pub(super) fn count_packet(&mut self, size: usize, out: &mut OutputBuffer) -> Result<(), ProtocolError> {
        match self.stage {
            MysqlStage::Rows => {
                self.payload += size as u64;
                self.rows = self.rows.saturating_add(u64::from(!self.continued));
                self.continued = size == WHOLE;
            }
            _ if size == WHOLE => return Err(ProtocolError(brunt_cause::mysql::long_description())),
            MysqlStage::Columns => {
                self.remaining -= 1;
                if self.remaining == 0 {
                    self.stage = if self.agreed.without_eof { MysqlStage::Rows } else { MysqlStage::ColumnsEnd };
                }
            }
            MysqlStage::Described => {
                self.remaining -= 1;
                if self.remaining == 0 {
                    self.send_statement(out);
                }
            }
            _ => {
                if let Some(opening) = &mut self.opening {
                    let came = opening.packet_skipped(&self.plan);
                    self.on_opening(came);
                }
            }
        }
        Ok(())
    }

    /// Checks the sequence number of a packet and advances it.
    #[inline]
    fn check_sequence(&mut self, header: &[u8], first: Option<u8>) -> Result<(), ProtocolError> {
        // The message with which a server ends an idle connection belongs to no command, and may have any number.
        if header[3] != self.number && (self.stage != MysqlStage::Idle || first != Some(ERR)) {
            return Err(ProtocolError(brunt_cause::mysql::out_of_order()));
        }
        self.number = self.number.wrapping_add(1);
        Ok(())
    }

    /// Continues a packet that was partly received; returns the remaining bytes.
    #[cold]
    fn continue_packet<'a>(
        &mut self,
        bytes: &'a [u8],
        out: &mut OutputBuffer,
        done: &mut EventBuffer,
    ) -> Result<&'a [u8], ProtocolError> {
        let mut rest = bytes;
        loop {
            let size = if self.partial_packet.len() < HEADER { 0 } else { payload_length(&self.partial_packet) };
            let wanted = match self.partial_packet.len() {
                // The first byte of a packet decides whether the rest matters.
                0..=HEADER if size > 0 => HEADER + 1,
                0..HEADER => HEADER,
                _ => HEADER + size,
            };
            let (taken, left) = rest.split_at(rest.len().min(wanted - self.partial_packet.len()));
            self.partial_packet.extend_from_slice(taken);
            rest = left;
            if self.partial_packet.len() < wanted {
                return Ok(rest);
            }
            if wanted == HEADER && payload_length(&self.partial_packet) > 0 {
                continue;
            }
            if wanted == HEADER + 1 && self.skips_packet(self.partial_packet[HEADER], size) {
                let header =
                    [self.partial_packet[0], self.partial_packet[1], self.partial_packet[2], self.partial_packet[3]];
                self.partial_packet.clear();
                self.check_sequence(&header, None)?;
                self.skip = size as u32 - 1;
                self.count_packet(size, out)?;
                return Ok(rest);
            }
            if size > KEPT_BOUND {
                return Err(TOO_LARGE);
            }
            if self.partial_packet.len() == HEADER + size {
                let mut kept = std::mem::take(&mut self.partial_packet);
                self.check_sequence(&kept, kept.get(HEADER).copied())?;
                let read = self.on_packet(&kept[HEADER..], out, done);
                kept.clear();
                // An idle connection should not hold a large buffer.
                kept.shrink_to(64);
                self.partial_packet = kept;
                return read.map(|()| rest);
            }
        }
    }
}

const TOO_LARGE: ProtocolError = ProtocolError(brunt_cause::mysql::too_large());

impl Session for MysqlSession {
    #[inline]
    fn submit(
        &mut self,
        id: ExchangeId,
        request: &brunt_contract::Request,
        context: &SlotContext,
        out: &mut OutputBuffer,
    ) -> Result<SubmitOutcome, SessionFull> {
        let request = request.downcast::<SqlRequest>();
        if self.stage != MysqlStage::Idle {
            return Err(SessionFull);
        }
        (self.id, self.script, self.statement, self.context) = (id, request.script, 0, context.without_values());
        let looks = self.checks().captures_rows();
        if looks || self.flow_state.is_some() || !std::ptr::eq(context.values, UserValues::NONE) {
            self.flow_state.get_or_insert_default().begin(context, looks);
        }
        (self.payload, self.rows, self.status, self.first_byte_reported) = (0, 0, 0, false);
        self.send_statement(out);
        Ok(SubmitOutcome::AwaitingResponse)
    }

    #[inline]
    fn receive(&mut self, bytes: &[u8], out: &mut OutputBuffer, done: &mut EventBuffer) -> Result<(), ProtocolError> {
        let read = self.read_packets(bytes, out, done);
        if read.is_err() && self.stage == MysqlStage::Idle {
            // An answer without a request; the message with which a server ends an idle connection is an error.
            done.push(Event::SurplusResponse(u32::try_from(bytes.len()).unwrap_or(u32::MAX)));
            self.stage = MysqlStage::Over;
        }
        read
    }

    fn peer_closed(&mut self, _done: &mut EventBuffer) {
        self.stage = MysqlStage::Over;
    }

    fn partial_response(&self) -> &[u8] {
        &self.error_text
    }

    fn heartbeat(&mut self, out: &mut OutputBuffer) -> bool {
        if self.stage != MysqlStage::Idle || self.pinged {
            return false;
        }
        put_packet(0, &[COM_PING], out.buffer());
        (self.pinged, self.number) = (true, 1);
        true
    }

    fn finish(&mut self, out: &mut OutputBuffer) {
        if matches!(self.stage, MysqlStage::Idle) {
            put_packet(0, &[COM_QUIT], out.buffer());
        }
    }

    #[inline]
    fn room(&self) -> usize {
        usize::from(self.stage == MysqlStage::Idle)
    }

    fn refusal_kind(&self) -> FaultKind {
        if self.refused { FaultKind::WrongStatus } else { FaultKind::BrokenProtocol }
    }

    fn refusal_code(&self) -> u32 {
        if self.refused { self.code.into() } else { 0 }
    }

    fn is_opening(&self) -> bool {
        self.stage == MysqlStage::Opening
    }

    fn starts_tls(&self) -> bool {
        self.opening.as_ref().is_some_and(|opening| opening.secures_now())
    }

    fn tls_established(&mut self, out: &mut OutputBuffer) {
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
    fn read_packets(
        &mut self,
        bytes: &[u8],
        out: &mut OutputBuffer,
        done: &mut EventBuffer,
    ) -> Result<(), ProtocolError> {
        let (mut rest, pinged) = (bytes, self.pinged);
        while !rest.is_empty() {
            if self.skip > 0 {
                let skipped = rest.len().min(self.skip as usize);
                self.skip -= skipped as u32;
                rest = &rest[skipped..];
                continue;
            }
            if !self.partial_packet.is_empty() {
                rest = self.continue_packet(rest, out, done)?;
                continue;
            }
            if rest.len() < HEADER {
                self.partial_packet.extend_from_slice(rest);
                break;
            }
            let size = payload_length(rest);
            let Some(packet) = rest.get(HEADER..HEADER + size) else {
                rest = self.continue_packet(rest, out, done)?;
                continue;
            };
            self.check_sequence(rest, packet.first().copied())?;
            rest = &rest[HEADER + size..];
            self.on_packet(packet, out, done)?;
            if !rest.is_empty() && self.starts_tls() {
                return Err(ProtocolError(brunt_cause::mysql::data_after_greeting()));
            }
        }
        if !self.first_byte_reported
            && self.in_flight()
            && !(pinged && self.stage == MysqlStage::Answer && self.partial_packet.is_empty())
        {
            self.first_byte_reported = true;
            done.push(Event::FirstByte(self.id));
        }
        Ok(())
    }
}
