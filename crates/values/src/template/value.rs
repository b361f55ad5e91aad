//! Values of slots, made from a fill alone: the same fill gives the same bytes.
//!
//! Several random slots of one request differ: each mixes its place in the template into the random bits.

use std::sync::Arc;

use measure::Calendar;
use wire::{Fill, Trace};

use super::csv::Column;
use super::format::{Format, hex};
use super::rows::Choice;

/// What a slot stands for.
#[derive(Debug)]
pub enum Value {
    /// `from + number × step`, in `0..below` where that is given.
    Counter { from: u64, step: u64, below: Option<u64>, format: Format },
    /// So many characters of an alphabet, each as likely as another to within a thousandth.
    Characters { count: usize, of: &'static [u8], salt: u64 },
    /// So many random bytes.
    Bytes { count: usize, salt: u64 },
    /// An integer from `from` on, of `span` many (0: all there are), each as likely as another to within span / 2⁶⁴.
    Integer { from: u64, span: u64, format: Format, salt: u64 },
    /// What is said on its connection, counted from `from` on; behind the last number below `below` the first comes again.
    Sequence { from: u64, below: Option<u64>, format: Format },
    /// The user's number.
    User { format: Format },
    /// Time since 1970 in units of so many nanoseconds.
    Time { unit: u64, format: Format },
    /// `2026-11-21T09:26:35.123Z`.
    Iso,
    /// `2026-11-21`.
    Date,
    /// Another time, so many nanoseconds later or earlier than it is.
    Later { by: i64, of: Box<Value> },
    /// `20261121-09:26:35.123`, as FIX writes it.
    FixTime,
    /// A version 4 UUID (RFC 9562 5.4).
    Uuid { salt: u64 },
    /// The header line of a trace (W3C Trace Context, level 1): sampled where the low half of its id is below this.
    Trace { sampled: u64 },
    /// What the user knows by the name of this index; nothing where it knows nothing.
    Variable(u16),
    /// The row of a column that the number chooses.
    Row { column: Arc<Column>, format: Option<Format>, choice: Choice, salt: u64 },
}

/// Letters and digits.
pub const ALPHANUMERIC: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// A stream of random numbers for one slot of one request: splitmix64 (Steele, Lea and Flood, 2014).
struct Stream(u64);

impl Stream {
    #[inline]
    fn of(fill: &Fill, salt: u64) -> Stream {
        let mut seed = Stream(fill.random ^ salt.wrapping_mul(0xd1b5_4a32_d192_ed03));
        Stream(seed.next())
    }

    #[inline]
    fn next(&mut self) -> u64 {
        measure::random::splitmix64(&mut self.0)
    }
}

impl Value {
    /// Appends it.
    #[inline]
    pub fn put(&self, fill: &Fill, out: &mut Vec<u8>) {
        match self {
            Value::Counter { from, step, below, format } => {
                let number = match below {
                    None => from.wrapping_add(fill.number.wrapping_mul(*step)),
                    Some(below) => {
                        let (below, number) = (u128::from(*below), u128::from(fill.number));
                        ((u128::from(*from) + number * u128::from(*step)) % below) as u64
                    }
                };
                format.put(number, out);
            }
            Value::Characters { count, of, salt } => characters(Stream::of(fill, *salt), *count, of, out),
            Value::Bytes { count, salt } => bytes(Stream::of(fill, *salt), *count, out),
            Value::Integer { from, span, format, salt } => {
                let random = Stream::of(fill, *salt).next();
                let scaled = match span {
                    0 => random,
                    span => ((u128::from(random) * u128::from(*span)) >> 64) as u64,
                };
                format.put(from.wrapping_add(scaled), out);
            }
            Value::Sequence { from, below, format } => {
                // What is shown and not sent has no number of its own.
                let before = fill.sequence.saturating_sub(1);
                let number = match below {
                    None => from.wrapping_add(before),
                    Some(below) => from + before % (below - from),
                };
                format.put(number, out);
            }
            Value::User { format } => format.put(fill.user, out),
            Value::Time { unit, format } => format.put(fill.unix_ns / unit, out),
            Value::Date => {
                let from = out.len();
                calendar(fill.unix_ns, *b"--T::.Z", out);
                out.truncate(from + "2026-11-21".len());
            }
            Value::Later { by, of } => of.put(&Fill { unix_ns: fill.unix_ns.saturating_add_signed(*by), ..*fill }, out),
            Value::Iso => calendar(fill.unix_ns, *b"--T::.Z", out),
            Value::FixTime => calendar(fill.unix_ns, *b"\0\0-::.\0", out),
            Value::Uuid { salt } => uuid(Stream::of(fill, *salt), out),
            Value::Trace { sampled } => out.extend_from_slice(&Trace::of(fill, *sampled).header()),
            Value::Variable(index) => out.extend_from_slice(fill.values.get(*index).unwrap_or_default()),
            Value::Row { column, format, choice, salt } => {
                let row = column.row(choice.row(fill, column.count(), *salt));
                match format {
                    None => out.extend_from_slice(row),
                    // Checked when the file was read.
                    Some(format) => {
                        format.put(std::str::from_utf8(row).ok().and_then(|t| t.parse().ok()).unwrap_or(0), out)
                    }
                }
            }
        }
    }
}

#[inline]
fn characters(mut stream: Stream, count: usize, of: &[u8], out: &mut Vec<u8>) {
    let mut left = count;
    while left > 0 {
        let bits = stream.next();
        // Four at a time, so that there is one look for room.
        let four = [0, 16, 32, 48].map(|shift| of[((bits >> shift & 0xffff) as usize * of.len()) >> 16]);
        let take = left.min(4);
        match take {
            4 => out.extend_from_slice(&four),
            _ => out.extend_from_slice(&four[..take]),
        }
        left -= take;
    }
}

fn bytes(mut stream: Stream, count: usize, out: &mut Vec<u8>) {
    let mut left = count;
    while left > 0 {
        let take = left.min(8);
        out.extend_from_slice(&stream.next().to_le_bytes()[..take]);
        left -= take;
    }
}

fn uuid(mut stream: Stream, out: &mut Vec<u8>) {
    /// Where the digits of each byte stand among the dashes.
    const AT: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
    let version = stream.next() & !0xf000 | 0x4000;
    let variant = stream.next() & !(0b11 << 62) | 0b10 << 62;
    let bytes = (u128::from(version) << 64 | u128::from(variant)).to_be_bytes();
    let mut text = [b'-'; 36];
    for (at, byte) in AT.into_iter().zip(bytes) {
        text[at..at + 2].copy_from_slice(&hex(byte));
    }
    out.extend_from_slice(&text);
}

/// Year, month, day, hour, minute, second and millisecond, each with its mark behind it (0: none). Written number by number:
/// text made for each request allocates nothing.
fn calendar(unix_ns: u64, marks: [u8; 7], out: &mut Vec<u8>) {
    let (seconds, milliseconds) = (unix_ns / 1_000_000_000, unix_ns / 1_000_000 % 1000);
    let Calendar { year, month, day, hour, minute, second } = Calendar::of(seconds);
    let fields = [(year, 4), (month, 2), (day, 2), (hour, 2), (minute, 2), (second, 2), (milliseconds, 3)];
    for ((number, width), mark) in fields.into_iter().zip(marks) {
        Format::Digits { base: 10, width }.put(number, out);
        out.extend(Some(mark).filter(|mark| *mark != 0));
    }
}
