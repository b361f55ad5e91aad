//! Quantiles with confidence intervals (MEASUREMENT 2.3), and the effect of unfinished requests on them (1.1).
//!
//! The 95 % interval is distribution-free: with B ~ Bin(n, q), the order statistics of ranks j and k bracket the
//! quantile if P(B ≤ j−1) and P(B ≥ k) are each at most 2.5 %. That assumes independent requests. Neighbouring requests
//! of a run are correlated, so [`correlated_quantile`] uses the equivalent number of independent requests, derived from
//! their order.

use crate::{Histogram, Nanos, RunBlocks};

/// Maximum probability outside the interval at either end.
const TAIL: f64 = 0.025;
/// Absolute value of the standard normal quantile of [`TAIL`].
const Z: f64 = 1.959_963_984_540_054;
/// Variance above which ranks are computed by a normal approximation with a term for skewness. Above it, the result
/// differs from the exact rank by at most one in several thousand, and summing would take milliseconds.
const SUMMED_UP_TO: f64 = 1e6;

/// A quantile of requests, some of which may not have finished.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantile {
    /// Quantile in (0, 1).
    pub q: f64,
    /// Estimated value.
    pub value: QuantileValue,
    /// Lower end of the 95 % interval; `None` if the interval is open below.
    pub low: Option<Nanos>,
    /// Upper end of the 95 % interval; `None` if it is infinite.
    pub high: Option<Nanos>,
}

/// The value of a quantile, or what is known about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuantileValue {
    /// A known value.
    Value(Nanos),
    /// A lower bound: the quantile falls among requests that did not finish.
    AtLeast(Nanos),
    /// There are too few requests ([`minimum_count`]).
    Withheld,
}

/// Computes a quantile of requests. `finished` holds the durations of completed requests, `at_least` the ages at which
/// the others were abandoned.
///
/// Abandoned requests rank above all finished ones. If their share is smaller than the share above the quantile, the
/// result is a value. Otherwise it is a lower bound: the quantile that would result if each had finished when it was
/// abandoned.
pub fn quantile(finished: &Histogram, at_least: &Histogram, q: f64) -> Quantile {
    let total = finished.count() + at_least.count();
    if total < minimum_count(q) {
        return Quantile { q, value: QuantileValue::Withheld, low: None, high: None };
    }
    let rank = rank_of(total, q);
    let (low, high) = confidence_ranks(total, q);
    if at_least.is_empty() || (finished.count() as f64) > snap(total as f64 * q) {
        let value = finished.at_rank(rank).unwrap_or_default();
        return Quantile {
            q,
            value: QuantileValue::Value(value),
            low: low.and_then(|j| finished.at_rank(j)),
            high: high.and_then(|k| finished.at_rank(k)),
        };
    }
    let value = finished.at_rank_of_both(at_least, rank).unwrap_or_default();
    let low = low.and_then(|j| finished.at_rank_of_both(at_least, j));
    Quantile { q, value: QuantileValue::AtLeast(value), low, high: None }
}

/// An interval: lower end (`None` if open below) and upper end (`None` if infinite).
pub type Interval = [Option<Nanos>; 2];

/// Computes a quantile of correlated requests, with a 95 % interval for the equivalent number of independent requests
/// according to `blocks`. There is no interval if there are too few blocks.
pub fn correlated_quantile(
    finished: &Histogram,
    at_least: &Histogram,
    q: f64,
    blocks: Option<&RunBlocks>,
) -> (QuantileValue, Option<Interval>) {
    let value = quantile(finished, at_least, q).value;
    let (at, bound) = match value {
        QuantileValue::Value(at) => (at, false),
        QuantileValue::AtLeast(at) => (at, true),
        QuantileValue::Withheld => return (value, None),
    };
    let Some(effect) = blocks.and_then(|blocks| blocks.design_effect(at)) else { return (value, None) };
    let all = finished.count() + at_least.count();
    let worth = (all as f64 / effect).floor().max(1.0);
    let (low, high) = confidence_ranks(worth as u64, q);
    // Converts a rank among the independent requests to a rank among all.
    let among_all = |rank: u64| (((rank as f64 - 0.5) * all as f64 / worth).ceil() as u64).clamp(1, all);
    let low = low.map(among_all).and_then(|rank| finished.at_rank_of_both(at_least, rank));
    let high = high.filter(|_| !bound).map(among_all).and_then(|rank| finished.at_rank(rank));
    (value, Some([low, high]))
}

/// Returns the rank of a quantile among `n` values: the lowest rank such that at least the share `q` of the values does
/// not exceed its value.
pub fn rank_of(n: u64, q: f64) -> u64 {
    (snap(n as f64 * q).ceil() as u64).clamp(1, n.max(1))
}

/// Returns the minimum number of values for which a quantile is reported: with fewer, the probability that all of them
/// lie below it exceeds 5 % (qⁿ > 5 %).
pub fn minimum_count(q: f64) -> u64 {
    if q <= 0.0 {
        return 1;
    }
    // Infinite for q = 1, which the cast turns into the maximum.
    (0.05_f64.ln() / q.ln()).abs().ceil() as u64
}

/// Returns the ranks of the 95 % interval of a quantile among `n` values, 1 being the smallest; `None` for an end at
/// which the interval is open.
pub fn confidence_ranks(n: u64, q: f64) -> (Option<u64>, Option<u64>) {
    if n == 0 || q <= 0.0 || q >= 1.0 {
        return (None, None);
    }
    // The upper rank is the lower rank counted from above.
    let (low, high) = (lower_rank(n, q, 1.0 - q), lower_rank(n, 1.0 - q, q));
    ((low > 0).then_some(low), (high > 0).then(|| n - high + 1))
}

/// Returns the largest j with P(B ≤ j−1) ≤ 2.5 % for B ~ Bin(n, p), where q = 1 − p; 0 if there is none.
fn lower_rank(n: u64, p: f64, q: f64) -> u64 {
    let variance = n as f64 * p * q;
    if variance > SUMMED_UP_TO { lower_rank_normal(n, p, q) } else { lower_rank_summed(n, p, q) }
}

/// Computes the rank by the Cornish-Fisher expansion to the second term, with continuity correction.
fn lower_rank_normal(n: u64, p: f64, q: f64) -> u64 {
    let (mean, deviation) = (n as f64 * p, (n as f64 * p * q).sqrt());
    let reached = mean - Z * deviation + (Z * Z - 1.0) * (q - p) / 6.0 - 0.5;
    reached.floor() as u64 + 1
}

/// Computes the rank exactly: probabilities are summed outwards from the mode, each derived from its neighbour. The
/// probability of the mode is taken as 1 and normalized at the end, so that no gamma function is needed.
fn lower_rank_summed(n: u64, p: f64, q: f64) -> u64 {
    const NEGLIGIBLE: f64 = 1e-18;
    let odds = p / q;
    let up = |k: u64| (n - k) as f64 / (k + 1) as f64 * odds;
    let down = |k: u64| k as f64 / ((n - k + 1) as f64 * odds);
    let mode = (((n + 1) as f64 * p) as u64).min(n);

    let (mut below, mut weight, mut k) = (1.0, 1.0, mode);
    while k > 0 && weight > NEGLIGIBLE {
        weight *= down(k);
        below += weight;
        k -= 1;
    }
    let (mut above, mut weight, mut k) = (0.0, 1.0, mode);
    while k < n && weight > NEGLIGIBLE {
        weight *= up(k);
        above += weight;
        k += 1;
    }

    // Moves down from the mode until the remaining probability below fits the tail: that is P(B ≤ k) with k = j − 1.
    let allowed = TAIL * (below + above);
    let (mut left, mut weight, mut k) = (below, 1.0, mode);
    while left > allowed {
        if k == 0 {
            return 0;
        }
        left -= weight;
        weight *= down(k);
        k -= 1;
    }
    k + 1
}

/// Rounds away floating-point error, so that `0.07 · 100` is 7.
fn snap(x: f64) -> f64 {
    let whole = x.round();
    if (x - whole).abs() <= x * 1e-12 { whole } else { x }
}

#[cfg(test)]
mod tests;
