//! The load and what came of it, second by second, and the point from which more load gave no more throughput.

/// Load and results of a second of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SecondFigures {
    /// Start, in seconds since the start of the window.
    pub from_s: f64,
    /// Length in seconds.
    pub length_s: f64,
    /// Load: requests scheduled per second (open load) or users (closed load).
    pub load: f64,
    /// Number of successes.
    pub succeeded: u64,
    /// Number of requests that got no response within the timeout although they were sent.
    pub unanswered: u64,
    /// Number of responses that count as failures.
    pub failed_responses: u64,
    /// Number of failures of any kind.
    pub failed: u64,
    /// Number of requests in flight or waiting at the end.
    pub backlog: f64,
    /// Mean headline latency of the successes, in seconds; 0 without any.
    pub response_s: f64,
    /// Mean number of requests in flight that were answered: their service times ÷ the length.
    pub answered_in_flight: f64,
}

impl SecondFigures {
    /// Returns the successes per second.
    pub fn succeeded_per_s(&self) -> f64 {
        if self.length_s > 0.0 { self.succeeded as f64 / self.length_s } else { 0.0 }
    }
}

/// A point of the curve of a run whose load changed: a stretch of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CurvePoint {
    /// Start, in seconds since the start of the window.
    pub from_s: f64,
    /// End, in the same format.
    pub to_s: f64,
    /// Mean load, as in [`SecondFigures`].
    pub load: f64,
    /// Successes per second.
    pub succeeded_per_s: f64,
    /// Median and p99 of the headline latency, in seconds; `None` if withheld. Infinite if a request that did not
    /// finish has this rank.
    pub p50_s: Option<f64>,
    /// See `p50_s`.
    pub p99_s: Option<f64>,
    /// Number of requests in flight or waiting at the end.
    pub backlog: f64,
}

/// The knee of a run whose load rose: from there on, throughput did not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knee {
    /// Number of the second of the window, counted from 1.
    pub second: usize,
    /// Load in that second, as in [`SecondFigures`].
    pub load: f64,
    /// Highest load after it.
    pub most_load: f64,
    /// Successes per second from there on.
    pub succeeded_per_s: f64,
    /// Requests in flight or waiting before the knee, and when the load was highest.
    pub backlog: [f64; 2],
    /// Typical latency before the knee and after it, in seconds.
    pub response_s: [f64; 2],
}

/// Minimum ratio of the highest load to the one that the sustained throughput corresponds to.
const BEYOND: f64 = 1.25;
/// Maximum share of the sustained throughput in one of the seconds before the knee.
const ROSE: f64 = 0.9;
/// Maximum increase of throughput after the knee, as a share of that before it for the same increase of the load.
const RISING: f64 = 0.3;
/// Minimum share of the load after the knee that gave no throughput, and minimum number of its standard deviations.
const MISSING: f64 = 0.1;
const DEVIATIONS: f64 = 3.0;
/// Share of the missing requests that must have queued or timed out, and minimum number of queued requests.
const QUEUED: f64 = 0.25;
const LEAST_QUEUE: f64 = 10.0;
/// Ratio of latencies that shows a queue.
const SLOWER: f64 = 2.0;
/// Share of the highest load at which a second still belongs to the rise.
const NEAR_PEAK: f64 = 0.9;
/// Minimum number of seconds after the knee.
const AFTER: usize = 2;
/// Minimum ratio of two loads that are compared.
const APART: f64 = 1.05;

impl Knee {
    /// Finds the knee in the seconds of a rising load: the split into a part in which throughput is proportional to the
    /// load and one in which it is constant, with the least squares; `None` if throughput kept up with the load, or
    /// neither a queue nor latency grew.
    pub fn of(seconds: &[SecondFigures]) -> Option<Knee> {
        let peak = seconds.iter().map(|s| s.load).fold(0.0, f64::max);
        let end = seconds.iter().rposition(|s| s.load >= NEAR_PEAK * peak)? + 1;
        let rise = &seconds[..end];
        let at = (1..=end.checked_sub(AFTER)?).min_by(|a, b| misfit(rise, *a).total_cmp(&misfit(rise, *b)))?;
        let (before, after) = rise.split_at(at);
        let per_load = proportion(before);
        let succeeded_per_s = median(after.iter().map(SecondFigures::succeeded_per_s));
        let most_load = after.iter().map(|s| s.load).fold(0.0, f64::max);
        let stopped = per_load > 0.0
            && succeeded_per_s > 0.0
            && per_load * most_load >= BEYOND * succeeded_per_s
            && slope(after).is_none_or(|slope| slope <= RISING * per_load)
            // Throughput that never rose shows no knee: the load was beyond the capacity from the beginning.
            && before.iter().any(|s| s.succeeded_per_s() <= ROSE * succeeded_per_s);
        let typical = |part: &[SecondFigures]| median(part.iter().filter(|s| s.succeeded > 0).map(|s| s.response_s));
        let knee = Knee {
            second: at + 1,
            load: after.first()?.load,
            most_load,
            succeeded_per_s,
            backlog: [before.last()?.backlog, after.iter().map(|s| s.backlog).fold(0.0, f64::max)],
            response_s: [typical(before), typical(after)],
        };
        (stopped && knee.explains(after, per_load)).then_some(knee)
    }

    /// Returns `true` if enough of the load gave no throughput, and it queued or timed out.
    fn explains(&self, after: &[SecondFigures], per_load: f64) -> bool {
        let asked: f64 = after.iter().map(|s| per_load * s.load * s.length_s).sum();
        let missing = asked - after.iter().map(|s| s.succeeded as f64).sum::<f64>();
        let [before, most] = self.backlog;
        let queued = most - before + after.iter().map(|s| s.unanswered as f64).sum::<f64>();
        let [quick, slow] = self.response_s;
        missing >= (MISSING * asked).max(DEVIATIONS * asked.sqrt())
            && (queued >= LEAST_QUEUE.max(QUEUED * missing) || (quick > 0.0 && slow >= SLOWER * quick))
    }
}

/// Returns the throughput per unit of load, by least squares.
fn proportion(part: &[SecondFigures]) -> f64 {
    let squares: f64 = part.iter().map(|s| s.load * s.load).sum();
    let products: f64 = part.iter().map(|s| s.load * s.succeeded_per_s()).sum();
    if squares > 0.0 { products / squares } else { 0.0 }
}

/// Returns the squared distance of throughput from the proportional part before `at` and the constant one after it.
fn misfit(seconds: &[SecondFigures], at: usize) -> f64 {
    let (before, after) = seconds.split_at(at);
    let per_load = proportion(before);
    let level = after.iter().map(SecondFigures::succeeded_per_s).sum::<f64>() / after.len() as f64;
    let rising = before.iter().map(|s| (s.succeeded_per_s() - per_load * s.load).powi(2));
    rising.chain(after.iter().map(|s| (s.succeeded_per_s() - level).powi(2))).sum()
}

/// Maximum number of seconds whose pairs are compared; of more, every n-th is taken.
const COMPARED: usize = 240;

/// Returns the median increase of throughput per unit of load, over all pairs of seconds whose loads differ.
fn slope(part: &[SecondFigures]) -> Option<f64> {
    let some: Vec<&SecondFigures> = part.iter().step_by(part.len().div_ceil(COMPARED)).collect();
    let pairs = some.iter().flat_map(|a| some.iter().map(move |b| (a, b)));
    let slopes: Vec<f64> = pairs
        .filter(|(a, b)| b.load >= APART * a.load && b.load > a.load)
        .map(|(a, b)| (b.succeeded_per_s() - a.succeeded_per_s()) / (b.load - a.load))
        .collect();
    (!slopes.is_empty()).then(|| median(slopes))
}

/// Returns the median; 0 if there are no values.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns the seconds of a queue with this capacity under these loads. What it cannot serve waits, up to
    /// `patience` seconds.
    pub fn queue(loads: impl IntoIterator<Item = f64>, capacity: f64, patience: f64) -> Vec<SecondFigures> {
        let mut backlog = 0.0_f64;
        let second = |(at, load): (usize, f64)| {
            let served = (backlog + load).min(capacity);
            let left = backlog + load - served;
            backlog = left.min(patience * capacity);
            SecondFigures {
                failed_responses: 0,
                failed: (left - backlog) as u64,
                from_s: at as f64,
                length_s: 1.0,
                load,
                succeeded: served as u64,
                unanswered: (left - backlog) as u64,
                backlog,
                response_s: 0.003 + backlog / capacity,
                answered_in_flight: served * (0.003 + backlog / capacity),
            }
        };
        loads.into_iter().enumerate().map(second).collect()
    }

    #[test]
    fn a_knee_is_where_throughput_stops_while_the_load_rises() {
        let ramp = (0..16).map(|n| 20.0 + 50.0 * f64::from(n));
        let knee = Knee::of(&queue(ramp.clone(), 330.0, 2.0)).expect("a knee");
        assert_eq!((knee.second, knee.succeeded_per_s), (8, 330.0), "{knee:?}");
        assert_eq!((knee.load, knee.most_load), (370.0, 770.0));
        assert!(knee.backlog[1] > 600.0 && knee.response_s[1] > 1.0 && knee.response_s[0] < 0.01, "{knee:?}");
        assert_eq!(Knee::of(&queue(ramp, 900.0, 2.0)), None, "it kept up");
        let steps = [50.0, 50.0, 100.0, 100.0, 200.0, 200.0, 400.0, 400.0];
        assert_eq!(Knee::of(&queue(steps, 200.0, 5.0)).map(|knee| (knee.second, knee.load)), Some((5, 200.0)));
        let spike = [50.0, 50.0, 900.0, 900.0, 900.0, 50.0, 50.0, 50.0];
        assert_eq!(Knee::of(&queue(spike, 300.0, 9.0)).map(|knee| knee.second), Some(3));
        assert_eq!(Knee::of(&[]), None);
    }

    #[test]
    fn users_who_only_wait_longer_are_beyond_the_knee() {
        // One place of 10 ms: N users wait N × 10 ms.
        let closed = |places: f64| -> Vec<SecondFigures> {
            let second = |users: f64| {
                let served = 100.0 * users.min(places);
                let response_s = users / served;
                let backlog = users;
                SecondFigures {
                    length_s: 1.0,
                    load: users,
                    succeeded: served as u64,
                    backlog,
                    response_s,
                    ..SecondFigures::default()
                }
            };
            (1..=20).map(|users| second(f64::from(users))).collect()
        };
        let knee = Knee::of(&closed(4.0)).expect("a knee");
        assert!((4..=6).contains(&knee.second) && knee.succeeded_per_s == 400.0, "{knee:?}");
        assert_eq!(Knee::of(&closed(30.0)), None);
    }

    #[test]
    fn refusals_and_chance_are_no_knee() {
        let mut refused = queue((0..16).map(|n| 20.0 + 50.0 * f64::from(n)), 330.0, 0.0);
        refused.iter_mut().for_each(|s| (s.unanswered, s.response_s) = (0, 0.003));
        assert_eq!(Knee::of(&refused), None, "what is refused at once waits nowhere");
        let mut noisy = queue([4.0, 6.0, 9.0, 11.0, 12.0, 15.0], 90.0, 2.0);
        for (s, n) in noisy.iter_mut().zip([5, 3, 12, 10, 8, 12]) {
            s.succeeded = n;
        }
        assert_eq!(Knee::of(&noisy), None, "a few requests a second vary");
    }
}
