//! Searches of simulated queues, against the exact answer: each system is a sample path of Poisson arrivals at a number
//! of servers (Lindley 1952; Kiefer and Wolfowitz 1955), seeded.

use brunt_measure::{Histogram, Nanos, Rng, RunBlocks};

use super::*;

const TRIAL: Nanos = Nanos::from_secs(10);
const WIDTH: f64 = 0.05;
/// Share of requests that may be late: the objectives are p99.
const LATE: f64 = 0.01;

/// A service as a queue.
#[derive(Clone, Copy)]
struct Queue {
    /// Requests served at once.
    servers: usize,
    /// Mean time in service, in seconds.
    service_s: f64,
    /// Set if each takes exactly that long; otherwise times are exponential.
    constant: bool,
    /// Time in seconds that each request takes beside, where nothing queues.
    delay_s: f64,
    /// Greatest p99, in seconds.
    limit_s: f64,
}

const SINGLE: Queue = Queue { servers: 1, service_s: 0.0005, constant: false, delay_s: 0.0, limit_s: 0.010 };
const FOUR: Queue = Queue { servers: 4, service_s: 0.002, constant: true, delay_s: 0.0, limit_s: 0.005 };
const POOL: Queue = Queue { servers: 8, service_s: 0.005, constant: false, delay_s: 0.003, limit_s: 0.040 };

impl Queue {
    /// Serves `n` arrivals at `rate` from an idle start; tells arrival and response time of each in seconds. Returns
    /// the time until the last one is served.
    fn serve(&self, rate: f64, n: u64, rng: &mut Rng, mut tell: impl FnMut(f64, f64)) -> f64 {
        let mut free = vec![0.0f64; self.servers];
        let mut now = 0.0;
        for _ in 0..n {
            now += rng.exponential() / rate;
            let next = (0..free.len()).min_by(|a, b| free[*a].total_cmp(&free[*b])).expect("a server");
            let took = if self.constant { self.service_s } else { rng.exponential() * self.service_s };
            free[next] = free[next].max(now) + took;
            tell(now, free[next] - now + self.delay_s);
        }
        free.into_iter().fold(now, f64::max)
    }

    /// Measures a trial; returns the time that its backlog takes, too.
    fn trial(&self, load: f64, duration: Nanos, rng: &mut Rng) -> (TrialOutcome, Nanos) {
        let seconds = duration.as_secs_f64();
        let due = rng_poisson(load * seconds, rng);
        let (mut blocks, mut violations) = (RunBlocks::default(), 0);
        let (mut second, mut until) = (Histogram::new(), 1.0);
        let end = self.serve(due as f64 / seconds, due, rng, |arrived, response| {
            if arrived > until {
                blocks.add(Nanos::from_secs(1), &second, 0);
                (second, until) = (Histogram::new(), until + 1.0);
            }
            second.record(Nanos::from_secs_f64(response));
            violations += u64::from(response > self.limit_s);
        });
        let design_effect = blocks.design_effect(Nanos::from_secs_f64(self.limit_s));
        let counts = vec![GoalCount { violations, due, design_effect }];
        let backlog = Nanos::from_secs_f64((end - seconds).max(0.0));
        (TrialOutcome { load, duration, counts, trusted: true }, backlog)
    }

    /// Searches the highest load, which is the lower bound, and the number of trial lengths that it took.
    fn find(&self, seed: u64) -> (f64, f64) {
        let goals = vec![Goal::of_requests(LATE, TRIAL)];
        let mut search = Search::new(SearchPlan {
            goals,
            // Each seed has its own grid of loads.
            lowest: 10.0 * (seed as f64 / 100.0).exp2(),
            highest: 100_000.0,
            whole: false,
            width: WIDTH,
            trial: TRIAL,
            warm_up: Nanos::from_secs(5),
        });
        let (mut rng, mut left) = (Rng::new(seed), Nanos::ZERO);
        loop {
            match search.next() {
                SearchStep::WarmUp { duration, .. } => search.warmed_up(duration),
                SearchStep::Settle => search.settled(left + Nanos::from_secs(1)),
                SearchStep::Trial { load, duration } => {
                    let (outcome, backlog) = self.trial(load, duration, &mut rng);
                    search.add(outcome);
                    left = backlog;
                }
                SearchStep::Done(_) => break,
            }
        }
        let result = search.result();
        assert_eq!(result.end, Some(SearchEnd::Found), "seed {seed}");
        let trials = result.elapsed.as_secs_f64() / TRIAL.as_secs_f64();
        (result.bounds.lower.expect("a lower bound"), trials)
    }
}

/// Returns a Poisson number, for means that are large enough for the normal approximation.
fn rng_poisson(mean: f64, rng: &mut Rng) -> u64 {
    (mean + mean.sqrt() * rng.normal()).round().max(1.0) as u64
}

/// Finds the argument between `low` and `high` at which a falling function reaches 0.
fn root(mut low: f64, mut high: f64, halvings: u32, f: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..halvings {
        let middle = 0.5 * (low + high);
        if f(middle) > 0.0 { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// Returns the share of responses above `t` of M/M/c, in which a wait is exponential beyond Erlang's C.
fn late_of_exponential(servers: usize, service_s: f64, rate: f64, t: f64) -> f64 {
    let (mu, offered) = (1.0 / service_s, rate * service_s);
    let blocking = (1..=servers).fold(1.0, |b, n| offered * b / (n as f64 + offered * b));
    let busy = offered / servers as f64;
    let waits = blocking / (1.0 - busy * (1.0 - blocking));
    let drain = servers as f64 * mu - rate;
    let (own, queue) = ((-mu * t).exp(), (-drain * t).exp());
    own * (1.0 - waits) + waits * (drain * own - mu * queue) / (drain - mu)
}

/// Checks what 100 seeds find.
fn check(queue: &Queue, truth: f64) {
    let found: Vec<(f64, f64)> = (0..100).map(|seed| queue.find(seed)).collect();
    let ratios: Vec<f64> = found.iter().map(|(load, _)| load / truth).collect();
    let within = ratios.iter().filter(|ratio| (*ratio - 1.0).abs() <= WIDTH).count();
    let above = ratios.iter().filter(|ratio| **ratio > 1.0 + WIDTH).count();
    let mut times: Vec<f64> = found.iter().map(|(_, trials)| *trials).collect();
    times.sort_by(f64::total_cmp);
    let median = times[times.len() / 2];
    println!("truth {truth:.1}: {within} within, {above} above, median {median:.1}, longest {:.1} trials", times[99]);
    assert!(within >= 95 && above <= 1, "{within} within the width, {above} above: {ratios:.3?}");
    assert!(median <= 25.0, "{median} trial lengths");
}

#[test]
fn a_single_server_is_found() {
    // The response of M/M/1 is exponential with the rate μ − λ.
    let truth = 1.0 / SINGLE.service_s + LATE.ln() / SINGLE.limit_s;
    check(&SINGLE, truth);
}

#[test]
fn a_pool_is_found() {
    let late = |rate| late_of_exponential(POOL.servers, POOL.service_s, rate, POOL.limit_s - POOL.delay_s);
    check(&POOL, root(1.0, 8.0 / POOL.service_s - 1.0, 60, |rate| LATE - late(rate)));
}

#[test]
fn four_servers_of_constant_time_are_found() {
    // No formula is simple: the same long sample path at every rate.
    const LONG: u64 = 2_000_000;
    let late = |rate: f64| {
        let mut late = 0u64;
        FOUR.serve(rate, LONG, &mut Rng::new(7), |_, response| late += u64::from(response > FOUR.limit_s));
        late as f64 / LONG as f64
    };
    check(&FOUR, root(1000.0, 2000.0, 11, |rate| LATE - late(rate)));
}

#[test]
fn the_formula_of_the_pool_is_that_of_the_sample_path() {
    let (rate, t) = (1100.0, 0.020);
    let mut late = 0u64;
    POOL.serve(rate, 1_000_000, &mut Rng::new(3), |_, response| late += u64::from(response - POOL.delay_s > t));
    let (found, right) = (late as f64 / 1e6, late_of_exponential(POOL.servers, POOL.service_s, rate, t));
    assert!((found / right - 1.0).abs() < 0.03, "{found} against {right}");
}
