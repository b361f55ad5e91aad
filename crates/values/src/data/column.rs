//! The values of one column: in memory, or read from a large file by an index of its rows.

use brunt_cause::Complaint;
use std::cell::RefCell;
use std::sync::Arc;

use super::delimited::DataRow;
use super::{ColumnPlace, DataFile, take_row};

/// Distance in bytes between rows whose offsets are kept. A value costs one read of about this size.
const MARK_DISTANCE: u64 = 4 << 10;

/// The values of one column, in order; at least one.
#[derive(Debug)]
pub struct DataColumn {
    values: ColumnValues,
    survey: Arc<ColumnSurvey>,
}

#[derive(Debug)]
enum ColumnValues {
    /// All values, and the end offset of each.
    Held { bytes: Vec<u8>, ends: Vec<u32> },
    /// In a file.
    Indexed { file: Arc<DataFile>, place: ColumnPlace },
}

/// What is known of all values of a column, and where the rows of a large file are.
#[derive(Debug)]
pub struct ColumnSurvey {
    count: u64,
    /// The bytes that occur.
    bytes: [bool; 256],
    longest: usize,
    /// The first value that is not a whole number.
    no_number: Option<String>,
    /// The first row, and further ones at distances.
    marks: Vec<RowMark>,
}

/// The number and the offset of a row.
#[derive(Clone, Copy, Debug)]
struct RowMark {
    row: u64,
    at: u64,
}

impl Default for ColumnSurvey {
    fn default() -> ColumnSurvey {
        ColumnSurvey { count: 0, bytes: [false; 256], longest: 0, no_number: None, marks: Vec::new() }
    }
}

impl ColumnSurvey {
    /// Looks at all values of a column, and notes where the rows are.
    ///
    /// # Errors
    /// The file cannot be read, or a row does not fit.
    pub fn of(file: &DataFile, name: &str, place: &ColumnPlace) -> Result<ColumnSurvey, Complaint> {
        let mut survey = ColumnSurvey::default();
        file.each_value(name, place, |at, value| {
            if survey.marks.last().is_none_or(|mark| at - mark.at >= MARK_DISTANCE) {
                survey.marks.push(RowMark { row: survey.count, at });
            }
            survey.add(value);
        })?;
        Ok(survey)
    }

    fn add(&mut self, value: &[u8]) {
        value.iter().for_each(|byte| self.bytes[usize::from(*byte)] = true);
        self.longest = self.longest.max(value.len());
        if self.no_number.is_none() && whole_number(value).is_none() {
            self.no_number = Some(String::from_utf8_lossy(value).into_owned());
        }
        self.count += 1;
    }
}

/// Returns the whole number that a value is.
pub fn whole_number(value: &[u8]) -> Option<u64> {
    std::str::from_utf8(value).ok()?.parse().ok()
}

impl DataColumn {
    /// Reads a column into memory.
    ///
    /// # Errors
    /// A row does not fit.
    pub(super) fn held(file: &DataFile, name: &str, place: &ColumnPlace) -> Result<DataColumn, Complaint> {
        let (mut survey, mut bytes, mut ends) = (ColumnSurvey::default(), Vec::new(), Vec::new());
        file.each_value(name, place, |_, value| {
            bytes.extend_from_slice(value);
            ends.push(bytes.len() as u32);
            survey.add(value);
        })?;
        Ok(DataColumn { values: ColumnValues::Held { bytes, ends }, survey: Arc::new(survey) })
    }

    /// Creates a column whose values stay in the file.
    pub(super) fn indexed(file: Arc<DataFile>, place: ColumnPlace, survey: Arc<ColumnSurvey>) -> DataColumn {
        DataColumn { values: ColumnValues::Indexed { file, place }, survey }
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.survey.count
    }

    /// Returns the length of the longest value.
    pub fn longest(&self) -> usize {
        self.survey.longest
    }

    /// Returns the first value that is not a whole number.
    pub fn no_number(&self) -> Option<&str> {
        self.survey.no_number.as_deref()
    }

    /// Returns `true` if a value has a byte for which `bad` is true.
    pub fn may_hold(&self, bad: &dyn Fn(u8) -> bool) -> bool {
        (0..=u8::MAX).any(|byte| self.survey.bytes[usize::from(byte)] && bad(byte))
    }

    /// Appends the value of a row.
    #[inline]
    pub fn append(&self, row: u64, out: &mut Vec<u8>) {
        match &self.values {
            ColumnValues::Held { bytes, ends } => {
                let row = row as usize;
                let from = if row == 0 { 0 } else { ends[row - 1] as usize };
                out.extend_from_slice(&bytes[from..ends[row] as usize]);
            }
            ColumnValues::Indexed { file, place } => self.append_read(file, place, row, out),
        }
    }

    /// Reads the rows from the nearest mark on. A file that was changed or cut off since has no value.
    #[cold]
    fn append_read(&self, file: &DataFile, place: &ColumnPlace, wanted: u64, out: &mut Vec<u8>) {
        thread_local! {
            static READ: RefCell<(Vec<u8>, DataRow)> = RefCell::default();
        }
        let marks = &self.survey.marks;
        let next = marks.partition_point(|mark| mark.row <= wanted);
        let Some(mark) = marks.get(next.wrapping_sub(1)) else { return };
        let end = marks.get(next).map_or(file.text.length(), |mark| mark.at);
        READ.with_borrow_mut(|(text, row)| {
            text.clear();
            if file.text.read(mark.at, end.saturating_sub(mark.at) as usize, text).is_err() {
                return;
            }
            let (mut at, mut number) = (0, mark.row);
            while let Ok(Some(length)) = take_row(file.format, &text[at..], true, row)
                && length > 0
            {
                at += length;
                if row.is_blank() {
                    continue;
                }
                if number == wanted {
                    // Every row had a value when the file was opened.
                    let _ = file.append_value(row, place, out);
                    return;
                }
                number += 1;
            }
        });
    }
}
