//! Rules for the health of the generator itself: workers without spare CPU time, and, in records of versions that did
//! not bound the delay of each request ([`super::band`]), how much the generator distorted its own figures.

use brunt_measure::{Histogram, Nanos};
use brunt_record::{RunEvent, RunPart, Second};

use super::{Evidence, TrustRule};
use crate::finding::{Finding, Grade};
use crate::numbers;
use crate::ranked::{Figure, RankedLatency};
use crate::text::{Text, text};
use crate::totals::RATED_LEAST;

const BUSY: Text = text(
    "brunt itself was at its limit: its busiest worker used {share} of a core, and was saturated for {full}; \
        responses waited to be read",
    "发压端自身已到极限：最忙的工作线程占用一个核的 {share}，有 {full} 的时间满载；响应在排队等待读取",
);
const BUSY_NEVER_FULL: Text = text(
    "brunt itself was near its limit: its busiest worker used {share} of a core; responses may have waited to be read",
    "发压端自身已接近极限：最忙的工作线程占用一个核的 {share}；响应可能在排队等待读取",
);
const BUSY_CLOSED: Text = text(", and throughput is a lower bound", "，吞吐量只是下限");
const BUSY_ADVICE: Text = text(
    "; use more workers (-w) or machines, a lower load, or fewer response checks (--expect-…)",
    "；请增加工作线程（-w）或机器、降低负载，或减少对响应的检查（--expect-…）",
);
const ABSENT: Text = text(
    "brunt was stalled for {lost} of the run, in pauses of 10 ms or more, the longest {longest}; responses that \
        arrived during them were read late",
    "压测时间内有 {lost} brunt 处于停顿（单次 ≥10 ms），最长 {longest}；其间到达的响应被推迟读取",
);
const READ_LATE: Text = text(
    "brunt was stalled: it did not read for up to {longest}, often enough to inflate {quantile} ({figure}); give it \
        dedicated cores, or lower the load",
    "发压端自身有停顿：最长有 {longest} 没有读取响应，次数之多已使 {quantile}（{figure}）偏高；请给 brunt 独占 CPU 核，或降低负载",
);
const STARVED: Text = text(
    "waiting for a CPU core added up to {delay} (p99) in brunt itself; measured p99 was {figure}; give brunt dedicated \
        cores, or a higher priority",
    "发压端自身在等待 CPU：等待时间的 p99 为 {delay}，而测得的 p99 为 {figure}；请给 brunt 独占 CPU 核，或提高其优先级",
);
const THROTTLED: Text = text(
    "brunt itself was throttled: its CPU quota (cgroup) was used up in {throttled} of {periods} periods; raise the quota or lower the load",
    "发压端自身受到 CPU 配额限制：{periods} 个周期中有 {throttled} 个用完了配额（cgroup）；请提高配额或降低负载",
);
const LATE: Text = text(
    "brunt sent requests late: {share} % of them left more than {late} late (response {quantile}: {response})",
    "发压端发送过晚：{share} % 的请求晚发 {late} 以上（响应时间 {quantile}：{response}）",
);
const LATE_MEAN: Text = text(
    "brunt sent requests late: {late} late on average (mean response time: {response})",
    "发压端发送过晚：平均晚 {late}，而平均响应时间为 {response}",
);

/// Share of a figure above which brunt's own contribution may be too large.
const SHARE: f64 = 0.2;
/// Share of a figure above which brunt's own contribution is always too large.
const MOST: f64 = 0.5;
/// Duration below which brunt's own contribution is ignored: an idle virtual core may wake up that late.
const LEAST: Nanos = Nanos::from_millis(1);
/// Duration from which a share of [`SHARE`] is too large.
const MUCH: Nanos = Nanos::from_millis(10);
/// Maximum share of brunt's own lateness in the mean response time. Lateness below [`MEAN_LEAST`] is ignored: healthy
/// runs against fast servers reach 240 µs, starved ones 14 ms.
const MEAN_SHARE: f64 = 0.05;
const MEAN_LEAST: Nanos = Nanos::from_micros(250);

/// Shares of a core above which a worker is full (V4), and above which it is heavily used.
const FULL: f64 = 0.9;
const USED: f64 = 0.7;
/// Share of the window with a full worker that invalidates the run.
const FULL_FAIL: f64 = 0.05;

/// Share of the window in gaps of [`MUCH`] or more above which the generator counts as absent (V10).
const LOST: f64 = 0.02;
/// Share of throttled periods of the CPU quota (V8).
const THROTTLED_SHARE: f64 = 0.01;
/// Number of sampled wake-ups below which their 99th percentile is meaningless.
const SAMPLES: u64 = 100;

fn known(figure: Figure) -> Option<Nanos> {
    figure.exact().or(figure.at_least())
}

/// Finds that the CPU quota of the generator was exhausted. This is the only rule here that judges a run that only
/// holds connections: such a run has no latency, and its cores may be busy with handshakes.
pub(super) fn throttled(run: &Evidence<'_>) -> Option<Finding> {
    let (throttled, periods) = (run.totals.generator.throttled, run.totals.generator.periods);
    let judged = run.only_holds() || !run.totals.has_bands;
    let material = judged && throttled > 0 && throttled as f64 > THROTTLED_SHARE * periods as f64;
    let facts = [("throttled", numbers::count(throttled)), ("periods", numbers::count(periods))];
    material.then(|| Finding::new("generator_throttled", Grade::Fail, THROTTLED, facts))
}

/// The rule for workers without spare CPU time: answers waited to be read, and requests waited to be sent.
#[derive(Debug, Default)]
pub(super) struct BusyWorkersRule {
    /// Total length of the seconds in which a worker was full.
    full: Nanos,
}

/// Returns `true` for a second of the window in which a worker was full.
pub(crate) fn is_full(s: &Second) -> bool {
    s.part == RunPart::Window
        && s.length() >= RATED_LEAST
        && s.generator.busiest_cpu_ns as f64 > FULL * s.length().0 as f64
}

impl TrustRule for BusyWorkersRule {
    fn see(&mut self, event: &RunEvent) {
        if let RunEvent::Second(s) = event
            && is_full(s)
        {
            self.full += s.length();
        }
    }

    fn findings(&self, run: &Evidence<'_>) -> Vec<Finding> {
        self.found(run).into_iter().collect()
    }
}

impl BusyWorkersRule {
    fn found(&self, run: &Evidence<'_>) -> Option<Finding> {
        let generator = &run.totals.generator;
        let (busiest, full) = (generator.busiest_share()?, generator.share(self.full)?);
        let grade = match () {
            () if run.only_holds() => return None,
            () if busiest > FULL || full > FULL_FAIL => Grade::Fail,
            () if busiest > USED || full > 0.0 => Grade::Warn,
            () => return None,
        };
        let facts = [("share", numbers::share(busiest)), ("full", numbers::duration(self.full))];
        let found =
            Finding::new("generator_busy", grade, if self.full > Nanos::ZERO { BUSY } else { BUSY_NEVER_FULL }, facts);
        let found = if run.open { found } else { found.and(BUSY_CLOSED, []) };
        Some(found.and(BUSY_ADVICE, []))
    }
}

/// The rule for workers that did not check their sockets because they were stopped or preempted. An answer that arrived
/// in such a gap was read only at its end.
#[derive(Debug, Default)]
pub(super) struct AbsentWorkersRule {
    /// Gaps within the window.
    gaps: Histogram,
}

impl TrustRule for AbsentWorkersRule {
    fn see(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Second(second) if second.part == RunPart::Window => self.gaps.merge(&second.latency.loop_gap),
            _ => {}
        }
    }

    fn findings(&self, run: &Evidence<'_>) -> Vec<Finding> {
        self.found(run).into_iter().collect()
    }
}

impl AbsentWorkersRule {
    fn found(&self, run: &Evidence<'_>) -> Option<Finding> {
        if run.totals.has_bands || self.gaps.is_empty() || run.totals.window < RATED_LEAST || run.only_holds() {
            return None;
        }
        let workers = run.started.as_ref().map_or(1, |s| s.workers.max(1));
        let time = run.totals.window.0 as f64 * f64::from(workers);
        let long = self.gaps.buckets().filter(|(gap, _)| *gap >= MUCH);
        let lost = long.fold(0.0, |sum, (gap, n)| sum + gap.0 as f64 * n as f64) / time;
        let longest = numbers::duration(Nanos(self.gaps.max()));
        if lost > LOST {
            let facts = [("lost", numbers::share(lost)), ("longest", longest)];
            return Some(Finding::new("generator_absent", Grade::Fail, ABSENT, facts));
        }
        let (quantile, figure) = self.inflated_quantile(run, time)?;
        let facts = [("quantile", quantile.to_owned()), ("figure", numbers::duration(figure)), ("longest", longest)];
        Some(Finding::new("generator_absent", Grade::Fail, READ_LATE, facts))
    }

    /// Returns the quantile that is inflated because answers were read late, with its value. One late answer in a
    /// hundred moves p99. For p99.9, only longer gaps count, because in a short run a single gap of a few milliseconds
    /// moves it.
    fn inflated_quantile(&self, run: &Evidence<'_>, time: f64) -> Option<(&'static str, Nanos)> {
        let quantiles = [("p50", 0.5, LEAST), ("p99", 0.99, LEAST), ("p99.9", 0.999, MUCH)];
        quantiles.into_iter().find_map(|(name, q, least)| {
            let figure = known(run.headline().quantile(q).figure)?;
            let span = Nanos((figure.0 as f64 * SHARE) as u64).max(least);
            // If that many answers had been read so late, the quantile would be at least that long: under closed load,
            // a gap delays at most one request per user.
            let spoiled = figure >= least && self.blind_for(span, time) > 1.0 - q;
            spoiled.then_some((name, figure))
        })
    }

    /// Returns the share of the time at which more than `span` would pass until the generator checks its sockets.
    fn blind_for(&self, span: Nanos, time: f64) -> f64 {
        let beyond: f64 = self.gaps.buckets().map(|(gap, n)| (gap - span).0 as f64 * n as f64).sum();
        beyond / time
    }
}

/// Finds that workers waited for a core after an event that should have woken them.
pub(super) fn starved(run: &Evidence<'_>) -> Option<Finding> {
    let delays = RankedLatency::finished_only(&run.totals.latency.wake_delay);
    if run.totals.has_bands || delays.count() < SAMPLES || run.only_holds() {
        return None;
    }
    let delay = delays.finished.at_rank(brunt_measure::quantile::rank_of(delays.count(), 0.99))?;
    let figure = known(run.headline().quantile(0.99).figure)?;
    let material = delay >= LEAST && delay.0 as f64 > SHARE * figure.0 as f64;
    let facts = [("delay", numbers::duration(delay)), ("figure", numbers::duration(figure))];
    material.then(|| Finding::new("generator_starved", Grade::Fail, STARVED, facts))
}

/// Finds requests that left later than they were due, other than by waiting for a connection (V1).
pub(super) fn late(run: &Evidence<'_>) -> Option<Finding> {
    if run.totals.has_bands || !run.open {
        return None;
    }
    let (lateness, headline) = (RankedLatency::finished_only(&run.totals.latency.gen_late), run.headline());
    for (quantile, q) in [("p99", 0.99), ("p50", 0.5)] {
        let own = lateness.quantile(q).figure.exact();
        let (Some(late), Some(response)) = (own, known(headline.quantile(q).figure)) else { continue };
        let share = late.0 as f64 / response.0.max(1) as f64;
        if late < LEAST || share <= SHARE {
            continue;
        }
        let grade = if share > MOST || late >= MUCH { Grade::Fail } else { Grade::Warn };
        let facts = [
            ("quantile", quantile.to_owned()),
            ("share", format!("{}", ((1.0 - q) * 1e4).round() / 1e2)),
            ("late", numbers::duration(late)),
            ("response", numbers::duration(response)),
        ];
        return Some(Finding::new("generator_late", grade, LATE, facts));
    }
    late_on_average(known(lateness.mean())?, known(headline.mean())?)
}

fn late_on_average(late: Nanos, response: Nanos) -> Option<Finding> {
    let share = late.0 as f64 / response.0 as f64;
    let grade = if share > MOST { Grade::Fail } else { Grade::Warn };
    let facts = [("late", numbers::duration(late)), ("response", numbers::duration(response))];
    (late >= MEAN_LEAST && share > MEAN_SHARE).then(|| Finding::new("generator_late_mean", grade, LATE_MEAN, facts))
}

#[cfg(test)]
mod tests {
    use brunt_record::Latency;

    use super::*;
    use crate::rules::tests::{found, of_sums};

    const MS: u64 = 1_000_000;

    /// Runs the rules on ten identical seconds.
    fn run(open: bool, second: impl Fn(&mut Second)) -> Vec<Finding> {
        let events = || {
            (0..10).map(|n| {
                let (from_ns, to_ns) = (n * 1_000 * MS as i64, (n + 1) * 1_000 * MS as i64);
                let mut s = Second { from_ns, to_ns, due: 1000, finished: 1000, ..Second::default() };
                s.latency.service.record_n(Nanos(2 * MS), 1000);
                if open {
                    s.latency.response.record_n(Nanos(2 * MS), 1000);
                }
                second(&mut s);
                RunEvent::Second(Box::new(s))
            })
        };
        let mut all = found(AbsentWorkersRule::default(), events());
        all.extend([throttled, starved, late].into_iter().filter_map(|judge| of_sums(judge, events())));
        all.extend(found(BusyWorkersRule::default(), events()));
        all
    }

    fn codes(found: &[Finding]) -> Vec<(&'static str, Grade)> {
        found.iter().map(|f| (f.code, f.grade)).collect()
    }

    #[test]
    fn a_healthy_generator_is_told_nothing() {
        let well = |l: &mut Latency| {
            // 60 % of the time in turns of 50 µs, woken 50 to 120 µs late.
            l.loop_gap.record_n(Nanos::from_micros(50), 12_000);
            l.wake_delay.record_n(Nanos::from_micros(60), 195);
            l.wake_delay.record_n(Nanos::from_micros(900), 5);
            l.gen_late.record_n(Nanos::from_micros(120), 1000);
        };
        for open in [true, false] {
            let found = run(open, |s| {
                well(&mut s.latency);
                s.generator = brunt_record::GeneratorUsage {
                    busiest_cpu_ns: 650 * MS,
                    ready_ns: 200 * MS,
                    periods: 10,
                    throttled: 0,
                    resolution_ns: 0,
                };
            });
            assert_eq!(found, [], "open: {open}");
        }
    }

    #[test]
    fn a_full_worker_spoils_a_run_and_a_well_used_one_is_a_caution() {
        let busy = |used: &[u64]| {
            let found = run(false, |s| {
                let n = (s.from_ns / 1_000_000_000) as usize;
                s.generator.busiest_cpu_ns = used[n % used.len()] * MS;
            });
            codes(&found)
        };
        assert_eq!(busy(&[950]), [("generator_busy", Grade::Fail)]);
        assert_eq!(busy(&[800]), [("generator_busy", Grade::Warn)]);
        assert_eq!(busy(&[950, 300, 300, 300, 300, 300, 300, 300, 300, 300]), [("generator_busy", Grade::Fail)]);
        assert_eq!(busy(&[690]), []);
    }

    #[test]
    fn pauses_are_judged_by_what_they_spoil() {
        let paused = |of: &[(u64, u64)], in_second: Option<i64>| {
            let found = run(false, |s| {
                for &(ms, n) in of {
                    if in_second.is_none_or(|second| s.from_ns / 1_000_000_000 == second) {
                        s.latency.loop_gap.record_n(Nanos(ms * MS), n);
                    }
                }
            });
            codes(&found)
        };
        let fails = [("generator_absent", Grade::Fail)];
        // 20 ms of every 100 ms, and 300 ms of every second.
        assert_eq!(paused(&[(20, 10)], None), fails);
        assert_eq!(paused(&[(300, 1)], None), fails);
        // One gap of half a second in ten seconds.
        assert_eq!(paused(&[(500, 1)], Some(3)), fails);
        // Turns of 3 ms, a tenth of the time: p99 of 2 ms contains them.
        assert_eq!(paused(&[(3, 34)], None), fails);
        // One pause of 9 ms in ten seconds moves no shown figure, nor does one of 15 ms if p99.9 is 2 ms.
        assert_eq!(paused(&[(9, 1)], Some(3)), []);
        assert_eq!(paused(&[(15, 1)], Some(3)), []);
    }

    #[test]
    fn waits_for_a_core_are_judged_by_p99() {
        let starved = |slow: u64| {
            let found = run(false, |s| {
                s.latency.wake_delay.record_n(Nanos::from_micros(30), 200 - slow);
                s.latency.wake_delay.record_n(Nanos(30 * MS), slow);
            });
            codes(&found)
        };
        assert_eq!(starved(4), [("generator_starved", Grade::Fail)]);
        assert_eq!(starved(1), []);
    }

    /// The engine requests no wait above 10 ms while answers are awaited, so a period without a core appears as a gap
    /// of nearly its length, and as one delayed wake-up among thousands.
    #[test]
    fn a_run_that_starved_in_few_long_stretches_is_caught_by_its_gaps() {
        let starved = |of: &[(i64, u64)]| {
            let found = run(false, |s| {
                s.latency.wake_delay.record_n(Nanos::from_micros(60), 200);
                for &(_, ms) in of.iter().filter(|(second, _)| s.from_ns / 1_000_000_000 == *second) {
                    s.latency.wake_delay.record(Nanos(ms * MS));
                    s.latency.loop_gap.record(Nanos((ms - 10) * MS));
                }
            });
            codes(&found)
        };
        let fails = [("generator_absent", Grade::Fail)];
        assert_eq!(starved(&[(2, 150), (5, 150), (7, 150)]), fails);
        assert_eq!(starved(&[(4, 400)]), fails);
        // Below a hundredth of the time, p99 does not move, and a p99.9 of 2 ms is not affected.
        assert_eq!(starved(&[(4, 40), (6, 40)]), []);
    }

    #[test]
    fn a_quota_that_is_used_up_costs_trust() {
        let throttled =
            |throttled| codes(&run(true, |s| (s.generator.throttled, s.generator.periods) = (throttled, 10)));
        assert_eq!(throttled(7), [("generator_throttled", Grade::Fail)]);
        assert_eq!(throttled(0), []);
    }

    #[test]
    fn late_requests_are_judged_by_their_share_of_the_response() {
        let late = |late: &[(u64, u64)], response: &[(u64, u64)]| {
            let found = run(true, |s| {
                s.latency.response.clear();
                let fill = |h: &mut Histogram, of: &[(u64, u64)]| {
                    of.iter().for_each(|&(us, n)| h.record_n(Nanos::from_micros(us), n));
                };
                fill(&mut s.latency.gen_late, late);
                fill(&mut s.latency.response, response);
            });
            codes(&found)
        };
        let fails = [("generator_late", Grade::Fail)];
        // More than half of the response time, and more than a fifth of a long one.
        assert_eq!(late(&[(20, 980), (1_500, 20)], &[(200, 980), (2_500, 20)]), fails);
        assert_eq!(late(&[(20, 980), (15_000, 20)], &[(200, 980), (60_000, 20)]), fails);
        assert_eq!(late(&[(20, 980), (1_500, 20)], &[(200, 980), (5_000, 20)]), [("generator_late", Grade::Warn)]);
        // A long tail of the server does not hide that all requests left late.
        assert_eq!(late(&[(1_500, 1000)], &[(2_600, 980), (2_000_000, 20)]), fails);
        // An idle core wakes up late, and a fast server answers sooner.
        assert_eq!(late(&[(98, 1000)], &[(217, 1000)]), []);
        assert_eq!(late(&[(400, 1000)], &[(3_000, 1000)]), [("generator_late_mean", Grade::Warn)]);
    }
}
