//! JSON documents in a text and their scalars, so that masking keeps the documents valid.

use std::ops::Range;

use serde::de::IgnoredAny;

use super::names::is_secret_header;

/// Number of places within lines at which a document is looked for in vain, which keeps the search linear.
const TRIED: usize = 32;

/// A kind of scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalarKind {
    /// The key of an object.
    Key,
    /// A string that is a value.
    Text,
    /// A number.
    Number,
}

/// A scalar of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scalar<'a> {
    /// Its text; for strings, without the quotes and as written.
    pub text: &'a str,
    /// Its kind.
    pub kind: ScalarKind,
    /// The key it belongs to: its own, or that of the list it is in; empty if there is none.
    pub name: &'a str,
    /// Set if it is in an object whose key marks a secret.
    pub inside: bool,
}

/// Finds complete JSON documents: objects anywhere, and lists that begin a line.
pub fn documents(text: &str) -> Vec<Range<usize>> {
    let (mut found, mut from, mut tried) = (Vec::new(), 0, 0);
    while let Some(start) = text[from..].find(['{', '[']).map(|at| from + at) {
        let begins = text[..start].trim_end_matches([' ', '\t']).chars().next_back().is_none_or(|c| c == '\n');
        from = start + 1;
        if !begins && (text.as_bytes()[start] == b'[' || tried == TRIED) {
            continue;
        }
        let mut documents = serde_json::Deserializer::from_str(&text[start..]).into_iter::<IgnoredAny>();
        match documents.next() {
            Some(Ok(_)) => {
                from = start + documents.byte_offset();
                found.push(start..from);
            }
            // This is a part of a document: the rest of the line is not searched.
            _ if begins => from = text[start..].find('\n').map_or(text.len(), |at| start + at),
            _ => tried += 1,
        }
    }
    found
}

/// An object or list that is open.
struct OpenValue<'a> {
    object: bool,
    /// Set if a key follows.
    awaits_key: bool,
    key: &'a str,
    inside: bool,
}

/// Returns the scalars of a valid document in order, except words such as `true`.
pub fn scalars(document: &str) -> Vec<Scalar<'_>> {
    let (mut found, mut open) = (Vec::new(), Vec::<OpenValue<'_>>::new());
    let (bytes, mut at) = (document.as_bytes(), 0);
    while let Some(byte) = bytes.get(at) {
        let (name, inside) = open.last().map_or(("", false), |level| (level.key, level.inside));
        let mut push = |text, kind, name| found.push(Scalar { text, kind, name, inside });
        at += 1;
        match byte {
            b'{' | b'[' => {
                let object = *byte == b'{';
                let inside = inside || (object && is_secret_header(name, "x"));
                open.push(OpenValue { object, awaits_key: object, key: name, inside });
            }
            b'}' | b']' => _ = open.pop(),
            b',' => open.iter_mut().last().into_iter().for_each(|level| level.awaits_key = level.object),
            b'"' => {
                let inner = &document[at..at + length(&bytes[at..])];
                at += inner.len() + 1;
                match open.last_mut().filter(|level| level.awaits_key) {
                    Some(level) => {
                        (level.key, level.awaits_key) = (inner, false);
                        push(inner, ScalarKind::Key, "");
                    }
                    None => push(inner, ScalarKind::Text, name),
                }
            }
            b'-' | b'0'..=b'9' => {
                let more = bytes[at..].iter().take_while(|b| b.is_ascii_digit() || b"+-.eE".contains(b)).count();
                push(&document[at - 1..at + more], ScalarKind::Number, name);
                at += more;
            }
            _ => {}
        }
    }
    found
}

/// Returns the length of a string up to its closing quote.
fn length(inner: &[u8]) -> usize {
    let mut at = 0;
    while at < inner.len() && inner[at] != b'"' {
        at += 1 + usize::from(inner[at] == b'\\');
    }
    at.min(inner.len())
}

/// Returns `true` if the text ends with a backslash that escapes the next character.
pub fn ends_in_escape(text: &str) -> bool {
    !text.bytes().rev().take_while(|b| *b == b'\\').count().is_multiple_of(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_found_in_heads_bodies_and_lines() {
        let of = |text: &'static str| documents(text).into_iter().map(|range| &text[range]).collect::<Vec<_>>();
        assert_eq!(of("A: b\r\n\r\n{\"a\":[1]}\n[2] x"), ["{\"a\":[1]}", "[2]"]);
        assert_eq!(of("data: {\"a\":{}}\ndata: [1] {\"b\":2}"), ["{\"a\":{}}", "{\"b\":2}"]);
        assert_eq!(of("{\"cut\":{\"a\":1},\n{}"), ["{}"]);
        assert_eq!(of("Bearer {token} {"), [""; 0]);
    }

    #[test]
    fn scalars_know_their_keys() {
        let document = r#"{"a":"x\"y","list":[1,"two"],"token":{"v":[-3e2],"t":true},"b":{}, "c" : "d"}"#;
        let all: Vec<_> = scalars(document).into_iter().map(|s| (s.kind, s.name, s.text, s.inside)).collect();
        let values: Vec<_> = all.iter().filter(|s| s.0 != ScalarKind::Key).map(|s| (s.1, s.2, s.3)).collect();
        let wanted = [
            ("a", "x\\\"y", false),
            ("list", "1", false),
            ("list", "two", false),
            ("v", "-3e2", true),
            ("c", "d", false),
        ];
        assert_eq!(values, wanted);
        let keys: Vec<_> = all.iter().filter(|s| s.0 == ScalarKind::Key).map(|s| s.2).collect();
        assert_eq!(keys, ["a", "list", "token", "v", "t", "b", "c"]);
    }
}
