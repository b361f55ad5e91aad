//! Required counts: `3`, `1..5`, `1..`.

use std::ops::RangeInclusive;

use brunt_cause::complaint;
use brunt_contract::{ProtocolConfig, UsageError};

/// Parses an option with a required count; `what` names what is counted, in English and in Chinese. Returns `None` if the option is not set.
///
/// # Errors
/// The value is neither a number nor a range.
pub fn read_range(
    config: &ProtocolConfig,
    option: &str,
    what: [&str; 2],
) -> Result<Option<RangeInclusive<u64>>, UsageError> {
    let Some(text) = config.value(option) else { return Ok(None) };
    let span = match text.split_once("..") {
        None => text.parse().ok().map(|n| n..=n),
        Some((low, "")) => low.parse().ok().map(|low| low..=u64::MAX),
        Some((low, high)) => low.parse().ok().zip(high.parse().ok()).map(|(low, high)| low..=high),
    };
    match span.filter(|span| !span.is_empty()) {
        Some(span) => Ok(Some(span)),
        None => {
            let [en, zh] = what;
            let trouble = complaint!(
                "\"{text}\" is not a number of {en}; use 1, 1..5 or 1..",
                "“{text}”不是{zh}；请用 1、1..5 或 1.."
            );
            Err(UsageError::new(format!("--{option}"), trouble))
        }
    }
}

/// Formats a range for messages.
pub fn format_range(span: &RangeInclusive<u64>) -> String {
    match (*span.start(), *span.end()) {
        (low, high) if low == high => low.to_string(),
        (low, u64::MAX) => format!("{low} or more"),
        (low, high) => format!("{low} to {high}"),
    }
}
