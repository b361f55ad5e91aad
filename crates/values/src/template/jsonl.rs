//! Columns of JSON lines: one object per line, with keys as column names. Strings are taken without their quotes, other
//! values as written in JSON, and null as empty.

use serde_json::{Map, Value};

use super::csv::DataColumn;

/// Reads a column of a file.
///
/// # Errors
/// A line is not an object or lacks this key.
pub fn column(file: &str, name: &str, text: &[u8]) -> Result<DataColumn, String> {
    let mut column = DataColumn::default();
    for (number, line) in text.split(|b| *b == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let place = || format!("{file} line {}", number + 1);
        let object: Map<String, Value> = serde_json::from_slice(line)
            .map_err(|wrong| format!("{} is not a JSON object ({wrong}); write one per line", place()))?;
        match object.get(name) {
            None => {
                let keys: Vec<&str> = object.keys().take(20).map(String::as_str).collect();
                return Err(format!(
                    "{} has no \"{name}\", but {}; give every line the same keys",
                    place(),
                    keys.join(", ")
                ));
            }
            Some(Value::String(text)) => column.push(text.as_bytes()),
            Some(Value::Null) => column.push(b""),
            Some(other) => column.push(other.to_string().as_bytes()),
        }
    }
    if column.count() == 0 { Err(format!("{file} is empty; write one JSON object per line")) } else { Ok(column) }
}

/// Returns the keys of the first line.
pub fn keys(text: &[u8]) -> Option<Vec<String>> {
    let first = text.split(|b| *b == b'\n').find(|line| !line.trim_ascii().is_empty())?;
    let object: Map<String, Value> = serde_json::from_slice(first).ok()?;
    Some(object.into_iter().map(|(key, _)| key).collect())
}
