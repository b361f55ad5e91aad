//! The summed results of a run's reference client.

use brunt_measure::Histogram;
use brunt_record::ReferenceSecond;

use crate::ranked::RankedLatency;

/// The totals of a run's reference client, which no other figure of the run includes.
#[derive(Clone, Debug, Default)]
pub struct ReferenceTotals {
    /// Requests scheduled, excluding the warm-up.
    pub scheduled: u64,
    /// Requests that succeeded.
    pub succeeded: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Requests without a response when the run ended.
    pub unfinished: u64,
    service: Histogram,
    read_late: Histogram,
}

impl ReferenceTotals {
    /// Adds a second of the reference client.
    pub(crate) fn add(&mut self, second: &ReferenceSecond) {
        let sum = |mine: &mut u64, theirs: u64| *mine = mine.saturating_add(theirs);
        sum(&mut self.scheduled, second.scheduled);
        sum(&mut self.succeeded, second.succeeded);
        sum(&mut self.failed, second.failed);
        sum(&mut self.unfinished, second.unfinished);
        self.service.merge(&second.service);
        self.read_late.merge(&second.read_late);
    }

    /// Returns the service times of the requests that succeeded.
    pub fn service(&self) -> RankedLatency<'_> {
        RankedLatency::finished_only(&self.service)
    }

    /// Returns the delays from the arrival of data (by the kernel's timestamps) until brunt read it.
    pub fn read_late(&self) -> RankedLatency<'_> {
        RankedLatency::finished_only(&self.read_late)
    }
}
