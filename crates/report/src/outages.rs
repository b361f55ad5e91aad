//! Stretches of the window in which nobody was served: requests in flight or failing, and not one success.

use measure::Nanos;
use record::{Latency, Second};

use crate::trust::{Grade, Reason};

/// A stretch is an outage from this length on.
const LEAST: Nanos = Nanos::from_secs(1);
/// And where it is so many times longer than nine in ten requests take: a service that takes three seconds for everything
/// has such stretches while it is well.
const TIMES_P90: u64 = 3;
/// Requests in flight on average for a stretch to count.
const IN_FLIGHT: f64 = 0.5;
/// The longest are kept; a run of hours with more of them is no better understood by more.
const KEPT: usize = 64;
/// In closed load a longer share of the window without a success leaves no figure to speak of.
const CLOSED_FAIL: f64 = 0.05;

/// Found while a record streams by.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outages {
    /// When the last success ended; None: there was none yet.
    last_success: Option<i64>,
    /// So far, requests were in flight or failing all the time since.
    wanted: bool,
    /// The end of the seconds seen.
    until: i64,
    /// Longest first.
    stretches: Vec<(i64, i64)>,
}

impl Outages {
    /// Takes in a second of the window.
    pub fn see(&mut self, s: &Second) {
        let first = s.first_success_ns.or((s.finished > 0).then_some(s.from_ns));
        let last = s.last_success_ns.or((s.finished > 0).then_some(s.to_ns));
        if let Some(since) = self.last_success {
            let (from, to) = (since.max(s.from_ns), first.unwrap_or(s.to_ns));
            let span = to.saturating_sub(from).max(0) as f64;
            let busy = s.failed > 0 || s.waiting > 0 || s.in_flight_ns as f64 >= IN_FLIGHT * span;
            self.wanted &= busy;
            if let Some(first) = first {
                self.close(first);
            }
        }
        if last.is_some() {
            (self.last_success, self.wanted) = (last, true);
        }
        self.until = s.to_ns;
    }

    /// The stretch since the last success ends.
    fn close(&mut self, at: i64) {
        let Some(from) = self.last_success.filter(|_| self.wanted) else { return };
        if at.saturating_sub(from) < LEAST.0 as i64 {
            return;
        }
        let place = self.stretches.partition_point(|(f, t)| t - f >= at - from);
        self.stretches.insert(place, (from, at));
        self.stretches.truncate(KEPT);
    }

    /// What there is to say once the window is over; `open`: arrivals did not wait for answers.
    pub(crate) fn reason(&self, latency: &Latency, open: bool, window: Nanos) -> Option<Reason> {
        let mut all = self.clone();
        all.close(self.until);
        let ranks = &latency.service;
        let p90 = ranks.at_rank(measure::quantile::rank_of(ranks.count(), 0.9)).unwrap_or_default();
        let least = LEAST.0.max(p90.0.saturating_mul(TIMES_P90)) as i64;
        all.stretches.retain(|(from, to)| to - from >= least);
        let &(from, to) = all.stretches.first()?;
        let length = |(from, to): &(i64, i64)| Nanos(u64::try_from(to - from).unwrap_or(0));
        let total: u64 = all.stretches.iter().map(|stretch| length(stretch).0).sum();
        let to_the_end = all.stretches.iter().any(|(_, to)| *to == self.until);
        let grade = match !open && (to_the_end || total as f64 > CLOSED_FAIL * window.0 as f64) {
            true => Grade::Fail,
            false => Grade::Warn,
        };
        let at = |ns: i64| Nanos(u64::try_from(ns).unwrap_or(0));
        let further = all.stretches.len() as u64 - 1;
        Some(Reason::Outage { from: at(from), to: at(to), total: Nanos(total), further, grade })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// A second of a window: when the first and last success came (ms since its beginning), failures, and requests in
    /// flight on average.
    type Told = (Option<(i64, i64)>, u64, u64);

    fn reason(seconds: &[Told], service_ms: u64, open: bool) -> Option<Reason> {
        let mut outages = Outages::default();
        for (n, &(successes, failed, in_flight)) in seconds.iter().enumerate() {
            let from_ns = n as i64 * 1000 * MS;
            outages.see(&Second {
                from_ns,
                to_ns: from_ns + 1000 * MS,
                finished: u64::from(successes.is_some()),
                failed,
                in_flight_ns: u128::from(in_flight) * 1_000_000_000,
                first_success_ns: successes.map(|(first, _)| from_ns + first * MS),
                last_success_ns: successes.map(|(_, last)| from_ns + last * MS),
                ..Second::default()
            });
        }
        let mut latency = Latency::default();
        latency.service.record_n(Nanos::from_millis(service_ms), 100);
        outages.reason(&latency, open, Nanos::from_secs(seconds.len() as u64))
    }

    fn told(reason: Option<Reason>) -> Option<(u64, u64, u64, Grade)> {
        match reason? {
            Reason::Outage { from, to, further, grade, .. } => {
                Some((from.0 / MS as u64, to.0 / MS as u64, further, grade))
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_outage_begins_with_the_last_success_and_ends_with_the_next_one() {
        let well = (Some((1, 999)), 0, 10);
        let dies = (Some((1, 300)), 0, 10);
        let silent = (None, 0, 10);
        let back = (Some((400, 999)), 0, 10);
        let fails = (None, 9, 0);
        for (seconds, open, expected) in [
            (&[well, dies, silent, silent, back, well][..], true, Some((1300, 4400, 0, Grade::Warn))),
            // More than a second over the edge of two.
            (&[well, dies, back, well], true, Some((1300, 2400, 0, Grade::Warn))),
            // It never came back: in closed load there is no figure to speak of.
            (&[well, dies, silent], true, Some((1300, 3000, 0, Grade::Warn))),
            (&[well, dies, silent], false, Some((1300, 3000, 0, Grade::Fail))),
            (&[well, dies, fails, fails, back, well], false, Some((1300, 4400, 0, Grade::Fail))),
            (&[well, dies, silent, back, well, dies, silent, silent, back], true, Some((5300, 8400, 1, Grade::Warn))),
            (&[well, well, well], false, None),
            // Nothing was wanted, or there never was a success: other findings, or none.
            (&[well, (None, 0, 0), well], true, None),
            (&[silent, silent], false, None),
        ] {
            assert_eq!(told(reason(seconds, 2, open)), expected, "{seconds:?}");
        }
    }

    #[test]
    fn a_slow_service_has_seconds_without_a_success_while_it_is_well() {
        let seconds = [(Some((1, 1)), 0, 10), (None, 0, 10), (None, 0, 10), (Some((2, 2)), 0, 10)];
        assert_eq!(told(reason(&seconds, 2900, false)), None);
        assert_eq!(told(reason(&seconds, 20, false)), Some((1, 3002, 0, Grade::Fail)));
    }

    #[test]
    fn a_short_outage_in_a_long_closed_run_is_a_caution() {
        let mut seconds = vec![(Some((1, 999)), 0, 10); 60];
        (seconds[30], seconds[31]) = ((Some((1, 300)), 0, 10), (Some((500, 999)), 0, 10));
        assert_eq!(told(reason(&seconds, 2, false)), Some((30_300, 31_500, 0, Grade::Warn)));
    }

    #[test]
    fn records_that_do_not_tell_when_successes_came_are_judged_by_whole_seconds() {
        let mut outages = Outages::default();
        for (n, finished) in [5, 5, 0, 0, 5].into_iter().enumerate() {
            let from_ns = n as i64 * 1000 * MS;
            let second = Second { from_ns, to_ns: from_ns + 1000 * MS, finished, failed: 1, ..Second::default() };
            outages.see(&second);
        }
        let reason = outages.reason(&Latency::default(), true, Nanos::from_secs(5));
        assert_eq!(told(reason), Some((2000, 4000, 0, Grade::Warn)));
    }
}
