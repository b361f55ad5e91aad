//! Number formats: decimal or hexadecimal digits, fixed-size integers, and variable-length integers.

use brunt_cause::{Complaint, complaint};

/// A number format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberFormat {
    /// Digits of this base, with leading zeros up to a width (0 for none).
    Digits { base: u8, width: u8 },
    /// The low bytes of the number, at most eight.
    Bytes { count: u8, little: bool },
    /// Seven bits per byte, low bits first, with the high bit set in all bytes but the last (LEB128, as in MQTT and
    /// protobuf). With `zigzag`, signed numbers as in Kafka and protobuf: 0, −1, 1, −2 become 0, 1, 2, 3.
    Varint { zigzag: bool },
}

/// Number of payload bits in a byte of a varint.
const VARINT_BITS: u32 = 7;

/// Maximum number of digits including leading zeros.
const WIDEST: u8 = 64;

impl NumberFormat {
    /// Decimal digits without leading zeros.
    pub const DECIMAL: NumberFormat = NumberFormat::Digits { base: 10, width: 0 };

    /// Parses a format name: `u8` … `u64`, with suffix `le` for little endian (`u16le`), `hex`, `varint`, `zigzag`.
    pub fn parse(word: &str) -> Option<NumberFormat> {
        match word {
            "hex" => return Some(NumberFormat::Digits { base: 16, width: 0 }),
            "varint" => return Some(NumberFormat::Varint { zigzag: false }),
            "zigzag" => return Some(NumberFormat::Varint { zigzag: true }),
            _ => {}
        }
        let (number, little) = match word.strip_suffix("le") {
            Some(number) => (number, true),
            None => (word.strip_suffix("be").unwrap_or(word), false),
        };
        let count = match number {
            "u8" => 1,
            "u16" => 2,
            "u24" => 3,
            "u32" => 4,
            "u64" => 8,
            _ => return None,
        };
        Some(NumberFormat::Bytes { count, little })
    }

    /// Returns the same format with leading zeros.
    ///
    /// # Errors
    /// The width is invalid; the error describes why.
    pub fn with_width(self, text: &str) -> Result<NumberFormat, Complaint> {
        let NumberFormat::Digits { base, .. } = self else {
            let trouble = complaint!(
                "a width is for digits, and u8 to u64, varint and zigzag have their own; leave one of \
                them out",
                "width 只用于数字位数，u8 到 u64、varint 和 zigzag 各有自己的长度；请去掉其中一个"
            );
            return Err(trouble);
        };
        let width = text.parse().ok().filter(|n| (1..=WIDEST).contains(n));
        let width = width.ok_or_else(|| {
            complaint!(
                "\"{text}\" is not a width; use a number from 1 to {WIDEST}",
                "“{text}”不是宽度；请用 1 到 {WIDEST} 的数"
            )
        })?;
        Ok(NumberFormat::Digits { base, width })
    }

    /// Returns the size in bytes if it is the same for all numbers.
    pub fn fixed_size(self) -> Option<usize> {
        match self {
            NumberFormat::Digits { width: 0, .. } | NumberFormat::Varint { .. } => None,
            NumberFormat::Digits { width, .. } => Some(width.into()),
            NumberFormat::Bytes { count, .. } => Some(count.into()),
        }
    }

    /// Returns the largest number that fits in `bytes` bytes.
    pub fn max_in(self, bytes: usize) -> u64 {
        let base = match self {
            NumberFormat::Digits { base, .. } => u128::from(base),
            NumberFormat::Bytes { .. } => 256,
            NumberFormat::Varint { .. } => 1 << VARINT_BITS,
        };
        // 40 digits exceed 64 bits in every supported base, and a power that overflows is larger still.
        let past = base.checked_pow(bytes.min(40) as u32).unwrap_or(u128::MAX);
        u64::try_from(past - 1).unwrap_or(u64::MAX)
    }

    /// Returns the maximum number of bytes of numbers up to `largest`.
    pub fn max_bytes(self, largest: u64) -> u64 {
        match self {
            NumberFormat::Digits { base, width } => {
                u64::from(largest.checked_ilog(base.into()).unwrap_or(0) + 1).max(width.into())
            }
            NumberFormat::Bytes { count, .. } => count.into(),
            NumberFormat::Varint { zigzag } => {
                let bits = u64::BITS - largest.leading_zeros() + u32::from(zigzag);
                u64::from(bits.clamp(1, u64::BITS).div_ceil(VARINT_BITS))
            }
        }
    }

    /// Appends a number.
    #[inline]
    pub fn append(self, number: u64, out: &mut Vec<u8>) {
        match self {
            NumberFormat::Digits { base, width } => append_digits(number, base, width, out),
            NumberFormat::Bytes { count, little: true } => out.extend_from_slice(&number.to_le_bytes()[..count.into()]),
            NumberFormat::Bytes { count, little: false } => {
                out.extend_from_slice(&number.to_be_bytes()[8 - usize::from(count)..])
            }
            NumberFormat::Varint { zigzag: false } => append_varint(number, out),
            NumberFormat::Varint { zigzag: true } => append_varint(number << 1 ^ ((number as i64) >> 63) as u64, out),
        }
    }
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// The digit pairs 00, 01 … 99.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    pairs
};

/// Appends a number in decimal digits.
#[inline]
pub fn append_decimal(number: u64, out: &mut Vec<u8>) {
    const MOST: usize = 20;
    let (mut buffer, mut at, mut rest) = ([0; MOST], MOST, number);
    while rest >= 100 {
        at -= 2;
        buffer[at..at + 2].copy_from_slice(&PAIRS[(rest % 100) as usize]);
        rest /= 100;
    }
    let last = PAIRS[rest as usize];
    if rest >= 10 {
        at -= 1;
        buffer[at] = last[1];
    }
    at -= 1;
    buffer[at] = if rest >= 10 { last[0] } else { last[1] };
    out.extend_from_slice(&buffer[at..]);
}

/// Appends a number as a varint.
#[inline]
fn append_varint(number: u64, out: &mut Vec<u8>) {
    let mut rest = number;
    while rest >> VARINT_BITS != 0 {
        out.push(rest as u8 | 1 << VARINT_BITS);
        rest >>= VARINT_BITS;
    }
    out.push(rest as u8);
}

/// Returns the hexadecimal digits of a byte.
#[inline]
pub fn hex_digits(byte: u8) -> [u8; 2] {
    [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]
}

#[inline]
fn append_digits(number: u64, base: u8, width: u8, out: &mut Vec<u8>) {
    if (base, width) == (10, 0) {
        return append_decimal(number, out);
    }
    let mut buffer = [b'0'; WIDEST as usize];
    let (mut at, mut rest) = (buffer.len(), number);
    // Both divisors are constants, so the compiler emits no division.
    loop {
        at -= 1;
        let digit = if base == 16 { rest & 15 } else { rest % 10 };
        buffer[at] = DIGITS[digit as usize];
        rest = if base == 16 { rest >> 4 } else { rest / 10 };
        if rest == 0 {
            break;
        }
    }
    at = at.min(buffer.len() - usize::from(width));
    out.extend_from_slice(&buffer[at..]);
}
