//! What people write for times, rates, shares and sizes.
//!
//! One grammar for flags, files and forms. A complaint is the second half of a sentence: the caller puts the option or
//! line before it. Times carry a unit because `-t 8` means eight threads to those who come from wrk.

use crate::{Nanos, Rate};

/// A number and what follows it; None where no plain decimal number stands at the front.
fn split_number(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    let has_digit = number.bytes().any(|b| b.is_ascii_digit());
    // Digits alone can still be more than a float holds.
    let number = number.parse().ok().filter(|n: &f64| has_digit && n.is_finite())?;
    Some((number, rest))
}

/// Length of a unit of time in nanoseconds.
fn time_unit(name: &str) -> Option<f64> {
    Some(match name {
        "ns" => 1.0,
        "us" | "µs" | "μs" => 1e3,
        "ms" => 1e6,
        "s" | "sec" => 1e9,
        "m" | "min" => 60e9,
        "h" => 3600e9,
        "d" => 86_400e9,
        _ => return None,
    })
}

/// Reads a time: `100ms`, `2s`, `1m30s`, `1.5h`, `250us`.
///
/// # Errors
/// What is wrong and what would be right; a bare number is refused.
pub fn parse_duration(text: &str) -> Result<Nanos, String> {
    let wrong = |why: &str| Err(format!("{text:?} {why}: write a time such as 500ms, 8s, 1m30s or 1.5h"));
    let mut rest = text.trim();
    if rest.is_empty() {
        return wrong("is empty");
    }
    let (mut sum, mut last_unit) = (0.0, f64::INFINITY);
    while !rest.is_empty() {
        if rest.starts_with(['-', '+']) {
            return wrong("has a sign");
        }
        let Some((number, after)) = split_number(rest) else { return wrong("is no time") };
        let name_ends = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (name, after) = after.split_at(name_ends);
        if name.is_empty() {
            return Err(format!("a time needs a unit: {rest}s, 500ms"));
        }
        let Some(unit) = time_unit(name) else {
            return wrong(&format!("has the unit {name:?}, which is none of ns, us, ms, s, m, h, d"));
        };
        if unit >= last_unit {
            return wrong("does not go from larger units to smaller ones");
        }
        (sum, last_unit, rest) = (sum + number * unit, unit, after);
    }
    // The last moment is "never", so it is no length either.
    if sum >= u64::MAX as f64 { wrong("is longer than 584 years") } else { Ok(Nanos(sum.round() as u64)) }
}

/// Reads two times, or one that stands for both: `100ms..2s`, `1s`.
///
/// # Errors
/// What is wrong and what would be right.
pub fn parse_span(text: &str) -> Result<(Nanos, Nanos), String> {
    let Some((low, high)) = text.split_once("..") else {
        return parse_duration(text).map(|time| (time, time));
    };
    let (low, high) = (parse_duration(low)?, parse_duration(high)?);
    if low > high {
        return Err(format!("{text:?} begins above its end: write the shorter time first, as in 100ms..2s"));
    }
    Ok((low, high))
}

/// Reads a rate: `5000/s`, `300/min`, `0.5/s`, `2/h`; a bare number is per second.
///
/// # Errors
/// What is wrong and what would be right.
pub fn parse_rate(text: &str) -> Result<Rate, String> {
    let wrong = |why: &str| Err(format!("{text:?} {why}: write a rate such as 5000/s, 300/min or 0.5/s"));
    let Some((number, rest)) = split_number(text.trim()) else { return wrong("is no rate") };
    let seconds = match rest.trim_start().strip_prefix('/').map(str::trim_start) {
        None if rest.is_empty() => 1.0,
        Some("s" | "sec" | "second") => 1.0,
        Some("m" | "min" | "minute") => 60.0,
        Some("h" | "hour") => 3600.0,
        Some("ms") => 1e-3,
        Some(_) => return wrong("has a unit that is none of /s, /min, /h"),
        None => return wrong("has something other than a unit after its number"),
    };
    Ok(Rate(number / seconds))
}

/// Reads a share with a percent sign, up to the whole: `0.1%` is 0.001.
///
/// # Errors
/// What is wrong and what would be right.
pub fn parse_percent(text: &str) -> Result<f64, String> {
    match split_number(text.trim()) {
        Some((number, "%")) if number <= 100.0 => Ok(number / 100.0),
        Some((_, "%")) => Err(format!("{text:?} is more than everything: write a share from 0% to 100%")),
        Some((_, "")) => Err(format!("a share needs a percent sign: {}%", text.trim())),
        _ => Err(format!("{text:?} is no share: write one such as 0.1%")),
    }
}

/// Reads a number of bytes: `10kB` (1000 each), `1MiB` (1024), `512`, `512B`.
///
/// # Errors
/// What is wrong and what would be right.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let wrong = |why: &str| Err(format!("{text:?} {why}: write a size such as 512, 10kB or 1MiB"));
    let Some((number, unit)) = split_number(text.trim()) else { return wrong("is no size") };
    let factor = match unit.trim_start().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "kib" => 1024.0,
        "mib" => 1024.0 * 1024.0,
        "gib" => 1024.0 * 1024.0 * 1024.0,
        _ => return wrong("has a unit that is none of B, kB, MB, GB, KiB, MiB, GiB"),
    };
    let bytes = number * factor;
    if bytes >= u64::MAX as f64 {
        return wrong("is too large");
    }
    if bytes.fract() != 0.0 { wrong("is not a whole number of bytes") } else { Ok(bytes as u64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        let ok: &[(&str, u64)] = &[
            ("100ms", 100_000_000),
            ("2s", 2_000_000_000),
            ("1m30s", 90_000_000_000),
            ("1.5h", 5_400_000_000_000),
            ("250us", 250_000),
            ("250µs", 250_000),
            ("1h1m1s1ms1us1ns", 3_661_001_001_001),
            ("0s", 0),
            ("0.1ms", 100_000),
            (".5s", 500_000_000),
            (" 3s ", 3_000_000_000),
            ("1d", 86_400_000_000_000),
        ];
        for &(text, nanos) in ok {
            assert_eq!(parse_duration(text), Ok(Nanos(nanos)), "{text}");
        }
        let bad = [
            ("8", "a time needs a unit: 8s, 500ms"),
            ("1m30", "a time needs a unit: 30s, 500ms"),
            ("", "\"\" is empty"),
            ("s", "is no time"),
            (".s", "is no time"),
            ("1.2.3s", "is no time"),
            ("-1s", "has a sign"),
            ("1s-2s", "has the unit \"s-\""),
            ("5 s", "has the unit \" s\""),
            ("1e3s", "has the unit \"e\""),
            ("30s1m", "larger units to smaller"),
            ("5s5s", "larger units to smaller"),
            ("999999999h", "longer than 584 years"),
            ("NaNs", "is no time"),
            ("infs", "is no time"),
        ];
        for (text, why) in bad {
            let complaint = parse_duration(text).expect_err(text);
            assert!(complaint.contains(why), "{text}: {complaint}");
        }
    }

    #[test]
    fn spans() {
        let ms = Nanos::from_millis;
        assert_eq!(parse_span("100ms..2s"), Ok((ms(100), ms(2000))));
        assert_eq!(parse_span("1s"), Ok((ms(1000), ms(1000))));
        assert_eq!(parse_span("0s..0s"), Ok((ms(0), ms(0))));
        assert!(parse_span("2s..1s").is_err_and(|e| e.contains("shorter time first")));
        assert!(parse_span("1..2s").is_err_and(|e| e.contains("needs a unit")));
        assert!(parse_span("..2s").is_err());
    }

    #[test]
    fn rates() {
        let ok = [("5000/s", 5000.0), ("300/min", 5.0), ("0.5/s", 0.5), ("2/h", 2.0 / 3600.0), ("5000", 5000.0)];
        for (text, rate) in ok {
            assert_eq!(parse_rate(text), Ok(Rate(rate)), "{text}");
        }
        for text in ["", "abc", "/s", "5/", "5/d", "-5/s", "5k/s", "5s", "1e9/s", "5/s/s"] {
            assert!(parse_rate(text).is_err_and(|e| e.contains("write a rate such as")), "{text}");
        }
    }

    #[test]
    fn percents() {
        assert_eq!(parse_percent("0.1%"), Ok(0.001));
        assert_eq!(parse_percent("100%"), Ok(1.0));
        assert_eq!(parse_percent("5"), Err("a share needs a percent sign: 5%".into()));
        assert!(parse_percent("101%").is_err_and(|e| e.contains("more than everything")));
        assert!(parse_percent("-1%").is_err());
        assert!(parse_percent("%").is_err());
    }

    #[test]
    fn sizes() {
        let ok = [
            ("10kB", 10_000),
            ("1MiB", 1 << 20),
            ("512", 512),
            ("512B", 512),
            ("1.5 KiB", 1536),
            ("2g", 2_000_000_000),
        ];
        for (text, bytes) in ok {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        for text in ["", "kB", "1.5", "1XB", "-1", "99999999999GiB"] {
            assert!(parse_bytes(text).is_err_and(|e| e.contains("write a size such as")), "{text}");
        }
    }
}
