//! Numeric fields at declared positions in a message, such as `at 2, 2 bytes, big`, or `at 1, varint`, whose encoding
//! determines its length.

use brunt_cause::{Complaint, complaint};

/// Maximum end offset of a field, in bytes. This much of an answer that arrives in pieces is kept.
pub const FARTHEST: usize = 4096;

/// The encoding of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NumberEncoding {
    Big,
    Little,
    /// Decimal digits, surrounded by optional blanks.
    Digits,
    /// Seven bits per byte, the low ones first; a set high bit means that another byte follows.
    Varint,
    /// A varint of a signed number: 0, -1, 1, -2 are encoded as 0, 1, 2, 3.
    Zigzag,
}

/// Maximum length of a varint in bytes: 64 bits, seven in each byte.
const LONGEST_VARINT: usize = 10;

/// The result of looking for a number in the received part of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldResult {
    /// The field has not fully arrived.
    Incomplete,
    /// The bytes are not a number.
    Invalid,
    /// The number and its end offset.
    Number(u64, usize),
}

/// A declared field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawField {
    at: usize,
    /// Width in bytes; for a varint, the minimum.
    width: usize,
    kind: NumberEncoding,
    mask: u64,
}

/// Optional parts of a declaration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldExtras {
    /// The number to add, declared as `+4` or `-2`.
    pub add: Option<i64>,
    /// The accepted values, declared as `= 0|2|10..20`: the first and last value of each range.
    pub values: Vec<(u64, u64)>,
}

impl RawField {
    /// Parses a declaration: a list of words separated by commas.
    ///
    /// # Errors
    /// Returns a description of the first part that is invalid or missing.
    pub fn parse(text: &str) -> Result<(RawField, FieldExtras), Complaint> {
        let (mut at, mut width, mut kind, mut order, mut mask, mut extras) =
            (None, None, NumberEncoding::Big, None, u64::MAX, FieldExtras::default());
        for word in text.split(',').map(str::trim) {
            let (first, rest) = word.split_once(char::is_whitespace).unwrap_or((word, ""));
            let rest = rest.trim();
            match (first, rest) {
                ("at", _) => at = Some(number(rest)?),
                (_, "byte" | "bytes") => width = Some(number(first)?),
                (_, "digit" | "digits") => (width, kind) = (Some(number(first)?), NumberEncoding::Digits),
                ("varint", "") => (width, kind) = (Some(1), NumberEncoding::Varint),
                ("zigzag", "") => (width, kind) = (Some(1), NumberEncoding::Zigzag),
                ("big", "") => order = Some(NumberEncoding::Big),
                ("little", "") => order = Some(NumberEncoding::Little),
                ("mask", _) => mask = number(rest)?,
                _ if word.starts_with(['+', '-']) => {
                    let add =
                        word.parse().map_err(|_| complaint!("\"{word}\" is not a whole number", "“{word}”不是整数"))?;
                    extras.add = Some(add);
                }
                _ if word.starts_with('=') => extras.values = values(&word[1..])?,
                _ => return Err(complaint!("\"{word}\" is not understood", "无法理解“{word}”")),
            }
        }
        let at = at.ok_or(complaint!("its position is missing (at 0)", "缺少位置（at 0）"))?;
        let width = width.ok_or(complaint!("its size is missing (2 bytes)", "缺少大小（2 bytes）"))?;
        match kind {
            NumberEncoding::Digits if order.is_some() => {
                return Err(complaint!("digits have no byte order", "digits 没有字节序"));
            }
            NumberEncoding::Varint | NumberEncoding::Zigzag if order.is_some() => {
                return Err(complaint!("a varint has only one byte order", "varint 只有一种字节序"));
            }
            _ => {}
        }
        let most = if kind == NumberEncoding::Digits { 20 } else { 8 };
        if !(1..=most).contains(&width) {
            return Err(complaint!(
                "a field cannot have size {width}, only 1 to {most}",
                "字段的大小不能是 {width}，只能是 1 到 {most}"
            ));
        }
        let longest =
            if matches!(kind, NumberEncoding::Varint | NumberEncoding::Zigzag) { LONGEST_VARINT as u64 } else { width };
        if at.saturating_add(longest) > FARTHEST as u64 {
            return Err(complaint!("it lies beyond the first {FARTHEST} bytes", "位于前 {FARTHEST} 字节之外"));
        }
        let kind = order.unwrap_or(kind);
        Ok((RawField { at: at as usize, width: width as usize, kind, mask }, extras))
    }

    /// Returns the end offset of the field in bytes; for a varint, the lowest possible one.
    pub fn end(&self) -> usize {
        self.at + self.width
    }

    /// Converts a number of this field to its signed value.
    pub fn signed(&self, number: u64) -> i128 {
        if self.kind == NumberEncoding::Zigzag { i128::from(number as i64) } else { i128::from(number) }
    }

    /// Reads the number from a message split into two slices. Returns `None` if the message is too short or the digits
    /// are invalid.
    #[inline]
    pub fn read(&self, first: &[u8], second: &[u8]) -> Option<u64> {
        match self.find(first, second) {
            FieldResult::Number(number, _) => Some(number),
            FieldResult::Incomplete | FieldResult::Invalid => None,
        }
    }

    /// Like [`RawField::read`], but returns the end offset too, and distinguishes a missing number from an invalid one.
    #[inline]
    pub fn find(&self, first: &[u8], second: &[u8]) -> FieldResult {
        if matches!(self.kind, NumberEncoding::Varint | NumberEncoding::Zigzag) {
            return self.varint(first, second);
        }
        if first.len() + second.len() < self.end() {
            return FieldResult::Incomplete;
        }
        self.of_width(first, second).map_or(FieldResult::Invalid, |number| FieldResult::Number(number, self.end()))
    }

    /// Reads seven bits from each byte, up to and including the first byte whose high bit is clear.
    fn varint(&self, first: &[u8], second: &[u8]) -> FieldResult {
        let bytes = first.iter().chain(second).skip(self.at).take(LONGEST_VARINT);
        let (mut sum, mut end) = (0u128, self.at);
        for byte in bytes {
            sum |= u128::from(byte & 0x7f) << (7 * (end - self.at));
            end += 1;
            if byte & 0x80 == 0 {
                let Ok(number) = u64::try_from(sum) else { return FieldResult::Invalid };
                let zigzag = self.kind == NumberEncoding::Zigzag;
                let number = if zigzag { number >> 1 ^ (number & 1).wrapping_neg() } else { number };
                return FieldResult::Number(number & self.mask, end);
            }
        }
        if end - self.at == LONGEST_VARINT { FieldResult::Invalid } else { FieldResult::Incomplete }
    }

    #[inline]
    fn of_width(&self, first: &[u8], second: &[u8]) -> Option<u64> {
        if let Some(bytes) = first.get(self.at..self.end()) {
            return self.number(bytes);
        }
        let mut joined = [0; 20];
        for (index, byte) in joined.iter_mut().take(self.width).enumerate() {
            let at = self.at + index;
            *byte = *first.get(at).or_else(|| second.get(at.checked_sub(first.len())?))?;
        }
        self.number(&joined[..self.width])
    }

    #[inline]
    fn number(&self, bytes: &[u8]) -> Option<u64> {
        let number = match self.kind {
            NumberEncoding::Big => bytes.iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte)),
            NumberEncoding::Little => bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte)),
            NumberEncoding::Digits => std::str::from_utf8(bytes).ok()?.trim().parse().ok()?,
            NumberEncoding::Varint | NumberEncoding::Zigzag => return None,
        };
        Some(number & self.mask)
    }
}

/// Parses a whole number, decimal or `0x`.
fn number(text: &str) -> Result<u64, Complaint> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    parsed.ok_or_else(|| complaint!("\"{text}\" is not a whole number", "“{text}”不是整数"))
}

fn values(text: &str) -> Result<Vec<(u64, u64)>, Complaint> {
    let one = |text: &str| match text.trim().split_once("..") {
        Some((low, high)) => {
            let (low, high) = (number(low.trim())?, number(high.trim())?);
            if low <= high {
                Ok((low, high))
            } else {
                Err(complaint!("\"{}\" is not a range", "“{}”不是范围", text.trim()))
            }
        }
        None => number(text.trim()).map(|value| (value, value)),
    };
    text.split('|').map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::{FieldExtras, FieldResult, RawField};

    #[test]
    fn declarations_and_what_they_read() {
        let message = b"\x01\x02\x03\x04\x05\x06\x07\x08 042";
        let table = [
            ("at 0, 1 byte", 1),
            ("at 2, 2 bytes", 0x0304),
            ("at 2, 2 bytes, big", 0x0304),
            ("at 2,2 bytes,little", 0x0403),
            ("at 0x1, 3 bytes", 0x02_0304),
            ("at 0, 8 bytes", 0x0102_0304_0506_0708),
            ("at 3, 1 byte, mask 0x0f", 4),
            ("at 6, 1 byte, mask 3", 3),
            ("at 8, 4 digits", 42),
        ];
        for (text, wanted) in table {
            let (field, extras) = RawField::parse(text).unwrap();
            assert_eq!(extras, FieldExtras::default());
            for cut in 0..=message.len() {
                let (first, second) = message.split_at(cut);
                assert_eq!(field.read(first, second), Some(wanted), "{text} cut at {cut}");
            }
            assert_eq!(field.read(&message[..field.end() - 1], &[]), None, "{text}");
        }
        assert_eq!(RawField::parse("at 0, 4 digits").unwrap().0.read(b"12a4", &[]), None);
    }

    #[test]
    fn varints_wherever_the_message_is_cut() {
        let table: [(&str, &[u8], FieldResult); 10] = [
            ("at 1, varint", b"\x30\x00", FieldResult::Number(0, 2)),
            ("at 1, varint", b"\x30\x7fab", FieldResult::Number(127, 2)),
            ("at 1, varint", b"\x30\xcb\x01ab", FieldResult::Number(203, 3)),
            ("at 0, varint", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", FieldResult::Number(u64::MAX, 10)),
            ("at 0, varint", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", FieldResult::Invalid),
            ("at 0, varint", b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", FieldResult::Invalid),
            ("at 0, varint, mask 0x7f", b"\xcb\x01", FieldResult::Number(75, 2)),
            ("at 0, zigzag", b"\x06", FieldResult::Number(3, 1)),
            ("at 0, zigzag", b"\x01", FieldResult::Number(u64::MAX, 1)),
            ("at 2, zigzag", b"..\x80\x01", FieldResult::Number(64, 4)),
        ];
        for (text, message, wanted) in table {
            let field = RawField::parse(text).unwrap().0;
            for cut in 0..=message.len() {
                let (first, second) = message.split_at(cut);
                assert_eq!(field.find(first, second), wanted, "{text} cut at {cut}");
            }
            if let FieldResult::Number(_, end) = wanted {
                assert_eq!(field.find(&message[..end - 1], b""), FieldResult::Incomplete, "{text}");
            }
        }
        assert_eq!(RawField::parse("at 0, zigzag").unwrap().0.signed(u64::MAX), -1);
    }

    #[test]
    fn what_stands_behind() {
        let behind = |text: &str| RawField::parse(text).unwrap().1;
        assert_eq!(behind("at 2, 2 bytes, +4").add, Some(4));
        assert_eq!(behind("at 2, 2 bytes, -1").add, Some(-1));
        assert_eq!(behind("at 0, 1 byte, = 2|0x10 | 5..9").values, [(2, 2), (16, 16), (5, 9)]);
    }

    #[test]
    fn complaints() {
        let table = [
            ("", "\"\" is not understood"),
            ("2 bytes", "its position is missing (at 0)"),
            ("at 2", "its size is missing (2 bytes)"),
            ("at x, 2 bytes", "\"x\" is not a whole number"),
            ("at 0, 9 bytes", "a field cannot have size 9, only 1 to 8"),
            ("at 0, 0 bytes", "a field cannot have size 0, only 1 to 8"),
            ("at 4095, 2 bytes", "it lies beyond the first 4096 bytes"),
            ("at 18446744073709551615, 2 bytes", "it lies beyond the first 4096 bytes"),
            ("at 0, 2 digits, big", "digits have no byte order"),
            ("at 0, varint, little", "a varint has only one byte order"),
            ("at 4090, varint", "it lies beyond the first 4096 bytes"),
            ("at 0, 2 bytes, +x", "\"+x\" is not a whole number"),
            ("at 0, 2 bytes, = 5..1", "\"5..1\" is not a range"),
            ("at 0, 2 bytes, = ", "\"\" is not a whole number"),
        ];
        for (text, wanted) in table {
            assert_eq!(RawField::parse(text).unwrap_err(), wanted, "{text}");
        }
    }
}
