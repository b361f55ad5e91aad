//! The rank test of Mann and Whitney (1947), exact also where values are equal, and the shift of Hodges and Lehmann
//! (1963) with its interval. No distribution of the values is assumed: those of benchmarks are not normal.

use brunt_measure::steady::median;

/// Largest probability outside an interval at either end.
const TAIL: f64 = 0.025;

/// The result of a two-sided rank test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankTest {
    /// Pairs in which the value of the first sample is the larger one; equal pairs count half.
    pub u: f64,
    /// Probability of a result at least this far from the middle if both samples are from one distribution.
    pub p: f64,
    /// Set if all values are equal, so that nothing can be told.
    pub all_equal: bool,
}

/// Tests whether one of two samples tends to larger values. The distribution of U is counted over all ways to split the
/// pooled values, so that p is exact for any number of equal values.
pub fn mann_whitney(first: &[f64], second: &[f64]) -> RankTest {
    let pooled: Vec<f64> = first.iter().chain(second).copied().collect();
    let doubled = doubled_ranks(&pooled);
    let n = first.len();
    let sum: usize = doubled[..n].iter().sum();
    let ways = ways_by_sum(&doubled, n);
    let (all, below, above) = ways.iter().enumerate().fold((0.0, 0.0, 0.0), |(all, below, above), (at, ways)| {
        (all + ways, below + if at <= sum { *ways } else { 0.0 }, above + if at >= sum { *ways } else { 0.0 })
    });
    let p = if all > 0.0 { (2.0 * f64::min(below, above) / all).min(1.0) } else { 1.0 };
    let u = (sum as f64 - (n * (n + 1)) as f64) / 2.0;
    RankTest { u, p, all_equal: pooled.windows(2).all(|pair| pair[0] == pair[1]) }
}

/// Returns twice the rank of each value, which is whole also for the mean rank of equal values.
fn doubled_ranks(values: &[f64]) -> Vec<usize> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| other.total_cmp(value).is_lt()).count();
        let equal = values.iter().filter(|other| other.total_cmp(value).is_eq()).count();
        2 * below + equal + 1
    };
    values.iter().map(rank).collect()
}

/// Returns for each sum the number of ways to choose `n` of the ranks with this sum.
fn ways_by_sum(doubled: &[usize], n: usize) -> Vec<f64> {
    let most: usize = doubled.iter().sum();
    let mut ways = vec![vec![0.0; most + 1]; n + 1];
    ways[0][0] = 1.0;
    for (seen, rank) in doubled.iter().enumerate() {
        for chosen in (1..=n.min(seen + 1)).rev() {
            let (fewer, more) = ways.split_at_mut(chosen);
            let (from, to) = (&fewer[chosen - 1], &mut more[0]);
            (*rank..=most).for_each(|sum| to[sum] += from[sum - rank]);
        }
    }
    ways.swap_remove(n)
}

/// A shift between two samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleShift {
    /// Median of all differences.
    pub value: f64,
    /// 95 % interval; `None` with too few values, such as three on each side.
    pub interval: Option<[f64; 2]>,
}

/// Estimates by how much the second sample lies above the first; `None` if one is empty.
pub fn hodges_lehmann(first: &[f64], second: &[f64]) -> Option<SampleShift> {
    let mut differences: Vec<f64> = first.iter().flat_map(|a| second.iter().map(move |b| b - a)).collect();
    differences.sort_by(f64::total_cmp);
    let last = differences.len().checked_sub(1)?;
    let left_out = left_out(first.len(), second.len());
    let interval = left_out.map(|k| [differences[k], differences[last - k]]);
    Some(SampleShift { value: median(&differences), interval })
}

/// Returns the number of differences outside the interval at either end; `None` if even the range of all is too narrow.
fn left_out(n: usize, m: usize) -> Option<usize> {
    let ranks: Vec<usize> = (1..=n + m).map(|rank| 2 * rank).collect();
    let ways = ways_by_sum(&ranks, n);
    let all: f64 = ways.iter().sum();
    let mut below = 0.0;
    // U is 0 where the sum of ranks is least, and grows with it.
    let of_u = |u: usize| n * (n + 1) + 2 * u;
    for u in 0..=n * m {
        below += ways[of_u(u)];
        if below > TAIL * all {
            return u.checked_sub(1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_is_that_of_benchstat() {
        let table: [(&[f64], &[f64], f64); 5] = [
            (&[-1.0; 4], &[1.0; 4], 2.0 / 70.0),
            (&[1.0, -1.0, -1.0, -1.0], &[-1.0, 1.0, 1.0, 1.0], 34.0 / 70.0),
            (&[101.0, 99.0, 100.0, 102.0, 98.0], &[103.0, 104.0, 102.5, 105.0, 101.5], 4.0 / 252.0),
            (&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0], 0.1),
            (&[7.0; 5], &[7.0; 5], 1.0),
        ];
        for (a, b, p) in table {
            let found = mann_whitney(a, b);
            assert!((found.p - p).abs() < 1e-12, "{a:?} {b:?}: {found:?}");
            assert!((mann_whitney(b, a).p - p).abs() < 1e-12, "both ways round");
            assert_eq!(found.all_equal, p == 1.0);
        }
        assert_eq!(mann_whitney(&[101.0, 99.0, 100.0, 102.0, 98.0], &[103.0, 104.0, 102.5, 105.0, 101.5]).u, 1.0);
    }

    #[test]
    fn the_least_p_falls_with_the_number_of_runs() {
        for (n, least) in [(3, 0.1), (4, 0.028_57), (5, 0.007_94), (6, 0.002_16), (7, 0.000_58)] {
            let low: Vec<f64> = (0..n).map(f64::from).collect();
            let high: Vec<f64> = (0..n).map(|i| 100.0 + f64::from(i)).collect();
            let found = mann_whitney(&low, &high).p;
            assert!((found - least).abs() < 5e-6, "{n}: {found}");
        }
    }

    #[test]
    fn a_shift_has_the_interval_of_the_rank_test() {
        let (a, b) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [11.0, 12.0, 13.0, 14.0, 15.0, 16.0]);
        // For 6 and 6 values P(U ≤ 5) = 19 ÷ 924 and P(U ≤ 6) = 30 ÷ 924: the five outer differences fall away.
        let found = hodges_lehmann(&a, &b).expect("a shift");
        assert_eq!((left_out(6, 6), found.value), (Some(5), 10.0));
        assert_eq!(found.interval, Some([7.0, 13.0]));
        let few = hodges_lehmann(&a[..3], &b[..3]).expect("a shift");
        assert_eq!((few.value, few.interval), (10.0, None));
        assert_eq!(left_out(4, 4), Some(0), "all of the range");
        assert_eq!(hodges_lehmann(&[], &b), None);
    }
}
