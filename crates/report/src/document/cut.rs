//! How a run ended early, as JSON has it.

use serde::Serialize;

use crate::cut::Cut;

/// A run that ended early.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CutReport {
    /// `cut` (requests in flight are lost), `stopped` (by an objective or a step) or `drained` (nothing more was
    /// sent, and requests in flight could finish).
    how: &'static str,
    /// The length of its window in seconds.
    after_s: f64,
    /// Its planned length; null if unknown.
    of_s: Option<f64>,
}

impl CutReport {
    /// As it is told.
    pub fn of(cut: Cut) -> CutReport {
        CutReport { how: cut.name(), after_s: cut.after.as_secs_f64(), of_s: cut.of.map(|of| of.as_secs_f64()) }
    }
}
