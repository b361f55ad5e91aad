//! The meaning of answer packets: results, their end, errors, and the reaction to them.
//!
//! An exchange ends with the last result of its last statement, or with the first error. An open transaction is rolled
//! back before the exchange ends, so that the next user of the connection finds it clean and the failure is counted
//! once.

use brunt_cause::Cause;
use brunt_contract::{Event, EventBuffer, ExchangeEnd, FaultKind, OutputBuffer, ProtocolError};

use super::codec::{
    COM_QUERY, EOF, ERR, IN_TRANSACTION, LOCAL_INFILE, MORE_RESULTS, OK, PacketReader, WHOLE, parse_eof, parse_err,
    parse_ok, put_packet,
};
use super::errors;
use super::opening::{self, PacketOutcome};
use super::session::{EXCERPT_BOUND, MysqlSession, MysqlStage};
use super::statement::PreparedStatement;
use crate::sql::row_count_mismatch;

impl MysqlSession {
    /// Handles a whole packet.
    #[inline]
    pub(super) fn on_packet(
        &mut self,
        packet: &[u8],
        out: &mut OutputBuffer,
        done: &mut EventBuffer,
    ) -> Result<(), ProtocolError> {
        let first = packet.first().copied();
        if self.skips_packet(first.unwrap_or(0), packet.len()) && (first.is_some() || self.continued) {
            return self.count_packet(packet.len(), out);
        }
        let Some(first) = first else { return Err(ProtocolError(brunt_cause::mysql::empty_packet())) };
        if self.pinged {
            return self.on_pong(first, done);
        }
        match self.stage {
            MysqlStage::Answer => self.on_answer(first, packet, out, done),
            MysqlStage::Columns if self.captures_rows() => self.on_column(packet, out),
            MysqlStage::Rows if first == ERR => self.on_error(packet, out, done),
            MysqlStage::Rows if self.captures_rows() && (first != EOF || packet.len() == WHOLE) => {
                self.on_row(packet, out)
            }
            MysqlStage::Rows => {
                let status = if self.agreed.without_eof { parse_ok(packet)?.status } else { parse_eof(packet)? };
                self.on_result_end(status, out, done)
            }
            MysqlStage::ColumnsEnd if first == EOF => {
                self.stage = MysqlStage::Rows;
                Ok(())
            }
            MysqlStage::ColumnsEnd if first == ERR => self.on_error(packet, out, done),
            MysqlStage::Rollback => {
                self.closes_after |= first != OK;
                self.end_exchange(Some(FaultKind::WrongStatus), done);
                Ok(())
            }
            MysqlStage::Opening => self.continue_opening(packet, out),
            MysqlStage::Prepared if first == ERR => self.on_error(packet, out, done),
            MysqlStage::Prepared => self.on_prepared(packet, out),
            MysqlStage::Idle | MysqlStage::Over => Err(self.on_unsolicited(first, packet)),
            MysqlStage::Described => self.count_packet(packet.len(), out),
            MysqlStage::Columns | MysqlStage::ColumnsEnd => Err(ProtocolError(brunt_cause::mysql::no_column_end())),
        }
    }

    /// Handles the first packet of an answer ("COM_QUERY Response").
    #[inline]
    fn on_answer(
        &mut self,
        first: u8,
        packet: &[u8],
        out: &mut OutputBuffer,
        done: &mut EventBuffer,
    ) -> Result<(), ProtocolError> {
        match first {
            OK => {
                let fine = parse_ok(packet)?;
                self.rows = self.rows.saturating_add(fine.affected);
                self.on_result_end(fine.status, out, done)
            }
            ERR => self.on_error(packet, out, done),
            LOCAL_INFILE => Err(ProtocolError(brunt_cause::mysql::local_infile())),
            _ => {
                let mut fields = PacketReader(packet);
                self.remaining = fields.length_encoded()?;
                // MariaDB's cached metadata: 0 means that the columns are not described again.
                let described = !self.agreed.cached_columns || fields.byte()? != 0;
                if self.remaining == 0 || self.remaining > u64::from(u16::MAX) {
                    return Err(ProtocolError(brunt_cause::mysql::too_many_columns()));
                }
                self.stage = if described { MysqlStage::Columns } else { MysqlStage::Rows };
                Ok(())
            }
        }
    }

    /// Handles the answer to a late prepare: the statement is executed once the descriptions have arrived.
    #[cold]
    fn on_prepared(&mut self, packet: &[u8], out: &mut OutputBuffer) -> Result<(), ProtocolError> {
        let (id, described) = opening::prepared(packet, self.agreed)?;
        let statement = self.plan.scripts.get(self.script as usize);
        let statement = statement.and_then(|script| script.statements.get(self.statement as usize));
        if let Some(number) = statement.and_then(|statement| statement.unprepared(&self.ready)) {
            // An id of 0 would mean that the statement is not prepared, and it would be prepared again and again.
            self.ready[number] = PreparedStatement { id: id.max(1), types_sent: false };
        }
        (self.remaining, self.stage) = (described, MysqlStage::Described);
        if described == 0 {
            self.send_statement(out);
        }
        Ok(())
    }

    /// Handles a complete result: another result or statement follows, or the exchange ends.
    #[inline]
    fn on_result_end(
        &mut self,
        status: u16,
        out: &mut OutputBuffer,
        done: &mut EventBuffer,
    ) -> Result<(), ProtocolError> {
        self.status = status;
        if status & MORE_RESULTS != 0 {
            self.stage = MysqlStage::Answer;
            return Ok(());
        }
        self.statement += 1;
        let statements = self.plan.scripts.get(self.script as usize).map_or(0, |s| s.statements.len());
        if (self.statement as usize) < statements {
            self.send_statement(out);
            return Ok(());
        }
        let fault = match &self.checks().rows {
            Some(rows) if !rows.contains(&self.rows) => Some(FaultKind::WrongBody),
            _ => None,
        };
        self.end_exchange(fault, done);
        Ok(())
    }

    /// Handles a failed statement; an open transaction is rolled back before the exchange ends.
    #[cold]
    fn on_error(&mut self, packet: &[u8], out: &mut OutputBuffer, done: &mut EventBuffer) -> Result<(), ProtocolError> {
        let refusal = parse_err(packet)?;
        self.code = refusal.code;
        self.closes_after = errors::closes_connection(refusal.code);
        self.error_text =
            if done.wants_example(FaultKind::WrongStatus) { refusal.excerpt(EXCERPT_BOUND) } else { Box::default() };
        if let Some(script) = self.plan.scripts.get(self.script as usize)
            && let Some(statement) = script.statements.get(self.statement as usize)
        {
            statement.unbind(&mut self.ready);
        }
        if self.status & IN_TRANSACTION != 0 && !self.closes_after {
            let mut rollback = vec![COM_QUERY];
            rollback.extend_from_slice(b"ROLLBACK");
            put_packet(0, &rollback, out.buffer());
            (self.stage, self.number) = (MysqlStage::Rollback, 1);
        } else {
            self.end_exchange(Some(FaultKind::WrongStatus), done);
        }
        Ok(())
    }

    /// Ends the exchange.
    #[inline]
    fn end_exchange(&mut self, fault: Option<FaultKind>, done: &mut EventBuffer) {
        self.stage = if self.closes_after { MysqlStage::Over } else { MysqlStage::Idle };
        let excerpt = match fault {
            None => None,
            Some(FaultKind::WrongBody) => self.rows_excerpt(done),
            Some(_) => Some(std::mem::take(&mut self.error_text)).filter(|told| !told.is_empty()),
        };
        let mut why = match (&self.checks().rows, fault, &excerpt) {
            (Some(rows), Some(FaultKind::WrongBody), Some(_)) => Some(row_count_mismatch(rows, self.rows)),
            _ => None,
        };
        let mut fault = fault;
        if fault.is_none()
            && self.captures_rows()
            && let Err(missing) = self.report_captures(done)
        {
            (fault, why) = (Some(FaultKind::WrongBody.unless_own_limit(&missing)), Some(missing));
        }
        if let (Some(kind), Some(rows)) = (fault, &self.checks().rows) {
            done.record_failed_checks(self.id, u32::from(kind == FaultKind::WrongStatus || !rows.contains(&self.rows)));
        }
        let (code, payload) = (u32::from(std::mem::take(&mut self.code)), self.payload);
        done.push(Event::Ended(ExchangeEnd {
            id: self.id,
            fault,
            code,
            payload,
            excerpt,
            follow_up: None,
            cause: why,
        }));
    }

    /// Reports the values captured from the answer.
    #[cold]
    fn report_captures(&mut self, done: &mut EventBuffer) -> Result<(), Cause> {
        let Some(own) = &mut self.flow_state else { return Ok(()) };
        let checks = &self.plan.scripts[self.script as usize].checks;
        own.captured.report_captures((self.id, own.random), checks, done)
    }

    #[cold]
    fn on_column(&mut self, packet: &[u8], out: &mut OutputBuffer) -> Result<(), ProtocolError> {
        self.count_packet(packet.len(), out)?;
        let described = self.stage != MysqlStage::Columns;
        let Some(own) = &mut self.flow_state else { return Ok(()) };
        own.column(packet)?;
        if described {
            own.columns_done();
        }
        Ok(())
    }

    #[cold]
    fn on_row(&mut self, packet: &[u8], out: &mut OutputBuffer) -> Result<(), ProtocolError> {
        self.count_packet(packet.len(), out)?;
        let Some(own) = &mut self.flow_state else { return Ok(()) };
        own.row(packet, &self.plan.row_budget)
    }

    #[cold]
    fn rows_excerpt(&self, done: &EventBuffer) -> Option<Box<[u8]>> {
        let text = || format!("{} rows were returned or changed", self.rows).into_bytes().into();
        done.wants_example(FaultKind::WrongBody).then(text)
    }

    fn on_pong(&mut self, first: u8, done: &mut EventBuffer) -> Result<(), ProtocolError> {
        if first != OK {
            return Err(ProtocolError(brunt_cause::mysql::no_pong()));
        }
        (self.pinged, self.number) = (false, self.after_pong);
        done.push(Event::Heartbeat);
        Ok(())
    }

    #[cold]
    fn continue_opening(&mut self, packet: &[u8], out: &mut OutputBuffer) -> Result<(), ProtocolError> {
        let Some(opening) = &mut self.opening else { return Ok(()) };
        let before = out.len();
        let came = opening.packet(packet, self.number.wrapping_sub(1), &self.plan, out.buffer());
        if came.is_err() {
            self.error_text = std::mem::take(&mut opening.error_text);
            (self.code, self.refused) = (opening.code, opening.code != 0);
        }
        // Each of the client's packets continues the server's numbering.
        if out.len() > before && came == Ok(PacketOutcome::More) {
            self.number = self.number.wrapping_add(1);
        }
        self.on_opening(came?);
        Ok(())
    }

    pub(super) fn on_opening(&mut self, came: PacketOutcome) {
        match came {
            PacketOutcome::More => {}
            PacketOutcome::Answer => self.number = 1,
            PacketOutcome::Open => {
                if let Some(opening) = self.opening.take() {
                    self.agreed = opening.agreed;
                    self.ready = opening.ready.into();
                }
                self.stage = MysqlStage::Idle;
            }
        }
    }

    /// Handles an unsolicited packet, in which a server that closes the connection gives the reason.
    #[cold]
    fn on_unsolicited(&mut self, first: u8, packet: &[u8]) -> ProtocolError {
        if first == ERR
            && let Ok(refusal) = parse_err(packet)
            && errors::closes_connection(refusal.code)
        {
            self.stage = MysqlStage::Over;
            self.error_text = refusal.excerpt(EXCERPT_BOUND);
            (self.code, self.refused) = (refusal.code, true);
            return ProtocolError(brunt_cause::mysql::ends_idle());
        }
        ProtocolError(brunt_cause::mysql::unsolicited())
    }
}
