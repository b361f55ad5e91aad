//! The reference client as JSON has it.

use serde::Serialize;

use super::distribution::Distribution;
use crate::reference::ReferenceTotals;

/// The reference client: its requests are in no other count or figure of the document.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct ReferenceReport<'a> {
    /// Requests scheduled, warm-up left out.
    scheduled: u64,
    /// Of these, those that succeeded.
    succeeded: u64,
    /// Of these, those that failed.
    failed: u64,
    /// Of these, those without a response when the run ended.
    unfinished: u64,
    /// Service time of those that succeeded.
    service: Distribution<'a>,
    /// How long what arrived waited to be read, by the kernel's receive timestamps.
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
