//! The difference between two samples.

use brunt_measure::Nanos;
use brunt_record::CounterValue;

use crate::Counters;

/// A pair of samples of the same host, the earlier one first.
#[derive(Clone, Copy, Debug)]
pub struct Delta<'a> {
    before: &'a Counters,
    after: &'a Counters,
}

/// Returns the difference between `before` and `after`.
pub fn delta<'a>(before: &'a Counters, after: &'a Counters) -> Delta<'a> {
    Delta { before, after }
}

impl<'a> Delta<'a> {
    /// Returns the time between the samples.
    pub fn time(&self) -> Nanos {
        Nanos(self.after.moment.0.saturating_sub(self.before.moment.0))
    }

    /// Returns the increase of a counter; `None` if either sample lacks it, or if it was reset in between.
    pub fn increase(&self, name: &str) -> Option<u64> {
        self.growth(name)?.whole()
    }

    /// Returns the increase per second; for a CPU time in nanoseconds, the result divided by 1e9 is the share of a
    /// core.
    pub fn rate(&self, name: &str) -> Option<f64> {
        let time = self.time().0;
        (time > 0).then(|| self.growth(name).map(|grown| grown.real() * 1e9 / time as f64))?
    }

    /// Iterates over all counters that increased, by name.
    pub fn grown(&self) -> impl Iterator<Item = (&'a str, CounterValue)> {
        let delta = *self;
        let names = self.after.values.keys().map(|name| &**name);
        names.filter_map(move |name| Some((name, delta.growth(name)?))).filter(|(_, grown)| grown.real() > 0.0)
    }

    fn growth(&self, name: &str) -> Option<CounterValue> {
        let (before, after) = (*self.before.values.get(name)?, *self.after.values.get(name)?);
        // The kernel computes idle time from several clocks, and it may go back by a tick (proc(5), `iowait`).
        let waits = name.starts_with("cpu.") && (name.ends_with(".idle") || name.ends_with(".iowait"));
        after.since(before).or(waits.then_some(CounterValue::Whole(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(moment: u64, values: &[(&str, u64)]) -> Counters {
        let values = values.iter().map(|&(name, value)| (name.into(), CounterValue::Whole(value))).collect();
        Counters { moment: Nanos(moment), values, ..Counters::default() }
    }

    #[test]
    fn differences_and_rates_of_what_both_samples_have() {
        let near = u64::from(u32::MAX) - 1;
        let before = sample(1_000_000_000, &[("a", 10), ("still", 3), ("round", near), ("anew", 500), ("gone", 1)]);
        let after = sample(3_000_000_000, &[("a", 40), ("still", 3), ("round", 8), ("anew", 2), ("new", 7)]);
        let between = delta(&before, &after);
        assert_eq!(between.time(), Nanos::from_secs(2));
        for (name, grown, rate) in [
            ("a", Some(30), Some(15.0)),
            ("still", Some(0), Some(0.0)),
            ("round", Some(10), Some(5.0)),
            ("anew", None, None),
            ("gone", None, None),
            ("new", None, None),
            ("never", None, None),
        ] {
            assert_eq!((between.increase(name), between.rate(name)), (grown, rate), "{name}");
        }
        assert_eq!(Vec::from_iter(between.grown().map(|(name, _)| name)), ["a", "round"]);
    }

    #[test]
    fn there_is_no_rate_of_a_moment() {
        let one = sample(5, &[("a", 1)]);
        assert_eq!((delta(&one, &one).increase("a"), delta(&one, &one).rate("a")), (Some(0), None));
    }

    #[test]
    fn idle_time_that_goes_back_by_a_tick_is_none() {
        let before = sample(0, &[("cpu.0.iowait", 50), ("cpu.0.user", 50), ("cpu.all.idle", 50)]);
        let after = sample(1, &[("cpu.0.iowait", 40), ("cpu.0.user", 40), ("cpu.all.idle", 40)]);
        let between = delta(&before, &after);
        assert_eq!(
            ["cpu.0.iowait", "cpu.0.user", "cpu.all.idle"].map(|name| between.increase(name)),
            [Some(0), None, Some(0)]
        );
    }
}
