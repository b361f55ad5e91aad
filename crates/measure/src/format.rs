//! Formatting of numbers for people: three significant digits and a unit.
//!
//! The value is rounded before its unit is chosen, so that 999.6 µs is formatted as `1.00 ms`, not as `1000 µs`.

use crate::Nanos;

/// Formats a value with three significant digits; an integer part of more than three digits is kept whole.
fn three_digits(value: f64) -> String {
    // The thresholds are where rounding would add a digit.
    match value {
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

/// Formats the value in the first unit in which it rounds to less than 1000, or in the last one.
fn scaled(value: f64, units: &[&str]) -> String {
    let mut value = value;
    let (last, smaller) = units.split_last().expect("a unit");
    for unit in smaller {
        if value < 999.5 {
            return format!("{} {unit}", three_digits(value));
        }
        value /= 1000.0;
    }
    format!("{} {last}", three_digits(value))
}

/// Formats a duration: `456 ns`, `456 µs`, `1.23 ms`, `2.10 s`, `5400 s`.
pub fn format_duration(time: Nanos) -> String {
    match time.0 {
        // Nanoseconds have no fractions.
        n @ 0..1000 => format!("{n} ns"),
        n => scaled(n as f64 / 1e3, &["µs", "ms", "s"]),
    }
}

/// Formats a rate: `0.500/s`, `12.3/s`, `409/s`, `19,947/s`.
pub fn format_rate(per_second: f64) -> String {
    if per_second == 0.0 {
        return "0/s".into();
    }
    if per_second < 0.9995 {
        return format!("{per_second:.3}/s");
    }
    if per_second < 999.5 {
        return format!("{}/s", three_digits(per_second));
    }
    grouped(&format!("{per_second:.0}")) + "/s"
}

/// Formats a count with grouped thousands: `45,213`.
pub fn format_count(n: u64) -> String {
    grouped(&n.to_string())
}

fn grouped(digits: &str) -> String {
    let mut grouped = String::with_capacity(digits.len() * 4 / 3 + 2);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Formats a number of bytes in powers of 1000, as is usual for networks: `512 B`, `1.50 kB`, `262 MB`.
pub fn format_bytes(bytes: u64) -> String {
    match bytes {
        n @ 0..1000 => format!("{n} B"),
        n => scaled(n as f64 / 1e3, &["kB", "MB", "GB", "TB", "PB", "EB"]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        let table = [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.00 µs"),
            (456_000, "456 µs"),
            (999_499, "999 µs"),
            (999_500, "1.00 ms"),
            (1_230_000, "1.23 ms"),
            (9_994_000, "9.99 ms"),
            (9_996_000, "10.0 ms"),
            (99_960_000, "100 ms"),
            (2_100_000_000, "2.10 s"),
            (5_400_000_000_000, "5400 s"),
        ];
        for (nanos, text) in table {
            assert_eq!(format_duration(Nanos(nanos)), text, "{nanos}");
        }
    }

    #[test]
    fn rates() {
        let table = [
            (0.0, "0/s"),
            (0.5, "0.500/s"),
            (0.9999, "1.00/s"),
            (12.34, "12.3/s"),
            (408.75, "409/s"),
            (999.6, "1,000/s"),
            (19_947.47, "19,947/s"),
            (1_234_567.0, "1,234,567/s"),
            (123_456.0, "123,456/s"),
        ];
        for (rate, text) in table {
            assert_eq!(format_rate(rate), text, "{rate}");
        }
    }

    #[test]
    fn sizes() {
        let table = [(0, "0 B"), (999, "999 B"), (1500, "1.50 kB"), (262_000_000, "262 MB"), (u64::MAX, "18.4 EB")];
        for (bytes, text) in table {
            assert_eq!(format_bytes(bytes), text, "{bytes}");
        }
    }
}
