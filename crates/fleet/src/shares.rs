//! How many of a run's workers each agent takes.

/// Divides `workers` in proportion to the weights: everybody gets at least one, and the rest is given by the largest
/// remainders. Agents beyond the number of workers get none.
pub(crate) fn divide(workers: u32, weights: &[f64]) -> Vec<u32> {
    let takers = weights.len().min(workers as usize);
    let weight =
        |n: usize| weights.get(n).copied().filter(|weight| weight.is_finite() && *weight > 0.0).unwrap_or(1e-9);
    let total: f64 = (0..takers).map(weight).sum();
    let spare = workers - takers as u32;
    let quotas: Vec<f64> = (0..takers).map(|n| f64::from(workers) * weight(n) / total).collect();
    // One each, and what its quota is beyond that.
    let beyond: Vec<f64> = quotas.iter().map(|quota| (quota - 1.0).max(0.0)).collect();
    let scale = f64::from(spare) / beyond.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let exact: Vec<f64> = beyond.iter().map(|more| if spare == 0 { 0.0 } else { more * scale }).collect();
    let mut shares: Vec<u32> = exact.iter().map(|more| 1 + more.floor() as u32).collect();
    let mut order: Vec<usize> = (0..takers).collect();
    order.sort_by(|a, b| (exact[*b].fract()).total_cmp(&exact[*a].fract()).then(a.cmp(b)));
    let left = workers - shares.iter().sum::<u32>().min(workers);
    order.iter().cycle().take(left as usize * usize::from(takers > 0)).for_each(|n| shares[*n] += 1);
    shares.resize(weights.len(), 0);
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn workers_go_by_weight() {
        for (workers, weights, expected) in [
            (8, &[1.0, 1.0, 1.0, 1.0][..], &[2, 2, 2, 2][..]),
            (10, &[8.0, 2.0], &[8, 2]),
            (10, &[2.86, 1.0], &[7, 3]),
            (4, &[1000.0, 1.0, 1.0], &[2, 1, 1]),
            (3, &[1.0, 1.0], &[2, 1]),
            (2, &[1.0, 1.0, 1.0], &[1, 1, 0]),
            (5, &[0.0, f64::NAN], &[3, 2]),
            (1, &[1.0], &[1]),
        ] {
            assert_eq!(divide(workers, weights), expected, "{workers} {weights:?}");
        }
    }

    proptest! {
        #[test]
        fn they_add_up(workers in 1u32..2000, weights in proptest::collection::vec(0.0f64..1e7, 1..60)) {
            let shares = divide(workers, &weights);
            prop_assert_eq!(shares.iter().sum::<u32>(), workers);
            let takers = weights.len().min(workers as usize);
            prop_assert!(shares[..takers].iter().all(|share| *share >= 1));
        }
    }
}
