//! A number at a declared place of a message: `at 2, 2 bytes, big`.

/// The end of the last field there may be, in bytes: so much of an answer in pieces is kept.
pub const FARTHEST: usize = 4096;

/// How its bytes make a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Big,
    Little,
    /// Decimal digits, blanks around them allowed.
    Digits,
}

/// A declared field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    at: usize,
    width: usize,
    kind: Kind,
    mask: u64,
}

/// What may stand behind a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// `+4` or `-2`.
    pub add: Option<i64>,
    /// `= 0|2|10..20`, as first and last values.
    pub values: Vec<(u64, u64)>,
}

impl Field {
    /// Reads a declaration; the words are separated by commas.
    ///
    /// # Errors
    /// Which word is wrong.
    pub fn parse(text: &str) -> Result<(Field, Extras), String> {
        let (mut at, mut width, mut kind, mut order, mut mask, mut extras) =
            (None, None, Kind::Big, None, u64::MAX, Extras::default());
        for word in text.split(',').map(str::trim) {
            let (first, rest) = word.split_once(char::is_whitespace).unwrap_or((word, ""));
            let rest = rest.trim();
            match (first, rest) {
                ("at", _) => at = Some(number(rest)?),
                (_, "byte" | "bytes") => width = Some(number(first)?),
                (_, "digit" | "digits") => (width, kind) = (Some(number(first)?), Kind::Digits),
                ("big", "") => order = Some(Kind::Big),
                ("little", "") => order = Some(Kind::Little),
                ("mask", _) => mask = number(rest)?,
                _ if word.starts_with(['+', '-']) => {
                    let add = word.parse().map_err(|_| format!("\"{word}\" is no whole number"))?;
                    extras.add = Some(add);
                }
                _ if word.starts_with('=') => extras.values = values(&word[1..])?,
                _ => return Err(format!("\"{word}\" is not understood")),
            }
        }
        let at = at.ok_or("where it stands is missing (at 0)")?;
        let width = width.ok_or("its size is missing (2 bytes)")?;
        if kind == Kind::Digits && order.is_some() {
            return Err("digits have no byte order".into());
        }
        let most = if kind == Kind::Digits { 20 } else { 8 };
        if !(1..=most).contains(&width) {
            return Err(format!("a field of {width} is not from 1 to {most} long"));
        }
        if at.saturating_add(width) > FARTHEST as u64 {
            return Err(format!("it lies beyond the first {FARTHEST} bytes"));
        }
        let kind = order.unwrap_or(kind);
        Ok((Field { at: at as usize, width: width as usize, kind, mask }, extras))
    }

    /// Where it ends.
    pub fn end(&self) -> usize {
        self.at + self.width
    }

    /// The number in a message that came in two pieces; None where it is too short, or its digits are none.
    #[inline]
    pub fn read(&self, first: &[u8], second: &[u8]) -> Option<u64> {
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
            Kind::Big => bytes.iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte)),
            Kind::Little => bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte)),
            Kind::Digits => std::str::from_utf8(bytes).ok()?.trim().parse().ok()?,
        };
        Some(number & self.mask)
    }
}

/// A whole number, decimal or `0x`.
fn number(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    parsed.ok_or_else(|| format!("\"{text}\" is no whole number"))
}

fn values(text: &str) -> Result<Vec<(u64, u64)>, String> {
    let one = |text: &str| match text.trim().split_once("..") {
        Some((low, high)) => {
            let (low, high) = (number(low.trim())?, number(high.trim())?);
            if low <= high { Ok((low, high)) } else { Err(format!("\"{}\" is no span", text.trim())) }
        }
        None => number(text.trim()).map(|value| (value, value)),
    };
    text.split('|').map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::{Extras, Field};

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
            let (field, extras) = Field::parse(text).unwrap();
            assert_eq!(extras, Extras::default());
            for cut in 0..=message.len() {
                let (first, second) = message.split_at(cut);
                assert_eq!(field.read(first, second), Some(wanted), "{text} cut at {cut}");
            }
            assert_eq!(field.read(&message[..field.end() - 1], &[]), None, "{text}");
        }
        assert_eq!(Field::parse("at 0, 4 digits").unwrap().0.read(b"12a4", &[]), None);
    }

    #[test]
    fn what_stands_behind() {
        let behind = |text: &str| Field::parse(text).unwrap().1;
        assert_eq!(behind("at 2, 2 bytes, +4").add, Some(4));
        assert_eq!(behind("at 2, 2 bytes, -1").add, Some(-1));
        assert_eq!(behind("at 0, 1 byte, = 2|0x10 | 5..9").values, [(2, 2), (16, 16), (5, 9)]);
    }

    #[test]
    fn complaints() {
        let table = [
            ("", "\"\" is not understood"),
            ("2 bytes", "where it stands is missing (at 0)"),
            ("at 2", "its size is missing (2 bytes)"),
            ("at x, 2 bytes", "\"x\" is no whole number"),
            ("at 0, 9 bytes", "a field of 9 is not from 1 to 8 long"),
            ("at 0, 0 bytes", "a field of 0 is not from 1 to 8 long"),
            ("at 4095, 2 bytes", "it lies beyond the first 4096 bytes"),
            ("at 18446744073709551615, 2 bytes", "it lies beyond the first 4096 bytes"),
            ("at 0, 2 digits, big", "digits have no byte order"),
            ("at 0, 2 bytes, +x", "\"+x\" is no whole number"),
            ("at 0, 2 bytes, = 5..1", "\"5..1\" is no span"),
            ("at 0, 2 bytes, = ", "\"\" is no whole number"),
        ];
        for (text, wanted) in table {
            assert_eq!(Field::parse(text).unwrap_err(), wanted, "{text}");
        }
    }
}
