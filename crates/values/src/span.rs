//! How many of something there must be: `3`, `1..5`, `1..`.

use std::ops::RangeInclusive;

use wire::{Asked, Complaint};

/// Reads an option that says how many `what` there must be; None: it was not given.
///
/// # Errors
/// It is no number and no span.
pub fn wished(asked: &Asked, option: &str, what: &str) -> Result<Option<RangeInclusive<u64>>, Complaint> {
    let Some(text) = asked.value(option) else { return Ok(None) };
    let span = match text.split_once("..") {
        None => text.parse().ok().map(|n| n..=n),
        Some((low, "")) => low.parse().ok().map(|low| low..=u64::MAX),
        Some((low, high)) => low.parse().ok().zip(high.parse().ok()).map(|(low, high)| low..=high),
    };
    match span.filter(|span| !span.is_empty()) {
        Some(span) => Ok(Some(span)),
        None => {
            let trouble = format!("\"{text}\" is not a number of {what}; write 1, 1..5 or 1..");
            Err(Complaint::new(format!("--{option}"), trouble))
        }
    }
}

/// A span as it is told.
pub fn told(span: &RangeInclusive<u64>) -> String {
    match (*span.start(), *span.end()) {
        (low, high) if low == high => low.to_string(),
        (low, u64::MAX) => format!("{low} or more"),
        (low, high) => format!("{low} to {high}"),
    }
}
