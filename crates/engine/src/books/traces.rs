//! Traces of the slowest requests.

use measure::Nanos;
use wire::{Fill, Trace};

use super::Books;
use crate::exchange::Exchange;
use crate::traces::{Kept, Outcome, Traces};

impl Books {
    /// Requests belong to traces, or do not; of those that cannot say so, this share is sampled.
    pub fn tracing(mut self, tracing: bool, share: Option<f64>) -> Books {
        self.tally.traces = tracing.then(|| Box::new(Traces::new(share.map(Trace::sampled_below))));
        self
    }

    /// The trace of a request that has no place to say it in, made of its fill; None where the run has no such traces.
    pub fn unsaid(&self, fill: &Fill<'_>) -> Option<Trace> {
        let sampled = self.tally.traces.as_ref()?.unsaid?;
        Some(Trace::of(fill, sampled))
    }

    /// True where traces are kept.
    #[inline]
    pub fn traces(&self) -> bool {
        self.tally.traces.is_some()
    }

    /// A request is over that belongs to this trace.
    pub fn traced(&mut self, x: &Exchange, trace: Trace, outcome: Outcome, now: Nanos) {
        if let Some(traces) = &mut self.tally.traces {
            traces.see(Kept::of(x, trace, outcome, (self.open, now)));
        }
    }
}
