use proptest::prelude::*;

use super::*;

const NEVER: Option<u64> = None;

#[test]
fn ranks_of_the_interval_agree_with_the_tables() {
    type RankTableRow = (u64, [(u64, Option<u64>); 5]);
    let table: [RankTableRow; 4] = [
        (100, [(40, Some(61)), (84, Some(96)), (90, Some(100)), (97, NEVER), (99, NEVER)]),
        (1_000, [(469, Some(532)), (881, Some(919)), (936, Some(964)), (983, Some(997)), (997, NEVER)]),
        (10_000, [(4902, Some(5099)), (8941, Some(9059)), (9457, Some(9543)), (9880, Some(9920)), (9983, Some(9997))]),
        (
            100_000,
            [
                (49_690, Some(50_311)),
                (89_814, Some(90_187)),
                (94_864, Some(95_136)),
                (98_938, Some(99_062)),
                (99_880, Some(99_920)),
            ],
        ),
    ];
    for (n, row) in table {
        for (q, (low, high)) in [0.5, 0.9, 0.95, 0.99, 0.999].into_iter().zip(row) {
            assert_eq!(confidence_ranks(n, q), (Some(low), high), "n = {n}, q = {q}");
        }
    }
}

/// Returns P(j ≤ B ≤ k−1) by summing logarithms, a different method from the one under test.
fn coverage(n: u64, q: f64, from: u64, to: u64) -> f64 {
    let ln_choose = |k: u64| (1..=k).map(|i| ((n - k + i) as f64 / i as f64).ln()).sum::<f64>();
    (from..to).map(|k| (ln_choose(k) + k as f64 * q.ln() + (n - k) as f64 * (1.0 - q).ln()).exp()).sum()
}

#[test]
fn coverage_agrees_with_a_published_example() {
    assert!((coverage(1000, 0.95, 935, 963) - 0.954_405_2).abs() < 1e-7);
    assert!((coverage(1000, 0.99, 983, 996) - 0.957_481_0).abs() < 1e-7);
}

#[test]
fn the_interval_is_the_narrowest_that_keeps_both_tails() {
    for n in [1, 2, 6, 30, 72, 100, 368, 500] {
        for q in [0.01, 0.3, 0.5, 0.9, 0.95, 0.99] {
            let (low, high) = confidence_ranks(n, q);
            let (j, k) = (low.unwrap_or(0), high.unwrap_or(n + 1));
            let below = |rank: u64| coverage(n, q, 0, rank);
            let above = |rank: u64| coverage(n, q, rank, n + 1);
            assert!(j == 0 || below(j) <= TAIL, "n = {n}, q = {q}: j = {j} is too high");
            assert!(below(j + 1) > TAIL, "n = {n}, q = {q}: j = {j} is too low");
            assert!(k == n + 1 || above(k) <= TAIL, "n = {n}, q = {q}: k = {k} is too low");
            assert!(above(k - 1) > TAIL, "n = {n}, q = {q}: k = {k} is too high");
        }
    }
}

#[test]
fn fewest_values_for_a_finite_upper_end() {
    for (q, n) in [(0.5, 6), (0.9, 36), (0.95, 72), (0.99, 368), (0.999, 3688), (0.9999, 36_887)] {
        assert_eq!(confidence_ranks(n - 1, q).1, None, "{q}");
        assert_eq!(confidence_ranks(n, q).1, Some(n), "{q}");
    }
}

#[test]
fn fewest_values_for_a_quantile_at_all() {
    for (q, n) in [(0.5, 5), (0.9, 29), (0.95, 59), (0.99, 299), (0.999, 2995), (0.9999, 29_956)] {
        assert_eq!(minimum_count(q), n, "{q}");
    }
    assert_eq!(minimum_count(0.0), 1);
    assert_eq!(minimum_count(1.0), u64::MAX);
}

#[test]
fn normal_and_summed_ranks_meet() {
    for p in [0.5, 0.1, 0.9, 0.99, 0.001, 0.999] {
        for variance in [3e5_f64, 1e6, 4e6] {
            let n = (variance / (p * (1.0 - p))) as u64;
            let (normal, summed) = (lower_rank_normal(n, p, 1.0 - p), lower_rank_summed(n, p, 1.0 - p));
            assert!(normal.abs_diff(summed) <= 1, "n = {n}, p = {p}: {normal} and {summed}");
        }
    }
    let (low, high) = confidence_ranks(10_000_000_000, 0.5);
    assert_eq!((low, high), (Some(4_999_902_002), Some(5_000_097_999)));
}

#[test]
fn ranks_of_quantiles() {
    let table = [
        (100, 0.07, 7),
        (100, 0.99, 99),
        (100, 0.995, 100),
        (1, 0.5, 1),
        (10, 0.0, 1),
        (10, 1.0, 10),
        (1000, 0.999, 999),
    ];
    for (n, q, rank) in table {
        assert_eq!(rank_of(n, q), rank, "n = {n}, q = {q}");
    }
}

fn histogram(values: impl IntoIterator<Item = u64>) -> Histogram {
    let mut h = Histogram::new();
    values.into_iter().for_each(|v| h.record(Nanos(v)));
    h
}

fn twice_each_up_to_500() -> Histogram {
    // Below 512 ns every value has its own bucket.
    histogram((1..=500).flat_map(|v| [v, v]))
}

#[test]
fn all_finished() {
    let known = quantile(&twice_each_up_to_500(), &Histogram::new(), 0.5);
    assert_eq!(known.value, QuantileValue::Value(Nanos(250)));
    assert_eq!((known.low, known.high), (Some(Nanos(235)), Some(Nanos(266))));
}

#[test]
fn too_few_are_withheld() {
    let h = histogram(1..=298);
    let withheld = Quantile { q: 0.99, value: QuantileValue::Withheld, low: None, high: None };
    assert_eq!(quantile(&h, &Histogram::new(), 0.99), withheld);
    // Abandoned requests count towards the minimum number, too.
    assert_eq!(quantile(&h, &histogram([5]), 0.99).value, QuantileValue::Value(Nanos(297)));
    assert_eq!(quantile(&Histogram::new(), &Histogram::new(), 0.5).value, QuantileValue::Withheld);
}

#[test]
fn an_upper_end_among_those_given_up_is_infinite() {
    // 1000 requests, 4 abandoned: p99 = rank 990 is known, its upper rank 997 is not.
    let known = quantile(&histogram((1..=996).map(|v| v / 2)), &histogram([7; 4]), 0.99);
    assert_eq!(known.value, QuantileValue::Value(Nanos(495)));
    assert_eq!((known.low, known.high), (Some(Nanos(491)), None));
}

#[test]
fn a_quantile_among_those_given_up_is_a_lower_bound() {
    // Exactly the share above the quantile was abandoned, so the result is a bound.
    let finished = histogram([10; 990]);
    assert_eq!(quantile(&finished, &histogram([400; 9]), 0.99).value, QuantileValue::Value(Nanos(10)));
    let bound = quantile(&finished, &histogram([400; 10]), 0.99);
    assert_eq!((bound.value, bound.high), (QuantileValue::AtLeast(Nanos(10)), None));
    let bound = quantile(&finished, &histogram([400; 20]), 0.99);
    assert_eq!(bound.value, QuantileValue::AtLeast(Nanos(400)));
    // A server that never answers: the result is a bound.
    let bound = quantile(&Histogram::new(), &histogram(1..=500), 0.5);
    assert_eq!((bound.value, bound.low, bound.high), (QuantileValue::AtLeast(Nanos(250)), Some(Nanos(228)), None));
}

proptest! {
    #[test]
    fn a_lower_bound_never_exceeds_the_truth(
        finished in prop::collection::vec(0u64..500, 0..200),
        cut in prop::collection::vec((0u64..500, 0u64..500), 1..200),
        q in 0.1f64..0.95,
    ) {
        let truth = histogram(finished.iter().copied().chain(cut.iter().map(|(seen, more)| (seen + more).min(511))));
        let known = quantile(&histogram(finished), &histogram(cut.iter().map(|(seen, _)| *seen)), q);
        if let QuantileValue::AtLeast(bound) = known.value {
            prop_assert!(Some(bound) <= truth.at_rank(rank_of(truth.count(), q)));
            prop_assert!(known.low <= Some(bound));
        }
    }

    #[test]
    fn the_interval_brackets_the_value(values in prop::collection::vec(0u64..u64::MAX, 5..300), q in 0.05f64..0.9999) {
        let known = quantile(&histogram(values), &Histogram::new(), q);
        if let QuantileValue::Value(value) = known.value {
            prop_assert!(known.low.is_none_or(|low| low <= value));
            prop_assert!(known.high.is_none_or(|high| high >= value));
        }
    }
}
