//! Notations for the bytes between slots: plain, with backslash escapes, or hexadecimal.

use brunt_cause::{Complaint, complaint};

/// A notation for bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Notation {
    /// Every character is literal.
    #[default]
    Plain,
    /// `\r \n \t \0 \\ \' \"` and `\xNN`.
    Escaped,
    /// Pairs of hexadecimal digits; white space, commas and colons between them are ignored.
    Hex,
}

impl Notation {
    /// Decodes the unit of a text at `at`, appends its bytes, and returns the position of the next unit.
    ///
    /// # Errors
    /// The unit is invalid; the error describes why.
    pub(super) fn decode_unit(self, text: &str, at: usize, out: &mut Vec<u8>) -> Result<usize, Complaint> {
        let rest = &text[at..];
        let Some(first) = rest.chars().next() else { return Ok(at) };
        match self {
            Notation::Escaped if first == '\\' => return Ok(at + decode_escape(rest, out)?),
            Notation::Hex => return Ok(at + decode_pair(rest, first, out)?),
            _ => out.extend_from_slice(&rest.as_bytes()[..first.len_utf8()]),
        }
        Ok(at + first.len_utf8())
    }

    /// Decodes a whole text without slots.
    ///
    /// # Errors
    /// The text is invalid; the error describes why.
    pub fn decode(self, text: &str) -> Result<Vec<u8>, Complaint> {
        let (mut out, mut at) = (Vec::with_capacity(text.len()), 0);
        while at < text.len() {
            at = self.decode_unit(text, at, &mut out)?;
        }
        Ok(out)
    }
}

/// Decodes one escape and returns its length in the text.
fn decode_escape(rest: &str, out: &mut Vec<u8>) -> Result<usize, Complaint> {
    let byte = match rest.as_bytes().get(1) {
        Some(b'r') => b'\r',
        Some(b'n') => b'\n',
        Some(b't') => b'\t',
        Some(b'0') => 0,
        Some(same @ (b'\\' | b'\'' | b'"')) => *same,
        Some(b'x') => {
            let digits = rest.get(2..4).filter(|digits| digits.bytes().all(|d| d.is_ascii_hexdigit()));
            let value = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
            out.push(value.ok_or(complaint!(
                "\\x must be followed by two hexadecimal digits, as in \\x0d",
                "\\x 后面必须是两位十六进制数字，例如 \\x0d"
            ))?);
            return Ok(4);
        }
        _ => {
            let shown: String = rest.chars().take(2).collect();
            return Err(complaint!(
                "{shown} is not an escape; use \\r \\n \\t \\0 \\xNN, and \\\\ for a backslash itself",
                "{shown} 不是转义序列；请用 \\r \\n \\t \\0 \\xNN，反斜杠本身写作 \\\\"
            ));
        }
    };
    out.push(byte);
    Ok(2)
}

/// Decodes a pair of digits, or skips a separator.
fn decode_pair(rest: &str, first: char, out: &mut Vec<u8>) -> Result<usize, Complaint> {
    if first.is_whitespace() || matches!(first, ',' | ':') {
        return Ok(first.len_utf8());
    }
    let digits = rest.get(..2).filter(|digits| digits.bytes().all(|d| d.is_ascii_hexdigit()));
    let value = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
    out.push(value.ok_or_else(|| {
        let shown: String = rest.chars().take(2).collect();
        complaint!(
            "\"{shown}\" is not a pair of hexadecimal digits; write bytes as 0d0a or 0d 0a",
            "“{shown}”不是两位十六进制数字；字节请写作 0d0a 或 0d 0a"
        )
    })?);
    Ok(2)
}
