//! Used and unused columns of the data files of a plan.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::csv::{self, DataFiles};
use super::format::NumberFormat;
use super::rows::RowChoice;
use crate::data::{DataColumn, DataFile, StatedFormat};

/// A data file and its unused columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnusedColumns {
    /// File name as written in the plan.
    pub file: String,
    /// Unused columns in file order.
    pub columns: Vec<String>,
}

/// A row of a data file with fewer values than the file has columns.
#[derive(Debug, PartialEq, Eq)]
pub struct ShortRow {
    /// File and line.
    pub place: String,
    /// Number of its values.
    pub values: usize,
    /// Number of columns of the file.
    pub columns: usize,
}

/// Returns the data files used by these texts that can be read, with the columns that no text uses.
pub fn unused_columns<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<UnusedColumns> {
    let left = used_files(texts).into_iter().map(|(file, (stated, used))| {
        let mut columns = csv::column_names(file, stated).unwrap_or_default();
        columns.retain(|column| !used.contains(column.trim()) && !column.trim().is_empty());
        UnusedColumns { file: file.to_owned(), columns }
    });
    left.filter(|unused| !unused.columns.is_empty()).collect()
}

/// Returns the first short row of each data file used by these texts.
pub fn short_rows<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<ShortRow> {
    let short = used_files(texts).into_iter().filter_map(|(file, (stated, _))| {
        let file = DataFile::open(file, stated).ok()?;
        let (place, values) = file.short_row()?;
        Some(ShortRow { place, values, columns: file.names().len() })
    });
    short.collect()
}

/// Returns the data files used by these texts, with what the slots state of them and the columns they name.
fn used_files<'a>(texts: impl IntoIterator<Item = &'a str>) -> BTreeMap<&'a str, (StatedFormat, BTreeSet<&'a str>)> {
    let mut used: BTreeMap<&str, (StatedFormat, BTreeSet<&str>)> = BTreeMap::new();
    for (file, column, stated) in texts.into_iter().flat_map(used_columns) {
        let (known, columns) = used.entry(file).or_default();
        known.json_lines |= stated.json_lines;
        known.no_header |= stated.no_header;
        columns.insert(column);
    }
    used
}

/// Returns the columns that these slots use, given without their braces: `csv users.csv.name`. Those that cannot be read
/// are left out.
pub fn columns<'a>(slots: impl IntoIterator<Item = &'a str>) -> Vec<Arc<DataColumn>> {
    let mut files = DataFiles::default();
    let mut column = |slot: &str| {
        let text = format!("{{{slot}}}");
        let (file, column, stated) = used_columns(&text).next()?;
        files.column(&format!("{file}.{column}"), stated).ok()
    };
    slots.into_iter().filter_map(&mut column).collect()
}

/// Returns the columns used by the slots of a text: file, column, and what the slot states of the file.
fn used_columns(text: &str) -> impl Iterator<Item = (&str, &str, StatedFormat)> {
    let slots = |name: &'static str| text.match_indices(name).map(move |(at, _)| (&text[at + name.len()..], name));
    slots("{csv ").chain(slots("{jsonl ")).filter_map(|(rest, name)| {
        let words = &rest[..rest.find(['}', '|'])?];
        let (choice, words) = RowChoice::read(words).ok()?;
        let named = words.rsplit_once(' ').filter(|(_, word)| NumberFormat::parse(word).is_some());
        let (file, column) = csv::split_column(named.map_or(words, |(named, _)| named).trim())?;
        Some((file, column, StatedFormat { json_lines: name == "{jsonl ", no_header: choice.no_header }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_no_slot_names_are_found_in_every_kind_of_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name).display().to_string();
            std::fs::write(&path, text).expect("written");
            path
        };
        let users = write("a.csv", "name,\"the age\",city\nann,3,x\n");
        let lines = write("b.jsonl", "{\"id\": 1, \"kept\": 2, \"late\": 0}\n");
        let all = write("c.csv", "one\n1\n");
        let texts = [
            format!("u={{csv {users}.name unique | url}}&{{csv {all}.one u32}}"),
            format!("{{jsonl {lines}.id}}{{csv nowhere.csv.x}}{{csv}}{{csv {users}.city shuffle stop}}"),
            format!("{{csv {lines}.late}}"),
        ];
        let unused = |texts: &[String]| unused_columns(texts.iter().map(String::as_str));
        let left = |file: &str, column: &str| UnusedColumns { file: file.into(), columns: vec![column.into()] };
        assert_eq!(unused(&texts), [left(&users, "the age"), left(&lines, "kept")]);
        let more = [&texts[..], &[format!("{{csv {users}.the age}}{{jsonl {lines}.kept}}")]].concat();
        assert_eq!(unused(&more), []);
    }
}
