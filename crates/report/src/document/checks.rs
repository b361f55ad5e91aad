//! Checks by name as JSON has them.

use schemars::JsonSchema;
use serde::Serialize;

use crate::summary::Summary;

/// What one check came to.
#[derive(Serialize, JsonSchema)]
pub struct CheckReport<'a> {
    /// What it is called: the name it was given, or what it asks.
    name: &'a str,
    /// Responses that held what it asks, warm-up left out.
    passed: u64,
    /// Responses that did not.
    failed: u64,
    /// The share of those that did not; null where none was looked at.
    failed_share: Option<f64>,
}

/// What each comes to; None where nothing is checked by name.
pub fn reports(summary: &Summary) -> Option<Vec<CheckReport<'_>>> {
    let rows = summary.checks().map(|row| CheckReport {
        name: row.name,
        passed: row.passed,
        failed: row.failed,
        failed_share: row.failed_share(),
    });
    Some(rows.collect::<Vec<_>>()).filter(|rows| !rows.is_empty())
}
