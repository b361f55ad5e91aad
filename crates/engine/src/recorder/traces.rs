//! Traces of the slowest requests.

use brunt_contract::{SlotContext, Trace};
use brunt_measure::Nanos;

use super::Recorder;
use crate::exchange::Exchange;
use crate::traces::{KeptTrace, TraceSelection, TracedOutcome};

impl Recorder {
    /// Sets whether requests have traces. `share` is the share sampled among requests that cannot carry one.
    pub fn with_traces(mut self, tracing: bool, share: Option<f64>) -> Recorder {
        self.tally.traces = tracing.then(|| Box::new(TraceSelection::new(share.map(Trace::sampling_bound))));
        self
    }

    /// Returns the trace of a request that cannot carry one, derived from its slot values; `None` if the run has no
    /// such traces.
    pub fn implicit_trace(&self, context: &SlotContext<'_>) -> Option<Trace> {
        let sampled = self.tally.traces.as_ref()?.implicit_below?;
        Some(Trace::derive(context, sampled))
    }

    /// Returns `true` if traces are kept.
    #[inline]
    pub fn has_traces(&self) -> bool {
        self.tally.traces.is_some()
    }

    /// Offers a completed request with its trace.
    pub fn traced(&mut self, x: &Exchange, trace: Trace, outcome: TracedOutcome, now: Nanos) {
        if let Some(traces) = &mut self.tally.traces {
            traces.record(KeptTrace::of(x, trace, outcome, (self.open, now)));
        }
    }
}
