//! Data files as spreadsheets and programs write them: rows of delimited text with column names in the first row, and
//! JSON lines with keys as column names.
//!
//! Encoding and delimiter are found out. The columns of a small file are kept in memory; a large file is read row by row
//! when a row is asked for, by an index of its rows, so that its size does not matter.

mod binary_file;
mod column;
mod delimited;
pub(crate) mod encoding;
mod text;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::sync::{Arc, Mutex, PoisonError};

use brunt_cause::{Complaint, complaint};
use brunt_contract::zh_place;
use serde_json::{Map, Value};

use column::ColumnSurvey;
pub use column::{DataColumn, whole_number};
use delimited::{DataRow, QuoteFault, find_delimiter, read_row, stated_delimiter};
use text::{DataText, PIECE};

use crate::file::unreadable;

/// Maximum length of a row in bytes.
const LONGEST_ROW: usize = 64 << 20;

/// Number of bytes from which the delimiter is found out.
const SAMPLE: usize = 256 << 10;

/// Maximum number of columns named in an error.
const NAMED: usize = 20;

/// How the rows of a file are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowFormat {
    /// Values with a delimiter between them.
    Delimited(u8),
    /// A JSON object on each line.
    JsonLines,
}

/// What a plan says about the format of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct StatedFormat {
    /// Set if the file has JSON lines, whatever its name.
    pub json_lines: bool,
    /// Set if the first row has values and columns are numbered.
    pub no_header: bool,
}

/// A data file.
#[derive(Debug)]
pub struct DataFile {
    path: String,
    text: DataText,
    format: RowFormat,
    /// Names of the columns, or keys of the first object.
    names: Vec<String>,
    /// Offset of the first row of values.
    first: u64,
    /// What is known of the columns of a large file.
    surveys: Mutex<BTreeMap<String, Arc<ColumnSurvey>>>,
}

/// Where a value is in its row.
#[derive(Clone, Debug)]
enum ColumnPlace {
    /// By its position.
    Number(usize),
    /// By its key in a JSON object.
    Key(String),
}

impl DataFile {
    /// Opens a file. A large file that was opened before and has not changed is not read again.
    ///
    /// # Errors
    /// The file cannot be used; the error describes why.
    pub fn open(path: &str, stated: StatedFormat) -> Result<Arc<DataFile>, Complaint> {
        thread_local! {
            static LARGE: RefCell<Vec<(OpenedAs, Arc<DataFile>)>> = const { RefCell::new(Vec::new()) };
        }
        let opened_as = std::fs::metadata(path).ok().map(|data| OpenedAs::new(path, stated, &data));
        let known = |files: &Vec<(OpenedAs, Arc<DataFile>)>| {
            files.iter().find(|(known, _)| Some(known) == opened_as.as_ref()).map(|(_, file)| Arc::clone(file))
        };
        if let Some(file) = LARGE.with_borrow(known) {
            return Ok(file);
        }
        let file = Arc::new(DataFile::read(path, stated)?);
        if let Some(opened_as) = opened_as.filter(|_| !file.text.is_in_memory()) {
            LARGE.with_borrow_mut(|files| files.push((opened_as, Arc::clone(&file))));
        }
        Ok(file)
    }

    fn read(path: &str, stated: StatedFormat) -> Result<DataFile, Complaint> {
        let text = DataText::open(path)?;
        let mut sample = Vec::new();
        text.read(0, SAMPLE, &mut sample).map_err(|error| unreadable(path, &error))?;
        let json_lines = stated.json_lines || path.ends_with(".jsonl") || path.ends_with(".ndjson");
        let (format, first) = if json_lines {
            (RowFormat::JsonLines, 0)
        } else if let Some((delimiter, line)) = stated_delimiter(&sample) {
            (RowFormat::Delimited(delimiter), line as u64)
        } else if path.ends_with(".tsv") {
            (RowFormat::Delimited(b'\t'), 0)
        } else {
            (RowFormat::Delimited(find_delimiter(&sample, sample.len() < SAMPLE)), 0)
        };
        if stated.no_header && format == RowFormat::JsonLines {
            return Err(complaint!(
                "{path} has JSON lines, whose keys name the columns; leave out no-header",
                "{path} 是 JSON Lines，列名取自各键；请去掉 no-header"
            ));
        }
        let mut file =
            DataFile { path: path.to_owned(), text, format, names: Vec::new(), first, surveys: Mutex::default() };
        let mut row = DataRow::default();
        let mut rows = file.rows();
        rows.next(&mut row)?;
        let after = rows.at;
        file.names = match format {
            RowFormat::JsonLines => {
                let object: Option<Map<String, Value>> = serde_json::from_slice(row.get(0).unwrap_or_default()).ok();
                object.map(|object| object.into_iter().map(|(key, _)| key).collect()).unwrap_or_default()
            }
            RowFormat::Delimited(_) if stated.no_header => (1..=row.len()).map(|number| number.to_string()).collect(),
            RowFormat::Delimited(_) => {
                file.first = after;
                row.values().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
            }
        };
        Ok(file)
    }

    /// Returns the names of the columns; the keys of the first line for JSON lines.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Reads a column.
    ///
    /// # Errors
    /// The file has no such column, or a row does not fit; the error describes why.
    pub fn column(self: &Arc<DataFile>, name: &str) -> Result<DataColumn, Complaint> {
        let place = self.place(name)?;
        if self.text.is_in_memory() {
            return DataColumn::held(self, name, &place);
        }
        let known = self.surveys.lock().unwrap_or_else(PoisonError::into_inner).get(name).map(Arc::clone);
        let survey = match known {
            Some(survey) => survey,
            None => {
                let survey = Arc::new(ColumnSurvey::of(self, name, &place)?);
                let mut surveys = self.surveys.lock().unwrap_or_else(PoisonError::into_inner);
                Arc::clone(surveys.entry(name.to_owned()).or_insert(survey))
            }
        };
        Ok(DataColumn::indexed(Arc::clone(self), place, survey))
    }

    /// Returns the place of the first row with fewer values than there are columns, and their number: the missing values
    /// are empty. `None` if there is none, or if the file cannot be read.
    pub fn short_row(&self) -> Option<(String, usize)> {
        let (mut row, mut rows) = (DataRow::default(), self.rows());
        while self.format != RowFormat::JsonLines
            && let Some(at) = rows.next(&mut row).ok()?
        {
            if row.len() < self.names.len() {
                return Some((self.line(at), row.len()));
            }
        }
        None
    }

    /// Hands over each row of values with its offset, and its value of a column.
    ///
    /// # Errors
    /// The file cannot be read, or a row does not fit.
    fn each_value(&self, name: &str, place: &ColumnPlace, mut take: impl FnMut(u64, &[u8])) -> Result<(), Complaint> {
        let (mut row, mut rows, mut value, mut any) = (DataRow::default(), self.rows(), Vec::new(), false);
        while let Some(at) = rows.next(&mut row)? {
            value.clear();
            self.append_value(&row, place, &mut value).map_err(|missing| self.missing(at, name, &missing))?;
            take(at, &value);
            any = true;
        }
        if any { Ok(()) } else { Err(self.no_rows()) }
    }

    /// Finds a column by its name, without the spaces around it if need be. One without a name has its number.
    fn place(&self, name: &str) -> Result<ColumnPlace, Complaint> {
        if self.format == RowFormat::JsonLines {
            return Ok(ColumnPlace::Key(name.to_owned()));
        }
        let exact = self.names.iter().position(|known| known == name);
        let trimmed = || self.names.iter().position(|known| known.trim() == name);
        let unnamed = || {
            let number = name.parse::<usize>().ok()?.checked_sub(1)?;
            self.names.get(number).is_some_and(|known| known.trim().is_empty()).then_some(number)
        };
        let found = exact.or_else(trimmed).or_else(unnamed);
        found.map(ColumnPlace::Number).ok_or_else(|| self.no_column(name))
    }

    fn no_column(&self, name: &str) -> Complaint {
        if self.names.is_empty() {
            return complaint!(
                "{} is empty; write the names of the columns in its first row, and rows below it",
                "{} 为空；请在第一行写列名，在其后各行写数据",
                self.path
            );
        }
        let names = self.names.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
        let path = &self.path;
        match name.parse::<usize>() {
            Ok(number) if number > 0 => complaint!(
                "{path} has no column \"{name}\"; its first row names {names}; if that row has values, write {{csv \
                    {path}.{name} no-header}}",
                "{path} 没有列“{name}”；第一行的列名为 {names}；如果该行是数据，请写 {{csv {path}.{name} no-header}}"
            ),
            _ => complaint!(
                "{path} has no column \"{name}\"; its first row names {names}",
                "{path} 没有列“{name}”；第一行的列名为 {names}"
            ),
        }
    }

    /// Returns the rows of values from the beginning.
    fn rows(&self) -> RowCursor<'_> {
        RowCursor { file: self, at: self.first, window: Vec::new(), used: 0, last: false }
    }

    /// Appends the value of a column.
    ///
    /// # Errors
    /// The row does not have it.
    fn append_value(&self, row: &DataRow, place: &ColumnPlace, out: &mut Vec<u8>) -> Result<(), MissingValue> {
        match place {
            // Excel leaves out the delimiters behind the last value of some rows.
            ColumnPlace::Number(number) => out.extend_from_slice(row.get(*number).unwrap_or_default()),
            ColumnPlace::Key(key) => {
                let line = row.get(0).unwrap_or_default();
                let object: Map<String, Value> =
                    serde_json::from_slice(line).map_err(|wrong| MissingValue::NoObject(wrong.to_string()))?;
                match object.get(key) {
                    None => return Err(MissingValue::Keys(object.into_iter().map(|(key, _)| key).collect())),
                    Some(Value::String(text)) => out.extend_from_slice(text.as_bytes()),
                    Some(Value::Null) => {}
                    Some(other) => out.extend_from_slice(other.to_string().as_bytes()),
                }
            }
        }
        Ok(())
    }

    /// Returns the error for a row without a value.
    fn missing(&self, at: u64, name: &str, missing: &MissingValue) -> Complaint {
        let place = self.line(at);
        let zh = zh_place(&place);
        match missing {
            MissingValue::NoObject(wrong) => complaint!(
                "{place} is not a JSON object ({wrong}); write one per line",
                "{zh}：不是 JSON 对象（{wrong}）；请每行写一个对象"
            ),
            MissingValue::Keys(keys) => {
                let keys = keys.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
                complaint!(
                    "{place} has no \"{name}\", but {keys}; give every line the same keys",
                    "{zh}：没有“{name}”，只有 {keys}；请让每行的键相同"
                )
            }
        }
    }

    /// Returns the error for a file without rows.
    fn no_rows(&self) -> Complaint {
        match self.format {
            RowFormat::JsonLines => {
                complaint!("{} is empty; write one JSON object per line", "{} 为空；请每行写一个 JSON 对象", self.path)
            }
            RowFormat::Delimited(_) => {
                complaint!("{} has no rows below the header", "{} 在表头之下没有数据行", self.path)
            }
        }
    }

    fn line(&self, at: u64) -> String {
        let breaks = self.text.line_breaks(at);
        breaks.map_or_else(|_| self.path.clone(), |breaks| format!("{} line {}", self.path, breaks + 1))
    }

    fn wrong_quote(&self, row: u64, fault: QuoteFault) -> Complaint {
        let (QuoteFault::Unclosed { at } | QuoteFault::ClosedWithin { at, .. }) = fault;
        let place = self.line(row + at as u64);
        let zh = zh_place(&place);
        match fault {
            QuoteFault::Unclosed { .. } => complaint!(
                "{place} has a quote that is never closed; double a quote that belongs to a value, and enclose the value in quotes",
                "{zh}：有引号没有闭合；属于值的引号请写两遍，并用引号括住该值"
            ),
            QuoteFault::ClosedWithin { end, .. } => {
                let end = self.text.line_breaks(row + end as u64).unwrap_or_default() + 1;
                complaint!(
                    "{place} has a quote that is closed only on line {end}, within a value; double a quote that belongs to a value, and enclose the value in quotes",
                    "{zh}：引号到第 {end} 行才在一个值之内闭合；属于值的引号请写两遍，并用引号括住该值"
                )
            }
        }
    }
}

/// Why a row has no value of a column.
enum MissingValue {
    /// The line is not a JSON object.
    NoObject(String),
    /// The object has other keys.
    Keys(Vec<String>),
}

/// What identifies an opened file and its content.
#[derive(PartialEq, Eq)]
struct OpenedAs {
    path: String,
    stated: StatedFormat,
    inode: (u64, u64),
    length: u64,
    changed: (i64, i64),
}

impl OpenedAs {
    fn new(path: &str, stated: StatedFormat, data: &Metadata) -> OpenedAs {
        OpenedAs {
            path: path.to_owned(),
            stated,
            inode: (data.dev(), data.ino()),
            length: data.len(),
            changed: (data.mtime(), data.mtime_nsec()),
        }
    }
}

/// The rows of a file in order.
struct RowCursor<'a> {
    file: &'a DataFile,
    /// Offset of the next row.
    at: u64,
    /// A part of the text, of which the first `used` bytes have been read.
    window: Vec<u8>,
    used: usize,
    /// Set if the window reaches the end of the text.
    last: bool,
}

impl RowCursor<'_> {
    /// Reads the next row that is not blank; returns its offset, or `None` at the end.
    ///
    /// # Errors
    /// The file cannot be read, or a quote does not enclose a value.
    fn next(&mut self, row: &mut DataRow) -> Result<Option<u64>, Complaint> {
        loop {
            let rest = &self.window[self.used..];
            if rest.is_empty() && self.last {
                row.clear();
                return Ok(None);
            }
            match take_row(self.file.format, rest, self.last, row)
                .map_err(|fault| self.file.wrong_quote(self.at, fault))?
            {
                Some(length) => {
                    let start = self.at;
                    self.at += length as u64;
                    self.used += length;
                    if !row.is_blank() {
                        return Ok(Some(start));
                    }
                }
                None if rest.len() > LONGEST_ROW => {
                    let place = self.file.line(self.at);
                    let zh = zh_place(&place);
                    return Err(complaint!(
                        "{place} begins a row longer than {} MiB; close its quote",
                        "{zh}：该行超过 {} MiB；请补上缺少的引号",
                        LONGEST_ROW >> 20
                    ));
                }
                None => self.extend()?,
            }
        }
    }

    /// Extends the window, by as much as it has already if a row is long.
    fn extend(&mut self) -> Result<(), Complaint> {
        self.window.drain(..self.used);
        self.used = 0;
        let (before, count) = (self.window.len(), self.window.len().max(PIECE));
        let read = self.file.text.read(self.at + before as u64, count, &mut self.window);
        self.last = self.window.len() - before < count;
        read.map_err(|error| unreadable(&self.file.path, &error))
    }
}

/// Reads the row at the beginning of a text; see [`read_row`].
fn take_row(format: RowFormat, text: &[u8], last: bool, row: &mut DataRow) -> Result<Option<usize>, QuoteFault> {
    let RowFormat::JsonLines = format else {
        let RowFormat::Delimited(delimiter) = format else { return Ok(None) };
        return read_row(text, delimiter, last, row);
    };
    let end = memchr::memchr(b'\n', text).map(|at| at + 1).or(last.then_some(text.len()));
    row.clear();
    row.push(text[..end.unwrap_or(0)].trim_ascii());
    Ok(end)
}

/// Checks invariants for arbitrary bytes, for the fuzz target: rows do not depend on how the text is cut.
///
/// # Panics
/// Panics if an invariant is violated.
#[cfg(any(test, feature = "oracle"))]
pub fn oracle(bytes: &[u8]) {
    let Some((cut, bytes)) = bytes.split_first() else { return };
    let (encoding, mark) = encoding::TextEncoding::of_start(bytes);
    let bytes = &bytes[mark..];
    let (before, after) = bytes.split_at(usize::from(*cut).min(bytes.len()));
    let (mut decoder, mut pieces) = (encoding::TextDecoder::new(encoding), Vec::new());
    decoder.decode(before, false, &mut pieces);
    decoder.decode(after, true, &mut pieces);
    let text = encoding::decoded(encoding, bytes);
    assert_eq!(text, pieces);
    for format in [RowFormat::JsonLines, RowFormat::Delimited(find_delimiter(&text, true))] {
        let (mut at, mut row, mut part) = (0, DataRow::default(), DataRow::default());
        while at < text.len()
            && let Ok(Some(length)) = take_row(format, &text[at..], true, &mut row)
        {
            assert!(length > 0);
            let cut = (at + usize::from(*cut)).min(text.len());
            if let Ok(Some(shorter)) = take_row(format, &text[at..cut], false, &mut part) {
                assert_eq!((shorter, part.values().collect::<Vec<_>>()), (length, row.values().collect()));
            }
            at += length;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rows_do_not_depend_on_pieces(cut in any::<u8>(), text in "[a-c,;\t\r\n\" é]{0,60}", wide in any::<bool>()) {
            let mut bytes = vec![cut];
            if wide {
                bytes.extend("\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_le_bytes));
            } else {
                bytes.extend(text.as_bytes());
            }
            super::oracle(&bytes);
        }
    }
}
