//! The end condition of a worker.

use brunt_measure::Nanos;

/// The progress of a worker at one point in time.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunProgress {
    /// Set if no new requests are started.
    pub closing: bool,
    /// Set if an arrival is due, now or later.
    pub any_due: bool,
    /// Set if no source brings another request.
    pub sources_over: bool,
    /// Set if requests are in flight.
    pub in_flight: bool,
    /// Set if a user is in the middle of an iteration.
    pub iterates: bool,
    /// End of the window, or of its drain while closing.
    pub ends: Nanos,
    pub now: Nanos,
}

impl RunProgress {
    /// Returns `true` if there is nothing left to wait for, or the time to wait is over.
    pub fn is_over(&self) -> bool {
        let nothing_more = (self.closing && !self.any_due) || self.sources_over;
        let overdue = self.closing && self.now >= self.ends;
        (nothing_more && !self.in_flight && !self.iterates) || overdue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUNS: RunProgress = RunProgress {
        closing: false,
        any_due: true,
        sources_over: false,
        in_flight: true,
        iterates: false,
        ends: Nanos(100),
        now: Nanos(50),
    };

    #[test]
    fn a_run_is_over_once_nothing_is_left_or_its_drain_is() {
        let closing = RunProgress { closing: true, any_due: false, in_flight: false, ..RUNS };
        for (standing, over, what) in [
            (RUNS, false, "it goes on"),
            (RunProgress { now: Nanos(100), ..RUNS }, false, "the window's end closes it first"),
            (closing, true, "all came in the drain"),
            (RunProgress { any_due: true, ..closing }, false, "an arrival of the window is late, and is sent"),
            (RunProgress { in_flight: true, ..closing }, false, "a response may come"),
            (RunProgress { iterates: true, ..closing }, false, "an iteration may finish"),
            (RunProgress { in_flight: true, now: Nanos(100), ..closing }, true, "but no longer than the drain"),
            (RunProgress { sources_over: true, ..RUNS }, false, "the last response is awaited"),
            (RunProgress { sources_over: true, in_flight: false, ..RUNS }, true, "a number of requests is done"),
        ] {
            assert_eq!(standing.is_over(), over, "{what}");
        }
    }
}
