//! Numbers inside formulas: exact enough that a reader can check the arithmetic by hand.
//!
//! Elsewhere brunt shows three significant digits; here the reader is to compute the same result from what is printed.

/// Returns a number with up to `places` decimals, without trailing zeros, its thousands grouped: `1,388.89`.
fn decimal(value: f64, places: usize) -> String {
    let text = format!("{value:.places$}");
    let (whole, rest) = text.split_once('.').unwrap_or((&text, ""));
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    let mut grouped = String::with_capacity(text.len() + 8);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    match rest.trim_end_matches('0') {
        "" => format!("{sign}{grouped}"),
        rest => format!("{sign}{grouped}.{rest}"),
    }
}

/// Formats a plain number: `1,388.89`, `0.7`, `28`. A small one keeps three significant digits.
pub fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        v if !v.is_finite() => "∞".into(),
        // Digits beyond these are noise of floating point.
        v if v >= 1e15 => format!("{value:.3e}"),
        v if v >= 100_000.0 => decimal(value, 0),
        v if v >= 1.0 => decimal(value, 2),
        v if v >= 1e-9 => decimal(value, (2.0 - v.log10().floor()) as usize),
        _ => format!("{value:.2e}"),
    }
}

/// Formats events per second: `1,388.89/s`.
pub fn rate(per_s: f64) -> String {
    format!("{}/s", number(per_s))
}

/// Formats a share: `80 %`, `0.25 %`.
pub fn percent(share: f64) -> String {
    format!("{} %", number((share * 1e8).round() / 1e6))
}

/// Formats a share as percentiles are named: `99.9`, `99.999`.
pub fn percentile(q: f64) -> String {
    let text = format!("{:.7}", q * 100.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Formats seconds in the unit in which they are most readable, exactly enough to compute with: `69.02 ms`.
pub fn time(seconds: f64) -> String {
    match seconds.abs() {
        0.0 => "0 s".into(),
        s if s < 999.995e-6 => format!("{} µs", number(seconds * 1e6)),
        s if s < 0.999_995 => format!("{} ms", number(seconds * 1e3)),
        _ => format!("{} s", number(seconds)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_can_be_computed_with() {
        let table = [
            (1_388.888_889, "1,388.89"),
            (24_000_000.0, "24,000,000"),
            (0.7, "0.7"),
            (470.533, "470.53"),
            (69.0, "69"),
            (0.012_345, "0.0123"),
            (0.0, "0"),
            (f64::INFINITY, "∞"),
            (1e300, "1.000e300"),
            (1e-12, "1.00e-12"),
            (-1234.5, "-1,234.5"),
        ];
        for (value, wanted) in table {
            assert_eq!(number(value), wanted, "{value}");
        }
        assert_eq!([0.8, 0.0025, 1.0].map(percent), ["80 %", "0.25 %", "100 %"]);
        assert_eq!([0.069_02, 0.000_5, 12.5, 0.0].map(time), ["69.02 ms", "500 µs", "12.5 s", "0 s"]);
        assert_eq!([0.5, 0.99, 0.999_99].map(percentile), ["50", "99", "99.999"]);
        assert_eq!(rate(470.533), "470.53/s");
    }
}
