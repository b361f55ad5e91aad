//! A fixed number of Poisson arrivals, shared between workers without communication.
//!
//! The run ends with the first n arrivals of the union of all streams, so no single stream can have a fixed number:
//! streams that each stopped at n/T would end one after another, the last long after the union had reached n. But given
//! the time S of the union's arrival n + 1, measured in expected arrivals, the n arrivals before it are independent
//! uniform points of [0, S), each equally likely to belong to any worker. So S and the number of points of each worker
//! are drawn from the common seed, and every worker then draws the times of its own points.

use brunt_measure::{Nanos, Rng};
use brunt_plan::{Change, Share, Stage};

use crate::Schedule;
use crate::arrivals::{PoissonArrivals, first_rate, in_lumps};
use crate::curve::Curve;

/// Random stream that is the same for all workers; the workers' own streams are numbered from 0.
const COMMON: u64 = u64::MAX;
/// Offset of the random streams used after the warm-up, one per worker.
const AFTER_WARMUP: u64 = 1 << 32;

/// One share of a fixed number of arrivals.
pub(crate) struct CountedArrivals {
    /// The warm-up, which is not counted.
    warming: PoissonArrivals,
    warmed: bool,
    /// Set if a point was drawn but not returned, because a change put arrivals of the warm-up before it or moved it
    /// beyond the end.
    drawn_ahead: bool,
    /// Set once all points were returned.
    done: bool,
    curve: Curve,
    rng: Rng,
    /// S: position of the union's arrival n + 1, in expected arrivals.
    total: f64,
    /// −ln of the fraction of [0, S) that remains.
    passed: f64,
    /// Number of remaining points of this share.
    left: u64,
}

impl CountedArrivals {
    pub(crate) fn new(
        stages: &[Stage],
        warmup: Nanos,
        requests: u64,
        end: Nanos,
        share: Share,
        seed: u64,
    ) -> CountedArrivals {
        let seeds = Rng::new(seed);
        let mut common = seeds.fork(COMMON);
        let warming = Curve::level(first_rate(stages), Nanos::ZERO, warmup);
        CountedArrivals {
            warming: PoissonArrivals::along(warming, share, seed),
            warmed: false,
            drawn_ahead: false,
            done: false,
            curve: Curve::of_stages(stages, warmup, end),
            rng: seeds.fork(AFTER_WARMUP + u64::from(share.index)),
            total: common.gamma(requests as f64 + 1.0),
            passed: 0.0,
            left: dealt(requests, share, &mut common),
        }
    }
}

/// Returns the number of requests of the shares before this one.
pub(crate) fn requests_before(requests: u64, share: Share, seed: u64) -> u64 {
    let mut common = Rng::new(seed).fork(COMMON);
    let _ = common.gamma(requests as f64 + 1.0);
    let mut left = requests;
    for index in 0..share.index {
        left -= common.binomial(left, 1.0 / f64::from(share.of - index));
    }
    requests - left
}

/// Returns the number of `requests` items that fall to a share when dealt at random; the shares add up to all of them.
fn dealt(requests: u64, share: Share, common: &mut Rng) -> u64 {
    let mut left = requests;
    for index in 0..share.index {
        left -= common.binomial(left, 1.0 / f64::from(share.of - index));
    }
    common.binomial(left, 1.0 / f64::from(share.of - share.index))
}

impl CountedArrivals {
    /// Returns the due time of the last drawn point.
    fn due(&mut self) -> Option<Nanos> {
        self.curve.time_of(self.total * -(-self.passed).exp_m1())
    }
}

impl Schedule for CountedArrivals {
    fn next_due(&mut self) -> Option<Nanos> {
        if !self.warmed {
            if let Some(due) = self.warming.next_due() {
                return Some(due);
            }
            self.warmed = true;
        }
        if !self.drawn_ahead {
            if self.left == 0 {
                self.done = true;
                return None;
            }
            // The first of k uniform points leaves the fraction V^(1/k) of the remaining interval.
            self.passed += self.rng.exponential() / self.left as f64;
            self.left -= 1;
        }
        let due = self.due();
        self.drawn_ahead = due.is_none();
        due
    }

    fn change(&mut self, at: Nanos, change: Change) -> Option<Nanos> {
        self.curve.change(at, change);
        let warming = self.warming.change(at, change);
        let point = self.passed > 0.0 && !self.done;
        if let Some(due) = warming.filter(|due| !self.warmed || *due >= at) {
            (self.warmed, self.drawn_ahead) = (false, point);
            return Some(due);
        }
        self.warmed = true;
        self.drawn_ahead |= point;
        self.next_due()
    }

    /// Spreads the remaining points evenly over the remaining time.
    fn take_rest(&mut self, _from: Nanos, until: Nanos, lump: &mut dyn FnMut(Nanos, u64)) {
        self.warmed = true;
        let began = self.total * -(-self.passed).exp_m1();
        let rest = (self.curve.due_by(until).min(self.total) - began).max(0.0);
        let part = rest / (self.total - began).max(f64::MIN_POSITIVE);
        let number = (self.left as f64 * part.min(1.0)).round() as u64;
        let end = self.curve.end_by(until);
        in_lumps(number, |so_far, many| {
            let last = self.curve.time_of(began + rest * (so_far as f64 / number as f64));
            lump(last.unwrap_or(Nanos::MAX).min(end), many);
        });
        self.left -= number.min(self.left);
        self.passed = -(-((began + rest) / self.total)).ln_1p();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals;

    #[test]
    fn who_comes_before_a_share_is_known_to_it() {
        for seed in 0..20 {
            let mut so_far = 0;
            for index in 0..5 {
                let share = Share { index, of: 5 };
                assert_eq!(requests_before(1000, share, seed), so_far);
                let stages = [Stage { lasts: Nanos::from_secs(3600), from: 100.0, to: 100.0 }];
                so_far += CountedArrivals::new(&stages, Nanos::ZERO, 1000, Nanos::MAX, share, seed).left;
            }
            assert_eq!(so_far, 1000);
        }
    }
    use crate::spacing::{coefficient_of_variation, distance_from_exponential, gaps};
    use brunt_plan::{Arrivals, Load};

    fn union(rate: f64, requests: u64, of: u32, seed: u64) -> Vec<Nanos> {
        let stages = vec![Stage { lasts: Nanos::from_secs(1), from: rate, to: rate }];
        let load = Load::Open { stages, arrivals: Arrivals::Poisson };
        let mut all = Vec::new();
        for index in 0..of {
            let mut its = arrivals(&load, Nanos::ZERO, Some(requests), None, Share { index, of }, seed);
            all.extend(std::iter::from_fn(|| its.next_due()));
        }
        all.sort_unstable();
        all
    }

    #[test]
    fn a_number_of_requests_takes_as_long_as_they_are_the_load_of_whatever_the_number_of_workers() {
        for of in [1, 2, 16, 64] {
            let lasts = (0..200).map(|seed| {
                let due = union(160.0, 320, of, seed);
                assert_eq!(due.len(), 320, "seed {seed} over {of}");
                due[319].as_secs_f64()
            });
            // Erlang: mean n/λ = 2 s, standard deviation √n/λ = 0.112 s; that of the mean of 200 of them is 0.008 s.
            let lasts: Vec<f64> = lasts.collect();
            let mean = lasts.iter().sum::<f64>() / 200.0;
            let variance = lasts.iter().map(|last| (last - mean).powi(2)).sum::<f64>() / 199.0;
            assert!((mean - 2.0).abs() < 0.04, "over {of}: {mean} s");
            // The standard deviation of a deviation estimated from 200 values is 5 %.
            assert!((variance.sqrt() / 0.1118 - 1.0).abs() < 0.25, "over {of}: {} s", variance.sqrt());
        }
    }

    #[test]
    fn a_number_of_arrivals_is_poisson_to_its_end() {
        for of in [1, 3, 16] {
            let due = union(1000.0, 20_000, of, 9);
            for half in [&due[..10_000], &due[10_000..]] {
                let gaps = gaps(half);
                let variation = coefficient_of_variation(&gaps).expect("gaps");
                assert!((variation - 1.0).abs() <= 0.05, "over {of}: variation {variation}");
                let distance = distance_from_exponential(&gaps).expect("gaps");
                assert!(distance <= 0.03, "over {of}: distance {distance}");
            }
        }
    }

    #[test]
    fn every_arrival_is_dealt_to_one_share() {
        for (requests, of) in [(0, 3), (1, 4), (320, 16), (1_000_000_007, 7), (5, 100)] {
            let of_share = |index| dealt(requests, Share { index, of }, &mut Rng::new(3).fork(COMMON));
            let shares: Vec<u64> = (0..of).map(of_share).collect();
            assert_eq!(shares.iter().sum::<u64>(), requests, "{requests} over {of}");
            let (mean, deviation) = (requests as f64 / f64::from(of), (requests as f64 / f64::from(of)).sqrt());
            assert!(shares.iter().all(|n| (*n as f64 - mean).abs() <= 6.0 * deviation + 4.0), "{shares:?}");
        }
    }
}
