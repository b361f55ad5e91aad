//! Documents of JSON in a text, and the texts in them, found so that masking leaves them whole.

use std::ops::Range;

use serde::de::IgnoredAny;

/// Whole documents of JSON: each begins the text, a body or a line with a brace or a bracket.
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
            // A line is not looked at again from within.
            _ => text[start..].find('\n').map_or(text.len(), |at| start + at),
        };
    }
    found
}

/// Where a document may begin, from a place on.
fn next_start(text: &str, from: usize) -> Option<usize> {
    let begins = |at: &usize| text[..*at].trim_end_matches([' ', '\t']).chars().next_back().is_none_or(|c| c == '\n');
    text[from..].match_indices(['{', '[']).map(|(at, _)| from + at).find(begins)
}

/// The texts of a document, keys too, as they are written between their quotes.
pub fn texts(document: &str) -> impl Iterator<Item = &str> {
    let mut rest = document;
    std::iter::from_fn(move || {
        let inner = &rest[rest.find('"')? + 1..];
        let is_end = |at: &usize| inner[..*at].bytes().rev().take_while(|b| *b == b'\\').count().is_multiple_of(2);
        let end = inner.match_indices('"').map(|(at, _)| at).find(is_end)?;
        rest = &inner[end + 1..];
        Some(&inner[..end])
    })
}
