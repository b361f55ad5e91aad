//! What the reference client of a run found, summed up.

use measure::Histogram;
use record::ReferenceSecond;

use crate::ranked::Ranked;

/// The reference client of a run: in none of the run's own figures.
#[derive(Clone, Debug, Default)]
pub struct ReferenceTotals {
    /// Requests scheduled, warm-up left out.
    pub scheduled: u64,
    /// Of these, those that succeeded.
    pub succeeded: u64,
    /// Of these, those that failed.
    pub failed: u64,
    /// Of these, those without a response when the run ended.
    pub unfinished: u64,
    service: Histogram,
    read_late: Histogram,
}

impl ReferenceTotals {
    /// Takes in a second of it.
    pub(crate) fn add(&mut self, second: &ReferenceSecond) {
        let sum = |mine: &mut u64, theirs: u64| *mine = mine.saturating_add(theirs);
        sum(&mut self.scheduled, second.scheduled);
        sum(&mut self.succeeded, second.succeeded);
        sum(&mut self.failed, second.failed);
        sum(&mut self.unfinished, second.unfinished);
        self.service.merge(&second.service);
        self.read_late.merge(&second.read_late);
    }

    /// Service times of those that succeeded.
    pub fn service(&self) -> Ranked<'_> {
        Ranked::plain(&self.service)
    }

    /// How long what arrived waited for brunt to read it, by the kernel's stamps.
    pub fn read_late(&self) -> Ranked<'_> {
        Ranked::plain(&self.read_late)
    }
}
