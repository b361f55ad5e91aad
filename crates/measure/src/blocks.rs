//! Batch means: how strongly neighbouring requests of a run are correlated, measured over blocks of consecutive
//! seconds.
//!
//! In a queue, slow requests follow slow requests, so that thousands of them may carry no more information than dozens
//! of independent ones. Cutting the run into blocks reveals the uncertainty of a quantile: if requests were
//! independent, the share of them above the quantile would vary between blocks no more than random draws do. The factor
//! by which it varies more is the *design effect*, and requests ÷ effect is the equivalent number of independent
//! requests (batch means; Law and Kelton, *Simulation Modeling and Analysis*, 9.5.3). The length of blocks grows with
//! the run, so that memory use does not.

use crate::estimate::{NORMAL, student_quantile};
use crate::{Histogram, Nanos};

/// Maximum number of blocks kept, and the number of blocks compared: small, so that each block is longer than the
/// effects of a queue.
const MOST: usize = 20;
const COMPARED: usize = 10;
/// Minimum number of blocks needed to estimate their variation.
const LEAST: usize = 5;
/// Length of the shortest block.
const SHORTEST: Nanos = Nanos::from_secs(1);

/// A run cut into blocks of equal length.
#[derive(Clone, Debug)]
pub struct RunBlocks {
    blocks: Vec<RunBlock>,
    /// Length of a block, and the elapsed part of the last one.
    length: Nanos,
    passed: Nanos,
}

#[derive(Clone, Debug)]
struct RunBlock {
    finished: Histogram,
    /// Number of all requests, including unfinished ones, which rank last.
    all: u64,
}

impl Default for RunBlocks {
    fn default() -> Self {
        RunBlocks { blocks: Vec::new(), length: SHORTEST, passed: SHORTEST }
    }
}

impl RunBlocks {
    /// Adds the requests of the next `length` of time: those in `finished`, and `unfinished` more that did not end. If
    /// `length` is zero, they belong to the current block.
    pub fn add(&mut self, length: Nanos, finished: &Histogram, unfinished: u64) {
        if length > Nanos::ZERO && self.passed >= self.length {
            self.begin();
        }
        self.passed = self.passed.saturating_add(length);
        if let Some(block) = self.blocks.last_mut() {
            block.finished.merge(finished);
            block.all += finished.count() + unfinished;
        }
    }

    fn begin(&mut self) {
        if self.blocks.len() == MOST {
            let mut from = std::mem::take(&mut self.blocks).into_iter();
            while let (Some(mut one), Some(other)) = (from.next(), from.next()) {
                one.finished.merge(&other.finished);
                one.all += other.all;
                self.blocks.push(one);
            }
            self.length = self.length.saturating_add(self.length);
        }
        self.blocks.push(RunBlock { finished: Histogram::new(), all: 0 });
        self.passed = Nanos::ZERO;
    }

    /// Returns the design effect at a quantile with value `at`, including the uncertainty of the effect itself; `None`
    /// if the run is too short. Never below 1: no interval is narrower than that of independent requests.
    pub fn design_effect(&self, at: Nanos) -> Option<f64> {
        if self.blocks.len() < LEAST {
            return None;
        }
        let compared = self.blocks.len().min(COMPARED);
        let mut sums = [(0.0, 0.0); COMPARED];
        for (i, block) in self.blocks.iter().enumerate() {
            let (below, all) = &mut sums[i * compared / self.blocks.len()];
            *below += block.finished.count_through(at) as f64;
            *all += block.all as f64;
        }
        let (below, all) = sums.iter().fold((0.0, 0.0), |sum, block| (sum.0 + block.0, sum.1 + block.1));
        let share = below / all;
        let independent = all * share * (1.0 - share);
        let squares: f64 = sums.iter().map(|(below, all)| (below - share * all).powi(2)).sum();
        let observed = squares * compared as f64 / (compared - 1) as f64;
        let effect = if independent > 0.0 { (observed / independent).max(1.0) } else { 1.0 };
        Some(effect * (student_quantile(compared - 1) / NORMAL).powi(2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;
    use crate::quantile::correlated_quantile;

    /// Returns the quantile of the response time of one server with exponential service: −ln(1−q)/(μ−λ) (MEASUREMENT
    /// 1.4).
    fn mm1_quantile(service_rate: f64, arrival_rate: f64, q: f64) -> f64 {
        -(1.0 - q).ln() / (service_rate - arrival_rate)
    }

    /// The responses of a run, each with the second in which it ended.
    type SimulatedRun = Vec<(usize, Nanos)>;

    /// Simulates a queue with one server in steady state: Poisson arrivals, `service` draws the next service time.
    fn queue(rate: f64, seconds: usize, rng: &mut Rng, service: impl Fn(&mut Rng) -> f64) -> SimulatedRun {
        let (mut run, mut wait, mut now) = (Vec::new(), 0.0_f64, -10.0);
        loop {
            let gap = rng.exponential() / rate;
            now += gap;
            if now >= seconds as f64 {
                return run;
            }
            wait = (wait - gap).max(0.0) + service(rng);
            if now >= 0.0 {
                run.push(((now + wait) as usize, Nanos::from_secs_f64(wait)));
            }
        }
    }

    /// Returns the interval of a quantile of a run; responses after the last second are included.
    fn interval(run: &SimulatedRun, seconds: usize, q: f64) -> [f64; 2] {
        let mut by_second = vec![Histogram::new(); seconds];
        run.iter().for_each(|(second, response)| by_second[(*second).min(seconds - 1)].record(*response));
        let (mut blocks, mut whole) = (RunBlocks::default(), Histogram::new());
        for second in &by_second {
            blocks.add(Nanos::from_secs(1), second, 0);
            whole.merge(second);
        }
        let (found, interval) = correlated_quantile(&whole, &Histogram::new(), q, Some(&blocks));
        let [low, high] = interval.unwrap_or_else(|| panic!("{found:?} has no interval"));
        [low.map_or(0.0, Nanos::as_secs_f64), high.map_or(f64::INFINITY, Nanos::as_secs_f64)]
    }

    /// Returns the share of runs whose interval contains the truth.
    fn covered(runs: u64, seconds: usize, q: f64, truth: f64, run: impl Fn(&mut Rng) -> SimulatedRun) -> f64 {
        let holds = (0..runs).filter(|seed| {
            let [low, high] = interval(&run(&mut Rng::new(100 + seed)), seconds, q);
            low * 0.998 <= truth && truth <= high * 1.002
        });
        holds.count() as f64 / runs as f64
    }

    #[test]
    fn intervals_hold_the_truth_of_a_queue_in_nine_runs_of_ten() {
        // ρ = 0.8. Intervals for independent requests contain the true value in only one run of five.
        for (rate, seconds) in [(400.0, 60), (1600.0, 30)] {
            let mu = rate / 0.8;
            for q in [0.5, 0.99] {
                let share = covered(60, seconds, q, mm1_quantile(mu, rate, q), |rng| {
                    queue(rate, seconds, rng, |rng| rng.exponential() / mu)
                });
                assert!(share >= 0.88, "M/M/1 at {rate}/s, {seconds} s, {q}: {share}");
            }
        }
    }

    #[test]
    fn nor_does_constant_service_mislead_them() {
        let (rate, seconds) = (1600.0, 30);
        let constant = |_: &mut Rng| 0.8 / rate;
        // M/D/1 at ρ = 0.8, in services: p50 2.276, p99 11.34 (20 million arrivals).
        for (q, truth) in [(0.5, 2.276), (0.99, 11.34)] {
            let share = covered(60, seconds, q, truth * 0.8 / rate, |rng| queue(rate, seconds, rng, constant));
            assert!(share >= 0.88, "{q}: {share}");
        }
    }

    #[test]
    fn intervals_of_independent_requests_stay_narrow_and_hold_the_truth() {
        let lognormal = |rng: &mut Rng| {
            let latency = |rng: &mut Rng| Nanos::from_secs_f64(0.005 * (0.8 * rng.normal()).exp());
            (0..12_000).map(|i| (i / 400, latency(rng))).collect::<SimulatedRun>()
        };
        for (q, z) in [(0.5, 0.0), (0.99, 2.326_347_9)] {
            let truth = 0.005 * f64::exp(0.8 * z);
            let share = covered(60, 30, q, truth, lognormal);
            assert!(share >= 0.9, "{q}: {share}");
            let mut widths: Vec<f64> = (0..30)
                .map(|seed| {
                    let run = lognormal(&mut Rng::new(seed));
                    let [low, high] = interval(&run, 30, q);
                    let mut whole = Histogram::new();
                    run.iter().for_each(|(_, response)| whole.record(*response));
                    let narrowest = crate::quantile(&whole, &Histogram::new(), q);
                    (high - low) / (narrowest.high.unwrap() - narrowest.low.unwrap()).as_secs_f64()
                })
                .collect();
            widths.sort_by(f64::total_cmp);
            assert!(widths[0] >= 1.0 && widths[15] < 1.6, "{q}: {widths:?}");
        }
    }

    #[test]
    fn blocks_grow_with_the_run_and_a_short_run_says_nothing() {
        let mut second = Histogram::new();
        (1..=10).for_each(|us| second.record(Nanos::from_micros(us)));
        let mut blocks = RunBlocks::default();
        for n in 1..=10_000 {
            blocks.add(Nanos::from_secs(1), &second, 1);
            assert_eq!(blocks.design_effect(Nanos::from_micros(5)).is_some(), n >= 5, "{n} seconds");
            assert!(blocks.blocks.len() <= MOST);
        }
        assert_eq!(blocks.blocks.iter().map(|block| block.all).sum::<u64>(), 110_000);
        // Responses of the drain belong to the last block.
        blocks.add(Nanos::ZERO, &second, 0);
        assert_eq!(blocks.blocks.iter().map(|block| block.all).sum::<u64>(), 110_010);
        // Identical blocks, or a value below or above all others, give no evidence of correlation.
        for at in [0, 5, 10, 100] {
            let effect = blocks.design_effect(Nanos::from_micros(at)).expect("long enough");
            assert!((1.0..1.5).contains(&effect), "{effect}");
        }
    }

    #[test]
    fn two_regimes_are_worth_little() {
        // Five times slower from the middle on: the median may be anywhere in between.
        let run: SimulatedRun =
            (0..6000).map(|i| (i / 200, Nanos::from_millis(if i < 3000 { 2 } else { 10 }))).collect();
        let [low, high] = interval(&run, 30, 0.5);
        assert!(low < 0.0021 && high > 0.0099, "{low} – {high}");
    }
}
