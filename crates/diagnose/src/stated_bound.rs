//! The bounds that claims state. A claim that the figures of its own run refute is never said.

use crate::load_results::LoadResults;

/// A figure that a claim states as the most, or as the size of something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum StatedBound {
    /// Requests per second, at most.
    RequestsPerS(f64),
    /// Requests worked on at a time, all alike.
    AtOnce(f64),
    /// The capacity of something, and how much of it was used, in the same unit.
    Capacity { most: f64, used: f64 },
}

/// Share by which measured figures may exceed a bound: sentences show three digits, and counters are not read at the
/// very ends of the window.
const ROUNDING: f64 = 0.02;
/// Share by which the time for which requests hold a place may exceed the shortest response time: sleeping and
/// computing take longer on a busy machine.
pub(crate) const UNEVEN: f64 = 0.15;

impl StatedBound {
    /// Returns `true` if the figures of the run agree with the bound.
    pub fn holds(self, run: &LoadResults) -> bool {
        match self {
            StatedBound::RequestsPerS(most) => run.reached_per_s() <= most * (1.0 + ROUNDING),
            // By Little's law, places that are never free are each held for places ÷ throughput. That cannot exceed
            // the shortest response time, which includes it, and no more can be at work than are in flight.
            StatedBound::AtOnce(places) => {
                let held = places / run.worked_per_s();
                places <= run.in_flight * (1.0 + ROUNDING) && held <= run.service.min * (1.0 + UNEVEN)
            }
            StatedBound::Capacity { most, used } => used <= most * (1.0 + ROUNDING),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::run;

    #[test]
    fn a_bound_below_what_was_measured_does_not_hold() {
        let per_s = |most| StatedBound::RequestsPerS(most).holds(&run());
        assert!(per_s(1000.0) && per_s(2000.0) && per_s(999.0));
        assert!(!per_s(850.0), "1,000/s were reached");
        let faster = LoadResults { usual_second_per_s: 1200.0, ..run() };
        assert!(!StatedBound::RequestsPerS(1000.0).holds(&faster), "half of the seconds had more");
    }

    #[test]
    fn places_are_not_held_for_longer_than_the_shortest_response_takes() {
        let places = |n| StatedBound::AtOnce(n).holds(&run());
        assert!(places(30.0), "1,000/s × 30 ms");
        assert!(!places(36.0), "each would be held for 36 ms, and a response took 30 ms");
        let few = LoadResults { in_flight: 8.0, ..run() };
        assert!(!StatedBound::AtOnce(9.0).holds(&few), "only eight were in flight");
        assert!(!StatedBound::Capacity { most: 12.5, used: 500.0 }.holds(&run()));
    }
}
