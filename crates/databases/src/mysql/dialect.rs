//! SQL dialect of MySQL and MariaDB: statement ends, quotes and comments.
//!
//! Not supported: DELIMITER (a statement that creates a routine is never split) and NO_BACKSLASH_ESCAPES.

use crate::sql::{SqlPiece, SqlScanner};
use brunt_cause::Complaint;

/// Splits a text into statements and each into pieces; empty statements are dropped.
///
/// # Errors
/// Returns what is wrong with the text.
pub fn statements(text: &str) -> Result<Vec<Vec<SqlPiece>>, Complaint> {
    let mut scan = SqlScanner::new(text);
    let whole = creates_routine(text);
    while let Some(next) = scan.peek() {
        match next {
            ';' if !whole => scan.end_statement(),
            '\'' | '"' => scan.literal(next, Some(decode_escape))?,
            '`' => scan.quoted_name(next)?,
            '?' => {
                return Err(Complaint::new(
                    "? is never filled in; write a slot instead, such as {counter} or {random 1..1000}",
                    "? 不会被填充；请改写占位符，例如 {counter} 或 {random 1..1000}",
                ));
            }
            // `@{user}` is the name of a user variable.
            '{' => scan.bare_brace(&['@'])?,
            _ => match comment(scan.rest()) {
                Some(size) => scan.skip(size),
                None => scan.copy(next.len_utf8()),
            },
        }
    }
    Ok(scan.statements())
}

/// Returns `true` if a text creates a routine, whose body contains semicolons.
fn creates_routine(text: &str) -> bool {
    let mut words = text.split_ascii_whitespace().map(str::to_ascii_lowercase);
    matches!(words.next().as_deref(), Some("create"))
        && words.take(6).any(|w| matches!(w.as_str(), "procedure" | "function" | "trigger" | "event"))
}

/// Returns the length of the comment at the beginning of `rest`.
fn comment(rest: &str) -> Option<usize> {
    let line = rest.starts_with('#')
        || rest.strip_prefix("--").is_some_and(|r| r.is_empty() || r.starts_with([' ', '\t', '\n']));
    if line {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    // `/*!` and `/*+` are code and hints rather than comments, and are kept.
    let block = rest.strip_prefix("/*").filter(|inner| !inner.starts_with(['!', '+']))?;
    Some(block.find("*/").map_or(rest.len(), |end| end + 4))
}

/// Decodes a backslash followed by this character ("String Literals", special character escape sequences).
fn decode_escape(c: char) -> String {
    match c {
        '0' => "\0".into(),
        'b' => "\u{8}".into(),
        'n' => "\n".into(),
        'r' => "\r".into(),
        't' => "\t".into(),
        'Z' => "\u{1a}".into(),
        // The backslash is kept for patterns.
        '%' | '_' => format!("\\{c}"),
        c => c.to_string(),
    }
}
