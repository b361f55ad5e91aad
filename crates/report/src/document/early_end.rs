//! The early end of a run in the JSON report.

use serde::Serialize;

use crate::early_end::EarlyEnd;

/// A run that ended early.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EarlyEndReport {
    /// `cut` (requests in flight are lost), `stopped` (by an objective or a step) or `drained` (sending
    /// stopped, and requests in flight could finish).
    how: &'static str,
    /// Length of its window in seconds.
    after_s: f64,
    /// Planned length in seconds; null if unknown.
    of_s: Option<f64>,
}

impl EarlyEndReport {
    /// Creates the report of an early end.
    pub fn of(cut: EarlyEnd) -> EarlyEndReport {
        EarlyEndReport {
            how: cut.name(),
            after_s: cut.after.as_secs_f64(),
            of_s: cut.planned.map(|of| of.as_secs_f64()),
        }
    }
}
