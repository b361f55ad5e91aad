//! Traces of the slowest requests.

use measure::Nanos;
use wire::Trace;

use super::Books;
use crate::exchange::Exchange;
use crate::traces::{Kept, Outcome, Traces};

impl Books {
    /// Requests say to which trace they belong, or do not.
    pub fn tracing(mut self, tracing: bool) -> Books {
        self.tally.traces = tracing.then(|| Box::new(Traces::new()));
        self
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
