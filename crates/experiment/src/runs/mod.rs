//! The comparison of repeated runs: what differs between two sides, beyond what differs between runs of one side.
//!
//! A report compares two records by the seconds within each; this compares figures across runs, which also vary by what
//! each run begins with: memory layout, caches, neighbours. Measures, thresholds and verdicts are those of the report.

mod order;
mod ranks;

use brunt_measure::steady::median;
use brunt_report::contrast::{ChangeVerdict, ComparedFigures, MEASURES, Measure};

pub(crate) use order::shuffle;
pub use order::{RunSide, alternating, shuffled};
pub use ranks::{RankTest, SampleShift, hodges_lehmann, mann_whitney};

/// Runs of each side with which a rank test can tell anything at 5 %.
pub const LEAST_RUNS: usize = 4;
/// Runs of each side beyond which no number is announced: something else than chance keeps them apart.
pub const MOST_RUNS: usize = 60;
/// Smallest throughput whose logarithm is taken, per second.
const LEAST: f64 = 1e-6;
/// Factor by which an interval must be narrower than its distance to a threshold to fall within it in 80 of 100 cases:
/// the normal quantiles of 97.5 % and 80 %, over the first.
const POWER: f64 = (1.96 + 0.84) / 1.96;

/// A figure of one run: its value, and the band of what may be brunt's own.
pub type RunFigure = (f64, Option<[f64; 2]>);

/// A measure of two sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunsChange {
    /// What is compared.
    pub measure: Measure,
    /// Runs of each side that have the figure.
    pub runs: [usize; 2],
    /// Median of the figure over the runs of each side; `None` without any.
    pub medians: [Option<f64>; 2],
    /// Rank test of the values.
    pub test: RankTest,
    /// Median ratio of the second side to the first; for shares, median difference.
    pub change: Option<f64>,
    /// 95 % interval of the change, widened by the bands.
    pub interval: Option<[f64; 2]>,
    /// Verdict.
    pub verdict: ChangeVerdict,
    /// Further runs of each side after which the verdict is likely clear; `None` if it is, or would take more than 60.
    pub more_runs: Option<usize>,
}

/// Compares the runs of two sides, measure by measure; `margin` replaces the thresholds of ratios. Runs in doubt for a
/// reason without a size are left out.
pub fn compare_sides([first, second]: [&[ComparedFigures]; 2], margin: Option<f64>) -> [RunsChange; MEASURES.len()] {
    let open = first.iter().chain(second).all(ComparedFigures::is_open);
    MEASURES.map(|measure| margin.map_or(measure, |margin| measure.with_margin(margin))).map(|measure| {
        let of = |side: &[ComparedFigures]| -> Vec<RunFigure> {
            side.iter().filter(|run| run.is_sound()).filter_map(|run| run.value(&measure, open)).collect()
        };
        compare_figures(measure, &of(first), &of(second))
    })
}

/// Compares one measure of two sides.
pub fn compare_figures(measure: Measure, first: &[RunFigure], second: &[RunFigure]) -> RunsChange {
    let values = |side: &[RunFigure]| side.iter().map(|(value, _)| *value).collect::<Vec<f64>>();
    let (a, b) = (values(first), values(second));
    let shift = |a: &[f64], b: &[f64]| match measure.is_share {
        true => hodges_lehmann(a, b),
        // Where nothing succeeded, throughput fell by all there was.
        false if measure.more_is_better => of_logarithms(&at_least(a, LEAST), &at_least(b, LEAST)),
        false => of_logarithms(a, b),
    };
    let change = shift(&a, &b);
    let low = shift(&at(first, 1), &at(second, 0)).and_then(|change| change.interval).map(|[low, _]| low);
    let high = shift(&at(first, 0), &at(second, 1)).and_then(|change| change.interval).map(|[_, high]| high);
    let interval = low.zip(high).map(|(low, high)| [low, high]);
    let verdict = measure.verdict(interval);
    let runs = [a.len(), b.len()];
    let is_open = verdict == ChangeVerdict::CannotTell;
    let more_runs = change.filter(|_| is_open).and_then(|change| more_runs(&measure, runs, change, interval));
    let change = change.map(|change| change.value);
    let medians = [&a, &b].map(|side| (!side.is_empty()).then(|| median(side)));
    RunsChange { measure, runs, medians, test: mann_whitney(&a, &b), change, interval, verdict, more_runs }
}

/// Returns the values at one end of their bands: 0 the least, 1 the most.
fn at(side: &[RunFigure], end: usize) -> Vec<f64> {
    side.iter().map(|(value, band)| band.map_or(*value, |band| band[end])).collect()
}

fn at_least(values: &[f64], least: f64) -> Vec<f64> {
    values.iter().map(|value| value.max(least)).collect()
}

/// Estimates a ratio as a difference of logarithms; `None` if a value is not above 0.
fn of_logarithms(a: &[f64], b: &[f64]) -> Option<SampleShift> {
    let positive = a.iter().chain(b).all(|value| *value > 0.0);
    let logarithms = |side: &[f64]| side.iter().map(|value| value.ln()).collect::<Vec<f64>>();
    let shift = positive.then(|| hodges_lehmann(&logarithms(a), &logarithms(b))).flatten()?;
    Some(SampleShift { value: shift.value.exp(), interval: shift.interval.map(|ends| ends.map(f64::exp)) })
}

/// Returns the number of further runs of each side: intervals shrink with the square root of their number, and must fit
/// between the change and the nearest threshold. What bands add to them, no number of runs takes away.
fn more_runs(measure: &Measure, runs: [usize; 2], change: SampleShift, widened: Option<[f64; 2]>) -> Option<usize> {
    let have = runs[0].min(runs[1]);
    let ([low, high], widened) = change.interval.zip(widened)?;
    let scale = |x: f64| if measure.is_share { x } else { x.ln() };
    let threshold = if measure.is_share { measure.threshold } else { measure.threshold.ln_1p() };
    let half = (scale(high) - scale(low)) / 2.0;
    // The interval of endless runs, and how far it is within one of the verdicts.
    let [least, most] = [scale(widened[0]) + half, scale(widened[1]) - half];
    let distances = [least - threshold, -threshold - most, (threshold - most).min(threshold + least)];
    let apart = distances.into_iter().fold(0.0, f64::max);
    if apart <= 0.0 {
        return None;
    }
    let needed = have as f64 * (POWER * half / apart).powi(2);
    (needed <= MOST_RUNS as f64).then(|| (needed.ceil() as usize).saturating_sub(have).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_measure::Rng;

    fn measure(name: &str) -> Measure {
        MEASURES.into_iter().find(|measure| measure.name == name).expect("a measure")
    }

    fn exact(values: &[f64]) -> Vec<RunFigure> {
        values.iter().map(|value| (*value, None)).collect()
    }

    /// Returns runs whose figures vary by 3 % around `centre`.
    fn noisy(centre: f64, runs: usize, rng: &mut Rng) -> Vec<RunFigure> {
        (0..runs).map(|_| (centre * (0.03 * rng.normal()).exp(), None)).collect()
    }

    #[test]
    fn a_clear_change_is_worse_or_better_by_its_direction() {
        let (a, b) =
            (exact(&[100.0, 101.0, 99.0, 100.5, 99.5, 100.0]), exact(&[140.0, 139.0, 141.0, 142.0, 138.0, 140.0]));
        let of = |name: &str| compare_figures(measure(name), &a, &b);
        assert_eq!(
            [of("p50_us").verdict, of("throughput_per_s").verdict],
            [ChangeVerdict::Worse, ChangeVerdict::Better]
        );
        let found = of("p50_us");
        assert!((found.change.expect("a change") - 1.4).abs() < 0.01 && found.more_runs.is_none(), "{found:?}");
        assert_eq!(compare_figures(measure("p99_us"), &a, &a).verdict, ChangeVerdict::Same);
    }

    #[test]
    fn a_side_without_a_success_is_worse() {
        let (some, none) = (exact(&[100.0, 101.0, 99.0, 100.5]), exact(&[0.0; 4]));
        let found = compare_figures(measure("throughput_per_s"), &some, &none);
        assert_eq!(found.verdict, ChangeVerdict::Worse, "{found:?}");
        assert!(found.change.is_some_and(|change| change < 1e-6), "{found:?}");
        assert_eq!(compare_figures(measure("throughput_per_s"), &none, &none).verdict, ChangeVerdict::Same);
        let failed = compare_figures(measure("failed_share"), &none, &exact(&[1.0; 4]));
        assert_eq!((failed.verdict, failed.change), (ChangeVerdict::Worse, Some(1.0)));
    }

    #[test]
    fn too_few_runs_tell_nothing_and_promise_nothing() {
        let found = compare_figures(measure("p50_us"), &exact(&[1.0, 1.1, 0.9]), &exact(&[5.0, 5.1, 5.2]));
        assert_eq!((found.verdict, found.interval, found.more_runs), (ChangeVerdict::CannotTell, None, None));
    }

    #[test]
    fn bands_widen_the_interval() {
        let a = exact(&[100.0, 101.0, 99.0, 100.5, 99.5, 100.0]);
        let b: Vec<RunFigure> = a.iter().map(|(value, _)| (value * 1.4, Some([value * 0.9, value * 1.4]))).collect();
        let found = compare_figures(measure("p50_us"), &a, &b);
        assert_eq!(found.verdict, ChangeVerdict::CannotTell, "brunt may have made the whole change: {found:?}");
        assert!(found.interval.is_some_and(|[low, high]| low < 0.92 && high > 1.38), "{found:?}");
        assert_eq!(found.more_runs, None, "bands do not shrink with the number of runs");
    }

    #[test]
    fn shares_are_compared_by_difference() {
        let failed = measure("failed_share");
        let none = exact(&[0.0; 6]);
        assert_eq!(compare_figures(failed, &none, &none).verdict, ChangeVerdict::Same);
        let some = exact(&[0.01, 0.012, 0.011, 0.009, 0.01, 0.013]);
        let found = compare_figures(failed, &none, &some);
        assert_eq!(found.verdict, ChangeVerdict::Worse, "{found:?}");
        // No ratio to nothing, so no verdict on a latency of zero.
        assert_eq!(compare_figures(measure("p50_us"), &none, &some).change, None);
    }

    #[test]
    fn equal_sides_are_told_apart_in_at_most_5_of_100() {
        let told = |seed: u64| {
            let mut rng = Rng::new(seed);
            let (a, b) = (noisy(100.0, 6, &mut rng), noisy(100.0, 6, &mut rng));
            let found = compare_figures(measure("p50_us"), &a, &b);
            (found.test.p < 0.05, matches!(found.verdict, ChangeVerdict::Better | ChangeVerdict::Worse))
        };
        let all: Vec<(bool, bool)> = (0..1000).map(told).collect();
        let (by_test, by_verdict) =
            (all.iter().filter(|told| told.0).count(), all.iter().filter(|told| told.1).count());
        assert!(by_test <= 50, "{by_test} of 1000");
        assert!(by_verdict <= 5, "{by_verdict} of 1000: a change must matter, too");
    }

    #[test]
    fn a_slower_side_is_told_at_the_number_of_runs_announced() {
        let told = |seed: u64| {
            let mut rng = Rng::new(seed);
            let (mut a, mut b) = (noisy(100.0, 6, &mut rng), noisy(110.0, 6, &mut rng));
            let first = compare_figures(measure("p50_us"), &a, &b);
            let more = first.more_runs.unwrap_or(0);
            a.extend(noisy(100.0, more, &mut rng));
            b.extend(noisy(110.0, more, &mut rng));
            (compare_figures(measure("p50_us"), &a, &b).verdict == ChangeVerdict::Worse, more)
        };
        let all: Vec<(bool, usize)> = (0..100).map(told).collect();
        let count = all.iter().filter(|told| told.0).count();
        assert!(count >= 80, "{count} of 100: {all:?}");
    }
}
