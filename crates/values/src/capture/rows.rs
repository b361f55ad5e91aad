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

    /// Passes the values of a column to `more`, row by row, until `more` returns `false`. NULL is an empty text, so that
    /// values of several columns keep their places beside each other.
    ///
    /// # Errors
    /// There is no such column.
    pub(super) fn each_value(&self, column: &ColumnSelector, more: &mut dyn FnMut(&[u8]) -> bool) -> Result<(), Cause> {
        let Some(at) = self.index(column) else { return Err(captures::no_column(self.describe())) };
        for row in self.values.chunks_exact(self.names.len()) {
            if !more(row[at].as_deref().unwrap_or_default()) {
                break;
            }
        }
        Ok(())
    }

    /// Returns `true` if the value of a column is NULL in this row, counted from 0.
    pub(super) fn is_null(&self, column: &ColumnSelector, row: usize) -> bool {
        let value = |at| self.values.get(row * self.names.len() + at);
        self.index(column).and_then(value).is_some_and(Option::is_none)
    }

    fn index(&self, column: &ColumnSelector) -> Option<usize> {
        match column {
            ColumnSelector::At(number) => Some(number - 1).filter(|at| *at < self.names.len()),
            ColumnSelector::Named(name) => self.names.iter().position(|known| known == name),
        }
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

#[cfg(test)]
mod tests {
    use super::super::{BodyDocuments, Capture, CaptureInput};
    use super::*;

    fn taken(text: &str) -> Result<(String, Vec<u32>), String> {
        let mut rows = ResultRows::default();
        rows.begin(vec!["id".into(), "name".into()]);
        for (id, name) in [("1", None), ("2", Some("b")), ("3", None)] {
            rows.begin_row();
            rows.push_value(Some(id.as_bytes()));
            rows.push_value(name.map(str::as_bytes));
        }
        let answer = CaptureInput { rows: Some(&rows), ..CaptureInput::default() };
        let capture = Capture::parse(text).expect(text);
        let found = capture.take_with_documents((&answer, &BodyDocuments::of(b"")), 1);
        found.map(|(text, ends)| (String::from_utf8_lossy(&text).into_owned(), ends)).map_err(|why| why.to_string())
    }

    #[test]
    fn null_keeps_its_place_in_a_list_and_is_no_value_alone() {
        let ok = |text: &str, ends: &[u32]| Ok((text.to_owned(), ends.to_vec()));
        assert_eq!(taken("column id | all"), ok("1,2,3", &[1, 3, 5]));
        assert_eq!(taken("column name | all"), ok(",b,", &[0, 2, 3]));
        assert_eq!(taken("column name | count"), ok("3", &[]));
        assert_eq!(taken("column name | nth 2"), ok("b", &[]));
        assert_eq!(taken("column 2 | random"), ok("b", &[]));
        assert_eq!(taken("column name"), Err("the value of column name is NULL".into()));
        assert_eq!(taken("column name | last | default none"), ok("none", &[]));
        assert_eq!(taken("column name | nth 4"), Err("column name | nth 4 found only 3".into()));
    }
}
