//! Checks and captures of database answers.

use std::ops::RangeInclusive;

use brunt_cause::{Cause, complaint};
use brunt_contract::{Event, EventBuffer, ExchangeId, ProtocolConfig, ResponseContent, UsageError};

use super::options::{StatementMode, expected_rows, statement_mode};
use brunt_values::budget::{MemoryBudget, Reservation};
use brunt_values::capture::CAPTURE;
use brunt_values::capture::{self, Capture, ResultRows};

/// Options that may be set for a single step of a flow.
pub const OF_ONE_URL: &[&str] = &["sql", "transaction", "prepared", "text", "expect-rows", CAPTURE];

/// Kinds of captures that answers support.
const KNOWN: &[&str] = &["column", "rows"];

/// The checks and captures of an exchange.
#[derive(Debug, Default)]
pub struct SqlChecks {
    /// Number of rows that the exchange must return or change; `None` if any number is accepted.
    pub rows: Option<RangeInclusive<u64>>,
    /// Values captured from the rows.
    pub captures: Vec<(u16, Capture)>,
    /// Set if all rows are reported.
    pub answers: bool,
}

impl SqlChecks {
    /// Reads the options.
    ///
    /// # Errors
    /// Returns a usage error.
    pub fn read(config: &ProtocolConfig) -> Result<SqlChecks, UsageError> {
        let captures = capture::parse_captures(config, (["a database response", "数据库响应"], KNOWN))?;
        Ok(SqlChecks { rows: expected_rows(config)?, captures, answers: config.returns_content })
    }

    /// Returns how statements are sent: as text if values are captured, since rows are then text.
    ///
    /// # Errors
    /// Returns a usage error if prepared statements are requested together with captures.
    pub fn statement_mode(&self, config: &ProtocolConfig) -> Result<StatementMode, UsageError> {
        match statement_mode(config)? {
            way if !self.captures_rows() => Ok(way),
            StatementMode::Prepared => {
                let trouble =
                    complaint!("captures need SQL sent as text; leave it out", "提取值需要以文本发送 SQL；请去掉");
                Err(UsageError::new("--prepared", trouble))
            }
            StatementMode::Auto | StatementMode::Text => Ok(StatementMode::Text),
        }
    }

    /// Returns `true` if values are captured from rows.
    pub fn captures_rows(&self) -> bool {
        self.answers || !self.captures.is_empty()
    }
}

/// The captured rows of an exchange, within the run's memory budget.
#[derive(Debug, Default)]
pub struct CapturedRows {
    pub rows: ResultRows,
    reservations: Vec<Reservation>,
    over_budget: bool,
}

impl CapturedRows {
    /// Accounts for a row of `bytes` bytes; returns `false` if it is not kept.
    pub fn reserve_row(&mut self, bytes: usize, budget: &MemoryBudget) -> bool {
        let held = bytes + self.rows.columns() * size_of::<Option<Vec<u8>>>() + size_of::<Reservation>();
        match budget.reserve(held) {
            Some(taken) if !self.over_budget => {
                self.reservations.push(taken);
                self.rows.begin_row();
            }
            _ => self.over_budget = true,
        }
        !self.over_budget
    }

    /// Reports the values captured from an exchange that succeeded.
    ///
    /// # Errors
    /// Returns the cause if a value could not be found.
    pub fn report_captures(
        &mut self,
        (id, random): (ExchangeId, u64),
        checks: &SqlChecks,
        done: &mut EventBuffer,
    ) -> Result<(), Cause> {
        if self.over_budget {
            return Err(brunt_cause::sql::rows_unchecked(brunt_values::budget::NO_ROOM));
        }
        if checks.answers {
            done.push(Event::StateUpdate(id, Box::new(ResponseContent::Rows(self.rows.take()))));
            return Ok(());
        }
        let answer = capture::CaptureInput { rows: Some(&self.rows), ..capture::CaptureInput::default() };
        let taken = capture::take_all(&checks.captures, &answer, random)?;
        done.push(Event::StateUpdate(id, Box::new(taken)));
        Ok(())
    }
}
