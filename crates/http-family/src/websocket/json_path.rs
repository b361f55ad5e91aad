//! The value of one field in a JSON text, found without parsing the rest.
//!
//! A path names members of objects: `seq`, or `data.id`. Everything else is skipped without validation: the purpose is
//! to match answers with messages, not to check JSON. Not supported: array indices.

/// A path of member names: `data.id`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonPath(Vec<Box<[u8]>>);

impl JsonPath {
    /// Parses a path; returns `None` if a name in it is empty.
    pub fn parse(path: &str) -> Option<JsonPath> {
        let names: Vec<Box<[u8]>> = path.split('.').map(|name| name.as_bytes().into()).collect();
        names.iter().all(|name| !name.is_empty()).then_some(JsonPath(names))
    }

    /// Returns a key for the field's value, equal for `7` and `"7"`; `None` if there is no such field.
    #[inline]
    pub fn key(&self, json: &[u8]) -> Option<u64> {
        let value = self.find(json)?;
        match value {
            [b'"', text @ .., b'"'] if text.contains(&b'\\') => Some(fnv(&unescaped(text))),
            [b'"', text @ .., b'"'] => Some(fnv(text)),
            plain => Some(fnv(plain)),
        }
    }

    /// Returns the value as written in the text.
    fn find<'a>(&self, json: &'a [u8]) -> Option<&'a [u8]> {
        let (last, outer) = self.0.split_last()?;
        let mut text = json;
        for name in outer {
            text = member(text, name)?;
        }
        member(text, last)
    }
}

/// Returns the value of a member of the object at the beginning of `text`.
fn member<'a>(text: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let mut rest = text.trim_ascii_start().strip_prefix(b"{")?.trim_ascii_start();
    loop {
        let key = value(rest).filter(|key| key.starts_with(b"\""))?;
        rest = rest[key.len()..].trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
        let value = value(rest)?;
        if &key[1..key.len() - 1] == name {
            return Some(value);
        }
        rest = rest[value.len()..].trim_ascii_start().strip_prefix(b",")?.trim_ascii_start();
    }
}

/// Returns the value at the beginning of `text`.
fn value(text: &[u8]) -> Option<&[u8]> {
    let end = match text.first()? {
        b'"' => string_end(text)?,
        b'{' | b'[' => nested_end(text)?,
        _ => text.iter().position(|b| matches!(b, b',' | b'}' | b']' | b':' | b'"') || b.is_ascii_whitespace())?,
    };
    Some(&text[..end]).filter(|value| !value.is_empty())
}

/// Returns the end offset of a string that begins with a quotation mark.
fn string_end(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// Returns the end offset of an object or array.
fn nested_end(text: &[u8]) -> Option<usize> {
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => at += string_end(&text[at..])? - 1,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// Decodes the escapes of a string (RFC 8259 7); an invalid string is returned unchanged.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let whole = [b"\"", text, b"\""].concat();
    let read = std::str::from_utf8(&whole).ok().and_then(|whole| {
        let mut plain = String::with_capacity(whole.len());
        let mut chars = whole[1..whole.len() - 1].chars();
        let mut units: Vec<u16> = Vec::new();
        loop {
            let next = chars.next();
            let escape = (next == Some('\\')).then(|| chars.next()).flatten();
            if escape == Some('u') {
                let hex = chars.as_str().get(..4)?;
                units.push(u16::from_str_radix(hex, 16).ok()?);
                chars = chars.as_str()[4..].chars();
                continue;
            }
            plain.extend(char::decode_utf16(units.drain(..)).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)));
            match (next, escape) {
                (None, _) => return Some(plain),
                (Some(_), Some('n')) => plain.push('\n'),
                (Some(_), Some('t')) => plain.push('\t'),
                (Some(_), Some('r')) => plain.push('\r'),
                (Some(_), Some('b')) => plain.push('\u{8}'),
                (Some(_), Some('f')) => plain.push('\u{c}'),
                (Some(_), Some(other)) => plain.push(other),
                (Some(c), None) => plain.push(c),
            }
        }
    });
    read.map_or_else(|| text.to_vec(), String::into_bytes)
}

/// Computes the 64-bit FNV-1a hash: a collision between two values of a run is less likely than a faulty processor.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        let table = [
            (r#"{"seq":7}"#, "seq", Some("7")),
            (r#" { "a" : [1,{"seq":2},"]"] , "seq" : -1.5e3 } "#, "seq", Some("-1.5e3")),
            (r#"{"seq":"a\"b","x":1}"#, "seq", Some(r#""a\"b""#)),
            (r#"{"data":{"seq":1,"id":"q"},"id":2}"#, "data.id", Some(r#""q""#)),
            (r#"{"data":{"id":[1,2]}}"#, "data.id", Some("[1,2]")),
            (r#"{"seq":null}"#, "seq", Some("null")),
            (r#"{"seq":}"#, "seq", None),
            (r#"{"other":1}"#, "seq", None),
            (r#"{"data":1}"#, "data.id", None),
            (r#"[{"seq":1}]"#, "seq", None),
            ("", "seq", None),
            ("{", "seq", None),
            (r#"{"seq"#, "seq", None),
            (r#"{"seq":"never ends"#, "seq", None),
            (r#"{"a\"#, "seq", None),
            (r#"{]"#, "seq", None),
            (r#"{"a":]"#, "seq", None),
            (r#"{"a":[}"#, "seq", None),
        ];
        for (json, path, expected) in table {
            let field = JsonPath::parse(path).unwrap();
            assert_eq!(field.find(json.as_bytes()), expected.map(str::as_bytes), "{json}");
        }
        assert_eq!([JsonPath::parse(""), JsonPath::parse("a..b"), JsonPath::parse("a.")], [None, None, None]);
    }

    #[test]
    fn values_that_mean_the_same_have_the_same_key() {
        let field = JsonPath::parse("k").unwrap();
        let key = |value: &str| field.key(format!("{{\"k\":{value}}}").as_bytes()).unwrap();
        for (one, other) in [
            ("7", "\"7\""),
            (r#""a/b""#, r#""a\/b""#),
            ("\"\u{20ac}\"", "\"\\u20ac\""),
            ("\"\u{1f600}\"", "\"\\ud83d\\ude00\""),
            (r#""\n\t\"""#, r#""\u000a\u0009\u0022""#),
        ] {
            assert_eq!(key(one), key(other), "{one} {other}");
        }
        assert_ne!(key("7"), key("8"));
        assert_ne!(key(r#""\u00e""#), key(r#""\u00ea""#), "half an escape is not an escape");
    }

    proptest::proptest! {
        #[test]
        fn noise_is_no_trouble(noise in "[{}\\[\\]\":,\\\\ a-c0-9u]{0,40}") {
            let _ = JsonPath::parse("a.b").unwrap().key(noise.as_bytes());
        }
    }
}
