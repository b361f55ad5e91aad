//! Stationarity of a series: length of the warm-up, change points, and drift.
//!
//! MSER-5 is White's (1997) marginal standard error rule on batches of five (Spratt 1998); change points are found by
//! E-divisive means (Matteson and James 2014) and a permutation test with seeded random numbers, and a change of level
//! under outliers by Pettitt's rank test; the slope is the Theil–Sen estimate.

use crate::Rng;

/// Number of batches at the end that are not considered for the cut, because they give spurious minima.
const IGNORED: usize = 5;
/// Number of permutations of a test.
const PERMUTATIONS: usize = 99;
/// Significance level of all tests.
const LEVEL: f64 = 0.05;

/// Returns the number of initial points to drop so that the error of the mean of the rest is smallest, in batches of
/// `batch` points; `None` if that is more than half of the points, which means that the series did not settle.
pub fn warm_up_length(series: &[f64], batch: usize) -> Option<usize> {
    let batch = batch.max(1);
    let means: Vec<f64> = series.chunks_exact(batch).map(mean).collect();
    let m = means.len();
    let last = m.saturating_sub(IGNORED);
    let cut = (0..=last).filter(|cut| *cut < m).min_by(|a, b| error(&means[*a..]).total_cmp(&error(&means[*b..])))?;
    (2 * cut <= m).then_some(cut * batch)
}

/// Returns the squared standard error of the mean.
fn error(values: &[f64]) -> f64 {
    let (n, mean) = (values.len() as f64, mean(values));
    if values.is_empty() {
        return f64::INFINITY;
    }
    values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n * n)
}

fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// Returns the median of the values; 0 if there are none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[n / 2],
        n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
    }
}

/// Returns the slope per point: the median of the slopes between all pairs of points.
pub fn slope(series: &[f64]) -> f64 {
    let later = |(i, a): (usize, &f64)| {
        let a = *a;
        series[i + 1..].iter().enumerate().map(move |(gap, b)| (b - a) / (gap + 1) as f64).collect::<Vec<_>>()
    };
    median(&series.iter().enumerate().flat_map(later).collect::<Vec<_>>())
}

/// Returns the change points of the series: the indices at which a new regime begins, in order.
pub fn change_points(series: &[f64], rng: &mut Rng) -> Vec<usize> {
    let mut found = Vec::new();
    divide(series, 0, rng, &mut found);
    found.sort_unstable();
    found
}

/// Returns the point of change between two levels, by Pettitt's rank test (1979): the index at which the second level
/// begins; `None` if the change may be chance. Ranks heed no outlier, however large; the index is that of the least
/// absolute distances from the medians of both parts.
pub fn level_change(series: &[f64]) -> Option<usize> {
    let sign = |a: f64, b: f64| f64::from(i8::from(a > b) - i8::from(a < b));
    let (mut sum, mut most) = (0.0_f64, 0.0_f64);
    for point in series {
        // The sum of signs over all pairs of a point up to here and one after it.
        sum += series.iter().map(|other| sign(*other, *point)).sum::<f64>();
        most = most.max(sum.abs());
    }
    let n = series.len() as f64;
    let by_chance = 2.0 * (-6.0 * most * most / (n.powi(3) + n.powi(2))).exp();
    let distance = |at: usize| {
        let (before, after) = series.split_at(at);
        let of = |part: &[f64]| {
            let middle = median(part);
            part.iter().map(|value| (value - middle).abs()).sum::<f64>()
        };
        of(before) + of(after)
    };
    let at = (1..series.len()).map(|at| (at, distance(at))).min_by(|a, b| a.1.total_cmp(&b.1));
    at.filter(|_| by_chance <= LEVEL).map(|(at, _)| at)
}

fn divide(series: &[f64], offset: usize, rng: &mut Rng, found: &mut Vec<usize>) {
    let Some((at, statistic)) = best_split(series) else { return };
    let mut shuffled = series.to_vec();
    let as_large = (0..PERMUTATIONS)
        .filter(|_| {
            for i in (1..shuffled.len()).rev() {
                shuffled.swap(i, (rng.f64() * (i + 1) as f64) as usize);
            }
            best_split(&shuffled).is_some_and(|(_, other)| other >= statistic)
        })
        .count();
    if statistic <= 0.0 || (as_large + 1) as f64 / (PERMUTATIONS + 1) as f64 > LEVEL {
        return;
    }
    found.push(offset + at);
    divide(&series[..at], offset, rng, found);
    divide(&series[at..], offset + at, rng, found);
}

/// Returns the split with the largest energy statistic `n·m/(n+m) · (2·E|x−y| − E|x−x'| − E|y−y'|)`, and the statistic.
fn best_split(series: &[f64]) -> Option<(usize, f64)> {
    let n = series.len();
    // Sums of the distances of each point to those before it, and to all.
    let distance = |a: f64, b: f64| (a - b).abs();
    let all: f64 = (0..n).map(|i| series[..i].iter().map(|b| distance(series[i], *b)).sum::<f64>()).sum();
    let (mut within_left, mut within_right, mut best) = (0.0, all, None::<(usize, f64)>);
    for at in 1..n {
        let moved = series[at - 1];
        within_left += series[..at - 1].iter().map(|b| distance(moved, *b)).sum::<f64>();
        within_right -= series[at..].iter().map(|b| distance(moved, *b)).sum::<f64>();
        let (l, r) = (at as f64, (n - at) as f64);
        let between = all - within_left - within_right;
        let energy = 2.0 * between / (l * r) - 2.0 * within_left / (l * l) - 2.0 * within_right / (r * r);
        let statistic = l * r / (l + r) * energy;
        if best.is_none_or(|(_, known)| statistic > known) {
            best = Some((at, statistic));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(series: &[f64]) -> Vec<usize> {
        change_points(series, &mut Rng::new(1))
    }

    /// Vectors of MEASUREMENT 3.1.
    #[test]
    fn a_warm_up_is_cut_and_a_drift_never_settles() {
        let alternating = (0..250).map(|i| if i % 2 == 0 { 9.0 } else { 11.0 });
        let warm: Vec<f64> = std::iter::repeat_n(100.0, 50).chain(alternating).collect();
        assert_eq!(warm_up_length(&warm, 5), Some(50));
        let drift: Vec<f64> = (0..300).map(f64::from).collect();
        assert_eq!(warm_up_length(&drift, 5), None);
        let flat: Vec<f64> = (0..100).map(|i| f64::from(i % 3)).collect();
        assert!(warm_up_length(&flat, 5).is_some_and(|cut| cut <= 25), "{:?}", warm_up_length(&flat, 5));
        assert_eq!(warm_up_length(&[], 5), None);
    }

    /// Vectors of MongoDB's signal-processing-algorithms.
    #[test]
    fn changes_are_found_where_they_are() {
        let step = |n: usize| [vec![0.0; n], vec![1.0; n]].concat();
        assert_eq!(found(&step(100)), [100]);
        assert_eq!(found(&[vec![50.0; 15], vec![100.0; 15]].concat()), [15]);
        assert_eq!(found(&[vec![50.0; 14], vec![74.0], vec![100.0; 15]].concat()), [15]);
        assert_eq!(found(&[7.0; 60]), [] as [usize; 0]);
        let mut rng = Rng::new(3);
        let noise: Vec<f64> = (0..100).map(|_| rng.f64()).collect();
        assert_eq!(found(&noise), [] as [usize; 0]);
        assert_eq!(found(&[]), [] as [usize; 0]);
    }

    /// The published example: x = 1..99 against y = 1..104 has the statistic 8.136.
    #[test]
    fn the_statistic_is_the_published_one() {
        let values: Vec<f64> = (1..=99).chain(1..=104).map(f64::from).collect();
        let between = |l: usize| {
            let (x, y) = values.split_at(l);
            let mean = |a: &[f64], b: &[f64]| {
                a.iter().map(|a| b.iter().map(|b| (a - b).abs()).sum::<f64>()).sum::<f64>() / (a.len() * b.len()) as f64
            };
            let energy = 2.0 * mean(x, y) - mean(x, x) - mean(y, y);
            energy * (x.len() * y.len()) as f64 / values.len() as f64
        };
        assert!((between(99) - 8.136).abs() < 0.001, "{}", between(99));
        let (at, best) = best_split(&values).expect("a split");
        assert!((best - between(at)).abs() < 1e-6 * best, "{best} {}", between(at));
    }

    #[test]
    fn a_change_of_level_is_found_under_outliers_and_none_in_noise() {
        let (mut by_chance, mut found) = (0, 0);
        for seed in 0..200 {
            let mut rng = Rng::new(seed);
            // Every sixth point lies far above its level.
            let mut noise = move || 0.3 * rng.f64() + if rng.f64() < 0.16 { 3.0 * rng.f64() } else { 0.0 };
            let level: Vec<f64> = (0..40).map(|_| noise()).collect();
            by_chance += i32::from(level_change(&level).is_some());
            let changed: Vec<f64> = (0..40).map(|i| noise() + if i < 20 { 0.0 } else { 0.69 }).collect();
            found += i32::from(level_change(&changed).is_some_and(|at| (16..=24).contains(&at)));
        }
        assert!(by_chance <= 6 && found >= 190, "{by_chance} {found}");
        assert_eq!((level_change(&[]), level_change(&[1.0; 30])), (None, None));
        assert_eq!(level_change(&[vec![50.0; 15], vec![100.0; 15]].concat()), Some(15));
    }

    #[test]
    fn slopes_heed_no_outlier() {
        let mut line: Vec<f64> = (0..50).map(|i| 2.0 * f64::from(i)).collect();
        line[10] = 1e6;
        assert!((slope(&line) - 2.0).abs() < 0.1, "{}", slope(&line));
        assert_eq!((slope(&[]), slope(&[5.0]), median(&[4.0, 1.0, 3.0, 2.0])), (0.0, 0.0, 2.5));
    }
}
