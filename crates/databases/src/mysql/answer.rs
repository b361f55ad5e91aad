//! The meaning of answer packets: results, their end, errors, and the reaction to them.
//!
//! An exchange ends with the last result of its last statement, or with the first error. An open transaction is rolled
//! back before the exchange ends, so that the next user of the connection finds it clean and the failure counts once.

use cause::Cause;
use wire::{Broken, Done, Ended, Event, FaultKind, Out};

use super::codec::{
    COM_QUERY, EOF, ERR, Fields, IN_TRANSACTION, LOCAL_INFILE, MORE_RESULTS, OK, WHOLE, end_of_file, fine, put_packet,
    refusal,
};
use super::errors;
use super::opening::{self, Came};
use super::session::{EXCERPT_BOUND, MysqlSession, Stage};
use super::statement::Ready;
use crate::sql::other_rows;

impl MysqlSession {
    /// Handles a whole packet.
    #[inline]
    pub(super) fn packet(&mut self, packet: &[u8], out: &mut Out, done: &mut Done) -> Result<(), Broken> {
        let first = packet.first().copied();
        if self.passes_over(first.unwrap_or(0), packet.len()) && (first.is_some() || self.continued) {
            return self.count(packet.len(), out);
        }
        let Some(first) = first else { return Err(Broken(cause::mysql::empty_packet())) };
        if self.pinged {
            return self.pong(first, done);
        }
        match self.stage {
            Stage::Answer => self.answered(first, packet, out, done),
            Stage::Columns if self.looks() => self.column(packet, out),
            Stage::Rows if first == ERR => self.refused(packet, out, done),
            Stage::Rows if self.looks() && (first != EOF || packet.len() == WHOLE) => self.row(packet, out),
            Stage::Rows => {
                let status = if self.agreed.without_eof { fine(packet)?.status } else { end_of_file(packet)? };
                self.result_over(status, out, done)
            }
            Stage::ColumnsEnd if first == EOF => {
                self.stage = Stage::Rows;
                Ok(())
            }
            Stage::ColumnsEnd if first == ERR => self.refused(packet, out, done),
            Stage::Rollback => {
                self.last |= first != OK;
                self.end(Some(FaultKind::WrongStatus), done);
                Ok(())
            }
            Stage::Opening => self.open_on(packet, out),
            Stage::Prepared if first == ERR => self.refused(packet, out, done),
            Stage::Prepared => self.prepared(packet, out),
            Stage::Idle | Stage::Over => Err(self.unasked(first, packet)),
            Stage::Described => self.count(packet.len(), out),
            Stage::Columns | Stage::ColumnsEnd => Err(Broken(cause::mysql::no_column_end())),
        }
    }

    /// Handles the first packet of an answer ("COM_QUERY Response").
    #[inline]
    fn answered(&mut self, first: u8, packet: &[u8], out: &mut Out, done: &mut Done) -> Result<(), Broken> {
        match first {
            OK => {
                let fine = fine(packet)?;
                self.rows = self.rows.saturating_add(fine.affected);
                self.result_over(fine.status, out, done)
            }
            ERR => self.refused(packet, out, done),
            LOCAL_INFILE => Err(Broken(cause::mysql::local_infile())),
            _ => {
                let mut fields = Fields(packet);
                self.left = fields.integer()?;
                // MariaDB's cached metadata: 0 means that the columns are not described again.
                let described = !self.agreed.cached_columns || fields.byte()? != 0;
                if self.left == 0 || self.left > u64::from(u16::MAX) {
                    return Err(Broken(cause::mysql::too_many_columns()));
                }
                self.stage = if described { Stage::Columns } else { Stage::Rows };
                Ok(())
            }
        }
    }

    /// Handles the answer to a late prepare: the statement is executed once the descriptions have arrived.
    #[cold]
    fn prepared(&mut self, packet: &[u8], out: &mut Out) -> Result<(), Broken> {
        let (id, described) = opening::prepared(packet, self.agreed)?;
        let statement = self.plan.scripts.get(self.script as usize);
        let statement = statement.and_then(|script| script.statements.get(self.statement as usize));
        if let Some(number) = statement.and_then(|statement| statement.unprepared(&self.ready)) {
            // An id of 0 would mean unprepared, and the statement would be prepared forever.
            self.ready[number] = Ready { id: id.max(1), bound: false };
        }
        (self.left, self.stage) = (described, Stage::Described);
        if described == 0 {
            self.send(out);
        }
        Ok(())
    }

    /// Handles a complete result: another result or statement follows, or the exchange ends.
    #[inline]
    fn result_over(&mut self, status: u16, out: &mut Out, done: &mut Done) -> Result<(), Broken> {
        self.status = status;
        if status & MORE_RESULTS != 0 {
            self.stage = Stage::Answer;
            return Ok(());
        }
        self.statement += 1;
        let statements = self.plan.scripts.get(self.script as usize).map_or(0, |s| s.statements.len());
        if (self.statement as usize) < statements {
            self.send(out);
            return Ok(());
        }
        let fault = match &self.checks().rows {
            Some(rows) if !rows.contains(&self.rows) => Some(FaultKind::WrongBody),
            _ => None,
        };
        self.end(fault, done);
        Ok(())
    }

    /// Handles a failed statement; an open transaction is rolled back before the exchange ends.
    #[cold]
    fn refused(&mut self, packet: &[u8], out: &mut Out, done: &mut Done) -> Result<(), Broken> {
        let refusal = refusal(packet)?;
        self.code = refusal.code;
        self.last = errors::ends_connection(refusal.code);
        self.told =
            if done.wants_example(FaultKind::WrongStatus) { refusal.shown(EXCERPT_BOUND) } else { Box::default() };
        if let Some(script) = self.plan.scripts.get(self.script as usize)
            && let Some(statement) = script.statements.get(self.statement as usize)
        {
            statement.unbind(&mut self.ready);
        }
        if self.status & IN_TRANSACTION != 0 && !self.last {
            let mut rollback = vec![COM_QUERY];
            rollback.extend_from_slice(b"ROLLBACK");
            put_packet(0, &rollback, out.buffer());
            (self.stage, self.number) = (Stage::Rollback, 1);
        } else {
            self.end(Some(FaultKind::WrongStatus), done);
        }
        Ok(())
    }

    /// Ends the exchange.
    #[inline]
    fn end(&mut self, fault: Option<FaultKind>, done: &mut Done) {
        self.stage = if self.last { Stage::Over } else { Stage::Idle };
        let excerpt = match fault {
            None => None,
            Some(FaultKind::WrongBody) => self.rows_shown(done),
            Some(_) => Some(std::mem::take(&mut self.told)).filter(|told| !told.is_empty()),
        };
        let mut why = match (&self.checks().rows, fault, &excerpt) {
            (Some(rows), Some(FaultKind::WrongBody), Some(_)) => Some(other_rows(rows, self.rows)),
            _ => None,
        };
        let mut fault = fault;
        if fault.is_none()
            && self.looks()
            && let Err(missing) = self.taken(done)
        {
            (fault, why) = (Some(FaultKind::WrongBody), Some(missing));
        }
        if let (Some(kind), Some(rows)) = (fault, &self.checks().rows) {
            done.failed(self.id, u32::from(kind == FaultKind::WrongStatus || !rows.contains(&self.rows)));
        }
        let (code, payload) = (u32::from(std::mem::take(&mut self.code)), self.payload);
        done.push(Event::Ended(Ended { id: self.id, fault, code, payload, excerpt, follow: None, why }));
    }

    /// Reports the values captured from the answer.
    #[cold]
    fn taken(&mut self, done: &mut Done) -> Result<(), Cause> {
        let Some(own) = &mut self.own else { return Ok(()) };
        let checks = &self.plan.scripts[self.script as usize].checks;
        own.looking.end((self.id, own.random), checks, done)
    }

    #[cold]
    fn column(&mut self, packet: &[u8], out: &mut Out) -> Result<(), Broken> {
        self.count(packet.len(), out)?;
        let described = self.stage != Stage::Columns;
        let Some(own) = &mut self.own else { return Ok(()) };
        own.column(packet)?;
        if described {
            own.described();
        }
        Ok(())
    }

    #[cold]
    fn row(&mut self, packet: &[u8], out: &mut Out) -> Result<(), Broken> {
        self.count(packet.len(), out)?;
        let Some(own) = &mut self.own else { return Ok(()) };
        own.row(packet, &self.plan.kept)
    }

    #[cold]
    fn rows_shown(&self, done: &Done) -> Option<Box<[u8]>> {
        let text = || format!("{} rows were returned or changed", self.rows).into_bytes().into();
        done.wants_example(FaultKind::WrongBody).then(text)
    }

    fn pong(&mut self, first: u8, done: &mut Done) -> Result<(), Broken> {
        if first != OK {
            return Err(Broken(cause::mysql::no_pong()));
        }
        (self.pinged, self.number) = (false, self.after_pong);
        done.push(Event::Heartbeat);
        Ok(())
    }

    #[cold]
    fn open_on(&mut self, packet: &[u8], out: &mut Out) -> Result<(), Broken> {
        let Some(opening) = &mut self.opening else { return Ok(()) };
        let before = out.len();
        let came = opening.packet(packet, self.number.wrapping_sub(1), &self.plan, out.buffer());
        if came.is_err() {
            self.told = std::mem::take(&mut opening.told);
            (self.code, self.refused) = (opening.code, opening.code != 0);
        }
        // Each of the client's packets continues the server's numbering.
        if out.len() > before && came == Ok(Came::More) {
            self.number = self.number.wrapping_add(1);
        }
        self.opened(came?);
        Ok(())
    }

    pub(super) fn opened(&mut self, came: Came) {
        match came {
            Came::More => {}
            Came::Answer => self.number = 1,
            Came::Open => {
                if let Some(opening) = self.opening.take() {
                    self.agreed = opening.agreed;
                    self.ready = opening.ready.into();
                }
                self.stage = Stage::Idle;
            }
        }
    }

    /// Handles an unsolicited packet: a server that closes the connection says why.
    #[cold]
    fn unasked(&mut self, first: u8, packet: &[u8]) -> Broken {
        if first == ERR
            && let Ok(refusal) = refusal(packet)
            && errors::ends_connection(refusal.code)
        {
            self.stage = Stage::Over;
            self.told = refusal.shown(EXCERPT_BOUND);
            (self.code, self.refused) = (refusal.code, true);
            return Broken(cause::mysql::ends_idle());
        }
        Broken(cause::mysql::unsolicited())
    }
}
