//! A distribution of times as JSON has it.

use measure::{Histogram, Nanos};
use serde::Serialize;

use crate::ranked::{QUANTILES, Quantile, Ranked};

/// A distribution of times in microseconds.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Distribution<'a> {
    /// How many are ranked, including those without a response.
    count: u64,
    /// Of these, without a response; ranked above all others.
    #[serde(rename = "unanswered")]
    unfinished: u64,
    /// Shortest with a response.
    min_us: Option<f64>,
    /// Mean.
    mean_us: Option<f64>,
    /// Lower bound of the mean, if something did not finish.
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_at_least_us: Option<f64>,
    /// Standard deviation; null where something has no end.
    standard_deviation_us: Option<f64>,
    /// The p50 quantile; null where it is withheld.
    p50_us: Option<f64>,
    /// Lower bound of the p50 quantile, where it is only that.
    #[serde(skip_serializing_if = "Option::is_none")]
    p50_at_least_us: Option<f64>,
    /// Its 95 % interval; null in phases, seconds and runs shorter than 5 s; its upper end null if unbounded.
    p50_ci_us: Option<[Option<f64>; 2]>,
    /// The p90 quantile; null where it is withheld.
    p90_us: Option<f64>,
    /// Lower bound of the p90 quantile, where it is only that.
    #[serde(skip_serializing_if = "Option::is_none")]
    p90_at_least_us: Option<f64>,
    /// Its 95 % interval; null in phases, seconds and runs shorter than 5 s; its upper end null if unbounded.
    p90_ci_us: Option<[Option<f64>; 2]>,
    /// The p95 quantile; null where it is withheld.
    p95_us: Option<f64>,
    /// Lower bound of the p95 quantile, where it is only that.
    #[serde(skip_serializing_if = "Option::is_none")]
    p95_at_least_us: Option<f64>,
    /// Its 95 % interval; null in phases, seconds and runs shorter than 5 s; its upper end null if unbounded.
    p95_ci_us: Option<[Option<f64>; 2]>,
    /// The p99 quantile; null where it is withheld.
    p99_us: Option<f64>,
    /// Lower bound of the p99 quantile, where it is only that.
    #[serde(skip_serializing_if = "Option::is_none")]
    p99_at_least_us: Option<f64>,
    /// Its 95 % interval; null in phases, seconds and runs shorter than 5 s; its upper end null if unbounded.
    p99_ci_us: Option<[Option<f64>; 2]>,
    /// The p99.9 quantile; null where it is withheld.
    p99_9_us: Option<f64>,
    /// Lower bound of the p99.9 quantile, where it is only that.
    #[serde(skip_serializing_if = "Option::is_none")]
    p99_9_at_least_us: Option<f64>,
    /// Its 95 % interval; null in phases, seconds and runs shorter than 5 s; its upper end null if unbounded.
    p99_9_ci_us: Option<[Option<f64>; 2]>,
    /// Longest.
    max_us: Option<f64>,
    /// Lower bound of the longest, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_at_least_us: Option<f64>,
    /// All with a response, encoded.
    histogram: &'a Histogram,
    /// Lower bounds of those without a response, encoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    histogram_at_least: Option<&'a Histogram>,
}

fn us(t: Option<Nanos>) -> Option<f64> {
    t.map(Nanos::as_micros_f64)
}

fn interval(q: Quantile) -> Option<[Option<f64>; 2]> {
    q.interval.map(|ends| ends.map(us))
}

impl<'a> Distribution<'a> {
    pub(super) fn of(ranked: Ranked<'a>) -> Distribution<'a> {
        let [p50, p90, p95, p99, p99_9] = QUANTILES.map(|named| ranked.quantile(named.q));
        let (mean, max) = (ranked.mean(), ranked.max());
        let at_least = ranked.at_least.filter(|h| !h.is_empty());
        Distribution {
            count: ranked.count(),
            unfinished: ranked.unfinished(),
            min_us: us(ranked.min()),
            mean_us: us(mean.exact()),
            mean_at_least_us: us(mean.at_least()),
            standard_deviation_us: us(ranked.deviation().exact()),
            p50_us: us(p50.figure.exact()),
            p50_at_least_us: us(p50.figure.at_least()),
            p50_ci_us: interval(p50),
            p90_us: us(p90.figure.exact()),
            p90_at_least_us: us(p90.figure.at_least()),
            p90_ci_us: interval(p90),
            p95_us: us(p95.figure.exact()),
            p95_at_least_us: us(p95.figure.at_least()),
            p95_ci_us: interval(p95),
            p99_us: us(p99.figure.exact()),
            p99_at_least_us: us(p99.figure.at_least()),
            p99_ci_us: interval(p99),
            p99_9_us: us(p99_9.figure.exact()),
            p99_9_at_least_us: us(p99_9.figure.at_least()),
            p99_9_ci_us: interval(p99_9),
            max_us: us(max.exact()),
            max_at_least_us: us(max.at_least()),
            histogram: ranked.finished,
            histogram_at_least: at_least,
        }
    }

    pub(super) fn plain(h: &'a Histogram) -> Distribution<'a> {
        Distribution::of(Ranked::plain(h))
    }
}
