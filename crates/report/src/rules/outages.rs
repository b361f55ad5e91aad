//! The rule for outages: stretches of the window without a success although requests were in flight throughout, or
//! failed.

use brunt_measure::{Histogram, Nanos, quantile};
use brunt_record::{RunEvent, RunPart, Second};

use super::{Evidence, TrustRule};
use crate::finding::{Finding, Grade};
use crate::name_rows::NameTotalsRow;
use crate::numbers;
use crate::sums::RunSums;
use crate::text::{Text, text};
use crate::totals::RunTotals;

const OUTAGE: Text = text("from {from} to {to} no request succeeded", "从 {from} 到 {to} 没有请求成功");
const OUTAGE_ONE_MORE: Text = text("; this happened one other time", "，另有一次同样的中断");
const OUTAGE_MORE: Text = text("; this happened {n} more times", "，另有 {n} 次同样的中断");

/// Minimum length of an outage: a server that stands still for exactly one second answers what it had begun just after
/// the beginning, and the next success comes less than a second later.
const LEAST: Nanos = Nanos::from_millis(900);
/// Minimum part of that for which requests must have been in flight: under open load, the first arrival after the last
/// success may take a while.
const LEAST_BUSY: Nanos = Nanos::from_millis(700);
/// Minimum ratio of an outage's length to the usual duration of requests: a service that takes three seconds per
/// request has such stretches even when healthy.
const TIMES: u64 = 3;
/// Minimum number of requests due during an outage under open load: with fewer, the gap may be chance.
const DUE: f64 = 10.0;
/// Minimum number of seconds without an outage, and of their successes, that show how long requests usually take under
/// open load.
const CALM: u64 = 3;
const CALM_SUCCESSES: u64 = 20;
/// Minimum number of responses of a name that show how long it usually takes, the quantiles that do (the lower one is that
/// of responses without an outage in any case), and the multiple of the upper one that chance may reach.
const NAMED: u64 = 10;
const FAST: f64 = 0.1;
const SLOW: f64 = 0.9;
const VARIED: f64 = 1.5;
/// Multiple of the backlog before an outage, and number of requests more, up to which it counts as drained.
const DRAINED_TIMES: u64 = 2;
const DRAINED_MORE: u64 = 5;
/// Minimum number of failures in two adjacent seconds with successes, and maximum time before and after their boundary
/// without a request that ended, for failures to have filled the time between the successes.
const FAILURES: u64 = 10;
const NEAR: i64 = 250_000_000;
/// Maximum number of outages kept, longest first, to bound memory.
const KEPT: usize = 64;
/// Share of the window without a success above which, under closed load, the figures are invalid.
const CLOSED_FAIL: f64 = 0.25;

/// The outages found while a record is read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Outages {
    /// End of the last success, or the beginning of the run.
    last_success: Option<i64>,
    succeeded: bool,
    /// Number of whole seconds since then without a success, whether requests failed or waited for a connection in each
    /// of them, and the time since when requests have been in flight without a break.
    silent: u64,
    failing: bool,
    /// Time of the last failure in the last second with a success, and the number of its failures.
    last_failure: Option<i64>,
    failures: u64,
    busy_since: Option<i64>,
    /// End of the seconds seen.
    until: i64,
    /// Stretches without a success, longest first.
    stretches: Vec<(i64, i64)>,
    /// Service times outside such stretches, those not yet assigned (with the backlog at their end), the number of seconds without an outage, and the
    /// number of all seconds.
    normal: Histogram,
    pending: Option<CalmSecond>,
    /// Of the service times in calm seconds, those of requests that may have begun before the end of an outage; in
    /// `normal` under closed load only, where they are as likely those of a service that takes this long.
    left_over: Histogram,
    /// End of the last outage.
    ended: Option<i64>,
    calm: u64,
    seconds: u64,
    /// Requests in flight or waiting at the end of the last calm second, and whether those that an outage left behind
    /// are still being answered: their service times are part of it.
    backlog: u64,
    draining: bool,
    /// Longest time since the last success for which a worker was away from its sockets, in nanoseconds.
    own_gap: u64,
}

/// A second without an outage, until it is known whether one began at its end.
#[derive(Clone, Debug, Default, PartialEq)]
struct CalmSecond {
    service: Vec<(Nanos, u64)>,
    left_over: Vec<(Nanos, u64)>,
    backlog: u64,
}

impl CalmSecond {
    /// Separates the requests that may have begun before `ended`, the end of an outage.
    fn of(s: &Second, ended: Option<i64>, backlog: u64) -> CalmSecond {
        let mut calm = CalmSecond { backlog, ..CalmSecond::default() };
        let since = ended.map_or(u64::MAX, |ended| u64::try_from(s.from_ns.saturating_sub(ended)).unwrap_or(0));
        for (time, n) in s.latency.service.buckets() {
            let part = if time.0 >= since { &mut calm.left_over } else { &mut calm.service };
            part.push((time, n));
        }
        calm
    }
}

impl Outages {
    /// Adds a second of the warm-up or of the window.
    fn second(&mut self, s: &Second) {
        self.seconds += 1;
        self.until = s.to_ns;
        self.own_gap = self.own_gap.max(s.latency.loop_gap.max());
        let since = *self.last_success.get_or_insert(s.from_ns);
        let first = s.first_success_ns.or((s.finished > 0).then_some(s.from_ns));
        let Some(first) = first else {
            self.failing = (self.failing || self.silent == 0) && (s.failed > 0 || s.waiting > 0);
            (self.silent, self.busy_since) = (self.silent + 1, s.busy_since_ns);
            return;
        };
        self.failing = if self.silent == 0 { self.failed_across(s, since, first) } else { self.failing };
        self.busy_since = s.busy_since_ns;
        // Before the first success, connections are opened, which may take a retransmission (1 s).
        let is_opening = !self.succeeded && first - since < 2 * LEAST.0 as i64;
        let was_calm = is_opening || !self.close(since, first);
        self.flush_pending(was_calm);
        let backlog = u64::from(s.in_flight) + u64::from(s.waiting);
        let drained = self.backlog.saturating_mul(DRAINED_TIMES).saturating_add(DRAINED_MORE);
        // The second in which the backlog is drained still has requests of it.
        let drains = self.draining;
        self.draining = (drains || !was_calm) && backlog > drained;
        if was_calm && !drains {
            self.pending = Some(CalmSecond::of(s, self.ended, backlog));
        }
        self.last_success = s.last_success_ns.or(Some(s.to_ns));
        self.own_gap = 0;
        (self.last_failure, self.failures) = (s.last_failure_ns, s.failed);
        (self.succeeded, self.silent, self.failing) = (true, 0, false);
    }

    /// Returns `true` if requests failed from one second to the next between their successes, at `since` and `first`.
    fn failed_across(&self, next: &Second, since: i64, first: i64) -> bool {
        let (last, soonest) =
            (self.last_failure.filter(|at| *at > since), next.first_failure_ns.filter(|at| *at < first));
        let before = last.unwrap_or(since) >= next.from_ns.saturating_sub(NEAR);
        let after = soonest.unwrap_or(first) <= next.from_ns.saturating_add(NEAR);
        before && after && self.failures.saturating_add(next.failed) >= FAILURES
    }

    /// Adds the pending service times to the normal ones, or drops them if an outage followed.
    fn flush_pending(&mut self, was_calm: bool) {
        let Some(pending) = self.pending.take().filter(|_| was_calm) else { return };
        pending.service.into_iter().for_each(|(time, n)| self.normal.record_n(time, n));
        pending.left_over.into_iter().for_each(|(time, n)| self.left_over.record_n(time, n));
        self.backlog = pending.backlog;
        self.calm += 1;
    }

    /// Ends the time since the last success; returns `true` if it was long enough and successes were expected.
    fn close(&mut self, since: i64, at: i64) -> bool {
        let wanted = match self.failing {
            true => Some(since),
            false => self.busy_since.map(|busy| busy.max(since)),
        };
        // Only the window is reported.
        let Some(from) = wanted.map(|from| from.max(0)) else { return false };
        let (without, busy) = (at.saturating_sub(since.max(0)), at.saturating_sub(from));
        // An outage concerns all workers, so that the stop of one of them covers it: brunt was away, not the service.
        let was_away = i64::try_from(self.own_gap).unwrap_or(i64::MAX).saturating_mul(2) >= at.saturating_sub(from);
        if without < LEAST.0 as i64 || busy < LEAST_BUSY.0 as i64 || was_away {
            return false;
        }
        let place = self.stretches.partition_point(|(f, t)| t - f >= at - from);
        self.stretches.insert(place, (from, at));
        self.stretches.truncate(KEPT);
        self.ended = Some(at);
        true
    }

    /// Returns the usual duration of answered requests. If most of the run consists of outages, there are hardly any
    /// normal seconds to compare with: under closed load, the 99th percentile of all requests is used instead (with few
    /// users, all of them may wait in the same outage), and under open load the median.
    fn usual(&self, totals: &RunTotals, open: bool) -> Nanos {
        let at = |ranks: &Histogram, q: f64| ranks.at_rank(quantile::rank_of(ranks.count(), q)).unwrap_or_default();
        // A few calm seconds suffice under open load: requests keep coming in an outage and show its length themselves.
        let enough = open && self.calm >= CALM && self.normal.count() >= CALM_SUCCESSES;
        match enough || self.calm * 2 >= self.seconds {
            true if open => at(&self.normal, 0.99),
            true => {
                let mut all = self.normal.clone();
                all.merge(&self.left_over);
                at(&all, 0.99)
            }
            false => at(&totals.latency.service, if open { 0.5 } else { 0.99 }),
        }
    }

    /// Returns the outages of a completed run, the longest first: their beginnings and ends in nanoseconds since the
    /// start of the window.
    fn all(&self, run: &RunSums) -> Vec<(i64, i64)> {
        let (totals, open) = (&run.totals, run.open);
        let mut all = self.clone();
        let Some(last) = all.last_success.filter(|_| all.succeeded) else { return Vec::new() };
        let lasted = all.silent > 0 && all.close(last, all.until);
        all.flush_pending(!lasted);
        let usual = all.usual(totals, open);
        let usual = Nanos(usual.0.saturating_mul(TIMES));
        let least = LEAST_BUSY.max(usual).max(slowest_name(run)).0 as i64;
        let due_per_ns = if open { totals.due as f64 / totals.window.0.max(1) as f64 } else { f64::INFINITY };
        all.stretches.retain(|(from, to)| to - from >= least && (to - from) as f64 * due_per_ns >= DUE);
        all.stretches
    }

    /// Returns the longest outage of a completed run.
    pub fn found(&self, run: &RunSums) -> Option<ServiceOutage> {
        let all = self.all(run);
        let &(from, to) = all.first()?;
        let length = |(from, to): &(i64, i64)| u64::try_from(to - from).unwrap_or(0);
        let total: u64 = all.iter().map(length).sum();
        let to_the_end = all.iter().any(|(_, to)| *to == self.until);
        let fails = !run.open && (to_the_end || total as f64 > CLOSED_FAIL * run.totals.window.0 as f64);
        let at = |ns: i64| Nanos(u64::try_from(ns).unwrap_or(0));
        let further = all.len() as u64 - 1;
        let grade = if fails { Grade::Fail } else { Grade::Warn };
        Some(ServiceOutage { from: at(from), to: at(to), to_the_end: to == self.until, others: further, grade })
    }
}

/// Returns the time without a success that the slowest of several names explains: all users may be in that step.
fn slowest_name(run: &RunSums) -> Nanos {
    let of = |row: NameTotalsRow<'_>| {
        let times = row.totals.ranked().finished;
        let at = |q: f64| times.at_rank(quantile::rank_of(times.count(), q)).unwrap_or_default();
        let usual = Nanos((at(FAST).0.saturating_mul(TIMES)).min((at(SLOW).0 as f64 * VARIED) as u64));
        if times.count() >= NAMED { usual } else { Nanos::ZERO }
    };
    run.by_name().map(of).max().unwrap_or_default()
}

/// The longest outage of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServiceOutage {
    /// Beginning (the end of the last success before the outage), since the start of the window.
    pub from: Nanos,
    /// End: the next success, or the end of the window.
    pub to: Nanos,
    /// Set if it lasted until the end of the window.
    pub to_the_end: bool,
    /// Number of other outages.
    pub others: u64,
    /// Grade: `Warn`, or `Fail` under closed load (where requests stop when answers do) if the outages are long in
    /// total or one lasts until the end of the window.
    grade: Grade,
}

impl ServiceOutage {
    fn finding(self) -> Finding {
        let at = |t: Nanos| format!("{:.1} s", t.as_secs_f64());
        let found = Finding::new("outage", self.grade, OUTAGE, [("from", at(self.from)), ("to", at(self.to))]);
        match self.others {
            0 => found,
            1 => found.and(OUTAGE_ONE_MORE, []),
            n => found.and(OUTAGE_MORE, [("n", numbers::count(n))]),
        }
    }
}

impl TrustRule for Outages {
    fn see(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Second(second) if second.part != RunPart::Drain => self.second(second),
            _ => {}
        }
    }

    fn findings(&self, run: &Evidence<'_>) -> Vec<Finding> {
        self.found(run).map(ServiceOutage::finding).into_iter().collect()
    }

    fn outages(&self, run: &Evidence<'_>) -> Vec<(i64, i64)> {
        let mut all = self.all(run);
        all.sort_unstable();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sums::SumsBuilder;

    const MS: i64 = 1_000_000;

    /// A second of a window: the first and last success (ms since its beginning), the number of failures, and the time
    /// since when requests had been in flight (ms since the run's beginning).
    type SecondSpec = (Option<(i64, i64)>, u64, Option<i64>);

    /// The longest outage: its beginning and end in ms, the number of others, the grade.
    type LongestOutage = Option<(u64, u64, u64, Grade)>;

    fn of(seconds: impl IntoIterator<Item = Second>, open: bool) -> Option<ServiceOutage> {
        let (mut sums, mut outages) = (SumsBuilder::default(), Outages::default());
        for second in seconds {
            sums.add_second(&second);
            outages.see(&RunEvent::Second(Box::new(second)));
        }
        outages.found(&RunSums { open, ..sums.finish() })
    }

    fn outage(seconds: &[SecondSpec], service_ms: u64, open: bool) -> Option<ServiceOutage> {
        let second = |(n, &(successes, failed, busy_since)): (usize, &SecondSpec)| {
            let from_ns = n as i64 * 1000 * MS;
            let mut second = Second {
                from_ns,
                to_ns: from_ns + 1000 * MS,
                due: 100,
                finished: if successes.is_some() { 100 - failed } else { 0 },
                failed,
                first_success_ns: successes.map(|(first, _)| from_ns + first * MS),
                last_success_ns: successes.map(|(_, last)| from_ns + last * MS),
                busy_since_ns: busy_since.map(|ms| ms * MS),
                ..Second::default()
            };
            second.latency.service.record_n(Nanos::from_millis(service_ms), second.finished);
            second
        };
        of(seconds.iter().enumerate().map(second), open)
    }

    fn told(outage: Option<ServiceOutage>) -> LongestOutage {
        let ServiceOutage { from, to, others: further, grade, .. } = outage?;
        Some((from.0 / MS as u64, to.0 / MS as u64, further, grade))
    }

    #[test]
    fn an_outage_begins_with_the_last_success_and_ends_with_the_next_one() {
        let well = (Some((1, 999)), 0, Some(0));
        let dies = (Some((1, 300)), 0, Some(0));
        let silent = (None, 0, Some(0));
        let back = (Some((400, 999)), 0, Some(0));
        let fails = (None, 9, None);
        let calm = [well; 6];
        let runs: [(&[SecondSpec], bool, LongestOutage); 9] = [
            (&[well, dies, silent, silent, back, well], true, Some((1300, 4400, 0, Grade::Warn))),
            // More than a second, across the boundary of two.
            (&[well, dies, back, well], true, Some((1300, 2400, 0, Grade::Warn))),
            // The service never recovered: under closed load, the figures are invalid.
            (&[well, dies, silent], true, Some((1300, 3000, 0, Grade::Warn))),
            (&[well, dies, silent], false, Some((1300, 3000, 0, Grade::Fail))),
            (&[well, dies, fails, fails, back, well], false, Some((1300, 4400, 0, Grade::Fail))),
            (&[well, dies, silent, back, well, dies, silent, silent, back], true, Some((5300, 8400, 1, Grade::Warn))),
            // The first answer took a long time.
            (&[silent, silent, back, well], true, Some((0, 2400, 0, Grade::Warn))),
            (&[well, well, well], false, None),
            // There was no success at all, which another rule reports.
            (&[silent, silent], false, None),
        ];
        for (seconds, open, expected) in runs {
            assert_eq!(told(outage(seconds, 2, open)), expected, "{seconds:?}");
        }
        assert_eq!(told(outage(&calm, 2, false)), None);
    }

    #[test]
    fn a_second_of_refused_connects_is_told_wherever_the_seconds_lie() {
        // Each of 100 requests a second succeeds or fails at once; nothing is ever in flight for long.
        let seen = |from: i64, to: i64, fails: fn(i64) -> bool| {
            let seconds = (0..6_i64).map(|n| {
                let times = |is_wanted: bool| {
                    let is_failed = move |ms: &i64| (from..to).contains(ms) && fails(*ms);
                    (1000 * n..1000 * (n + 1))
                        .step_by(10)
                        .filter(move |ms| is_failed(ms) == is_wanted)
                        .collect::<Vec<_>>()
                };
                let (good, bad) = (times(false), times(true));
                let ends = |of: &[i64]| [of.first(), of.last()].map(|ms| ms.map(|ms| ms * MS));
                let mut second =
                    Second { from_ns: 1000 * n * MS, to_ns: 1000 * (n + 1) * MS, due: 100, ..Second::default() };
                (second.finished, second.failed) = (good.len() as u64, bad.len() as u64);
                [second.first_success_ns, second.last_success_ns] = ends(&good);
                [second.first_failure_ns, second.last_failure_ns] = ends(&bad);
                second.latency.service.record_n(Nanos::from_millis(1), second.finished);
                second
            });
            told(of(seconds, true))
        };
        for from in (2000..3000).step_by(70) {
            assert!(seen(from, from + 950, |_| true).is_some(), "from {from} ms");
            assert_eq!(seen(from, from + 800, |_| true), None, "too short, from {from} ms");
            assert_eq!(seen(from, from + 950, |ms| ms % 20 == 0), None, "half of them succeed, from {from} ms");
        }
    }

    #[test]
    fn users_who_think_and_requests_that_are_far_apart_are_no_outage() {
        // All users pause from 0.4 s to 1.7 s, so requests have been in flight only since 1.7 s.
        let seconds = [
            (Some((100, 400)), 0, Some(0)),
            (Some((800, 999)), 0, Some(1700)),
            (None, 0, None),
            (Some((1, 9)), 0, Some(3000)),
        ];
        for open in [true, false] {
            assert_eq!(told(outage(&seconds, 100, open)), None);
        }
    }

    #[test]
    fn a_slow_service_has_seconds_without_a_success_while_it_is_well() {
        let seconds = [(Some((1, 1)), 0, Some(0)), (None, 0, Some(0)), (None, 0, Some(0)), (Some((2, 2)), 0, Some(0))];
        assert_eq!(told(outage(&seconds, 2900, false)), None);
        assert_eq!(told(outage(&seconds, 20, false)), Some((1, 3002, 0, Grade::Fail)));
    }

    #[test]
    fn a_long_outage_does_not_hide_itself_behind_the_answers_that_waited_for_its_end() {
        let well = (Some((1, 999)), 0, Some(0));
        let mut seconds = vec![well; 20];
        (seconds[2], seconds[3], seconds[4], seconds[5]) =
            ((Some((1, 500)), 0, Some(0)), (None, 0, Some(0)), (None, 0, Some(0)), (None, 0, Some(0)));
        let seconds = seconds.iter().enumerate().map(|(n, &(successes, ..))| {
            let from_ns = n as i64 * 1000 * MS;
            let mut second = Second { from_ns, to_ns: from_ns + 1000 * MS, due: 100, ..Second::default() };
            second.finished = if successes.is_some() { 100 } else { 0 };
            second.first_success_ns = successes.map(|(first, _)| from_ns + first * MS);
            second.last_success_ns = successes.map(|(_, last)| from_ns + last * MS);
            second.busy_since_ns = Some(0);
            // All waiting requests are answered in the second in which the outage ends.
            let (took, many) = if n == 6 { (3000, 400) } else { (2, second.finished) };
            second.latency.service.record_n(Nanos::from_millis(took), many);
            second
        });
        assert_eq!(told(of(seconds, true)), Some((2500, 6001, 0, Grade::Warn)));
    }

    /// A service with a queue stands still for four of fourteen seconds at 10/s, and then answers what has waited over
    /// the next two: those requests took up to four seconds, and are no measure of how long requests usually take.
    #[test]
    fn what_drains_after_an_outage_is_part_of_it() {
        let waiting = [1, 1, 0, 1, 11, 21, 31, 41, 24, 8, 1, 0, 1, 0];
        let took_ms = [100, 110, 90, 120, 100, 0, 0, 0, 3500, 2000, 100, 110, 90, 100];
        let seconds = |stands_still: bool| {
            let second = move |n: usize| {
                let from_ns = n as i64 * 1000 * MS;
                let silent = stands_still && (5..8).contains(&n);
                let mut second = Second { from_ns, to_ns: from_ns + 1000 * MS, due: 10, ..Second::default() };
                (second.waiting, second.busy_since_ns) = (waiting[n], Some(4010 * MS));
                if silent {
                    return second;
                }
                let last = if stands_still && n == 4 { 10 } else { 990 };
                let first = if n == 8 { 100 } else { 5 };
                second.finished = if n == 8 || n == 9 { 27 } else { 10 };
                second.first_success_ns = Some(from_ns + first * MS);
                second.last_success_ns = Some(from_ns + last * MS);
                second.latency.service.record_n(Nanos::from_millis(took_ms[n].max(1)), second.finished);
                second
            };
            (0..14).map(second)
        };
        assert_eq!(told(of(seconds(true), true)), Some((4010, 8100, 0, Grade::Warn)));
        assert_eq!(told(of(seconds(false), true)), None, "the twin: as slow, and never without a success");
    }

    /// Connections that the kernel refused to accept in an outage are retried after one second and more.
    #[test]
    fn what_is_left_of_an_outage_does_not_hide_it() {
        let seconds = (0..5_i64).map(|n| {
            let from_ns = n * 1000 * MS;
            let mut second = Second { from_ns, to_ns: from_ns + 1000 * MS, due: 100, ..Second::default() };
            let (first, last) = match n {
                2 => (1, 500),
                3 => (501, 999),
                _ => (1, 999),
            };
            (second.first_success_ns, second.last_success_ns) = (Some(from_ns + first * MS), Some(from_ns + last * MS));
            (second.finished, second.busy_since_ns) = (100, Some(0));
            second.latency.service.record_n(Nanos::from_millis(2), 95);
            second.latency.service.record_n(Nanos::from_millis(if n > 2 { 1950 } else { 2 }), 5);
            second
        });
        assert_eq!(told(of(seconds, true)), Some((2500, 3501, 0, Grade::Warn)));
    }

    #[test]
    fn a_stall_of_one_second_is_told_wherever_the_seconds_lie() {
        // Arrivals every 10 ms, each answered after 1 ms; the server stands still for 1.000 s.
        for (stalls_at, stalls_for) in (0..1000).step_by(7).map(|at| (2000 + at, 1000)) {
            let ends = (0..600_i64).map(|n| 10 * n + 1).map(|ms| {
                if (stalls_at..stalls_at + stalls_for).contains(&ms) { stalls_at + stalls_for + 1 } else { ms }
            });
            let ends: Vec<i64> = ends.collect();
            let seconds = (0..6_i64).map(|n| {
                let (from, to) = (1000 * n, 1000 * (n + 1));
                let within: Vec<i64> = ends.iter().copied().filter(|ms| (from..to).contains(ms)).collect();
                let mut second = Second { from_ns: from * MS, to_ns: to * MS, due: 100, ..Second::default() };
                second.finished = within.len() as u64;
                (second.first_success_ns, second.last_success_ns) =
                    (within.first().map(|ms| ms * MS), within.last().map(|ms| ms * MS));
                // The first request of the stall arrives a moment after the last success.
                let stalled = within.first().is_none_or(|first| *first > stalls_at) && to > stalls_at;
                second.busy_since_ns = Some(if stalled { (stalls_at / 10 * 10 + 10) * MS } else { from * MS });
                second.latency.service.record_n(Nanos::from_millis(1), second.finished);
                second
            });
            let seen = told(of(seconds, true));
            assert!(seen.is_some(), "a stall at {stalls_at} ms");
        }
    }

    #[test]
    fn what_began_in_the_warm_up_is_told_of_the_window() {
        let seconds = (-2..4_i64).map(|n| {
            let from_ns = n * 1000 * MS;
            let well = n == -2 || n == 3;
            Second {
                from_ns,
                to_ns: from_ns + 1000 * MS,
                part: if n < 0 { brunt_record::RunPart::Warmup } else { brunt_record::RunPart::Window },
                first_success_ns: well.then_some(from_ns + 5 * MS),
                last_success_ns: well.then_some(from_ns + 900 * MS),
                busy_since_ns: Some(-2000 * MS),
                ..Second::default()
            }
        });
        assert_eq!(told(of(seconds, false)), Some((0, 3005, 0, Grade::Fail)));
    }

    #[test]
    fn a_short_outage_in_a_long_closed_run_is_a_caution() {
        let mut seconds = vec![(Some((1, 999)), 0, Some(0)); 60];
        (seconds[30], seconds[31]) = ((Some((1, 300)), 0, Some(0)), (Some((500, 999)), 0, Some(0)));
        assert_eq!(told(outage(&seconds, 2, false)), Some((30_300, 31_500, 0, Grade::Warn)));
    }

    #[test]
    fn records_that_do_not_tell_when_successes_came_are_judged_by_whole_seconds() {
        let seconds = [5, 5, 0, 0, 5].into_iter().enumerate().map(|(n, finished)| {
            let from_ns = n as i64 * 1000 * MS;
            let to_ns = from_ns + 1000 * MS;
            Second { from_ns, to_ns, due: 10, finished, failed: 1, ..Second::default() }
        });
        assert_eq!(told(of(seconds, true)), Some((2000, 4000, 0, Grade::Warn)));
    }
}
