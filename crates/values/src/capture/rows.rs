//! The rows of a database's answer, as captures look into them.

use cause::{Cause, captures};
use wire::Row;

use super::source::short;

/// A column, as a capture names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Column {
    /// By its name.
    Named(String),
    /// By its place, from 1 on.
    At(usize),
}

impl Column {
    pub fn parse(text: &str) -> Column {
        match text.parse() {
            Ok(number @ 1..) => Column::At(number),
            _ => Column::Named(text.to_owned()),
        }
    }
}

/// Rows and the names of their columns. NULL is nothing.
#[derive(Debug, Default)]
pub struct Rows {
    names: Vec<String>,
    values: Vec<Option<Vec<u8>>>,
    count: usize,
}

impl Rows {
    /// Another answer begins, with these columns.
    pub fn begin(&mut self, names: Vec<String>) {
        *self = Rows { names, ..Rows::default() };
    }

    /// A row begins.
    pub fn row(&mut self) {
        self.count += 1;
    }

    /// Its next value.
    pub fn value(&mut self, value: Option<&[u8]>) {
        self.values.push(value.map(<[u8]>::to_vec));
    }

    /// How many columns there are.
    pub fn columns(&self) -> usize {
        self.names.len()
    }

    /// How many rows there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// All of them, once.
    pub fn take(&mut self) -> Vec<Row> {
        let (mut values, width) = (std::mem::take(&mut self.values).into_iter(), self.names.len());
        (0..self.count).map(|_| values.by_ref().take(width).collect()).collect()
    }

    /// Shows the values of a column, row by row, until `more` wants no more.
    ///
    /// # Errors
    /// There is no such column.
    pub(super) fn each(&self, column: &Column, more: &mut dyn FnMut(&[u8]) -> bool) -> Result<(), Cause> {
        let width = self.names.len();
        let at = match column {
            Column::At(number) => Some(number - 1).filter(|at| *at < width),
            Column::Named(name) => self.names.iter().position(|known| known == name),
        };
        let Some(at) = at else { return Err(captures::no_column(self.told())) };
        for row in self.values.chunks_exact(width) {
            if let Some(value) = &row[at]
                && !more(value)
            {
                break;
            }
        }
        Ok(())
    }

    /// What there is.
    pub(super) fn told(&self) -> Cause {
        let names = short(self.names.join(", ").as_bytes());
        match (self.count, names.is_empty()) {
            (1, true) => captures::one_row().into(),
            (n, true) => captures::rows(n),
            (1, false) => captures::one_row_of(names),
            (n, false) => captures::rows_of(n, names),
        }
    }
}
