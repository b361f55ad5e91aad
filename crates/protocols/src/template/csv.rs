//! Columns of CSV files (RFC 4180): the first row names them, a slot takes the row its request's number chooses.
//!
//! Only the columns that slots name are kept. A file is read once before the run, up to a bound.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::file::{TEXT_BOUND, bounded};

/// The values of one column, in order; at least one.
#[derive(Debug)]
pub struct Column {
    bytes: Vec<u8>,
    /// Where each value ends.
    ends: Vec<u32>,
}

impl Column {
    /// The value for request number `number`.
    #[inline]
    pub fn row(&self, number: u64) -> &[u8] {
        let row = (number % self.ends.len() as u64) as usize;
        let from = if row == 0 { 0 } else { self.ends[row - 1] as usize };
        &self.bytes[from..self.ends[row] as usize]
    }

    /// All values.
    pub fn rows(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.ends.len() as u64).map(|number| self.row(number))
    }
}

/// Files read for one template.
#[derive(Debug, Default)]
pub struct Files {
    texts: BTreeMap<String, Arc<Vec<u8>>>,
    columns: BTreeMap<(String, String), Arc<Column>>,
}

impl Files {
    /// The column of `FILE.COLUMN`, where COLUMN is a name of the first row.
    ///
    /// # Errors
    /// What is wrong with the file or the name.
    pub fn column(&mut self, named: &str) -> Result<Arc<Column>, String> {
        let (file, name) =
            named.rsplit_once('.').filter(|(file, name)| !file.is_empty() && !name.is_empty()).ok_or_else(|| {
                format!("\"{named}\" is no column; write {{csv FILE.COLUMN}}, as in {{csv users.csv.name}}")
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
        let column = Arc::new(column(file, name, &text)?);
        self.columns.insert(key, Arc::clone(&column));
        Ok(column)
    }
}

fn read(file: &str) -> Result<Vec<u8>, String> {
    let mut text = bounded(file, TEXT_BOUND)?;
    if text.starts_with(b"\xef\xbb\xbf") {
        text.drain(..3);
    }
    Ok(text)
}

fn column(file: &str, name: &str, text: &[u8]) -> Result<Column, String> {
    let mut reader = Reader { text, at: 0, line: 1 };
    let mut fields = Vec::new();
    reader.row(&mut fields);
    let wanted = fields.iter().position(|field| field == name.as_bytes()).ok_or_else(|| {
        let names: Vec<_> = fields.iter().take(20).map(|field| String::from_utf8_lossy(field)).collect();
        format!("{file} has no column \"{name}\"; its first row names {}", names.join(", "))
    })?;
    let mut column = Column { bytes: Vec::new(), ends: Vec::new() };
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
        column.bytes.extend_from_slice(field);
        column.ends.push(column.bytes.len() as u32);
    }
    if column.ends.is_empty() { Err(format!("{file} has no row below the names of its columns")) } else { Ok(column) }
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    line: usize,
}

impl Reader<'_> {
    /// The next row that is not empty; false at the end.
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

    /// One field; true where another of the same row follows.
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
