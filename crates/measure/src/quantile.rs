//! Quantiles with what supports them (MEASUREMENT 2.3), and what unfinished requests leave of them (1.1).
//!
//! The 95 % interval is distribution-free: with B ~ Bin(n, q), the order statistics of ranks j and k bracket the quantile
//! where P(B ≤ j−1) and P(B ≥ k) are each at most 2.5 %. That is so for independent requests. Those of one run resemble their
//! neighbours: [`resembling`] takes as many independent ones instead as they are worth, which their order tells.

use crate::{Blocks, Histogram, Nanos};

/// The probability that may lie outside the interval at either end.
const TAIL: f64 = 0.025;
/// The standard normal quantile of [`TAIL`], without its sign.
const Z: f64 = 1.959_963_984_540_054;
/// Above this variance the ranks are the normal ones with a term for skewness: they then differ from the exact ones by
/// at most one rank in thousands, and summing would take milliseconds.
const SUMMED_UP_TO: f64 = 1e6;

/// A quantile of requests, some of which may not have finished.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantile {
    /// Which, in (0, 1).
    pub q: f64,
    /// What is known of it.
    pub value: QuantileValue,
    /// Lower end of its 95 % interval; None where no request is that low.
    pub low: Option<Nanos>,
    /// Upper end; None where it is infinite.
    pub high: Option<Nanos>,
}

/// What is known of a quantile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuantileValue {
    /// It is this.
    Value(Nanos),
    /// It falls among requests that did not finish, and is at least this.
    AtLeast(Nanos),
    /// There are too few requests to tell ([`minimum_count`]).
    Withheld,
}

/// The quantile of requests of which `finished` took a known time and `at_least` were given up after some time.
///
/// Those given up rank above all that finished. While they are fewer than the share above the quantile, it is a number;
/// else it is at least what it would be had each of them finished the moment it was given up.
pub fn quantile(finished: &Histogram, at_least: &Histogram, q: f64) -> Quantile {
    let total = finished.count() + at_least.count();
    if total < minimum_count(q) {
        return Quantile { q, value: QuantileValue::Withheld, low: None, high: None };
    }
    let rank = rank_of(total, q);
    let (low, high) = confidence_ranks(total, q);
    if at_least.is_empty() || (finished.count() as f64) > snapped(total as f64 * q) {
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

/// An interval: lower end (None: no request is that low) and upper end (None: infinite).
pub type Interval = [Option<Nanos>; 2];

/// The quantile of requests that resemble their neighbours, and its 95 % interval: the one that as many independent requests
/// would give as these are worth by their `blocks`. No interval where they do not tell.
pub fn resembling(
    finished: &Histogram,
    at_least: &Histogram,
    q: f64,
    blocks: Option<&Blocks>,
) -> (QuantileValue, Option<Interval>) {
    let value = quantile(finished, at_least, q).value;
    let (at, bound) = match value {
        QuantileValue::Value(at) => (at, false),
        QuantileValue::AtLeast(at) => (at, true),
        QuantileValue::Withheld => return (value, None),
    };
    let Some(effect) = blocks.and_then(|blocks| blocks.effect(at)) else { return (value, None) };
    let all = finished.count() + at_least.count();
    let worth = (all as f64 / effect).floor().max(1.0);
    let (low, high) = confidence_ranks(worth as u64, q);
    // A rank among so many, as a rank among all.
    let among_all = |rank: u64| (((rank as f64 - 0.5) * all as f64 / worth).ceil() as u64).clamp(1, all);
    let low = low.map(among_all).and_then(|rank| finished.at_rank_of_both(at_least, rank));
    let high = high.filter(|_| !bound).map(among_all).and_then(|rank| finished.at_rank(rank));
    (value, Some([low, high]))
}

/// The rank of a quantile among `n` values: the lowest that at least the share `q` of them does not exceed.
pub fn rank_of(n: u64, q: f64) -> u64 {
    (snapped(n as f64 * q).ceil() as u64).clamp(1, n.max(1))
}

/// The fewest values with which a quantile is printed at all: with fewer, all of them may well lie below it
/// (qⁿ > 5 %).
pub fn minimum_count(q: f64) -> u64 {
    if q <= 0.0 {
        return 1;
    }
    // Infinite for q = 1, which the cast takes as the greatest number.
    (0.05_f64.ln() / q.ln()).abs().ceil() as u64
}

/// The ranks of the 95 % interval of a quantile among `n` values, 1 being the smallest; None where there is no such
/// value at that end: the interval is open there.
pub fn confidence_ranks(n: u64, q: f64) -> (Option<u64>, Option<u64>) {
    if n == 0 || q <= 0.0 || q >= 1.0 {
        return (None, None);
    }
    // The upper rank is the lower rank counted from above.
    let (low, high) = (lower_rank(n, q, 1.0 - q), lower_rank(n, 1.0 - q, q));
    ((low > 0).then_some(low), (high > 0).then(|| n - high + 1))
}

/// The largest j with P(B ≤ j−1) ≤ 2.5 % for B ~ Bin(n, p), where q = 1 − p; 0 where there is none.
fn lower_rank(n: u64, p: f64, q: f64) -> u64 {
    let variance = n as f64 * p * q;
    if variance > SUMMED_UP_TO { lower_rank_normal(n, p, q) } else { lower_rank_summed(n, p, q) }
}

/// From the Cornish-Fisher expansion to the second term, with correction for continuity.
fn lower_rank_normal(n: u64, p: f64, q: f64) -> u64 {
    let (mean, deviation) = (n as f64 * p, (n as f64 * p * q).sqrt());
    let reached = mean - Z * deviation + (Z * Z - 1.0) * (q - p) / 6.0 - 0.5;
    reached.floor() as u64 + 1
}

/// Exactly: the probabilities are summed outwards from the mode, each from its neighbour. The mode's own is taken as 1
/// and divided out at the end, so that no gamma function is needed.
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

    // Walk down from the mode until what is left below fits the tail: that is P(B ≤ k) with k = j − 1.
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

/// `0.07 · 100` is 7, whatever binary fractions say.
fn snapped(x: f64) -> f64 {
    let whole = x.round();
    if (x - whole).abs() <= x * 1e-12 { whole } else { x }
}

#[cfg(test)]
mod tests;
