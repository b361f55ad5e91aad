//! Values of slots, computed from a [`brunt_contract::SlotContext`] alone: the same context gives the same bytes.
//!
//! The random slots of one request differ, because each mixes its position in the template into the random bits.

use std::sync::Arc;

use brunt_contract::{SlotContext, Trace};
use brunt_measure::Calendar;

use super::format::{NumberFormat, hex_digits};
use super::rows::RowChoice;
use crate::data::{DataColumn, whole_number};

/// The value of a slot.
#[derive(Debug)]
pub enum SlotValue {
    /// `from + number × step`, modulo `below` if that is given.
    Counter { from: u64, step: u64, below: Option<u64>, format: NumberFormat },
    /// Random characters of an alphabet, uniform to within 0.1 %.
    Characters { count: usize, of: &'static [u8], salt: u64 },
    /// Random bytes.
    Bytes { count: usize, salt: u64 },
    /// A random integer from a range of `span` numbers beginning at `from` (0 for all 2⁶⁴), uniform to within span /
    /// 2⁶⁴.
    Integer { from: u64, span: u64, format: NumberFormat, salt: u64 },
    /// The number of the message on its connection, counted from `from`; wraps to `from` at `below`.
    Sequence { from: u64, below: Option<u64>, format: NumberFormat },
    /// The number of the user.
    User { format: NumberFormat },
    /// The time since 1970 in units of `unit` nanoseconds.
    Time { unit: u64, format: NumberFormat },
    /// `2026-11-21T09:26:35.123Z`.
    Iso,
    /// `2026-11-21`.
    Date,
    /// A time shifted by a number of nanoseconds.
    Shifted { by: i64, of: Box<SlotValue> },
    /// A time in the format of FIX, `20261121-09:26:35.123`.
    FixTime,
    /// A version 4 UUID (RFC 9562 5.4).
    Uuid { salt: u64 },
    /// A trace header (W3C Trace Context, level 1), sampled if the low half of its id is below this value.
    Trace { sampled: u64 },
    /// The variable with this index; empty if it is not set.
    Variable(u16),
    /// The value of a column in the row selected by the request's number.
    Row { column: Arc<DataColumn>, format: Option<NumberFormat>, choice: RowChoice, salt: u64 },
}

/// Letters and digits.
pub const ALPHANUMERIC: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// A stream of random numbers for one slot of one request: splitmix64 (Steele, Lea and Flood, 2014).
struct SlotRandom(u64);

impl SlotRandom {
    #[inline]
    fn of(context: &SlotContext, salt: u64) -> SlotRandom {
        let mut seed = SlotRandom(context.random ^ salt.wrapping_mul(0xd1b5_4a32_d192_ed03));
        SlotRandom(seed.next())
    }

    #[inline]
    fn next(&mut self) -> u64 {
        brunt_measure::random::splitmix64(&mut self.0)
    }
}

impl SlotValue {
    /// Appends the value.
    #[inline]
    pub fn append(&self, context: &SlotContext, out: &mut Vec<u8>) {
        match self {
            SlotValue::Counter { from, step, below, format } => {
                let number = match below {
                    None => from.wrapping_add(context.number.wrapping_mul(*step)),
                    Some(below) => {
                        let (below, number) = (u128::from(*below), u128::from(context.number));
                        ((u128::from(*from) + number * u128::from(*step)) % below) as u64
                    }
                };
                format.append(number, out);
            }
            SlotValue::Characters { count, of, salt } => {
                append_characters(SlotRandom::of(context, *salt), *count, of, out)
            }
            SlotValue::Bytes { count, salt } => append_random_bytes(SlotRandom::of(context, *salt), *count, out),
            SlotValue::Integer { from, span, format, salt } => {
                let random = SlotRandom::of(context, *salt).next();
                let scaled = match span {
                    0 => random,
                    span => ((u128::from(random) * u128::from(*span)) >> 64) as u64,
                };
                format.append(from.wrapping_add(scaled), out);
            }
            SlotValue::Sequence { from, below, format } => {
                // A message that is only shown and not sent has the number 0.
                let before = context.sequence.saturating_sub(1);
                let number = match below {
                    None => from.wrapping_add(before),
                    Some(below) => from + before % (below - from),
                };
                format.append(number, out);
            }
            SlotValue::User { format } => format.append(context.user, out),
            SlotValue::Time { unit, format } => format.append(context.unix_ns / unit, out),
            SlotValue::Date => {
                let from = out.len();
                append_date_time(context.unix_ns, *b"--T::.Z", out);
                out.truncate(from + "2026-11-21".len());
            }
            SlotValue::Shifted { by, of } => {
                of.append(&SlotContext { unix_ns: context.unix_ns.saturating_add_signed(*by), ..*context }, out)
            }
            SlotValue::Iso => append_date_time(context.unix_ns, *b"--T::.Z", out),
            SlotValue::FixTime => append_date_time(context.unix_ns, *b"\0\0-::.\0", out),
            SlotValue::Uuid { salt } => append_uuid(SlotRandom::of(context, *salt), out),
            SlotValue::Trace { sampled } => out.extend_from_slice(&Trace::derive(context, *sampled).header()),
            SlotValue::Variable(index) => out.extend_from_slice(context.values.get(*index).unwrap_or_default()),
            SlotValue::Row { column, format, choice, salt } => {
                let from = out.len();
                column.append(choice.row(context, column.count(), *salt), out);
                if let Some(format) = format {
                    // The values were validated when the file was read.
                    let number = whole_number(&out[from..]).unwrap_or(0);
                    out.truncate(from);
                    format.append(number, out);
                }
            }
        }
    }
}

#[inline]
fn append_characters(mut stream: SlotRandom, count: usize, of: &[u8], out: &mut Vec<u8>) {
    let mut left = count;
    while left > 0 {
        let bits = stream.next();
        // Four at a time, so that the capacity is checked once.
        let four = [0, 16, 32, 48].map(|shift| of[((bits >> shift & 0xffff) as usize * of.len()) >> 16]);
        let take = left.min(4);
        match take {
            4 => out.extend_from_slice(&four),
            _ => out.extend_from_slice(&four[..take]),
        }
        left -= take;
    }
}

fn append_random_bytes(mut stream: SlotRandom, count: usize, out: &mut Vec<u8>) {
    let mut left = count;
    while left > 0 {
        let take = left.min(8);
        out.extend_from_slice(&stream.next().to_le_bytes()[..take]);
        left -= take;
    }
}

fn append_uuid(mut stream: SlotRandom, out: &mut Vec<u8>) {
    /// Offsets of the digits of each byte among the dashes.
    const AT: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
    let version = stream.next() & !0xf000 | 0x4000;
    let variant = stream.next() & !(0b11 << 62) | 0b10 << 62;
    let bytes = (u128::from(version) << 64 | u128::from(variant)).to_be_bytes();
    let mut text = [b'-'; 36];
    for (at, byte) in AT.into_iter().zip(bytes) {
        text[at..at + 2].copy_from_slice(&hex_digits(byte));
    }
    out.extend_from_slice(&text);
}

/// Appends year, month, day, hour, minute, second and millisecond, each followed by its separator (0 for none). Fields
/// are written directly, so that nothing is allocated per request.
fn append_date_time(unix_ns: u64, marks: [u8; 7], out: &mut Vec<u8>) {
    let (seconds, milliseconds) = (unix_ns / 1_000_000_000, unix_ns / 1_000_000 % 1000);
    let Calendar { year, month, day, hour, minute, second } = Calendar::of(seconds);
    let fields = [(year, 4), (month, 2), (day, 2), (hour, 2), (minute, 2), (second, 2), (milliseconds, 3)];
    for ((number, width), mark) in fields.into_iter().zip(marks) {
        NumberFormat::Digits { base: 10, width }.append(number, out);
        out.extend(Some(mark).filter(|mark| *mark != 0));
    }
}
