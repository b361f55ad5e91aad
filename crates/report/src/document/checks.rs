//! Named checks in the JSON report.

use serde::Serialize;

use crate::summary::Summary;

/// Results of one check.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckReport<'a> {
    /// Name: the given one, or the checked condition.
    name: &'a str,
    /// Responses that passed it, excluding the warm-up.
    passed: u64,
    /// Responses that failed it.
    failed: u64,
    /// Share of responses that failed it; null if no response was checked.
    failed_share: Option<f64>,
}

/// Returns the results of each check; `None` without named checks.
pub fn reports(summary: &Summary) -> Option<Vec<CheckReport<'_>>> {
    let rows = summary.checks().map(|row| CheckReport {
        name: row.name,
        passed: row.passed,
        failed: row.failed,
        failed_share: row.failed_share(),
    });
    Some(rows.collect::<Vec<_>>()).filter(|rows| !rows.is_empty())
}
