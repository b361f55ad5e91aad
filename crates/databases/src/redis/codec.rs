//! RESP2 and RESP3: the line that begins every value. Stateless.
//!
//! "Redis serialization protocol specification", redis.io. The line of a string or an aggregate announces how much
//! follows; all other values consist of that line alone. Rejected: streamed strings and aggregates (`$?`, `*?`, `;`,
//! `.`), which no server sends.

use brunt_contract::ProtocolError;

/// Maximum length of a reply line, in bytes: simple strings and errors have no announced length.
pub const LINE_BOUND: usize = 64 * 1024;
/// Maximum number of elements or bytes that one line may announce.
const ANNOUNCED_BOUND: u64 = 1 << 40;

/// A parsed line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyLine {
    /// A value that consists of the line alone: a simple string, a number, a boolean.
    Value,
    /// A null value: `$-1`, `*-1` or `_`.
    Null,
    /// An error that consists of the line alone.
    Error,
    /// A string of this many bytes, followed by CR LF.
    Bytes(u64),
    /// An error of this many bytes, followed by CR LF.
    LongError(u64),
    /// An aggregate of this many values: an array, a set, a map (two for each entry).
    Values(u64),
    /// Attributes of this many values, which describe the value after them.
    Attributes(u64),
    /// An unsolicited message of this many values.
    Push(u64),
}

/// Parses a line without its CR LF.
///
/// # Errors
/// Returns an error if the line is not valid in RESP2 or RESP3.
#[inline]
pub fn parse_line(line: &[u8]) -> Result<ReplyLine, ProtocolError> {
    let Some((kind, rest)) = line.split_first() else { return Err(ProtocolError(brunt_cause::redis::empty_line())) };
    Ok(match kind {
        b'$' if rest == b"-1" => ReplyLine::Null,
        b'$' | b'=' => ReplyLine::Bytes(parse_count(rest)?),
        b'+' => ReplyLine::Value,
        b':' if is_integer(rest) => ReplyLine::Value,
        b'-' => ReplyLine::Error,
        b'*' if rest == b"-1" => ReplyLine::Null,
        b'*' | b'~' => ReplyLine::Values(parse_count(rest)?),
        b'%' => ReplyLine::Values(parse_count(rest)? * 2),
        b'|' => ReplyLine::Attributes(parse_count(rest)? * 2),
        b'>' => ReplyLine::Push(parse_count(rest)?),
        b'_' if rest.is_empty() => ReplyLine::Null,
        b'#' if rest == b"t" || rest == b"f" => ReplyLine::Value,
        b',' if is_double(rest) => ReplyLine::Value,
        b'(' if is_integer(rest) => ReplyLine::Value,
        b'!' => ReplyLine::LongError(parse_count(rest)?),
        b':' | b'_' | b'#' | b',' | b'(' => return Err(ProtocolError(brunt_cause::redis::wrong_value())),
        b';' | b'.' => return Err(ProtocolError(brunt_cause::redis::streamed())),
        _ => return Err(type_error(*kind)),
    })
}

/// Checks the first byte of a line that is incomplete or malformed at its end.
///
/// # Errors
/// Returns an error if no line begins with this byte.
#[cold]
pub fn check_first_byte(kind: u8) -> Result<(), ProtocolError> {
    if b"+-:$*_#,(!=%|~>;.\r\n".contains(&kind) { Ok(()) } else { Err(type_error(kind)) }
}

fn type_error(kind: u8) -> ProtocolError {
    // A TLS alert is recognized by its first byte, which begins no RESP line.
    if kind == 0x15 { SPEAKS_TLS } else { ProtocolError(brunt_cause::redis::no_type()) }
}

const SPEAKS_TLS: ProtocolError = ProtocolError(brunt_cause::redis::uses_tls());

/// Parses a length or a number of elements.
#[inline]
fn parse_count(digits: &[u8]) -> Result<u64, ProtocolError> {
    if digits == b"?" {
        return Err(ProtocolError(brunt_cause::redis::streamed()));
    }
    if digits.is_empty() || digits.len() > 15 {
        return Err(NO_COUNT);
    }
    let mut value = 0;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return Err(NO_COUNT);
        }
        value = value * 10 + u64::from(digit);
    }
    if value > ANNOUNCED_BOUND { Err(ProtocolError(brunt_cause::redis::too_many())) } else { Ok(value) }
}

const NO_COUNT: ProtocolError = ProtocolError(brunt_cause::redis::no_count());

#[inline]
fn is_integer(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+")).unwrap_or(text);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// Returns `true` for the forms of a double: `1.23`, `10`, `1e10`, `inf`, `-inf`, `nan`.
fn is_double(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| text.parse::<f64>().is_ok())
}
