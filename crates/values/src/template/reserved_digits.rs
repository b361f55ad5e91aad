//! Space for a number that is known only once the bytes after it are written, such as a length before its content.

use brunt_contract::{SlotContext, UserValues};

/// The context for filling slots before the run, to estimate the length of their text.
pub const TRIAL: SlotContext<'static> = SlotContext {
    number: 1_000_000,
    user: 10,
    random: 1 << 63,
    unix_ns: 1_800_000_000_000_000_000,
    run: 0,
    sequence: 0,
    values: UserValues::NONE,
};

/// Returns the number of decimal digits of a number.
#[inline]
pub fn digit_count(number: usize) -> usize {
    match number {
        0..10 => 1,
        10..100 => 2,
        100..1000 => 3,
        _ => number.ilog10() as usize + 1,
    }
}

/// Writes a number at `at`, where `room` digits were reserved; in the rare case of a different number of digits, the
/// bytes after it move.
#[inline]
pub fn write_number(number: usize, at: usize, room: usize, out: &mut Vec<u8>) {
    let digits = digit_count(number);
    if digits != room {
        resize_gap(digits, room, at + room, out);
    }
    let mut rest = number;
    for digit in out[at..at + digits].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
}

/// Resizes the reserved space from `had` to `digits`.
#[cold]
fn resize_gap(digits: usize, had: usize, from: usize, out: &mut Vec<u8>) {
    let end = out.len();
    if digits > had {
        out.resize(end + digits - had, 0);
    }
    out.copy_within(from..end, from + digits - had);
    out.truncate(end + digits - had);
}
