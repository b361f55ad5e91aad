//! Secret literals in SQL that belong to a column by their position: `INSERT INTO u (name, password) VALUES ('ann', 'pw')`.

use super::names::{is_doubtful, is_secret};
use super::positions::SecretSpans;
use super::sql::literal;

/// Maximum length of a list of columns in bytes; the bound keeps the time linear for a text with many.
const LONGEST_LIST: usize = 4096;

/// Finds the literals of columns with a secret name.
pub fn literals<'a>(spans: &mut SecretSpans<'a>, text: &'a str) {
    const WORD: &str = "values";
    let mut from = 0;
    while let Some(at) = find_word(text, from, WORD) {
        let (before, mut rest) = (&text[..at], &text[at + WORD.len()..]);
        if let Some(secret) = columns(before) {
            while let Some(tuple) = rest.trim_start_matches([',', ' ', '\n', '\r', '\t']).strip_prefix('(') {
                rest = values(spans, tuple, &secret);
            }
        }
        from = text.len() - rest.len();
    }
}

/// Returns the position of the next occurrence of a word, in any case.
fn find_word(text: &str, from: usize, word: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let is_word = |at: &usize| {
        let alone = |byte: Option<&u8>| !byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
        bytes[*at..*at + word.len()].eq_ignore_ascii_case(word.as_bytes())
            && alone(at.checked_sub(1).and_then(|before| bytes.get(before)))
            && alone(bytes.get(at + word.len()))
    };
    (from..=bytes.len().checked_sub(word.len())?).find(is_word)
}

/// Returns for each column of the list at the end of a text whether its name is that of a secret; `None` without such a
/// list, and if none of them is.
fn columns(before: &str) -> Option<Vec<bool>> {
    let list = before.trim_end().strip_suffix(')')?;
    let list = &list[list.ceil_char_boundary(list.len().saturating_sub(LONGEST_LIST))..];
    let (_, list) = list.rsplit_once('(')?;
    let quotes = |c: char| c.is_whitespace() || "`\"\\[]".contains(c);
    let names = list.split(',').map(|column| column.trim_matches(quotes));
    // The key of a row is its name.
    let secret: Vec<bool> =
        names.map(|name| is_secret(name, "x") && !is_doubtful(name) && !name.eq_ignore_ascii_case("key")).collect();
    secret.contains(&true).then_some(secret)
}

/// Hides the secret literals of a tuple, also those of functions (`SHA2('pw', 256)`); returns the text behind it.
fn values<'a>(spans: &mut SecretSpans<'a>, tuple: &'a str, secret: &[bool]) -> &'a str {
    let (mut rest, mut column, mut depth) = (tuple, 0, 0);
    while let Some(next) = rest.chars().next() {
        let behind = &rest[next.len_utf8()..];
        match next {
            '\'' | '"' => {
                let (text, behind) = literal(rest);
                if secret.get(column) == Some(&true) {
                    spans.hide(text);
                }
                rest = behind;
                continue;
            }
            ')' if depth == 0 => return behind,
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => column += 1,
            _ => {}
        }
        rest = behind;
    }
    rest
}
