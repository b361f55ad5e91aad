//! RESP2 and RESP3: what the line says that begins every value. Stateless, and nothing is kept.
//!
//! "Redis serialization protocol specification", redis.io. Strings and aggregates say in their line how much follows; all
//! other values are the line. Refused: streamed strings and aggregates (`$?`, `*?`, `;`, `.`), which no server sends.

use wire::Broken;

/// The longest line of a reply: simple strings and errors have no length of their own.
pub const LINE_BOUND: usize = 64 * 1024;
/// The most elements or bytes that one line may announce.
const ANNOUNCED_BOUND: u64 = 1 << 40;

/// What a line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// The line is the value: a simple string, a number, a boolean.
    Value,
    /// Nothing: `$-1`, `*-1` or `_`.
    Null,
    /// The line is an error.
    Error,
    /// A string of so many bytes, and CR LF behind them.
    Bytes(u64),
    /// An error of so many bytes, and CR LF behind them.
    LongError(u64),
    /// So many values follow: an array, a set, a map (two for each entry).
    Values(u64),
    /// So many values follow that describe the value behind them.
    Attributes(u64),
    /// So many values follow that nobody asked for.
    Push(u64),
}

/// Reads a line without its CR LF.
///
/// # Errors
/// It is none of RESP2 or RESP3.
#[inline]
pub fn head(line: &[u8]) -> Result<Head, Broken> {
    let Some((kind, rest)) = line.split_first() else { return Err(Broken(cause::redis::empty_line())) };
    Ok(match kind {
        b'$' if rest == b"-1" => Head::Null,
        b'$' | b'=' => Head::Bytes(count(rest)?),
        b'+' => Head::Value,
        b':' if is_integer(rest) => Head::Value,
        b'-' => Head::Error,
        b'*' if rest == b"-1" => Head::Null,
        b'*' | b'~' => Head::Values(count(rest)?),
        b'%' => Head::Values(count(rest)? * 2),
        b'|' => Head::Attributes(count(rest)? * 2),
        b'>' => Head::Push(count(rest)?),
        b'_' if rest.is_empty() => Head::Null,
        b'#' if rest == b"t" || rest == b"f" => Head::Value,
        b',' if is_double(rest) => Head::Value,
        b'(' if is_integer(rest) => Head::Value,
        b'!' => Head::LongError(count(rest)?),
        b':' | b'_' | b'#' | b',' | b'(' => return Err(Broken(cause::redis::wrong_value())),
        b';' | b'.' => return Err(Broken(cause::redis::streamed())),
        _ => return Err(no_type(*kind)),
    })
}

/// Looks at the first byte of a line that is not whole, or does not end as it should.
///
/// # Errors
/// No line begins with it.
#[cold]
pub fn may_begin(kind: u8) -> Result<(), Broken> {
    if b"+-:$*_#,(!=%|~>;.\r\n".contains(&kind) { Ok(()) } else { Err(no_type(kind)) }
}

fn no_type(kind: u8) -> Broken {
    // An alert of TLS is told by its first byte: nothing of RESP begins so.
    if kind == 0x15 { SPEAKS_TLS } else { Broken(cause::redis::no_type()) }
}

const SPEAKS_TLS: Broken = Broken(cause::redis::uses_tls());

/// A length or a number of elements.
#[inline]
fn count(digits: &[u8]) -> Result<u64, Broken> {
    if digits == b"?" {
        return Err(Broken(cause::redis::streamed()));
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
    if value > ANNOUNCED_BOUND { Err(Broken(cause::redis::too_many())) } else { Ok(value) }
}

const NO_COUNT: Broken = Broken(cause::redis::no_count());

#[inline]
fn is_integer(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+")).unwrap_or(text);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// `1.23`, `10`, `1e10`, `inf`, `-inf`, `nan`.
fn is_double(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| text.parse::<f64>().is_ok())
}
