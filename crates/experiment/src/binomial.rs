//! Exact intervals of a share (Clopper and Pearson 1934), for counts that need not be whole: correlated requests are
//! worth fewer independent ones.

/// Convergence limit of the continued fraction, and the least magnitude of its terms.
const PRECISE: f64 = 1e-15;
const TINY: f64 = 1e-300;
/// Terms after which the continued fraction is taken as it is; it needs about √n of them.
const MOST_TERMS: u32 = 100_000;
/// Halvings of an interval of length 1 until only rounding remains.
const HALVINGS: u32 = 60;

/// Returns the interval that contains the probability behind `hits` of `of` with the confidence `level`, such as 0.95.
pub fn clopper_pearson(hits: f64, of: f64, level: f64) -> [f64; 2] {
    let tail = (1.0 - level) / 2.0;
    let hits = hits.clamp(0.0, of.max(0.0));
    let low = if hits > 0.0 { beta_quantile(tail, hits, of - hits + 1.0) } else { 0.0 };
    let high = if hits < of { beta_quantile(1.0 - tail, hits + 1.0, of - hits) } else { 1.0 };
    [low, high]
}

/// Returns the x at which the regularized incomplete beta function is `p`.
fn beta_quantile(p: f64, a: f64, b: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if incomplete_beta(middle, a, b) < p { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// Returns the regularized incomplete beta function Iₓ(a, b) (DLMF 8.17), for a and b above 0.
pub fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp();
    // The fraction converges fast below the mean of the distribution; above it, the mirror image does.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * beta_fraction(x, a, b) / a
    } else {
        1.0 - front * beta_fraction(1.0 - x, b, a) / b
    }
}

/// Returns the continued fraction of the incomplete beta function (DLMF 8.17.22) by the method of Lentz.
fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    let large = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / large(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for m in 1..=MOST_TERMS {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for term in [even, odd] {
            d = 1.0 / large(1.0 + term * d);
            c = large(1.0 + term / c);
            change = c * d;
            fraction *= change;
        }
        if (change - 1.0).abs() < PRECISE {
            break;
        }
    }
    fraction
}

/// Returns the logarithm of the gamma function of `x` above 0, by Stirling's series from 10 on (DLMF 5.11.1).
pub fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut shifted) = (x, 0.0);
    while x < 10.0 {
        shifted -= x.ln();
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    let series = (1.0 / 12.0 - inverse * (1.0 / 360.0 - inverse * (1.0 / 1260.0 - inverse / 1680.0))) / x;
    shifted + (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + series
}

/// Returns the ranks, counted from 1, of the values between which the median lies in 95 of 100 cases, whatever their
/// distribution; `None` with fewer than six values, whose whole range holds it less often.
pub fn median_ranks(values: usize) -> Option<[usize; 2]> {
    const OUTSIDE: f64 = 0.025;
    // P(Bin(n, ½) < k): the median lies below the k-th value.
    let (mut ways, mut below) = (0.5_f64.powi(i32::try_from(values).ok()?), 0.0);
    let mut rank = 0;
    while below + ways <= OUTSIDE && rank < values {
        below += ways;
        ways *= (values - rank) as f64 / (rank + 1) as f64;
        rank += 1;
    }
    (rank > 0).then(|| [rank, values + 1 - rank])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, right: f64) -> bool {
        (found - right).abs() < 1e-6 * right.abs().max(1e-3)
    }

    #[test]
    fn gamma_of_whole_and_half_numbers() {
        let table = [(1.0, 0.0), (5.0, 24f64.ln()), (0.5, std::f64::consts::PI.sqrt().ln()), (11.0, 3_628_800f64.ln())];
        for (x, right) in table {
            assert!((ln_gamma(x) - right).abs() < 1e-11, "{x}: {}", ln_gamma(x));
        }
    }

    #[test]
    fn incomplete_beta_is_the_tail_of_a_binomial() {
        // P(B ≥ a) for B ~ Bin(a + b − 1, x), summed.
        for (n, p, k) in [(10u32, 0.3f64, 4u32), (20, 0.9, 15), (7, 0.5, 1)] {
            let choose = |k: u32| (1..=k).fold(1.0, |all, i| all * f64::from(n - k + i) / f64::from(i));
            let tail: f64 = (k..=n).map(|k| choose(k) * p.powi(k as i32) * (1.0 - p).powi((n - k) as i32)).sum();
            let found = incomplete_beta(p, f64::from(k), f64::from(n - k + 1));
            assert!((found - tail).abs() < 1e-12, "{found} {tail}");
        }
    }

    #[test]
    fn intervals_are_those_of_tables() {
        // 0 of n ends at 1 − (α/2)^(1/n), n of n begins at (α/2)^(1/n); 10 of 100 is R's binom.test(10, 100).
        let [low, high] = clopper_pearson(0.0, 100.0, 0.95);
        assert!(low == 0.0 && near(high, 1.0 - 0.025f64.powf(0.01)), "{high}");
        let [low, high] = clopper_pearson(50.0, 50.0, 0.95);
        assert!(high == 1.0 && near(low, 0.025f64.powf(0.02)), "{low}");
        let [low, high] = clopper_pearson(10.0, 100.0, 0.95);
        assert!((low - 0.049_004_7).abs() < 1e-6 && (high - 0.176_222_6).abs() < 1e-6, "{low} {high}");
    }

    #[test]
    fn many_requests_have_narrow_intervals() {
        let [low, high] = clopper_pearson(10_000.0, 1_000_000.0, 0.95);
        assert!((low - 0.009_806).abs() < 1e-5 && (high - 0.010_197).abs() < 1e-5, "{low} {high}");
    }

    #[test]
    fn the_median_lies_between_order_statistics() {
        // Conover, Practical Nonparametric Statistics, table A3 (binomial, p = 0.5).
        let table = [
            (5, None),
            (6, Some([1, 6])),
            (8, Some([1, 8])),
            (9, Some([2, 8])),
            (10, Some([2, 9])),
            (20, Some([6, 15])),
        ];
        for (values, ranks) in table {
            assert_eq!(median_ranks(values), ranks, "{values}");
        }
    }
}
