//! Secret literals in SQL: those after PASSWORD and IDENTIFIED BY, and those [inserted](inserts) into a column.

use super::inserts;
use super::positions::SecretSpans;

/// Words allowed between the keyword and the literal.
const BETWEEN: [&str; 12] =
    ["by", "as", "with", "using", "via", "password", "old_password", "for", "to", "random", "encrypted", "valid"];

/// Finds the secret literals of statements.
pub fn literals<'a>(spans: &mut SecretSpans<'a>, text: &'a str) {
    let mut from = 0;
    while let Some((at, end)) = keyword(text, from) {
        if let Some(literal) = literal_behind(&text[end..]) {
            spans.hide(literal);
        }
        from = end.max(at + 1);
    }
    inserts::literals(spans, text);
}

/// Returns the range of the next PASSWORD or IDENTIFIED.
fn keyword(text: &str, from: usize) -> Option<(usize, usize)> {
    let is_name = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let bytes = text.as_bytes();
    (from..bytes.len()).find_map(|at| {
        let word = ["password", "old_password", "identified"].into_iter().find(|word| {
            bytes[at..].len() >= word.len() && bytes[at..at + word.len()].eq_ignore_ascii_case(word.as_bytes())
        })?;
        let end = at + word.len();
        // A quote directly after the word ends a string that contains it (`"password":`, `type="password" name=`).
        let goes_on = |b: &u8| is_name(*b) || b"'\"`\\".contains(b);
        let alone = (at == 0 || !is_name(bytes[at - 1])) && !bytes.get(end).is_some_and(goes_on);
        alone.then_some((at, end))
    })
}

/// Returns the literal to which the keyword before this text applies.
fn literal_behind(text: &str) -> Option<&str> {
    let mut rest = text;
    let mut plugin = false;
    // No valid form has more words. The limit keeps the search linear in a text that contains only such words.
    for _ in 0..16 {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '(');
        let first = rest.chars().next()?;
        match first {
            '=' | ':' if rest.starts_with('=') || rest.starts_with(":=") => rest = rest.trim_start_matches([':', '=']),
            '\'' | '"' => {
                let (literal, behind) = literal(rest);
                // This is the account 'user'@'host' whose password is set.
                match behind.strip_prefix('@') {
                    Some(host) => rest = behind_name(host)?,
                    None => return Some(literal),
                }
            }
            c if c.is_ascii_alphabetic() => {
                let word;
                (word, rest) =
                    rest.split_at(rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len()));
                let word = word.to_ascii_lowercase();
                if !BETWEEN.contains(&word.as_str()) && !plugin {
                    return None;
                }
                plugin = matches!(word.as_str(), "with" | "via");
                if word == "for" {
                    rest = behind_name(rest.trim_start())?;
                    rest = rest.strip_prefix('@').map_or(Some(rest), behind_name)?;
                }
            }
            _ => return None,
        }
    }
    None
}

/// Returns the text after a name, the user or the host of an account.
fn behind_name(text: &str) -> Option<&str> {
    match text.chars().next()? {
        '\'' | '"' | '`' => Some(literal(text).1),
        _ => Some(&text[text.find([' ', '=', '@']).unwrap_or(text.len())..]),
    }
}

/// Splits off the first literal, without its quotes. Doubled quotes are one quote.
pub(super) fn literal(text: &str) -> (&str, &str) {
    let quote = text.as_bytes()[0];
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b if b == quote && bytes.get(at + 1) == Some(&quote) => at += 1,
            b if b == quote => return (&text[1..at], &text[at + 1..]),
            _ => {}
        }
        at += 1;
    }
    (&text[1..], "")
}
