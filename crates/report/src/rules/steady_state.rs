//! The rule for a steady state: a mean over a warm-up and the rest of the run, or over two regimes, describes neither.

use brunt_measure::{Nanos, Rng, quantile, steady};
use brunt_record::{RunEvent, RunPart};

use super::{Evidence, TrustRule};
use crate::finding::{Finding, Grade};
use crate::numbers;
use crate::overload::Overload;
use crate::text::{Text, text};

const SETTLED_LATE: Text = text(
    "the first {time} differed from the rest: mean latency was {before}, and {after} from then on; exclude them \
        with --warmup {warmup}",
    "前 {time} 与其余部分不同：平均延迟为 {before}，此后为 {after}；可用 --warmup {warmup} 排除",
);
const REGIMES: Text = text(
    "latency changed at {time}: {before} on average before, {after} after; results over both describe neither",
    "延迟在 {time} 发生变化：此前平均 {before}，此后 {after}；合并统计的结果对前后两段都没有代表性",
);
const REGIMES_TYPICAL: Text = text(
    "latency changed at {time}: its median was {before} before and {after} after; results over both describe neither",
    "延迟在 {time} 发生变化：此前中位数为 {before}，此后为 {after}；合并统计的结果对前后两段都没有代表性",
);
const DRIFTING: Text = text(
    "the run never settled: latency kept moving from {before} to {after}, so results depend on the length of the run",
    "压测始终未稳定：延迟一路从 {before} 变为 {after}，结果取决于压测时长",
);

/// Number of seconds below which a run is not judged.
const LEAST: usize = 20;
/// Maximum number of points kept; above it, pairs of points are merged.
const KEPT: usize = 240;
/// Number of seconds from which batches of five are compared.
const BATCHED: usize = 60;
/// Ratio, and absolute difference in nanoseconds, below which a change is normal noise on a shared machine.
const RATIO: f64 = 1.5;
const DIFFERENCE: f64 = 200_000.0;
/// Part of a run within which a lasting improvement counts as a warm-up.
const EARLY: f64 = 0.35;
/// Share of unknown points above which a series is not judged.
const UNKNOWN: f64 = 0.2;
/// Minimum length of a regime, as a share of the run; shorter ones are stalls, which another rule covers.
const REGIME: f64 = 0.15;

/// The mean and the median service time of each second, collected while a record is read.
#[derive(Clone, Debug)]
pub(super) struct SteadyStateRule {
    /// Sum in nanoseconds and count of each point.
    points: Vec<(f64, f64)>,
    /// Median service time of each point, in nanoseconds; 0 without a response.
    medians: Vec<f64>,
    /// Seconds per point.
    seconds: usize,
    /// Seconds in the last point.
    filled: usize,
}

impl Default for SteadyStateRule {
    fn default() -> SteadyStateRule {
        SteadyStateRule { points: Vec::new(), medians: Vec::new(), seconds: 1, filled: 1 }
    }
}

impl SteadyStateRule {
    fn add(&mut self, sum: f64, count: f64, median: f64) {
        let both = |a: f64, b: f64| if a > 0.0 && b > 0.0 { f64::midpoint(a, b) } else { a.max(b) };
        if self.filled < self.seconds
            && let (Some(last), Some(typical)) = (self.points.last_mut(), self.medians.last_mut())
        {
            (last.0, last.1, self.filled) = (last.0 + sum, last.1 + count, self.filled + 1);
            *typical = both(*typical, median);
            return;
        }
        if self.points.len() == KEPT {
            self.points =
                self.points.chunks(2).map(|two| two.iter().fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1))).collect();
            self.medians = self.medians.chunks(2).map(|two| two.iter().copied().fold(0.0, both)).collect();
            self.seconds *= 2;
        }
        self.points.push((sum, count));
        self.medians.push(median);
        self.filled = 1;
    }

    /// Returns the logarithms of the means, in which twice as slow and twice as fast are the same distance. A point
    /// without a response repeats the previous one; `None` if there are too many such points.
    fn logs(&self) -> Option<Vec<f64>> {
        let mean = |(sum, count): &(f64, f64)| (*count > 0.0 && *sum > 0.0).then(|| (sum / count).ln());
        SteadyStateRule::carried(self.points.iter().map(mean).collect())
    }

    /// Like [`SteadyStateRule::logs`], of the medians.
    fn median_logs(&self) -> Option<Vec<f64>> {
        SteadyStateRule::carried(self.medians.iter().map(|median| (*median > 0.0).then(|| median.ln())).collect())
    }

    /// Fills in unknown points; `None` if there are too many.
    fn carried(known: Vec<Option<f64>>) -> Option<Vec<f64>> {
        let unknown = known.iter().filter(|point| point.is_none()).count();
        if unknown as f64 > UNKNOWN * known.len() as f64 {
            return None;
        }
        let mut last = known.iter().copied().find_map(|point| point)?;
        let carried = |point: Option<f64>| {
            last = point.unwrap_or(last);
            last
        };
        Some(known.into_iter().map(carried).collect())
    }
}

impl SteadyStateRule {
    /// Finds two levels of the median, which a disturbance (stolen time, a stall) of a part of the seconds does not
    /// hide: means, and distances between them, are as large as the disturbance.
    fn change_of_level(&self) -> Option<Finding> {
        let logs = self.median_logs()?;
        let at = steady::level_change(&logs)?;
        let shortest = shortest_regime(logs.len());
        let (before, after) = (steady::median(&logs[..at]).exp(), steady::median(&logs[at..]).exp());
        let lasts = (shortest..=logs.len().saturating_sub(shortest)).contains(&at);
        let shown = |ns: f64| numbers::duration(Nanos(ns as u64));
        let time = format!("{}s", at * self.seconds);
        let values = [("time", time), ("before", shown(before)), ("after", shown(after))];
        (lasts && differ(before, after)).then(|| Finding::new("two_regimes", Grade::Warn, REGIMES_TYPICAL, values))
    }
}

/// Returns the minimum number of points of a regime.
fn shortest_regime(points: usize) -> usize {
    ((points as f64 * REGIME) as usize).max(3)
}

/// Returns `true` if two means differ by more than noise.
fn differ(a: f64, b: f64) -> bool {
    let (a, b) = (a.min(b), a.max(b));
    b >= RATIO * a && b - a >= DIFFERENCE
}

/// Returns the distance between the means of two parts, weighted by their lengths.
fn part_distance(logs: &[f64], at: usize) -> f64 {
    let (before, after) = logs.split_at(at);
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len().max(1) as f64;
    (mean(before) - mean(after)).powi(2) * (before.len() * after.len()) as f64
}

impl TrustRule for SteadyStateRule {
    fn see(&mut self, event: &RunEvent) {
        if let RunEvent::Second(s) = event
            && s.part == RunPart::Window
            && s.length() >= Nanos::from_millis(900)
        {
            let service = &s.latency.service;
            let median = service.at_rank(quantile::rank_of(service.count(), 0.5)).unwrap_or_default();
            self.add(service.sum() as f64, service.count() as f64, median.0 as f64);
        }
    }

    fn findings(&self, run: &Evidence<'_>) -> Vec<Finding> {
        let level = run.started.as_ref().is_some_and(|s| s.plan.is_level()) && run.changes.is_empty();
        let seconds = self.points.len() * self.seconds;
        if !level || seconds < LEAST || run.only_holds() || Overload::of(run).is_some() {
            return Vec::new();
        }
        let warmup = run.started.as_ref().map_or(Nanos::ZERO, |s| s.plan.warmup);
        let found = self.logs().and_then(|logs| self.judge(&logs, warmup));
        found.or_else(|| self.change_of_level()).into_iter().collect()
    }
}

impl SteadyStateRule {
    /// Judges the series; `warmup` is the length of the warm-up that the run already had.
    fn judge(&self, logs: &[f64], warmup: Nanos) -> Option<Finding> {
        let n = logs.len();
        let typical = |part: &[f64]| steady::median(part).exp();
        let told = |code, text, at: usize, before: f64, after: f64| {
            let shown = |ns: f64| numbers::duration(Nanos(ns as u64));
            let seconds = at * self.seconds;
            let longer = (warmup.0 as f64 / 1e9).ceil() as usize + seconds;
            let (time, warmup) = (format!("{seconds}s"), format!("{longer}s"));
            let values = [("time", time), ("warmup", warmup), ("before", shown(before)), ("after", shown(after))];
            Finding::new(code, Grade::Warn, text, values)
        };
        let batch = if n * self.seconds >= BATCHED { 5 } else { 1 };
        let cut = steady::warm_up_length(logs, batch);
        if let Some(cut) = cut.filter(|cut| *cut > 0) {
            let (before, after) = (typical(&logs[..cut]), typical(&logs[cut..]));
            // A long faster beginning is not a warm-up.
            let warm = after < before || cut as f64 <= EARLY * n as f64;
            if warm && differ(before, after) {
                return Some(told("settled_late", SETTLED_LATE, cut, before, after));
            }
        }
        let rest = &logs[cut.unwrap_or(0)..];
        let (first, last) = (typical(&rest[..rest.len().div_ceil(5)]), typical(&rest[rest.len() * 4 / 5..]));
        // A series that drifts throughout has change points everywhere.
        let rise = steady::slope(rest) * rest.len() as f64;
        let whole = last.ln() - first.ln();
        let (early, late) = rest.split_at(rest.len() / 2);
        let within = |half: &[f64]| steady::slope(half) * half.len() as f64;
        if differ(first, last) && rise / whole > 0.5 && within(early) / whole > 0.2 && within(late) / whole > 0.2 {
            return Some(told("never_settled", DRIFTING, 0, first, last));
        }
        let shortest = shortest_regime(n);
        let changes = steady::change_points(logs, &mut Rng::new(0));
        changes
            .into_iter()
            .filter(|at| (shortest..=n - shortest).contains(at))
            .map(|at| (at, typical(&logs[..at]), typical(&logs[at..])))
            .filter(|(_, before, after)| differ(*before, *after))
            // Of several change points, the best separated one is reported; medians alone hardly differ slightly before
            // or after it.
            .max_by(|a, b| part_distance(logs, a.0).total_cmp(&part_distance(logs, b.0)))
            .map(|(at, before, after)| match at as f64 <= EARLY * n as f64 && after < before {
                // If the end of a series is even steadier than its middle, the search for the warm-up looks there and
                // finds none.
                true => told("settled_late", SETTLED_LATE, at, before, after),
                false => told("two_regimes", REGIMES, at, before, after),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the code of the finding for a run of `seconds` seconds with these means in milliseconds and a jitter of
    /// 10 %.
    fn code(seconds: usize, mean_ms: impl Fn(usize) -> f64) -> Option<&'static str> {
        let (mut series, mut rng) = (SteadyStateRule::default(), Rng::new(9));
        for at in 0..seconds {
            series.add(mean_ms(at) * 1e6 * 100.0 * (0.9 + 0.2 * rng.f64()), 100.0, mean_ms(at) * 1e6);
        }
        series.judge(&series.logs()?, Nanos::ZERO).map(|found| {
            assert!(!found.sentence(crate::Lang::En).is_empty() && !found.sentence(crate::Lang::Zh).is_empty());
            found.code
        })
    }

    #[test]
    fn what_changed_is_told_and_what_did_not_is_not() {
        for seconds in [30, 60, 120, 3_600] {
            let at = |share: f64| (seconds as f64 * share) as usize;
            assert_eq!(code(seconds, |_| 10.0), None, "level, {seconds}");
            let warm = code(seconds, |second| if second < at(0.2) { 50.0 } else { 10.0 });
            assert_eq!(warm, Some("settled_late"), "warm-up, {seconds}");
            let slower = code(seconds, |second| if second < at(0.55) { 10.0 } else { 20.0 });
            assert_eq!(slower, Some("two_regimes"), "two regimes, {seconds}");
            let leak = code(seconds, |second| 10.0 * (1.0 + 2.0 * second as f64 / seconds as f64));
            assert_eq!(leak, Some("never_settled"), "a leak, {seconds}");
        }
    }

    #[test]
    fn the_moment_of_a_change_is_the_one_it_happened_at() {
        let (mut series, mut rng) = (SteadyStateRule::default(), Rng::new(4));
        for second in 0..24 {
            // An earlier disturbance is not a change of regime.
            let mean = if second >= 12 {
                20e6
            } else if second == 9 {
                13e6
            } else {
                10e6
            };
            series.add(mean * (0.95 + 0.1 * rng.f64()), 1.0, mean);
        }
        let found = series.judge(&series.logs().unwrap(), Nanos::ZERO).unwrap();
        assert!(found.sentence(crate::Lang::En).starts_with("latency changed at 12s"), "{found:?}");
    }

    #[test]
    fn a_run_that_is_slower_from_its_middle_on_did_not_settle_there() {
        let mut series = SteadyStateRule::default();
        for second in 0..24 {
            let noise = 1.0 + 0.01 * (second % 3) as f64;
            series.add(if second < 11 { 10e6 } else { 20e6 } * noise, 1.0, 10e6);
        }
        assert_eq!(
            brunt_measure::steady::warm_up_length(&series.logs().unwrap(), 1),
            Some(11),
            "the case that is meant"
        );
        let found = series.judge(&series.logs().unwrap(), Nanos::ZERO).unwrap();
        assert_eq!(found.code, "two_regimes", "{found:?}");
        assert!(found.sentence(crate::Lang::En).starts_with("latency changed at 11s"), "{found:?}");
    }

    #[test]
    fn little_differences_are_no_regimes() {
        assert_eq!(code(60, |second| if second < 30 { 10.0 } else { 12.0 }), None, "a fifth");
        assert_eq!(code(60, |second| if second < 30 { 0.1 } else { 0.2 }), None, "a tenth of a millisecond");
        assert_eq!(code(60, |second| if second == 30 { 500.0 } else { 10.0 }), None, "a single stall");
    }

    #[test]
    fn a_warm_up_is_one_whether_or_not_its_cut_is_found() {
        let mut series = SteadyStateRule::default();
        for second in 0..32 {
            // The last seconds vary less than any before.
            let noise = if second < 26 { 0.05 * (second % 3) as f64 } else { 0.0 };
            series.add(if second < 8 { 30e6 } else { 10e6 } * (1.0 + noise), 1.0, 10e6);
        }
        let found = series.judge(&series.logs().unwrap(), Nanos::ZERO).unwrap();
        assert_eq!(found.code, "settled_late", "{found:?}");
        let again = series.judge(&series.logs().unwrap(), Nanos::from_millis(14_500)).unwrap();
        let said = again.sentence(crate::Lang::En);
        assert!(said.starts_with("the first 8s differed") && said.ends_with("--warmup 23s"), "a longer one: {said}");
        assert_eq!(brunt_measure::steady::warm_up_length(&series.logs().unwrap(), 1), None, "the case that is meant");
    }

    #[test]
    fn a_second_without_a_response_hides_no_change() {
        let judged = |silent: fn(usize) -> bool| {
            let mut series = SteadyStateRule::default();
            for second in 0..40 {
                let mean = if second < 22 { 10e6 } else { 20e6 };
                let mean = mean * (1.0 + 0.01 * (second % 3) as f64);
                if silent(second) { series.add(0.0, 0.0, 0.0) } else { series.add(mean * 10.0, 10.0, mean) }
            }
            series.logs().and_then(|logs| series.judge(&logs, Nanos::ZERO)).map(|found| found.code)
        };
        assert_eq!(judged(|second| second == 0 || second == 17), Some("two_regimes"));
        assert_eq!(judged(|second| second % 3 == 0), None, "too little is known");
    }

    /// Sixteen per cent of the time is stolen: in every second, some responses are read tens of milliseconds late, in
    /// some seconds nearly all.
    #[test]
    fn stolen_time_hides_no_change_and_makes_none() {
        let (mut seen, mut by_chance) = (0, 0);
        for seed in 0..100 {
            let mut rng = Rng::new(seed);
            let mut series = |slower: f64| {
                let mut series = SteadyStateRule::default();
                for second in 0..24 {
                    let own = if second < 12 { 2e6 } else { slower };
                    let stolen = 20e6 * rng.f64() * rng.f64();
                    let typical = own * (1.0 + 0.2 * rng.f64()) + if rng.f64() < 0.16 { stolen } else { 0.0 };
                    series.add((typical + stolen) * 100.0, 100.0, typical);
                }
                series
            };
            seen += i32::from(series(4e6).change_of_level().is_some_and(|found| found.code == "two_regimes"));
            by_chance += i32::from(series(2e6).change_of_level().is_some());
        }
        assert!(seen >= 85 && by_chance == 0, "{seen} of 100, {by_chance} by chance");
    }

    #[test]
    fn long_runs_are_thinned() {
        let mut series = SteadyStateRule::default();
        (0..10_000).for_each(|_| series.add(5e6, 5.0, 1e6));
        assert!(series.points.len() <= KEPT && series.points.iter().all(|(sum, count)| sum / count == 1e6));
        let counted: f64 = series.points.iter().map(|(_, count)| count).sum();
        assert_eq!(counted, 50_000.0);
    }
}
