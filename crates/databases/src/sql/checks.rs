//! Checks and captures of database answers.

use std::ops::RangeInclusive;

use cause::Cause;
use wire::{Answer, Asked, Complaint, Done, Event, ExchangeId};

use super::options::{Way, rows, way};
use values::capture::CAPTURE;
use values::capture::{self, Capture, Rows};
use values::kept::{Budget, Taken};

/// Options that one step of a flow may have for itself.
pub const OF_ONE_URL: &[&str] = &["sql", "transaction", "prepared", "text", "expect-rows", CAPTURE];

/// Kinds of captures that answers support.
const KNOWN: &[&str] = &["column", "rows"];

/// The checks and captures of an exchange.
#[derive(Debug, Default)]
pub struct Checks {
    /// Number of rows it must return or change.
    pub rows: Option<RangeInclusive<u64>>,
    /// Values captured from the rows.
    pub captures: Vec<(u16, Capture)>,
    /// Set if all rows are reported.
    pub answers: bool,
}

impl Checks {
    /// Reads the options.
    ///
    /// # Errors
    /// A mistake of the user.
    pub fn read(asked: &Asked) -> Result<Checks, Complaint> {
        let captures = capture::wished(asked, ("a database response", KNOWN))?;
        Ok(Checks { rows: rows(asked)?, captures, answers: asked.answers })
    }

    /// Returns how statements are sent: as text if values are captured, since rows are then text.
    ///
    /// # Errors
    /// Prepared statements are requested together with captures.
    pub fn way(&self, asked: &Asked) -> Result<Way, Complaint> {
        match way(asked)? {
            way if !self.looks() => Ok(way),
            Way::Prepared => {
                let trouble = "captures need SQL sent as text; leave it out";
                Err(Complaint::new("--prepared", trouble))
            }
            Way::Usual | Way::Text => Ok(Way::Text),
        }
    }

    /// Returns `true` if rows are captured from.
    pub fn looks(&self) -> bool {
        self.answers || !self.captures.is_empty()
    }
}

/// The captured rows of an exchange, within the run's memory budget.
#[derive(Debug, Default)]
pub struct Looking {
    pub rows: Rows,
    taken: Vec<Taken>,
    lost: bool,
}

impl Looking {
    /// Accounts for a row of `bytes` bytes; returns `false` if it is not kept.
    pub fn row(&mut self, bytes: usize, budget: &Budget) -> bool {
        let held = bytes + self.rows.columns() * size_of::<Option<Vec<u8>>>() + size_of::<Taken>();
        match budget.take(held) {
            Some(taken) if !self.lost => {
                self.taken.push(taken);
                self.rows.row();
            }
            _ => self.lost = true,
        }
        !self.lost
    }

    /// Reports the values captured from an exchange that succeeded.
    ///
    /// # Errors
    /// A value that could not be found.
    pub fn end(&mut self, (id, random): (ExchangeId, u64), checks: &Checks, done: &mut Done) -> Result<(), Cause> {
        if self.lost {
            return Err(cause::sql::rows_unchecked(values::kept::NO_ROOM));
        }
        if checks.answers {
            done.push(Event::Learnt(id, Box::new(Answer::Rows(self.rows.take()))));
            return Ok(());
        }
        let answer = capture::Answer { rows: Some(&self.rows), ..capture::Answer::default() };
        let taken = capture::take_all(&checks.captures, &answer, random)?;
        done.push(Event::Learnt(id, Box::new(taken)));
        Ok(())
    }
}
