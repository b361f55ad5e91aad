//! Checks by name as JSON has them.

use serde::Serialize;

use crate::summary::Summary;

/// Results of one check.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckReport<'a> {
    /// Its name: the given one, or what it checks.
    name: &'a str,
    /// Responses that passed it, excluding the warm-up.
    passed: u64,
    /// Responses that failed it.
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
