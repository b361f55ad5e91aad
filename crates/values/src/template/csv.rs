//! Columns of data files in slots: `{csv FILE.COLUMN}`. The number of a request determines the row used by its slots.

use brunt_cause::{Complaint, complaint};
use std::collections::BTreeMap;
use std::sync::Arc;

use super::rows::{RowChoice, scramble};
use crate::data::{DataColumn, DataFile, StatedFormat};
use crate::file::exists;

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
    files: BTreeMap<(String, StatedFormat), Arc<DataFile>>,
    columns: BTreeMap<(String, StatedFormat), Arc<DataColumn>>,
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
    pub fn column(&mut self, named: &str, stated: StatedFormat) -> Result<Arc<DataColumn>, Complaint> {
        let key = (named.to_owned(), stated);
        if let Some(column) = self.columns.get(&key) {
            return Ok(Arc::clone(column));
        }
        missing_column_error(named, stated).map_or(Ok(()), Err)?;
        let (path, name) = split_column(named).ok_or_else(|| {
            complaint!(
                "\"{named}\" is not a column; write {{csv FILE.COLUMN}}, as in {{csv users.csv.name}}",
                "“{named}”不是列；请写 {{csv FILE.COLUMN}}，例如 {{csv users.csv.name}}"
            )
        })?;
        let file = match self.files.get(&(path.to_owned(), stated)) {
            Some(file) => Arc::clone(file),
            None => {
                let file = DataFile::open(path, stated)?;
                self.files.insert((path.to_owned(), stated), Arc::clone(&file));
                file
            }
        };
        let column = Arc::new(file.column(name)?);
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
    pub fn record_choice(&mut self, named: &str, choice: RowChoice, rows: u64) -> Result<(), Complaint> {
        let file = split_column(named).map_or(named, |(file, _)| file);
        let uses = self.choices.entry(file.to_owned()).or_default();
        let mut others = uses.iter().filter(|other| other.concerns(&self.users));
        if others.any(|other| other.choice != choice) {
            return Err(complaint!(
                "rows of {file} are chosen in two ways; write the same words (random, shuffle, unique …) in each of \
                    its slots, so that a request uses one row",
                "{file} 的行有两种选取方式；请在它的每个占位符中写相同的词（random、shuffle、unique 等），使一个请求只用一行"
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

/// Divides `FILE.COLUMN` at the last dot that leaves the name of a file, because names of columns may have dots, too;
/// without such a file at the last dot.
pub fn split_column(named: &str) -> Option<(&str, &str)> {
    let parts = || {
        let divided = named.rmatch_indices('.').map(|(at, _)| (&named[..at], &named[at + 1..]));
        divided.filter(|(file, name)| !file.is_empty() && !name.is_empty())
    };
    parts().find(|(file, _)| exists(file)).or_else(|| parts().next())
}

/// Returns the column names of a file, or the keys of the first line for JSON lines; `None` if it cannot be read.
pub fn column_names(file: &str, stated: StatedFormat) -> Option<Vec<String>> {
    DataFile::open(file, stated).ok().map(|file| file.names().to_vec())
}

/// Returns the error message for a slot that names a file but no column; `None` if this is not the problem.
fn missing_column_error(named: &str, stated: StatedFormat) -> Option<Complaint> {
    let (before, ending) = named.rsplit_once('.')?;
    let of_data = ["csv", "tsv", "jsonl", "ndjson"].contains(&ending);
    if !of_data && !exists(named) || split_column(named).is_some_and(|(file, _)| exists(file)) || before.is_empty() {
        return None;
    }
    let names = column_names(named, stated).unwrap_or_default();
    let first = names.first().map_or("COLUMN", String::as_str);
    let there = match names.len() {
        0 => Complaint::default(),
        _ => complaint!(
            "; its columns are {}",
            "；它的列有 {}",
            names.iter().take(20).map(String::as_str).collect::<Vec<_>>().join(", ")
        ),
    };
    let zh = there.zh();
    Some(complaint!(
        "{{csv {named}}} names a file but no column; write {{csv {named}.{first}}}{there}",
        "{{csv {named}}} 只写了文件，没有写列；请写 {{csv {named}.{first}}}{zh}"
    ))
}

/// Returns the salt that makes the row orders of two files differ.
pub fn salt(named: &str) -> u64 {
    let file = split_column(named).map_or(named, |(file, _)| file);
    file.bytes().fold(0, |salt, byte| scramble(salt ^ u64::from(byte)))
}
