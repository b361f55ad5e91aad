//! The reference client in the JSON report.

use serde::Serialize;

use super::distribution::Distribution;
use crate::reference::ReferenceTotals;

/// The reference client: its requests are in no other count or figure of the document.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct ReferenceReport<'a> {
    /// Requests scheduled, excluding the warm-up.
    scheduled: u64,
    /// Requests that succeeded.
    succeeded: u64,
    /// Requests that failed.
    failed: u64,
    /// Requests without a response when the run ended.
    unfinished: u64,
    /// Service time of the requests that succeeded.
    service: Distribution<'a>,
    /// Delay from the arrival of data, by the kernel's receive timestamps, until it was read.
    read_late: Distribution<'a>,
}

impl<'a> ReferenceReport<'a> {
    pub fn of(client: &'a ReferenceTotals) -> ReferenceReport<'a> {
        ReferenceReport {
            scheduled: client.scheduled,
            succeeded: client.succeeded,
            failed: client.failed,
            unfinished: client.unfinished,
            service: Distribution::of(client.service()),
            read_late: Distribution::of(client.read_late()),
        }
    }
}
