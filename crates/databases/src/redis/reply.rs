//! Conversion of a whole reply for captures: strings remain unchanged, aggregates become JSON.

use brunt_cause::StaticCause;
use memchr::memchr;

use super::codec::{self, ReplyLine};

/// Maximum nesting depth of replies that are converted.
const DEEPEST: usize = 64;

/// A converted reply.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ConvertedReply {
    /// Text of a scalar reply; JSON for an aggregate, and for the replies of several commands.
    pub body: Vec<u8>,
    /// Set if the reply is nil.
    pub is_nil: bool,
}

/// Converts `many` consecutive replies.
///
/// # Errors
/// Returns the reason why they cannot be converted.
pub fn convert_replies(replies: &[u8], many: u32) -> Result<ConvertedReply, StaticCause> {
    let mut rest = replies;
    if many == 1 && !matches!(rest.first(), Some(b'*' | b'~' | b'%' | b'|')) {
        let text = read_scalar(&mut rest)?;
        return Ok(ConvertedReply { is_nil: text.is_none(), body: text.unwrap_or_default() });
    }
    let mut body = Vec::new();
    if many == 1 {
        append_value(&mut rest, DEEPEST, &mut body)?;
        return Ok(ConvertedReply { is_nil: body == b"null", body });
    }
    append_list(&mut rest, u64::from(many), DEEPEST, &mut body)?;
    Ok(ConvertedReply { body, is_nil: false })
}

const CUT: StaticCause = brunt_cause::redis::incomplete();
const DEEP: StaticCause = brunt_cause::redis::too_deep();

fn read_line<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], StaticCause> {
    let end = memchr(b'\n', rest).ok_or(CUT)?;
    let line = rest[..end].strip_suffix(b"\r").ok_or(CUT)?;
    *rest = &rest[end + 1..];
    Ok(line)
}

/// Reads the text of a string or a number; `None` for a null value.
fn read_scalar(rest: &mut &[u8]) -> Result<Option<Vec<u8>>, StaticCause> {
    let line = read_line(rest)?;
    match codec::parse_line(line).map_err(|broken| broken.0)? {
        ReplyLine::Null => Ok(None),
        ReplyLine::Bytes(size) | ReplyLine::LongError(size) => {
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

fn append_value(rest: &mut &[u8], deep: usize, out: &mut Vec<u8>) -> Result<(), StaticCause> {
    let deep = deep.checked_sub(1).ok_or(DEEP)?;
    let kind = *rest.first().ok_or(CUT)?;
    match kind {
        b'*' | b'~' | b'>' | b'%' | b'|' => {
            let count = match codec::parse_line(read_line(rest)?).map_err(|broken| broken.0)? {
                ReplyLine::Values(count) | ReplyLine::Push(count) => count,
                ReplyLine::Attributes(count) => {
                    // Attributes describe the value after them.
                    let mut described = Vec::new();
                    (0..count).try_for_each(|_| append_value(rest, deep, &mut described))?;
                    return append_value(rest, deep, out);
                }
                _ => {
                    out.extend_from_slice(b"null");
                    return Ok(());
                }
            };
            if kind == b'%' { append_map(rest, count / 2, deep, out) } else { append_list(rest, count, deep, out) }
        }
        _ => {
            let Some(text) = read_scalar(rest)? else {
                out.extend_from_slice(b"null");
                return Ok(());
            };
            match kind {
                b':' | b'(' | b',' => append_number(&text, out),
                b'#' => out.extend_from_slice(if text == b"t" { b"true" } else { b"false" }),
                _ => append_string(&text, out),
            }
            Ok(())
        }
    }
}

fn append_list(rest: &mut &[u8], count: u64, deep: usize, out: &mut Vec<u8>) -> Result<(), StaticCause> {
    out.push(b'[');
    for at in 0..count {
        if at > 0 {
            out.push(b',');
        }
        append_value(rest, deep, out)?;
    }
    out.push(b']');
    Ok(())
}

fn append_map(rest: &mut &[u8], count: u64, deep: usize, out: &mut Vec<u8>) -> Result<(), StaticCause> {
    out.push(b'{');
    for at in 0..count {
        if at > 0 {
            out.push(b',');
        }
        let mut key = Vec::new();
        append_value(rest, deep, &mut key)?;
        // Keys of JSON objects are strings.
        if key.starts_with(b"\"") {
            out.extend(key)
        } else {
            append_string(&key, out)
        }
        out.push(b':');
        append_value(rest, deep, out)?;
    }
    out.push(b'}');
    Ok(())
}

/// Appends a number: unchanged if it is valid JSON, `+5` without its sign, and `007`, `1.` or `inf` as a string.
fn append_number(text: &[u8], out: &mut Vec<u8>) {
    let unsigned = text.strip_prefix(b"+").unwrap_or(text);
    match serde_json::from_slice::<serde_json::Number>(unsigned) {
        Ok(_) => out.extend_from_slice(unsigned),
        Err(_) => append_string(text, out),
    }
}

fn append_string(text: &[u8], out: &mut Vec<u8>) {
    let text = String::from_utf8_lossy(text);
    // Serializing a text as a JSON string cannot fail.
    out.extend(serde_json::to_vec(&*text).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(replies: &str, many: u32) -> String {
        let said = convert_replies(replies.as_bytes(), many).expect("whole");
        String::from_utf8(said.body).expect("text") + if said.is_nil { " (nothing)" } else { "" }
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
        assert_eq!(convert_replies(b"*2\r\n+a\r\n", 1), Err(CUT));
        assert_eq!(convert_replies(b"$5\r\nab", 1), Err(CUT));
        assert_eq!(convert_replies("*1\r\n".repeat(100).as_bytes(), 1), Err(DEEP));
    }
}
