//! Columns of data files: CSV (RFC 4180) with column names in the first row, and JSON lines with keys as column names.
//! The number of a request determines the row used by its slots.
//!
//! Only columns used by slots are kept. A file is read once, before the run, up to a maximum size.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::jsonl;
use super::rows::{RowChoice, scramble};
use crate::file::{TEXT_BOUND, read_bounded};

/// The values of one column, in order; at least one.
#[derive(Debug, Default)]
pub struct DataColumn {
    bytes: Vec<u8>,
    /// End offset of each value.
    ends: Vec<u32>,
}

impl DataColumn {
    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.ends.len() as u64
    }

    /// Returns the value of a row.
    #[inline]
    pub fn row(&self, row: u64) -> &[u8] {
        let row = row as usize;
        let from = if row == 0 { 0 } else { self.ends[row - 1] as usize };
        &self.bytes[from..self.ends[row] as usize]
    }

    /// Appends a value.
    pub fn push(&mut self, value: &[u8]) {
        self.bytes.extend_from_slice(value);
        self.ends.push(self.bytes.len() as u32);
    }

    /// Returns all values.
    pub fn rows(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.count()).map(|row| self.row(row))
    }
}

/// The users whose requests contain a slot: those of these scenarios, or all.
type SlotUsers = Option<Box<[u16]>>;

/// How some users choose the rows of a file.
#[derive(Debug)]
struct RowUse {
    users: SlotUsers,
    choice: RowChoice,
}

impl RowUse {
    /// Returns `true` if a user of a slot may also be one of these.
    fn concerns(&self, users: &SlotUsers) -> bool {
        match (&self.users, users) {
            (Some(ours), Some(theirs)) => ours.iter().any(|scenario| theirs.contains(scenario)),
            _ => true,
        }
    }
}

/// The data files of one template.
#[derive(Debug, Default)]
pub struct DataFiles {
    texts: BTreeMap<String, Arc<Vec<u8>>>,
    columns: BTreeMap<(String, String), Arc<DataColumn>>,
    choices: BTreeMap<String, Vec<RowUse>>,
    /// Users of the texts that are read now.
    users: SlotUsers,
    /// Number of rows of the shortest file that ends the run with its last row; `None` if no file does.
    end: Option<u64>,
}

impl DataFiles {
    /// Returns the column `FILE.COLUMN`, where COLUMN is a name in the first row.
    ///
    /// # Errors
    /// The file cannot be used or has no such column; the error describes why.
    pub fn column(&mut self, named: &str, lines: bool) -> Result<Arc<DataColumn>, String> {
        missing_column_error(named).map_or(Ok(()), Err)?;
        let (file, name) =
            named.rsplit_once('.').filter(|(file, name)| !file.is_empty() && !name.is_empty()).ok_or_else(|| {
                format!("\"{named}\" is not a column; write {{csv FILE.COLUMN}}, as in {{csv users.csv.name}}")
            })?;
        let key = (file.to_owned(), name.to_owned());
        if let Some(column) = self.columns.get(&key) {
            return Ok(Arc::clone(column));
        }
        let text = match self.texts.get(file) {
            Some(text) => Arc::clone(text),
            None => {
                let text = Arc::new(read(file)?);
                self.texts.insert(file.to_owned(), Arc::clone(&text));
                text
            }
        };
        let lines = lines || is_json_lines(file);
        let column = Arc::new(if lines { jsonl::column(file, name, &text)? } else { column(file, name, &text)? });
        self.columns.insert(key, Arc::clone(&column));
        Ok(column)
    }

    /// Sets the scenarios whose users send the texts that are read next; `None`: any user may.
    pub fn set_users(&mut self, scenarios: Option<&[u16]>) {
        self.users = scenarios.map(Box::from);
    }

    /// Records how the rows of a file are chosen. All slots of a file that the same user fills must agree, so that it
    /// uses a single row.
    ///
    /// # Errors
    /// The slots of a file disagree.
    pub fn record_choice(&mut self, named: &str, choice: RowChoice, rows: u64) -> Result<(), String> {
        let file = named.rsplit_once('.').map_or(named, |(file, _)| file);
        let uses = self.choices.entry(file.to_owned()).or_default();
        let mut others = uses.iter().filter(|other| other.concerns(&self.users));
        if others.any(|other| other.choice != choice) {
            return Err(format!(
                "rows of {file} are chosen in two ways; write the same words (random, shuffle, unique …) in each of \
                    its slots, so that a request uses one row"
            ));
        }
        if !uses.iter().any(|other| other.choice == choice && other.users == self.users) {
            uses.push(RowUse { users: self.users.clone(), choice });
        }
        if choice.stops {
            self.end = Some(self.end.map_or(rows, |end| end.min(rows)));
        }
        Ok(())
    }

    /// Returns the number of rows of the shortest file that ends the run with its last row; `None` if no file does.
    pub fn end(&self) -> Option<u64> {
        self.end
    }
}

/// Returns the column names of a file, or the keys of the first line for JSON lines; `None` if it cannot be read.
pub fn column_names(file: &str, lines: bool) -> Option<Vec<String>> {
    let text = read(file).ok()?;
    if lines || is_json_lines(file) {
        return jsonl::keys(&text);
    }
    let mut names = Vec::new();
    CsvReader { text: &text, at: 0, line: 1 }.row(&mut names);
    Some(names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect())
}

/// Returns `true` for a file name with an extension used for JSON lines.
fn is_json_lines(file: &str) -> bool {
    file.ends_with(".jsonl") || file.ends_with(".ndjson")
}

/// Returns the error message for a slot that names a file but no column; `None` if this is not the problem.
fn missing_column_error(named: &str) -> Option<String> {
    let (before, ending) = named.rsplit_once('.')?;
    let of_data = ["csv", "tsv", "jsonl", "ndjson"].contains(&ending);
    if !of_data || crate::file::read_bounded(before, TEXT_BOUND).is_ok() {
        return None;
    }
    let mut names = Vec::new();
    if let (Ok(text), true) = (read(named), ending == "csv") {
        CsvReader { text: &text, at: 0, line: 1 }.row(&mut names);
    }
    let names: Vec<_> = names.iter().take(20).map(|name| String::from_utf8_lossy(name)).collect();
    let first = names.first().map_or("COLUMN", |name| name);
    let there = if names.is_empty() { String::new() } else { format!("; its columns are {}", names.join(", ")) };
    Some(format!("{{csv {named}}} names a file but no column; write {{csv {named}.{first}}}{there}"))
}

/// Returns the salt that makes the row orders of two files differ.
pub fn salt(named: &str) -> u64 {
    let file = named.rsplit_once('.').map_or(named, |(file, _)| file);
    file.bytes().fold(0, |salt, byte| scramble(salt ^ u64::from(byte)))
}

fn read(file: &str) -> Result<Vec<u8>, String> {
    let mut text = read_bounded(file, TEXT_BOUND)?;
    if text.starts_with(b"\xef\xbb\xbf") {
        text.drain(..3);
    }
    Ok(text)
}

fn column(file: &str, name: &str, text: &[u8]) -> Result<DataColumn, String> {
    let mut reader = CsvReader { text, at: 0, line: 1 };
    let mut fields = Vec::new();
    reader.row(&mut fields);
    let wanted = fields.iter().position(|field| field == name.as_bytes()).ok_or_else(|| {
        let names: Vec<_> = fields.iter().take(20).map(|field| String::from_utf8_lossy(field)).collect();
        format!("{file} has no column \"{name}\"; its first row names {}", names.join(", "))
    })?;
    let mut column = DataColumn::default();
    loop {
        let line = reader.line;
        if !reader.row(&mut fields) {
            break;
        }
        let field = fields.get(wanted).ok_or_else(|| {
            format!(
                "{file} line {line} has {} columns and no \"{name}\"; give every row the same columns",
                fields.len()
            )
        })?;
        column.push(field);
    }
    if column.ends.is_empty() { Err(format!("{file} has no rows below the header")) } else { Ok(column) }
}

struct CsvReader<'a> {
    text: &'a [u8],
    at: usize,
    line: usize,
}

impl CsvReader<'_> {
    /// Reads the next row that is not empty; returns `false` at the end.
    fn row(&mut self, fields: &mut Vec<Vec<u8>>) -> bool {
        loop {
            fields.clear();
            if self.at >= self.text.len() {
                return false;
            }
            while self.field(fields) {}
            if fields.len() > 1 || !fields[0].is_empty() {
                return true;
            }
        }
    }

    /// Reads one field; returns `true` if another one follows in the same row.
    fn field(&mut self, fields: &mut Vec<Vec<u8>>) -> bool {
        let (mut field, mut quoted) = (Vec::new(), self.text.get(self.at) == Some(&b'"'));
        self.at += usize::from(quoted);
        let mut more = false;
        while let Some(&byte) = self.text.get(self.at) {
            self.at += 1;
            self.line += usize::from(byte == b'\n');
            match byte {
                b'"' if quoted && self.text.get(self.at) == Some(&b'"') => {
                    self.at += 1;
                    field.push(b'"');
                }
                b'"' if quoted => quoted = false,
                b',' if !quoted => {
                    more = true;
                    break;
                }
                b'\n' if !quoted => break,
                b'\r' if !quoted && self.text.get(self.at) == Some(&b'\n') => {}
                byte => field.push(byte),
            }
        }
        fields.push(field);
        more
    }
}
