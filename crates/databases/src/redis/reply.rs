//! Conversion of a whole reply for captures: strings as they are, aggregates as JSON.

use cause::Plain;
use memchr::memchr;

use super::codec::{self, Head};

/// Maximum nesting depth of replies that are converted.
const DEEPEST: usize = 64;

/// A converted reply.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// Text of a scalar reply; JSON for an aggregate, and for the replies of several commands.
    pub body: Vec<u8>,
    /// Set if the reply is nil.
    pub nothing: bool,
}

/// Converts `many` consecutive replies.
///
/// # Errors
/// The reason for which they cannot be converted.
pub fn said(replies: &[u8], many: u32) -> Result<Said, Plain> {
    let mut rest = replies;
    if many == 1 && !matches!(rest.first(), Some(b'*' | b'~' | b'%' | b'|')) {
        let text = scalar(&mut rest)?;
        return Ok(Said { nothing: text.is_none(), body: text.unwrap_or_default() });
    }
    let mut body = Vec::new();
    if many == 1 {
        value(&mut rest, DEEPEST, &mut body)?;
        return Ok(Said { nothing: body == b"null", body });
    }
    list(&mut rest, u64::from(many), DEEPEST, &mut body)?;
    Ok(Said { body, nothing: false })
}

const CUT: Plain = cause::redis::incomplete();
const DEEP: Plain = cause::redis::too_deep();

fn line<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], Plain> {
    let end = memchr(b'\n', rest).ok_or(CUT)?;
    let line = rest[..end].strip_suffix(b"\r").ok_or(CUT)?;
    *rest = &rest[end + 1..];
    Ok(line)
}

/// Reads the text of a string or a number; `None` for a null value.
fn scalar(rest: &mut &[u8]) -> Result<Option<Vec<u8>>, Plain> {
    let line = line(rest)?;
    match codec::head(line).map_err(|broken| broken.0)? {
        Head::Null => Ok(None),
        Head::Bytes(size) | Head::LongError(size) => {
            let size = usize::try_from(size).map_err(|_| CUT)?;
            let text = rest.get(..size).ok_or(CUT)?;
            *rest = rest.get(size + 2..).ok_or(CUT)?;
            // A verbatim string begins with its format (RESP3, "Verbatim strings").
            let text = if line[0] == b'=' { text.get(4..).unwrap_or(text) } else { text };
            Ok(Some(text.to_vec()))
        }
        _ => Ok(Some(line[1..].to_vec())),
    }
}

fn value(rest: &mut &[u8], deep: usize, out: &mut Vec<u8>) -> Result<(), Plain> {
    let deep = deep.checked_sub(1).ok_or(DEEP)?;
    let kind = *rest.first().ok_or(CUT)?;
    match kind {
        b'*' | b'~' | b'>' | b'%' | b'|' => {
            let count = match codec::head(line(rest)?).map_err(|broken| broken.0)? {
                Head::Values(count) | Head::Push(count) => count,
                Head::Attributes(count) => {
                    // Attributes describe the value after them.
                    let mut described = Vec::new();
                    (0..count).try_for_each(|_| value(rest, deep, &mut described))?;
                    return value(rest, deep, out);
                }
                _ => {
                    out.extend_from_slice(b"null");
                    return Ok(());
                }
            };
            if kind == b'%' { map(rest, count / 2, deep, out) } else { list(rest, count, deep, out) }
        }
        _ => {
            let Some(text) = scalar(rest)? else {
                out.extend_from_slice(b"null");
                return Ok(());
            };
            match kind {
                b':' | b'(' | b',' => number(&text, out),
                b'#' => out.extend_from_slice(if text == b"t" { b"true" } else { b"false" }),
                _ => string(&text, out),
            }
            Ok(())
        }
    }
}

fn list(rest: &mut &[u8], count: u64, deep: usize, out: &mut Vec<u8>) -> Result<(), Plain> {
    out.push(b'[');
    for at in 0..count {
        if at > 0 {
            out.push(b',');
        }
        value(rest, deep, out)?;
    }
    out.push(b']');
    Ok(())
}

fn map(rest: &mut &[u8], count: u64, deep: usize, out: &mut Vec<u8>) -> Result<(), Plain> {
    out.push(b'{');
    for at in 0..count {
        if at > 0 {
            out.push(b',');
        }
        let mut key = Vec::new();
        value(rest, deep, &mut key)?;
        // Keys of JSON objects are strings.
        if key.starts_with(b"\"") {
            out.extend(key)
        } else {
            string(&key, out)
        }
        out.push(b':');
        value(rest, deep, out)?;
    }
    out.push(b'}');
    Ok(())
}

/// Appends a number: unchanged if it is valid JSON, `+5` without its sign, and `007`, `1.` or `inf` as a string.
fn number(text: &[u8], out: &mut Vec<u8>) {
    let unsigned = text.strip_prefix(b"+").unwrap_or(text);
    match serde_json::from_slice::<serde_json::Number>(unsigned) {
        Ok(_) => out.extend_from_slice(unsigned),
        Err(_) => string(text, out),
    }
}

fn string(text: &[u8], out: &mut Vec<u8>) {
    let text = String::from_utf8_lossy(text);
    // Serializing a text as a JSON string cannot fail.
    out.extend(serde_json::to_vec(&*text).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(replies: &str, many: u32) -> String {
        let said = said(replies.as_bytes(), many).expect("whole");
        String::from_utf8(said.body).expect("text") + if said.nothing { " (nothing)" } else { "" }
    }

    #[test]
    fn texts_stay_as_they_are_and_aggregates_become_json() {
        assert_eq!(shown("$7\r\n{\"a\":1}\r\n", 1), "{\"a\":1}");
        assert_eq!((shown("+OK\r\n", 1), shown(":12\r\n", 1)), ("OK".into(), "12".into()));
        assert_eq!((shown("$-1\r\n", 1), shown("*-1\r\n", 1)), (" (nothing)".into(), "null (nothing)".into()));
        assert_eq!(shown("*3\r\n$1\r\na\r\n:2\r\n*1\r\n$-1\r\n", 1), "[\"a\",2,[null]]");
        assert_eq!(shown("%2\r\n+a\r\n#t\r\n:1\r\n,1.5\r\n", 1), "{\"a\":true,\"1\":1.5}");
        assert_eq!(shown("|1\r\n+ttl\r\n:3\r\n=7\r\ntxt:a\"b\r\n", 1), "\"a\\\"b\"");
        let numbers = "*7\r\n:+5\r\n:007\r\n(-12345678901234567890123\r\n,1.\r\n,+2.5e3\r\n,.5\r\n:-0\r\n";
        assert_eq!(
            shown(numbers, 1),
            "[5,\"007\",-12345678901234567890123,\"1.\",2.5e3,\".5\",-0]",
            "JSON all the same"
        );
        assert_eq!(shown("+OK\r\n$2\r\nab\r\n,inf\r\n", 3), "[\"OK\",\"ab\",\"inf\"]");
    }

    #[test]
    fn what_is_cut_or_endless_is_said() {
        assert_eq!(said(b"*2\r\n+a\r\n", 1), Err(CUT));
        assert_eq!(said(b"$5\r\nab", 1), Err(CUT));
        assert_eq!(said("*1\r\n".repeat(100).as_bytes(), 1), Err(DEEP));
    }
}
