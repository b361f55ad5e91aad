//! Location of JSON documents in a text and of their strings, so that masking keeps the documents valid.

use std::ops::Range;

use serde::de::IgnoredAny;

/// Finds complete JSON documents: each begins with a brace or a bracket at the start of the text or of a line.
pub fn documents(text: &str) -> Vec<Range<usize>> {
    let (mut found, mut from) = (Vec::new(), 0);
    while let Some(start) = next_start(text, from) {
        let mut documents = serde_json::Deserializer::from_str(&text[start..]).into_iter::<IgnoredAny>();
        from = match documents.next() {
            Some(Ok(_)) => {
                let end = start + documents.byte_offset();
                found.push(start..end);
                end
            }
            // The rest of the line is not searched.
            _ => text[start..].find('\n').map_or(text.len(), |at| start + at),
        };
    }
    found
}

/// Returns the next possible start of a document at or after `from`.
fn next_start(text: &str, from: usize) -> Option<usize> {
    let begins = |at: &usize| text[..*at].trim_end_matches([' ', '\t']).chars().next_back().is_none_or(|c| c == '\n');
    text[from..].match_indices(['{', '[']).map(|(at, _)| from + at).find(begins)
}

/// Iterates over the strings of a document, including keys, as written between their quotes.
pub fn texts(document: &str) -> impl Iterator<Item = &str> {
    let mut rest = document;
    std::iter::from_fn(move || {
        let (_, inner, behind) = next_text(rest)?;
        rest = behind;
        Some(inner)
    })
}

/// Returns the text before the next string, the string, and the rest.
fn next_text(document: &str) -> Option<(&str, &str, &str)> {
    let (before, inner) = document.split_once('"')?;
    let is_end = |at: &usize| !ends_in_escape(&inner[..*at]);
    let end = inner.match_indices('"').map(|(at, _)| at).find(is_end)?;
    Some((before, &inner[..end], &inner[end + 1..]))
}

/// Returns `true` if the text ends with a backslash that escapes the next character.
pub fn ends_in_escape(text: &str) -> bool {
    !text.bytes().rev().take_while(|b| *b == b'\\').count().is_multiple_of(2)
}

/// Rewrites a document: `text` replaces each string (its flag is set for keys), and `number` replaces each number for
/// which it returns a string.
pub fn rewrite(
    document: &str,
    mut text: impl FnMut(&str, bool) -> String,
    mut number: impl FnMut(&str) -> Option<String>,
) -> String {
    let (mut out, mut rest) = (String::with_capacity(document.len()), document);
    while let Some((before, inner, behind)) = next_text(rest) {
        copy_between(before, &mut out, &mut number);
        let is_key = behind.trim_start().starts_with(':');
        out.extend(["\"", &text(inner, is_key), "\""]);
        rest = behind;
    }
    copy_between(rest, &mut out, &mut number);
    out
}

/// Copies the text between strings: punctuation, whitespace, words and numbers.
fn copy_between(between: &str, out: &mut String, number: &mut impl FnMut(&str) -> Option<String>) {
    let is_mark = |c: char| c.is_ascii_whitespace() || "{}[],:".contains(c);
    for piece in between.split_inclusive(is_mark) {
        let scalar = piece.trim_end_matches(is_mark);
        let other = Some(scalar).filter(|scalar| scalar.starts_with(|c: char| c == '-' || c.is_ascii_digit()));
        match other.and_then(&mut *number) {
            Some(text) => out.extend(["\"", &text, "\"", &piece[scalar.len()..]]),
            None => out.push_str(piece),
        }
    }
}
