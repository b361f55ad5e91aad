//! What decides about the answer of a database, and what is taken out of it.

use std::ops::RangeInclusive;

use cause::Cause;
use wire::{Answer, Asked, Complaint, Done, Event, ExchangeId};

use super::options::{Way, rows, way};
use values::capture::CAPTURE;
use values::capture::{self, Capture, Rows};
use values::kept::{Budget, Taken};

/// Options that one step of a flow may have for itself.
pub const OF_ONE_URL: &[&str] = &["sql", "transaction", "prepared", "text", "expect-rows", CAPTURE];

/// What answers have.
const KNOWN: &[&str] = &["column", "rows"];

/// What decides about an exchange.
#[derive(Debug, Default)]
pub struct Checks {
    /// How many rows it must return or change.
    pub rows: Option<RangeInclusive<u64>>,
    /// What is taken out of them.
    pub captures: Vec<(u16, Capture)>,
    /// All of them are told.
    pub answers: bool,
}

impl Checks {
    /// Reads the options.
    ///
    /// # Errors
    /// The user's mistake.
    pub fn read(asked: &Asked) -> Result<Checks, Complaint> {
        let captures = capture::wished(asked, ("a database response", KNOWN))?;
        Ok(Checks { rows: rows(asked)?, captures, answers: asked.answers })
    }

    /// How its statements are sent: as text where something is taken out of the answer, which is text then.
    ///
    /// # Errors
    /// They are to be prepared all the same.
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

    /// True where the rows are to be looked at.
    pub fn looks(&self) -> bool {
        self.answers || !self.captures.is_empty()
    }
}

/// The rows of an exchange that are looked at, within the run's budget.
#[derive(Debug, Default)]
pub struct Looking {
    pub rows: Rows,
    taken: Vec<Taken>,
    lost: bool,
}

impl Looking {
    /// A row of so many bytes comes. False: it is not kept.
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

    /// The exchange ended well: what is taken out of it is told.
    ///
    /// # Errors
    /// What could not be found.
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
