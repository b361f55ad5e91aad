//! Parses times and durations in protobuf's JSON form (`1970-01-01T00:00:05.5Z`, `1.5s`) into seconds and nanoseconds.
//!
//! This runs for every message whose times have slots, so nothing is allocated.

use brunt_measure::Calendar;

/// Seconds of the years 1 to 9999, the range of a `Timestamp`.
const SECONDS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;
/// Maximum number of seconds of a `Duration`, positive or negative.
const LONGEST: i64 = 315_576_000_000;

/// Parses an RFC 3339 time into seconds since 1970 and nanoseconds within the second.
pub fn timestamp(text: &str) -> Option<(i64, i32)> {
    let (date, rest) = text.split_at_checked(10)?;
    let (time, rest) = rest.strip_prefix(['T', 't', ' '])?.split_at_checked(8)?;
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(time, ':')?;
    let (nanos, zone) = fraction(rest)?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=days).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = Calendar::days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset(zone)?;
    SECONDS.contains(&seconds).then_some((seconds, nanos))
}

/// Parses a duration into seconds and nanoseconds, both with the sign of the duration.
pub fn duration(text: &str) -> Option<(i64, i32)> {
    let text = text.strip_suffix('s')?;
    let (sign, text) = text.strip_prefix('-').map_or((1, text), |text| (-1, text));
    let whole = text.find('.').unwrap_or(text.len());
    let seconds = number(&text[..whole])?;
    let (nanos, rest) = fraction(&text[whole..])?;
    (rest.is_empty() && seconds <= LONGEST).then_some((sign * seconds, sign as i32 * nanos))
}

/// Parses a number that consists of digits only.
fn number(digits: &str) -> Option<i64> {
    let all = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    all.then(|| digits.parse().ok()).flatten()
}

/// Parses three numbers separated by `between`.
fn numbers(text: &str, between: char) -> Option<[i64; 3]> {
    let mut parts = text.split(between);
    let three = [number(parts.next()?)?, number(parts.next()?)?, number(parts.next()?)?];
    parts.next().is_none().then_some(three)
}

/// Parses nanoseconds after a decimal point, if there is one; also returns the rest.
fn fraction(text: &str) -> Option<(i32, &str)> {
    let Some(rest) = text.strip_prefix('.') else { return Some((0, text)) };
    let count = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = rest.split_at(count);
    let parsed: i32 = digits.parse().ok().filter(|_| count <= 9)?;
    Some((parsed * 10_i32.pow(9 - count as u32), rest))
}

/// Parses the UTC offset of a zone in seconds: `Z`, `+02:00`.
fn offset(zone: &str) -> Option<i64> {
    if zone == "Z" || zone == "z" {
        return Some(0);
    }
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let (hours, minutes) = zone.strip_prefix(['+', '-'])?.split_once(':')?;
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    (hours <= 23 && minutes <= 59).then_some(sign * (hours * 3600 + minutes * 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_rfc_3339() {
        for (text, wanted) in [
            ("1970-01-01T00:00:05Z", Some((5, 0))),
            ("1969-12-31T23:59:59.25Z", Some((-1, 250_000_000))),
            ("2026-11-21T09:26:35.123Z", Some((1_795_253_195, 123_000_000))),
            ("2026-11-21T10:26:35.123456789+01:00", Some((1_795_253_195, 123_456_789))),
            ("2024-02-29T00:00:00-05:30", Some((1_709_184_600, 0))),
            ("0001-01-01T00:00:00Z", Some((-62_135_596_800, 0))),
            ("9999-12-31T23:59:59.999999999Z", Some((253_402_300_799, 999_999_999))),
            ("2023-02-29T00:00:00Z", None),
            ("9999-12-31T23:59:59-01:00", None),
            ("2026-11-21T09:26:35", None),
            ("2026-11-21T09:26:35.Z", None),
            ("2026-11-21T24:00:00Z", None),
            ("2026-11-21", None),
            ("1795253195", None),
            ("2026-1é-21T09:26:35Z", None),
        ] {
            assert_eq!(timestamp(text), wanted, "{text}");
        }
    }

    #[test]
    fn durations_in_seconds() {
        for (text, wanted) in [
            ("1.5s", Some((1, 500_000_000))),
            ("-0.25s", Some((0, -250_000_000))),
            ("315576000000s", Some((LONGEST, 0))),
            ("315576000001s", None),
            ("1.5", None),
            ("s", None),
            (".5s", None),
            ("+1s", None),
            ("1.0000000001s", None),
        ] {
            assert_eq!(duration(text), wanted, "{text}");
        }
    }
}
