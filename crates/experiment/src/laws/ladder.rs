//! The rules of a ladder: each rung adds one thing, and the difference from the rung below says what that thing costs and
//! what it limits (`docs/measurement.md` 4.5).

use super::bounds::is_cpu_bound;

/// Difference of two capacities that is none, and of a capacity from what a rule predicts.
const SAME: f64 = 0.05;
const PREDICTED: f64 = 0.10;

/// A rung, as measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LadderRung {
    /// Median response time of a user alone, in seconds (R0).
    pub alone_s: f64,
    /// Highest throughput that keeps the objectives, per second (X*).
    pub capacity_per_s: f64,
    /// CPU seconds of the service for a request; `None` if it is not watched.
    pub cpu_s: Option<f64>,
}

/// What a rung adds to the one below.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LadderStep {
    /// Added response time of a user alone, in seconds.
    pub added_s: f64,
    /// Added CPU seconds for a request.
    pub added_cpu_s: Option<f64>,
    /// Capacity, as a share of that of the rung below.
    pub kept: f64,
    /// What limits the capacity of this rung.
    pub cost: StepCost,
}

/// What limits a rung.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StepCost {
    /// Nothing that it adds: the capacity is that of the rung below.
    Free,
    /// The CPU of the service.
    Cpu,
    /// What it adds serves one request at a time: a lock, a single connection.
    Serial,
    /// Nothing that can be told: a user alone gets its response sooner than on the rung below, so that it does not do one
    /// thing more.
    Shorter,
    /// Nothing: it has more capacity than the rung below, so that it does not do one thing more, or runs vary.
    More,
    /// A pool of this size in front of what it adds.
    Pool(u32),
    /// No rule explains it; this many requests are in what it adds at a time.
    Unexplained(f64),
}

/// Compares a rung with the one below. `cores` are those of the service, `pools` the sizes of pools that it has in front of
/// what the rung adds: any capacity fits some size, so that only a size that is configured is an explanation.
pub fn step(below: &LadderRung, rung: &LadderRung, cores: f64, pools: &[u32]) -> LadderStep {
    let added_s = rung.alone_s - below.alone_s;
    let added_cpu_s = rung.cpu_s.zip(below.cpu_s).map(|(cpu, below)| cpu - below);
    let kept = rung.capacity_per_s / below.capacity_per_s;
    let at_once = rung.capacity_per_s * added_s;
    let is_near = |predicted: f64| (at_once / predicted - 1.0).abs() <= PREDICTED;
    let costs_cpu = added_cpu_s.is_some_and(|added| added > 0.0);
    let pool = pools.iter().copied().filter(|size| is_near(f64::from(*size)));
    let nearest = pool.min_by(|a, b| (f64::from(*a) - at_once).abs().total_cmp(&(f64::from(*b) - at_once).abs()));
    let cost = match nearest {
        _ if (kept - 1.0).abs() <= SAME => StepCost::Free,
        _ if kept > 1.0 => StepCost::More,
        _ if costs_cpu && rung.cpu_s.is_some_and(|cpu| is_cpu_bound(rung.capacity_per_s, cores, cpu)) => StepCost::Cpu,
        _ if added_s <= 0.0 => StepCost::Shorter,
        _ if is_near(1.0) => StepCost::Serial,
        Some(size) => StepCost::Pool(size),
        None => StepCost::Unexplained(at_once),
    };
    LadderStep { added_s, added_cpu_s, kept, cost }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rung(alone_ms: f64, capacity_per_s: f64, cpu_ms: Option<f64>) -> LadderRung {
        LadderRung { alone_s: alone_ms / 1e3, capacity_per_s, cpu_s: cpu_ms.map(|ms| ms / 1e3) }
    }

    #[test]
    fn what_a_rung_adds_is_told_by_its_rule() {
        let empty = rung(0.2, 20_000.0, Some(0.19));
        let table = [
            // Within 5 % of the rung below.
            (rung(0.9, 19_200.0, Some(0.19)), &[8][..], StepCost::Free),
            // A pool of 8 in front of 2 ms: 4000/s.
            (rung(2.2, 3_900.0, Some(0.2)), &[8, 16], StepCost::Pool(8)),
            // A lock that is held for 2 ms: 500/s.
            (rung(2.2, 490.0, Some(0.2)), &[8], StepCost::Serial),
            // 1 ms of CPU on 4 cores: 4000/s.
            (rung(1.2, 3_800.0, Some(1.0)), &[8], StepCost::Cpu),
        ];
        for (above, pools, right) in table {
            assert_eq!(step(&empty, &above, 4.0, pools).cost, right, "{above:?}");
        }
        assert_eq!(step(&rung(9.0, 400.0, None), &rung(2.0, 100.0, None), 4.0, &[8]).cost, StepCost::Shorter);
        assert_eq!(step(&rung(1.0, 400.0, None), &rung(1.1, 600.0, None), 4.0, &[1]).cost, StepCost::More);
        let unknown = step(&empty, &rung(2.2, 3_900.0, None), 4.0, &[]);
        assert!(matches!(unknown.cost, StepCost::Unexplained(at_once) if (at_once - 7.8).abs() < 1e-9), "{unknown:?}");
        assert!((unknown.added_s - 0.002).abs() < 1e-12 && unknown.added_cpu_s.is_none());
        assert!((unknown.kept - 0.195).abs() < 1e-12);
    }

    #[test]
    fn cpu_that_the_rung_did_not_add_is_not_its_cost() {
        let (below, above) = (rung(1.2, 5_000.0, Some(1.0)), rung(3.2, 3_900.0, Some(1.0)));
        assert_eq!(step(&below, &above, 4.0, &[8]).cost, StepCost::Pool(8));
    }
}
