//! Rows of a database result, for captures.

use brunt_cause::{Cause, captures};
use brunt_contract::DatabaseRow;

use super::source::excerpt;

/// A column named by a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ColumnSelector {
    /// Column name.
    Named(String),
    /// Column number, counted from 1.
    At(usize),
}

impl ColumnSelector {
    pub fn parse(text: &str) -> ColumnSelector {
        match text.parse() {
            Ok(number @ 1..) => ColumnSelector::At(number),
            _ => ColumnSelector::Named(text.to_owned()),
        }
    }
}

/// Rows and their column names; `None` represents NULL.
#[derive(Debug, Default)]
pub struct ResultRows {
    names: Vec<String>,
    values: Vec<Option<Vec<u8>>>,
    count: usize,
}

impl ResultRows {
    /// Begins a new result with these columns.
    pub fn begin(&mut self, names: Vec<String>) {
        *self = ResultRows { names, ..ResultRows::default() };
    }

    /// Begins a row.
    pub fn begin_row(&mut self) {
        self.count += 1;
    }

    /// Appends the next value of the row.
    pub fn push_value(&mut self, value: Option<&[u8]>) {
        self.values.push(value.map(<[u8]>::to_vec));
    }

    /// Returns the number of columns.
    pub fn columns(&self) -> usize {
        self.names.len()
    }

    /// Returns the number of rows.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Removes and returns all rows.
    pub fn take(&mut self) -> Vec<DatabaseRow> {
        let (mut values, width) = (std::mem::take(&mut self.values).into_iter(), self.names.len());
        (0..self.count).map(|_| values.by_ref().take(width).collect()).collect()
    }

    /// Passes the values of a column to `more`, row by row, until `more` returns `false`.
    ///
    /// # Errors
    /// There is no such column.
    pub(super) fn each_value(&self, column: &ColumnSelector, more: &mut dyn FnMut(&[u8]) -> bool) -> Result<(), Cause> {
        let width = self.names.len();
        let at = match column {
            ColumnSelector::At(number) => Some(number - 1).filter(|at| *at < width),
            ColumnSelector::Named(name) => self.names.iter().position(|known| known == name),
        };
        let Some(at) = at else { return Err(captures::no_column(self.describe())) };
        for row in self.values.chunks_exact(width) {
            if let Some(value) = &row[at]
                && !more(value)
            {
                break;
            }
        }
        Ok(())
    }

    /// Describes the rows for an error message.
    pub(super) fn describe(&self) -> Cause {
        let names = excerpt(self.names.join(", ").as_bytes());
        match (self.count, names.is_empty()) {
            (1, true) => captures::one_row().into(),
            (n, true) => captures::rows(n),
            (1, false) => captures::one_row_of(names),
            (n, false) => captures::rows_of(n, names),
        }
    }
}
