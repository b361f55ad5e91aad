//! How a run ended early, as JSON has it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::cut::Cut;

/// A run that ended sooner than it was to.
#[derive(Serialize, JsonSchema)]
pub struct CutReport {
    /// `cut` (what was in flight is lost), `stopped` (an objective or a step asked for it) or `drained` (nothing more was sent, and what was
    /// in flight might finish).
    how: &'static str,
    /// The length of its window in seconds.
    after_s: f64,
    /// What that was to be; null where it is not known.
    of_s: Option<f64>,
}

impl CutReport {
    /// As it is told.
    pub fn of(cut: Cut) -> CutReport {
        CutReport { how: cut.name(), after_s: cut.after.as_secs_f64(), of_s: cut.of.map(|of| of.as_secs_f64()) }
    }
}
