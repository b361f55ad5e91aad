//! SQL dialect of PostgreSQL ("Lexical Structure"): standard strings (a backslash is literal), `E'…'` strings, quoted
//! names, dollar quotes, nested comments. `E'…'` strings and dollar quotes cannot contain slots.

use crate::sql::{SqlPiece, SqlScanner, is_word, unclosed_error};
use brunt_cause::{Complaint, complaint};

/// Splits a text into statements and each into pieces; empty statements are dropped.
///
/// # Errors
/// Returns what is wrong with the text.
pub fn statements(text: &str) -> Result<Vec<Vec<SqlPiece>>, Complaint> {
    let mut scan = SqlScanner::new(text);
    while let Some(next) = scan.peek() {
        let (rest, copied) = (scan.rest(), scan.copied());
        let in_word = ends_in_word(copied);
        match next {
            ';' => scan.end_statement(),
            '\'' if copied.strip_suffix(['e', 'E']).is_some_and(|before| !ends_in_word(before)) => {
                scan.copy(escape_string_length(rest)?);
            }
            '\'' => scan.literal(next, None)?,
            '"' => scan.quoted_name(next)?,
            '$' if !in_word && rest[1..].starts_with(|c: char| c.is_ascii_digit()) => {
                return Err(Complaint::new(
                    "$1 is never filled in; write a slot instead, such as {counter}",
                    "$1 不会被填充；请改写占位符，例如 {counter}",
                ));
            }
            '$' if !in_word => scan.copy(dollar_quote_length(rest)?.unwrap_or(1)),
            '{' => scan.bare_brace(&[])?,
            _ => match comment_length(rest) {
                Some(size) => scan.skip(size),
                None => scan.copy(next.len_utf8()),
            },
        }
    }
    Ok(scan.statements())
}

fn ends_in_word(text: &str) -> bool {
    text.ends_with(is_word)
}

/// Returns the length of the comment at the beginning of `rest`; comments nest.
fn comment_length(rest: &str) -> Option<usize> {
    if rest.starts_with("--") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if !rest.starts_with("/*") {
        return None;
    }
    let (mut depth, mut at) = (0, 0);
    loop {
        match &rest.as_bytes()[at..] {
            [] => return Some(at),
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

/// Returns the length of the quoted part of `E'…'`, in which a backslash escapes the next character.
fn escape_string_length(rest: &str) -> Result<usize, Complaint> {
    let mut escaped = false;
    let end = rest[1..].bytes().position(|byte| {
        let closes = byte == b'\'' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    });
    end.map(|end| end + 2).ok_or_else(|| unclosed_error('\''))
}

/// Returns the length of `$$…$$` or `$tag$…$tag$` at the beginning of `rest`, if there is one.
fn dollar_quote_length(rest: &str) -> Result<Option<usize>, Complaint> {
    let Some(tag) = rest[1..].find('$').map(|end| &rest[..end + 2]) else { return Ok(None) };
    let inner = &tag[1..tag.len() - 1];
    if inner.starts_with(|c: char| c.is_ascii_digit()) || !inner.chars().all(is_word) {
        return Ok(None);
    }
    match rest[tag.len()..].find(tag) {
        Some(end) => Ok(Some(end + 2 * tag.len())),
        None => Err(complaint!("{tag} has no matching end; write both", "{tag} 没有对应的结尾；请两端都写")),
    }
}
