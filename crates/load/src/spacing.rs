//! Statistics of arrival gaps (MEASUREMENT 1.5). They are effect sizes, because with a million gaps every significance
//! test rejects.

use brunt_measure::Nanos;

/// Returns the gaps between ascending moments, in nanoseconds.
pub fn gaps(moments: &[Nanos]) -> Vec<f64> {
    moments.windows(2).map(|pair| (pair[1] - pair[0]).0 as f64).collect()
}

/// Returns standard deviation ÷ mean: 1 for Poisson gaps, 0 for constant ones; `None` if there are no gaps or all are
/// zero.
pub fn coefficient_of_variation(gaps: &[f64]) -> Option<f64> {
    let (mean, variance) = mean_and_variance(gaps)?;
    (mean > 0.0).then(|| variance.sqrt() / mean)
}

/// Returns variance ÷ mean of the number of arrivals per window, omitting a last window that `end` cuts: 1 for Poisson,
/// 0 for constant arrivals. `None` if no window is complete or none contains an arrival.
pub fn dispersion(moments: &[Nanos], window: Nanos, end: Nanos) -> Option<f64> {
    let windows = end.0.checked_div(window.0)?;
    let mut counts = vec![0.0; windows as usize];
    for moment in moments {
        if let Some(count) = counts.get_mut((moment.0 / window.0) as usize) {
            *count += 1.0;
        }
    }
    let (mean, variance) = mean_and_variance(&counts)?;
    (mean > 0.0).then(|| variance / mean)
}

/// Returns the Kolmogorov-Smirnov distance of gaps from an exponential distribution of the same mean: the largest
/// vertical distance between the two distribution functions. `None` if the mean is not positive.
pub fn distance_from_exponential(gaps: &[f64]) -> Option<f64> {
    let (mean, _) = mean_and_variance(gaps)?;
    if mean <= 0.0 {
        return None;
    }
    let mut sorted = gaps.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let distance_at = |(i, gap): (usize, &f64)| {
        let expected = 1.0 - (-gap / mean).exp();
        // The empirical function jumps here from i/n to (i+1)/n.
        (expected - i as f64 / n).abs().max(((i + 1) as f64 / n - expected).abs())
    };
    Some(sorted.iter().enumerate().map(distance_at).fold(0.0, f64::max))
}

/// Returns the mean and the population variance.
fn mean_and_variance(values: &[f64]) -> Option<(f64, f64)> {
    if values.is_empty() {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    Some((mean, values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn even(n: u64) -> Vec<Nanos> {
        (0..n).map(|i| Nanos(i * 1_000_000)).collect()
    }

    #[test]
    fn even_spacing() {
        let moments = even(1000);
        assert_eq!(coefficient_of_variation(&gaps(&moments)), Some(0.0));
        assert_eq!(dispersion(&moments, Nanos::from_millis(10), Nanos::from_secs(1)), Some(0.0));
        // All gaps equal the mean, where the exponential distribution function is 1 − 1/e.
        let distance = distance_from_exponential(&gaps(&moments)).expect("gaps");
        assert!((distance - (1.0 - (-1.0_f64).exp())).abs() < 1e-12);
    }

    #[test]
    fn bursts_are_dispersed() {
        // A hundred at once in the first of every hundred windows: variance 99, mean 1.
        let moments: Vec<Nanos> = (0..10).flat_map(|s| [Nanos::from_secs(s); 100]).collect();
        assert_eq!(dispersion(&moments, Nanos::from_millis(10), Nanos::from_secs(10)), Some(99.0));
    }

    #[test]
    fn nothing_is_not_a_number() {
        assert_eq!(coefficient_of_variation(&[]), None);
        assert_eq!(coefficient_of_variation(&[0.0, 0.0]), None);
        assert_eq!(distance_from_exponential(&[]), None);
        assert_eq!(dispersion(&[], Nanos(1), Nanos(0)), None);
        assert_eq!(dispersion(&even(3), Nanos(0), Nanos(5)), None);
        assert_eq!(dispersion(&[], Nanos(1), Nanos(5)), None);
    }

    #[test]
    fn exponential_quantiles_are_close_to_exponential() {
        let values: Vec<f64> = (0..1000).map(|i| -(1.0 - (f64::from(i) + 0.5) / 1000.0).ln()).collect();
        assert!(distance_from_exponential(&values).is_some_and(|d| d < 0.002));
        assert!(coefficient_of_variation(&values).is_some_and(|cv| (cv - 1.0).abs() < 0.01));
    }
}
