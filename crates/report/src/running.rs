//! Figures of a run in progress: latency of its last seconds, and its totals so far.

use std::collections::VecDeque;

use brunt_measure::quantile::minimum_count;
use brunt_measure::{Histogram, Nanos};
use brunt_record::{RunPart, Second};

use crate::ranked::{RankedLatency, headline};

/// Number of seconds that figures of the last seconds cover at most.
const MOST_SECONDS: usize = 60;

/// Copies of the histograms of a ranked latency, which can be merged.
#[derive(Clone, Debug, Default)]
struct LatencyCopy {
    finished: Histogram,
    at_least: Histogram,
    delayed: Histogram,
    undelayed: Histogram,
}

impl LatencyCopy {
    fn add(&mut self, latency: RankedLatency<'_>) {
        self.finished.merge(latency.finished);
        latency.at_least.into_iter().for_each(|at_least| self.at_least.merge(at_least));
        if let Some(own) = latency.own {
            self.delayed.merge(own.delayed);
            self.undelayed.merge(own.undelayed);
        }
    }

    fn ranked(&self) -> RankedLatency<'_> {
        RankedLatency::with_unfinished(&self.finished, &self.at_least).with_own(&self.delayed, &self.undelayed)
    }
}

/// The latency of the last seconds: of the last one, and of as many before it as p99 needs. A second of a slow run alone
/// has too few requests for p99, which would come and go from row to row.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecentLatency {
    seconds: VecDeque<LatencyCopy>,
    part: RunPart,
    merged: LatencyCopy,
}

impl RecentLatency {
    /// Adds a second; those of another part of the run no longer count.
    pub fn add(&mut self, latency: RankedLatency<'_>, part: RunPart) {
        if part != self.part {
            self.seconds.clear();
        }
        self.part = part;
        let mut copy = LatencyCopy::default();
        copy.add(latency);
        self.seconds.push_back(copy);
        let needed = minimum_count(0.99);
        let mut count: u64 = self.seconds.iter().map(|second| second.ranked().count()).sum();
        while let Some(oldest) = self.seconds.front().map(|second| second.ranked().count())
            && self.seconds.len() > 1
            && (count - oldest >= needed || self.seconds.len() > MOST_SECONDS)
        {
            count -= oldest;
            self.seconds.pop_front();
        }
        self.merged = LatencyCopy::default();
        self.seconds.iter().for_each(|second| self.merged.add(second.ranked()));
    }

    /// Returns the latency of these seconds.
    pub fn ranked(&self) -> RankedLatency<'_> {
        self.merged.ranked()
    }

    /// Returns `true` if it is the latency of several seconds.
    pub fn is_of_several(&self) -> bool {
        self.seconds.back().is_some_and(|last| last.ranked().count() < self.merged.ranked().count())
    }
}

/// The totals of a run so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunningTotals {
    /// Requests that succeeded, and those that failed, in the window and after it.
    pub succeeded: u64,
    pub failed: u64,
    /// Requests that ended, including those of the warm-up.
    pub ended: u64,
    /// Successes within the window, and its length.
    in_window: u64,
    window: Nanos,
    latency: LatencyCopy,
}

impl RunningTotals {
    /// Adds a second.
    pub fn add(&mut self, second: &Second, is_open: bool) {
        self.ended += second.finished + second.failed;
        if second.part == RunPart::Warmup {
            return;
        }
        self.succeeded += second.finished;
        self.failed += second.failed;
        self.latency.add(headline(&second.latency, is_open));
        if second.part == RunPart::Window {
            self.in_window += second.successes();
            self.window += second.length();
        }
    }

    /// Returns the successes per second of the window.
    pub fn rate_per_s(&self) -> Option<f64> {
        (self.window > Nanos::ZERO).then(|| self.in_window as f64 / self.window.as_secs_f64())
    }

    /// Returns the latency of all requests so far.
    pub fn latency(&self) -> RankedLatency<'_> {
        self.latency.ranked()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(n: u64, took: Nanos) -> Histogram {
        let mut histogram = Histogram::new();
        histogram.record_n(took, n);
        histogram
    }

    #[test]
    fn p99_covers_the_seconds_it_needs_and_no_more() {
        let mut recent = RecentLatency::default();
        let ms = Nanos::from_millis;
        let mut p99 = |n, took, part| {
            recent.add(RankedLatency::finished_only(&second(n, took)), part);
            (recent.ranked().quantile(0.99).figure.exact().is_some(), recent.seconds.len())
        };
        let window = RunPart::Window;
        assert_eq!(p99(100, ms(900), window), (false, 1));
        assert_eq!(p99(100, ms(8), window), (false, 2));
        assert_eq!(p99(100, ms(8), window), (true, 3), "300 requests");
        assert_eq!(p99(298, ms(8), window), (true, 2));
        assert_eq!(p99(298, ms(8), window), (true, 2), "a rate just too low for a second alone");
        assert_eq!(p99(299, ms(8), window), (true, 1));
        assert_eq!(p99(5, ms(8), window), (true, 2));
        assert_eq!(p99(5, ms(8), RunPart::Drain), (false, 1), "the drain has no load");
    }

    #[test]
    fn rare_requests_are_not_kept_for_ever() {
        let mut recent = RecentLatency::default();
        for _ in 0..500 {
            recent.add(RankedLatency::finished_only(&second(1, Nanos::from_millis(1))), RunPart::Window);
        }
        assert_eq!(recent.ranked().count(), MOST_SECONDS as u64);
    }
}
