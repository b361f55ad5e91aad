use proptest::prelude::*;

use super::{Rng, splitmix64};
use crate::Nanos;

#[test]
fn the_seed_stream_is_that_of_the_authors() {
    // First outputs of Vigna's splitmix64.c for the seed 1234567.
    let mut seed = 1_234_567;
    let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
    assert_eq!([(); 3].map(|()| splitmix64(&mut seed)), expected);
}

#[test]
fn the_stream_is_that_of_the_authors() {
    // First outputs of Blackman and Vigna's xoshiro256plusplus.c for the state 1, 2, 3, 4.
    let mut rng = Rng { state: [1, 2, 3, 4] };
    let expected = [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386];
    assert_eq!([(); 4].map(|()| rng.next_u64()), expected);
}

#[test]
fn streams_repeat_and_differ() {
    let first = |mut rng: Rng| [(); 4].map(|()| rng.next_u64());
    let rng = Rng::new(7);
    assert_eq!(first(rng.clone()), first(Rng::new(7)));
    let mut seen: Vec<_> = (0..1000).map(|i| first(rng.fork(i))).collect();
    seen.extend((0..1000).map(|i| first(Rng::new(i))));
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 2000);
}

#[test]
fn moments_of_the_distributions() {
    type Draw = fn(&mut Rng) -> f64;
    let n = 200_000;
    let moments = |draw: Draw| {
        let mut rng = Rng::new(42);
        let (sum, squares) = (0..n).map(|_| draw(&mut rng)).fold((0.0, 0.0), |(s, q), v| (s + v, q + v * v));
        let mean = sum / f64::from(n);
        (mean, squares / f64::from(n) - mean * mean)
    };
    let table: [(Draw, f64, f64); 8] = [
        (Rng::f64, 0.5, 1.0 / 12.0),
        (Rng::exponential, 1.0, 1.0),
        (Rng::normal, 0.0, 1.0),
        (|rng| rng.below(6) as f64, 2.5, 35.0 / 12.0),
        (|rng| rng.gamma(1.0), 1.0, 1.0),
        (|rng| rng.gamma(100.0) / 10.0, 10.0, 1.0),
        (|rng| rng.binomial(9, 0.3) as f64, 2.7, 1.89),
        (|rng| rng.binomial(400, 0.1) as f64 / 6.0, 40.0 / 6.0, 1.0),
    ];
    for (i, (draw, mean, variance)) in table.into_iter().enumerate() {
        let found = moments(draw);
        assert!((found.0 - mean).abs() < 0.014 && (found.1 - variance).abs() < 0.03, "{i}: {found:?}");
    }
}

#[test]
fn a_binomial_has_the_probabilities_of_its_law() {
    // n = 40 is too large to be drawn one by one; with p = 0.05, P(0) = 0.95^40.
    let (draws, mut rng) = (200_000, Rng::new(8));
    let mut seen = [0_u32; 41];
    (0..draws).for_each(|_| seen[rng.binomial(40, 0.05) as usize] += 1);
    let mut probability = 0.95_f64.powi(40);
    for (k, &found) in seen.iter().enumerate().take(9) {
        let (mean, deviation) = (probability * f64::from(draws), (probability * f64::from(draws)).sqrt());
        assert!((f64::from(found) - mean).abs() < 5.0 * deviation, "{k}: {found}, {mean}");
        probability *= (40 - k) as f64 / (k + 1) as f64 * (0.05 / 0.95);
    }
    assert_eq!((rng.binomial(0, 0.5), rng.binomial(1000, 0.0), rng.binomial(1000, 1.0)), (0, 0, 1000));
}

#[test]
fn streams_of_neighbours_are_not_correlated() {
    let rng = Rng::new(1);
    let (mut a, mut b) = (rng.fork(0), rng.fork(1));
    let product: f64 = (0..100_000).map(|_| (a.f64() - 0.5) * (b.f64() - 0.5)).sum();
    assert!((product / 100_000.0 * 12.0).abs() < 0.01);
}

#[test]
fn corners() {
    let mut rng = Rng::new(3);
    assert_eq!(rng.below(0), 0);
    assert_eq!(rng.below(1), 0);
    assert_eq!(rng.between(Nanos(9), Nanos(9)), Nanos(9));
    assert_eq!(rng.between(Nanos(9), Nanos(5)), Nanos(9));
    rng.between(Nanos(0), Nanos(u64::MAX));
    let mut seen = [0; 3];
    (0..3000).for_each(|_| seen[(rng.between(Nanos(10), Nanos(12)).0 - 10) as usize] += 1);
    assert!(seen.iter().all(|&n| n > 900), "{seen:?}");
}

proptest! {
    #[test]
    fn within_bounds(seed in any::<u64>(), n in 1u64.., a in any::<u64>(), b in any::<u64>()) {
        let mut rng = Rng::new(seed);
        prop_assert!((0.0..1.0).contains(&rng.f64()));
        prop_assert!(rng.below(n) < n);
        let (lo, hi) = (Nanos(a.min(b)), Nanos(a.max(b)));
        let drawn = rng.between(lo, hi);
        prop_assert!(lo <= drawn && drawn <= hi);
        prop_assert!((0.0..=20.73).contains(&rng.exponential()));
        prop_assert!(rng.normal().is_finite());
    }
}
