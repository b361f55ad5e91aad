//! A distribution of times in the JSON report.

use brunt_measure::{Histogram, Nanos};
use serde::Serialize;

use crate::finding::Grade;
use crate::ranked::{Band, QUANTILES, QuantileEstimate, RankedLatency};

/// A distribution of times in microseconds.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Distribution<'a> {
    /// Number of ranked requests, including those without a response.
    count: u64,
    /// Number of ranked requests without a response, which rank above all others.
    #[serde(rename = "unanswered")]
    unfinished: u64,
    /// Shortest time with a response; null if none had any, absent without requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    min_us: Option<Option<f64>>,
    /// Band of the minimum, as of the mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    min_band_us: Option<[f64; 2]>,
    /// Mean; null if a request did not finish, absent without requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_us: Option<Option<f64>>,
    /// Lower bound of the mean, if a request did not finish.
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_at_least_us: Option<f64>,
    /// Band of the mean: without the delays that may be brunt's own, and as measured; absent if equal.
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_band_us: Option<[f64; 2]>,
    /// Standard deviation; absent if a request did not finish.
    #[serde(skip_serializing_if = "Option::is_none")]
    standard_deviation_us: Option<f64>,
    /// The p50 quantile; null if withheld, absent without requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    p50_us: Option<Option<f64>>,
    /// Lower bound of the p50 quantile, if only that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    p50_at_least_us: Option<f64>,
    /// 95 % interval of the p50 quantile; absent in phases, seconds and runs shorter than 5 s. The upper end is null if
    /// unbounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    p50_ci_us: Option<[Option<f64>; 2]>,
    /// Band of the p50 quantile: without the delays that may be brunt's own, and as measured; absent if equal.
    #[serde(skip_serializing_if = "Option::is_none")]
    p50_band_us: Option<[f64; 2]>,
    /// How far the p50 quantile can be trusted: `warn` or `fail`; absent if without reserve.
    #[serde(skip_serializing_if = "Option::is_none")]
    p50_grade: Option<&'static str>,
    /// The p90 quantile; null if withheld, absent without requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    p90_us: Option<Option<f64>>,
    /// Lower bound of the p90 quantile, if only that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    p90_at_least_us: Option<f64>,
    /// 95 % interval of the p90 quantile; absent in phases, seconds and runs shorter than 5 s. The upper end is null if
    /// unbounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    p90_ci_us: Option<[Option<f64>; 2]>,
    /// Band of the p90 quantile: without the delays that may be brunt's own, and as measured; absent if equal.
    #[serde(skip_serializing_if = "Option::is_none")]
    p90_band_us: Option<[f64; 2]>,
    /// How far the p90 quantile can be trusted: `warn` or `fail`; absent if without reserve.
    #[serde(skip_serializing_if = "Option::is_none")]
    p90_grade: Option<&'static str>,
    /// The p95 quantile; null if withheld, absent without requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    p95_us: Option<Option<f64>>,
    /// Lower bound of the p95 quantile, if only that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    p95_at_least_us: Option<f64>,
    /// 95 % interval of the p95 quantile; absent in phases, seconds and runs shorter than 5 s. The upper end is null if
    /// unbounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    p95_ci_us: Option<[Option<f64>; 2]>,
    /// Band of the p95 quantile: without the delays that may be brunt's own, and as measured; absent if equal.
    #[serde(skip_serializing_if = "Option::is_none")]
    p95_band_us: Option<[f64; 2]>,
    /// How far the p95 quantile can be trusted: `warn` or `fail`; absent if without reserve.
    #[serde(skip_serializing_if = "Option::is_none")]
    p95_grade: Option<&'static str>,
    /// The p99 quantile; null if withheld, absent without requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    p99_us: Option<Option<f64>>,
    /// Lower bound of the p99 quantile, if only that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    p99_at_least_us: Option<f64>,
    /// 95 % interval of the p99 quantile; absent in phases, seconds and runs shorter than 5 s. The upper end is null if
    /// unbounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    p99_ci_us: Option<[Option<f64>; 2]>,
    /// Band of the p99 quantile: without the delays that may be brunt's own, and as measured; absent if equal.
    #[serde(skip_serializing_if = "Option::is_none")]
    p99_band_us: Option<[f64; 2]>,
    /// How far the p99 quantile can be trusted: `warn` or `fail`; absent if without reserve.
    #[serde(skip_serializing_if = "Option::is_none")]
    p99_grade: Option<&'static str>,
    /// The p99.9 quantile; null if withheld, absent without requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    p99_9_us: Option<Option<f64>>,
    /// Lower bound of the p99.9 quantile, if only that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    p99_9_at_least_us: Option<f64>,
    /// 95 % interval of the p99.9 quantile; absent in phases, seconds and runs shorter than 5 s. The upper end is null if
    /// unbounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    p99_9_ci_us: Option<[Option<f64>; 2]>,
    /// Band of the p99.9 quantile: without the delays that may be brunt's own, and as measured; absent if equal.
    #[serde(skip_serializing_if = "Option::is_none")]
    p99_9_band_us: Option<[f64; 2]>,
    /// How far the p99.9 quantile can be trusted: `warn` or `fail`; absent if without reserve.
    #[serde(skip_serializing_if = "Option::is_none")]
    p99_9_grade: Option<&'static str>,
    /// Longest time.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_us: Option<Option<f64>>,
    /// Lower bound of the longest time, if only that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_at_least_us: Option<f64>,
    /// Band of the longest time: without the delays that may be brunt's own, and as measured; absent if equal.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_band_us: Option<[f64; 2]>,
    /// Histogram of times with a response, encoded.
    histogram: &'a Histogram,
    /// Histogram of lower bounds of those without a response, encoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    histogram_at_least: Option<&'a Histogram>,
}

fn us(t: Option<Nanos>) -> Option<f64> {
    t.map(Nanos::as_micros_f64)
}

fn interval(q: QuantileEstimate) -> Option<[Option<f64>; 2]> {
    q.interval.map(|ends| ends.map(us))
}

fn band(band: Option<Band>) -> Option<[f64; 2]> {
    band.map(|band| [band.least, band.most].map(Nanos::as_micros_f64))
}

/// Returns the grade of a figure that is not trusted without reserve.
pub(crate) fn grade(quantile: QuantileEstimate) -> Option<&'static str> {
    Some(quantile.grade()).filter(|grade| *grade > Grade::Ok).map(Grade::name)
}

impl<'a> Distribution<'a> {
    pub(super) fn of(ranked: RankedLatency<'a>) -> Distribution<'a> {
        let [p50, p90, p95, p99, p99_9] = QUANTILES.map(|named| ranked.quantile(named.q));
        let (mean, max) = (ranked.mean(), ranked.max());
        let at_least = ranked.at_least.filter(|h| !h.is_empty());
        // Documents have many distributions that are empty, such as those of the parts of each second.
        let shown = |time| (ranked.count() > 0).then(|| us(time));
        Distribution {
            count: ranked.count(),
            unfinished: ranked.unfinished(),
            min_us: shown(ranked.min()),
            min_band_us: band(ranked.min_band()),
            mean_us: shown(mean.exact()),
            mean_at_least_us: us(mean.at_least()),
            mean_band_us: band(ranked.mean_band()),
            standard_deviation_us: us(ranked.deviation().exact()),
            p50_us: shown(p50.figure.exact()),
            p50_at_least_us: us(p50.figure.at_least()),
            p50_ci_us: interval(p50),
            p50_band_us: band(p50.band),
            p50_grade: grade(p50),
            p90_us: shown(p90.figure.exact()),
            p90_at_least_us: us(p90.figure.at_least()),
            p90_ci_us: interval(p90),
            p90_band_us: band(p90.band),
            p90_grade: grade(p90),
            p95_us: shown(p95.figure.exact()),
            p95_at_least_us: us(p95.figure.at_least()),
            p95_ci_us: interval(p95),
            p95_band_us: band(p95.band),
            p95_grade: grade(p95),
            p99_us: shown(p99.figure.exact()),
            p99_at_least_us: us(p99.figure.at_least()),
            p99_ci_us: interval(p99),
            p99_band_us: band(p99.band),
            p99_grade: grade(p99),
            p99_9_us: shown(p99_9.figure.exact()),
            p99_9_at_least_us: us(p99_9.figure.at_least()),
            p99_9_ci_us: interval(p99_9),
            p99_9_band_us: band(p99_9.band),
            p99_9_grade: grade(p99_9),
            max_us: shown(max.exact()),
            max_at_least_us: us(max.at_least()),
            max_band_us: band(ranked.max_band()),
            histogram: ranked.finished,
            histogram_at_least: at_least,
        }
    }

    pub(super) fn plain(h: &'a Histogram) -> Distribution<'a> {
        Distribution::of(RankedLatency::finished_only(h))
    }
}
