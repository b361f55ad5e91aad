//! Parsing of quantities: `1m30s`, `5000/s`, `300/min`, `10k`.
//!
//! Flags and plan files use the same parsers, so that a spelling has the same meaning everywhere. Error messages are
//! fragments that the caller appends to the name of the option.

use brunt_cause::{Complaint, complaint};
use brunt_measure::Nanos;

use crate::Change;

/// Units of time; a longer name precedes its prefixes.
const UNITS: [(&str, f64); 14] = [
    ("days", 86_400.0),
    ("day", 86_400.0),
    ("hours", 3600.0),
    ("hour", 3600.0),
    ("min", 60.0),
    ("sec", 1.0),
    ("ms", 1e-3),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("ns", 1e-9),
    ("d", 86_400.0),
    ("h", 3600.0),
    ("m", 60.0),
    ("s", 1.0),
];

/// Maximum time in seconds: 100 days. A longer time is a mistake, and this one does not overflow in nanoseconds.
const LONGEST_S: f64 = 100.0 * 86_400.0;

/// Parses a duration: numbers with units, added up (`1m30s`, `0.5s`, `250ms`).
///
/// # Errors
/// The text is invalid; the error describes why and what to write instead.
pub fn duration(text: &str) -> Result<Nanos, Complaint> {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Err(complaint!(
            "is empty; use a time such as 10s, 500ms or 2m",
            "为空；请写时间，例如 10s、500ms 或 2m"
        ));
    }
    if let Ok(bare) = trimmed.parse::<f64>() {
        let shown = if bare.is_finite() && bare > 0.0 { trimmed } else { "10" };
        return Err(complaint!(
            "`{text}` is missing its unit; use {shown}s, {shown}ms or {shown}m",
            "`{text}` 缺少单位；请写 {shown}s、{shown}ms 或 {shown}m"
        ));
    }
    let mut rest = trimmed;
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let (amount, unit, after) = amount_and_unit(rest).ok_or_else(|| {
            complaint!(
                "`{text}` is not a time; use one such as 10s, 500ms or 1m30s",
                "`{text}` 不是时间；请写，例如 10s、500ms 或 1m30s"
            )
        })?;
        seconds += amount * unit;
        rest = after;
    }
    if seconds > LONGEST_S {
        return Err(complaint!(
            "`{text}` is longer than 100 days; use a shorter time",
            "`{text}` 超过 100 天；请用更短的时间"
        ));
    }
    Ok(Nanos::from_secs_f64(seconds))
}

/// Like [`duration`], but rejects zero.
///
/// # Errors
/// See [`duration`].
pub fn positive_duration(text: &str) -> Result<Nanos, Complaint> {
    match duration(text)? {
        Nanos::ZERO => Err(complaint!(
            "`{text}` must be above zero; use a time, such as 10s or 500ms",
            "`{text}` 必须大于零；请写时间，例如 10s 或 500ms"
        )),
        time => Ok(time),
    }
}

fn amount_and_unit(text: &str) -> Option<(f64, f64, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let amount: f64 = text[..digits].parse().ok()?;
    let rest = &text[digits..];
    let (name, seconds) = UNITS.iter().find(|(name, _)| rest.starts_with(name))?;
    Some((amount, *seconds, &rest[name.len()..]))
}

/// Parses a range of times, `100ms..2s`; a single time is both bounds.
///
/// # Errors
/// The text is invalid; the error describes why and what to write instead.
pub fn duration_range(text: &str) -> Result<(Nanos, Nanos), Complaint> {
    let Some((low, high)) = text.split_once("..") else {
        return duration(text).map(|both| (both, both));
    };
    let (low, high) = (duration(low)?, duration(high)?);
    if low > high {
        return Err(complaint!(
            "`{text}` begins above its end; write the shorter time first, such as 100ms..2s",
            "`{text}` 的起点大于终点；请先写较短的时间，例如 100ms..2s"
        ));
    }
    Ok((low, high))
}

/// Parses arrivals per second: `5000/s`, `300/min`, `0.5/s`, `7200/h`; a bare number is per second.
///
/// # Errors
/// The text is invalid; the error describes why and what to write instead.
pub fn rate(text: &str) -> Result<f64, Complaint> {
    let wrong = || {
        complaint!(
            "`{text}` is not a rate; use one such as 5000/s, 300/min or 0.5/s",
            "`{text}` 不是速率；请写，例如 5000/s、300/min 或 0.5/s"
        )
    };
    let (amount, per) = text.trim().split_once('/').unwrap_or((text.trim(), "s"));
    let seconds = match per.trim() {
        "s" | "sec" | "second" => 1.0,
        "m" | "min" | "minute" => 60.0,
        "h" | "hour" => 3600.0,
        _ => return Err(wrong()),
    };
    let amount = scaled(amount.trim()).ok_or_else(wrong)?;
    if amount <= 0.0 {
        return Err(complaint!(
            "`{text}` would send nothing; use a rate above zero, such as 100/s",
            "`{text}` 不会发送任何请求；请写大于零的速率，例如 100/s"
        ));
    }
    let rate = amount / seconds;
    if rate > Change::MOST_RATE {
        Err(complaint!(
            "`{text}` is above 1000000000/s; use a lower rate",
            "`{text}` 超过 1000000000/s；请用更低的速率"
        ))
    } else {
        Ok(rate)
    }
}

/// Parses a positive integer, with an optional `k` (thousand) or `M` (million), and `_` between digits.
///
/// # Errors
/// The text is invalid; the error describes why and what to write instead.
pub fn count(text: &str, what: &str) -> Result<u64, Complaint> {
    let zh = zh_name(what);
    let number = scaled(text.trim()).ok_or_else(|| {
        complaint!(
            "`{text}` is not a number of {what}; use one such as 100",
            "`{text}` 不是数量（{zh}）；请写，例如 100"
        )
    })?;
    if number.fract() != 0.0 {
        return Err(complaint!(
            "`{text}` is not a whole number of {what}; write {} or {}",
            "`{text}` 不是整数（{zh}）；请写 {} 或 {}",
            number.floor(),
            number.ceil()
        ));
    }
    match number {
        n if n < 1.0 => {
            Err(complaint!("`{text}` {what} can do nothing; use 1 or more", "`{text}` 不起作用（{zh}）；请用 1 或更多"))
        }
        n if n > 1e15 => Err(complaint!(
            "`{text}` is more {what} than can be counted; use a smaller number",
            "`{text}` 过大（{zh}）；请用更小的数"
        )),
        n => Ok(n as u64),
    }
}

/// Like [`count`], with an upper limit.
///
/// # Errors
/// See [`count`].
pub fn bounded_count(text: &str, what: &str, most: u64) -> Result<u32, Complaint> {
    let zh = zh_name(what);
    match count(text, what)? {
        n if n > most => Err(complaint!(
            "{n} {what} are more than brunt can run ({most}); use {most} or fewer",
            "{n} 超出 brunt 的上限 {most}（{zh}）；请用 {most} 或更少"
        )),
        n => u32::try_from(n)
            .map_err(|_| complaint!("`{text}` is more {what} than can be counted", "`{text}` 过大（{zh}）")),
    }
}

/// Returns the Chinese name of what is counted.
fn zh_name(what: &str) -> &str {
    match what {
        "requests" => "请求数",
        "iterations" => "迭代数",
        "connections" => "连接数",
        "users" => "用户数",
        "workers" => "工作线程数",
        "processes" => "进程数",
        "times" => "次数",
        other => other,
    }
}

/// Parses a finite number that is not negative, with an optional `k` or `M`.
fn scaled(text: &str) -> Option<f64> {
    let (digits, factor) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1e3),
        None => text.strip_suffix('M').map_or((text, 1.0), |digits| (digits, 1e6)),
    };
    let plain = digits.chars().all(|c| c.is_ascii_digit() || c == '.' || c == '_');
    let number: f64 = digits.replace('_', "").parse().ok()?;
    (plain && number.is_finite()).then_some(number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        let table = [
            ("10s", 10e9),
            ("500ms", 5e8),
            ("1m30s", 90e9),
            ("2m", 120e9),
            ("1.5h", 5400e9),
            ("250us", 250e3),
            ("7µs", 7e3),
            ("9ns", 9.0),
            ("0s", 0.0),
            ("3min", 180e9),
            ("2d", 172_800e9),
            ("1d12h", 129_600e9),
            ("3days", 259_200e9),
        ];
        for (text, nanos) in table {
            assert_eq!(duration(text), Ok(Nanos(nanos as u64)), "{text}");
        }
    }

    #[test]
    fn wrong_durations() {
        let table = [
            ("8", "`8` is missing its unit; use 8s, 8ms or 8m"),
            ("0", "`0` is missing its unit; use 10s, 10ms or 10m"),
            ("", "is empty; use a time such as 10s, 500ms or 2m"),
            ("abc", "`abc` is not a time; use one such as 10s, 500ms or 1m30s"),
            ("10x", "`10x` is not a time; use one such as 10s, 500ms or 1m30s"),
            ("-3s", "`-3s` is not a time; use one such as 10s, 500ms or 1m30s"),
            ("1.2.3s", "`1.2.3s` is not a time; use one such as 10s, 500ms or 1m30s"),
            ("9999h", "`9999h` is longer than 100 days; use a shorter time"),
        ];
        for (text, said) in table {
            assert_eq!(duration(text), Err(said.into()), "{text}");
        }
        assert!(positive_duration("0ms").is_err());
    }

    #[test]
    fn ranges_of_durations() {
        assert_eq!(duration_range("100ms..2s"), Ok((Nanos(100_000_000), Nanos(2_000_000_000))));
        assert_eq!(duration_range("1s"), Ok((Nanos::from_secs(1), Nanos::from_secs(1))));
        assert!(duration_range("2s..1s").unwrap_err().contains("begins above its end"));
        assert!(duration_range("1..2s").unwrap_err().contains("missing its unit"));
    }

    #[test]
    fn rates() {
        let table =
            [("5000/s", 5000.0), ("300/min", 5.0), ("0.5/s", 0.5), ("7200/h", 2.0), ("250", 250.0), ("2k/s", 2000.0)];
        for (text, per_second) in table {
            assert_eq!(rate(text), Ok(per_second), "{text}");
        }
        for text in ["", "x", "5/day", "-5/s", "0/s", "inf/s", "nan", "1e3", "9999999999/s", "/s"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn counts() {
        assert_eq!(count("10k", "users"), Ok(10_000));
        assert_eq!(count("1_000", "users"), Ok(1000));
        assert_eq!(count("2M", "requests"), Ok(2_000_000));
        assert_eq!(count("0", "users"), Err("`0` users can do nothing; use 1 or more".into()));
        assert_eq!(count("1.5", "users"), Err("`1.5` is not a whole number of users; write 1 or 2".into()));
        assert_eq!(count("-1", "users"), Err("`-1` is not a number of users; use one such as 100".into()));
        assert!(bounded_count("11", "workers", 10).unwrap_err().contains("use 10 or fewer"));
    }
}
