//! Number formats in addition to `brunt_measure::format`: grouped thousands, shares, and rates in columns.
//!
//! A nonzero number is never shown as zero, and a share below 100 % is never shown as 100 %, so that rounding never
//! makes a figure look better than it is.

pub use brunt_measure::format_bytes as bytes;
pub use brunt_measure::format_count as count;
pub use brunt_measure::format_duration as duration;

/// The text shown in place of a withheld figure.
pub const WITHHELD: &str = "–";

/// Formats a time in seconds: `12.5 ms`.
pub fn seconds(s: f64) -> String {
    duration(brunt_measure::Nanos((s.max(0.0) * 1e9) as u64))
}

/// Formats a time in milliseconds since 1970: `2026-09-21 14:13:20 UTC`.
pub fn moment(unix_ms: u64) -> String {
    let at = brunt_measure::Calendar::of(unix_ms / 1000);
    format!("{} {} UTC", at.date(), at.time())
}

/// Formats events per second without the unit, for columns whose headings contain it.
pub fn rate(per_s: f64) -> String {
    brunt_measure::format_rate(per_s).trim_end_matches("/s").into()
}

/// Formats megabytes per second without the unit.
pub fn megabytes_per_s(bytes_per_s: f64) -> String {
    match bytes_per_s / 1e6 {
        v if v <= 0.0 => "0".into(),
        v if v < 0.005 => "<0.01".into(),
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

/// Formats a share for use in a sentence: `97.3 %`.
pub fn share(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Formats `part` as a percentage of `whole`: `0 %`, `<0.01 %`, `12.3 %`, `99.98 %`, `>99.99 %`, `100 %`.
pub fn percent(part: u64, whole: u64) -> String {
    if whole == 0 || part == 0 {
        return "0 %".into();
    }
    if part == whole {
        return "100 %".into();
    }
    match part as f64 / whole as f64 * 100.0 {
        v if v < 0.01 => "<0.01 %".into(),
        v if v > 99.99 => ">99.99 %".into(),
        v if !(1.0..99.0).contains(&v) => format!("{v:.2} %"),
        v => format!("{v:.1} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_what_they_mean() {
        assert_eq!([0, 7, 999, 1_000, 45_213, 1_234_567].map(count), ["0", "7", "999", "1,000", "45,213", "1,234,567"]);
        assert_eq!([0.0, 0.25, 12.0, 4998.3].map(rate), ["0", "0.250", "12.0", "4,998"]);
        assert_eq!([0.0, 1.0, 12.5e6].map(megabytes_per_s), ["0", "<0.01", "12.5"]);
        assert_eq!([0.0125, -1.0].map(seconds), ["12.5 ms", "0 ns"]);
        assert_eq!(moment(1_790_000_000_999), "2026-09-21 14:13:20 UTC");
        for (part, whole, wanted) in [
            (0, 0, "0 %"),
            (0, 10, "0 %"),
            (1, 1_000_000, "<0.01 %"),
            (1, 1_000, "0.10 %"),
            (123, 1_000, "12.3 %"),
            (9_998, 10_000, "99.98 %"),
            (999_999, 1_000_000, ">99.99 %"),
            (5, 5, "100 %"),
        ] {
            assert_eq!(percent(part, whole), wanted, "{part}/{whole}");
        }
    }
}
