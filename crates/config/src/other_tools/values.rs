//! Values of other tools' options in the form that brunt reads.

use brunt_plan::quantity;

/// Returns a time, with the unit of seconds if it has none.
pub fn seconds(value: &str) -> String {
    let is_bare = value.bytes().all(|b| b.is_ascii_digit());
    if is_bare { format!("{value}s") } else { value.to_owned() }
}

/// Returns a time of siege: `30S`, `2M`, `1H`, or minutes without a unit.
pub fn siege_time(value: &str) -> String {
    let is_bare = value.bytes().all(|b| b.is_ascii_digit());
    if is_bare { format!("{value}m") } else { value.to_ascii_lowercase() }
}

/// Returns a rate per second from requests per time: `500`, `500/1s`, `30000/1m`, `10/ms`; `None` for no limit.
pub fn rate_over(value: &str) -> Option<String> {
    let (number, over) = value.split_once('/').unwrap_or((value, "1s"));
    let over = if over.starts_with(|c: char| c.is_ascii_digit()) { over.to_owned() } else { format!("1{over}") };
    let (number, over) = (number.parse::<f64>().ok()?, quantity::positive_duration(&over).ok()?);
    let per_s = number / over.as_secs_f64();
    let is_even = |rate: f64| (rate * 1e3).fract() == 0.0;
    (number > 0.0).then(|| match per_s * 60.0 {
        per_min if !is_even(per_s) && is_even(per_min) => format!("{per_min}/min"),
        _ => format!("{per_s}/s"),
    })
}

/// Returns a header line, also from `NAME=VALUE`.
pub fn header(value: &str) -> String {
    match value.split_once('=') {
        Some((name, text)) if !name.contains(':') => format!("{name}: {text}"),
        _ => value.to_owned(),
    }
}
