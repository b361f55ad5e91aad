//! Limits of a worker: its share of the plan as times and numbers.

use brunt_measure::Nanos;
use brunt_record::RunPart;

const SECOND: u64 = 1_000_000_000;

/// The limits; times are readings of the network's clock.
#[derive(Clone, Debug, Default)]
pub(crate) struct Limits {
    pub open: bool,
    /// Set if users run flows: even in closed load, steps are due at times that brunt may miss.
    pub flows: bool,
    /// Time at which the run began.
    pub start: Nanos,
    /// Time at which the window begins: the end of the warm-up.
    pub window: Nanos,
    /// Time at which the window ends; `None` if it ends with the quota.
    pub end: Option<Nanos>,
    /// Set if the run ends with the quota, even if `end` is later.
    pub until_quota: bool,
    /// The end that applies once the rate changes; `None` unless `end` was computed from a number of requests at the
    /// planned rate.
    pub end_at_other_rate: Option<Option<Nanos>>,
    /// Permitted lateness of arrivals, so that several can be sent together.
    pub slack: Nanos,
    pub drain: Nanos,
    pub timeout: Nanos,
    pub connect_timeout: Nanos,
    /// Interval at which the addresses of all origins are looked up again.
    pub dns_refresh: Option<Nanos>,
    /// Maximum number of arrivals that wait for a connection; any others wait in the schedule, where they use no
    /// memory.
    pub queue: u64,
    /// Set if each connection carries one exchange.
    pub one_exchange_per_connection: bool,
    /// Number of exchanges that share a connection.
    pub exchanges_per_connection: u32,
    /// Number of exchanges that one user keeps in flight.
    pub per_user: u32,
}

impl Limits {
    /// Shifts the whole run by `by`.
    pub fn shift(&mut self, by: Nanos) {
        self.start += by;
        self.window += by;
        self.end.iter_mut().chain(self.end_at_other_rate.iter_mut().flatten()).for_each(|end| *end += by);
    }

    /// Records that the load differs from the plan from now on, so that the duration of a number of requests is no
    /// longer known.
    pub fn load_changed(&mut self) {
        if let Some(end) = self.end_at_other_rate.take() {
            (self.end, self.until_quota) = (end, true);
        }
    }

    /// Ends the window at `end`, unless it ends earlier.
    pub fn ends_by(&mut self, end: Nanos) {
        self.end = Some(self.end.map_or(end, |planned| planned.min(end)));
    }

    /// Returns the end of the second that contains `at`. Seconds are counted from the start of the window, and cut at
    /// its start and end.
    pub fn second_after(&self, at: Nanos) -> Nanos {
        let window = self.window.0;
        let next = if at.0 < window {
            window - (window - at.0 - 1) / SECOND * SECOND
        } else {
            window + ((at.0 - window) / SECOND + 1) * SECOND
        };
        match self.end {
            Some(end) if at < end => Nanos(next.min(end.0)),
            _ => Nanos(next),
        }
    }

    /// Returns the part of the run to which a second that begins at `from` belongs.
    pub fn part(&self, from: Nanos) -> RunPart {
        match self.end {
            _ if from < self.window => RunPart::Warmup,
            Some(end) if from >= end => RunPart::Drain,
            _ => RunPart::Window,
        }
    }

    /// Returns how much of the interval from `from` to `to` lies within the window.
    pub fn in_window(&self, from: Nanos, to: Nanos) -> Nanos {
        self.end.map_or(to, |end| end.min(to)) - from.max(self.window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(end: Option<u64>) -> Limits {
        Limits { open: true, window: Nanos(1_500_000_000), end: end.map(Nanos), ..Limits::default() }
    }

    #[test]
    fn seconds_count_from_the_window_and_are_cut_at_both_of_its_ends() {
        let mut limits = limits(Some(3_700_000_000));
        let ends: Vec<u64> = [0, 500_000_000, 1_500_000_000, 2_500_000_000, 3_500_000_000, 3_700_000_000]
            .map(|at| limits.second_after(Nanos(at)).0 / 1_000_000)
            .into();
        assert_eq!(ends, [500, 1_500, 2_500, 3_500, 3_700, 4_500]);
        let parts = [0, 1_500_000_000, 3_699_999_999, 3_700_000_000].map(|at| limits.part(Nanos(at)));
        assert_eq!(parts, [RunPart::Warmup, RunPart::Window, RunPart::Window, RunPart::Drain]);
        limits.shift(Nanos(300_000_000));
        assert_eq!(limits.second_after(Nanos(300_000_000)).0, 800_000_000);
    }

    #[test]
    fn a_number_of_requests_at_another_rate_ends_when_it_is_done() {
        let mut planned = Limits { end_at_other_rate: Some(None), ..limits(Some(3_000_000_000)) };
        planned.shift(Nanos(1));
        planned.load_changed();
        assert_eq!((planned.end, planned.until_quota), (None, true));
        let mut bounded = Limits { end_at_other_rate: Some(Some(Nanos(9_000_000_000))), ..limits(Some(3_000_000_000)) };
        bounded.shift(Nanos(1));
        bounded.load_changed();
        assert_eq!((bounded.end, bounded.until_quota), (Some(Nanos(9_000_000_001)), true));
        let mut by_time = limits(Some(3_000_000_000));
        by_time.load_changed();
        assert_eq!((by_time.end, by_time.until_quota), (Some(Nanos(3_000_000_000)), false));
    }

    #[test]
    fn only_what_lies_in_the_window_counts() {
        let limits = limits(Some(3_000_000_000));
        assert_eq!(limits.in_window(Nanos(0), Nanos(9_000_000_000)).0, 1_500_000_000);
        assert_eq!(limits.in_window(Nanos(2_000_000_000), Nanos(2_500_000_000)).0, 500_000_000);
        assert_eq!(limits.in_window(Nanos(0), Nanos(1_000_000_000)).0, 0, "nothing of it");
    }
}
