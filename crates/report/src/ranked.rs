//! Requests ranked by latency, with the unfinished ones after all others.
//!
//! The duration of a request that never finished is unknown. Omitting it would make a hanging server look fast;
//! therefore it is ranked last, and a quantile that falls on it is a lower bound, never an exact value
//! (`docs/measurement.md` 1.1 and 2.3).

use std::sync::LazyLock;

use brunt_measure::quantile::{self, Interval, QuantileValue};
use brunt_measure::{Histogram, Nanos, RunBlocks};
use brunt_record::Latency;

use crate::finding::Grade;
use crate::sentences as say;
use crate::text::Lang;

/// A latency: exact, a lower bound, or withheld.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// An exact value.
    Exact(Nanos),
    /// A lower bound, because requests without an answer determine the value.
    AtLeast(Nanos),
    /// Withheld: too few requests, or none.
    Withheld,
}

impl Figure {
    /// Formats the latency for people: `1.23 ms`, `≥ 4.00 s`, `–`.
    pub fn show(self) -> String {
        match self {
            Figure::Exact(t) => crate::numbers::duration(t),
            Figure::AtLeast(t) => format!("≥ {}", crate::numbers::duration(t)),
            Figure::Withheld => crate::numbers::WITHHELD.into(),
        }
    }
    /// Returns the value if it is exact.
    pub fn exact(self) -> Option<Nanos> {
        if let Figure::Exact(t) = self { Some(t) } else { None }
    }
    /// Returns the value if it is only a lower bound.
    pub fn at_least(self) -> Option<Nanos> {
        if let Figure::AtLeast(t) = self { Some(t) } else { None }
    }
}

/// The range that holds a figure whatever part of it is brunt's own (`docs/measurement.md` 2.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Band {
    /// The figure without the delays that may be brunt's own.
    pub least: Nanos,
    /// The figure as measured.
    pub most: Nanos,
}

impl Band {
    /// Returns its width.
    pub fn width(self) -> Nanos {
        self.most - self.least
    }

    /// Returns the band between two figures; `None` if they are not exact, or alike.
    fn between(least: Figure, most: Figure) -> Option<Band> {
        let (least, most) = (least.exact()?, most.exact()?);
        (!Histogram::same_bucket(least, most)).then_some(Band { least: least.min(most), most })
    }

    /// Returns the grade of a figure with this band, which says nothing if it is narrower than `immaterial`.
    fn grade(self, immaterial: Nanos) -> Grade {
        let share = self.width().0 as f64 / self.most.0.max(1) as f64;
        if self.width() < immaterial { Grade::Ok } else { grade_of_width(share) }
    }

    /// Formats it for people: `2.10 to 6.60 ms`.
    pub fn show(self, lang: Lang) -> String {
        let [least, most] = [self.least, self.most].map(crate::numbers::duration);
        lang.fill(say::BAND, &[("least", &least), ("most", &most)])
    }
}

/// Width of a band that any client on an idle virtual machine has: two wake-ups, one to send and one to read. It is less
/// than a tenth of figures from 2 ms on; shorter ones are near the resolution of the machine.
const ORDINARY: Nanos = Nanos::from_micros(200);

/// Returns half of the width of an interval; 0 if it is unknown or open.
fn half(interval: Option<Interval>) -> Nanos {
    match interval {
        Some([low, Some(high)]) => Nanos((high - low.unwrap_or_default()).0 / 2),
        _ => Nanos::ZERO,
    }
}

/// Width of a band, as a share of the figure, below which the figure is trusted, and below which it is used with
/// caution.
const BAND_OK: f64 = 0.1;
const BAND_CAUTION: f64 = 0.3;

/// Returns the grade of a figure whose band is as wide as this share of it.
pub(crate) fn grade_of_width(share: f64) -> Grade {
    match share {
        share if share < BAND_OK => Grade::Ok,
        share if share < BAND_CAUTION => Grade::Warn,
        _ => Grade::Fail,
    }
}

/// Formats a figure for people, or its band if the figure cannot be trusted.
fn show(figure: Figure, band: Option<Band>, grade: Grade, lang: Lang) -> String {
    match band {
        Some(band) if grade == Grade::Fail => band.show(lang),
        _ => figure.show(),
    }
}

/// A quantile with its 95 % confidence interval, and its band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuantileEstimate {
    /// The quantile.
    pub figure: Figure,
    /// Interval; `None` if the correlation of neighbouring requests is unknown.
    pub interval: Option<Interval>,
    /// Band; `None` if nothing of the figure is brunt's own, or if it is not exact.
    pub band: Option<Band>,
    /// Width of a band that is immaterial: half of the interval of the figure without the delays that may be brunt's own
    /// (they widen intervals as well), or [`ORDINARY`].
    immaterial: Nanos,
}

impl QuantileEstimate {
    /// Returns how far the figure can be trusted.
    pub fn grade(self) -> Grade {
        self.band.map_or(Grade::Ok, |band| band.grade(self.immaterial))
    }

    /// Formats it for people: the figure, or its band if the figure cannot be trusted.
    pub fn show(self, lang: Lang) -> String {
        show(self.figure, self.band, self.grade(), lang)
    }
}

/// A quantile shown in reports, with its name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NamedQuantile {
    /// Name for people: `p99.9`.
    pub name: &'static str,
    /// Share of requests below it.
    pub q: f64,
}

/// Returns the highest exact value among the quantiles of every report below `q`. A bound below it would contradict it:
/// the exact value counts the unfinished requests as slower than all others.
fn highest_below(finished: &Histogram, at_least: &Histogram, q: f64) -> Nanos {
    let below = QUANTILES.iter().filter(|named| named.q < q);
    let exact = below.filter_map(|named| match quantile::quantile(finished, at_least, named.q).value {
        QuantileValue::Value(t) => Some(t),
        QuantileValue::AtLeast(_) | QuantileValue::Withheld => None,
    });
    exact.max().unwrap_or_default()
}

/// Quantiles of every report.
pub const QUANTILES: [NamedQuantile; 5] = [
    NamedQuantile { name: "p50", q: 0.5 },
    NamedQuantile { name: "p90", q: 0.9 },
    NamedQuantile { name: "p95", q: 0.95 },
    NamedQuantile { name: "p99", q: 0.99 },
    NamedQuantile { name: "p99.9", q: 0.999 },
];

/// Names of the quantiles of a whole report, and of those that fit where there is little room.
pub const ALL_NAMES: [&str; 5] = ["p50", "p90", "p95", "p99", "p99.9"];
pub const FEW_NAMES: [&str; 3] = ["p50", "p95", "p99"];

/// Finished requests, and lower bounds of those that did not finish.
#[derive(Clone, Copy, Debug)]
pub struct RankedLatency<'a> {
    /// Latencies of finished requests.
    pub finished: &'a Histogram,
    /// Lower bounds of requests that timed out or were abandoned; ranked last.
    pub at_least: Option<&'a Histogram>,
    /// Latencies by blocks of seconds, from which intervals are computed; `None` for no intervals.
    pub blocks: Option<&'a RunBlocks>,
    /// The part of the latencies that may be brunt's own; `None` if there is none.
    pub own: Option<OwnPart<'a>>,
}

/// The requests that brunt itself may have delayed.
#[derive(Clone, Copy, Debug)]
pub struct OwnPart<'a> {
    /// Their latencies: a subset of those that finished.
    pub delayed: &'a Histogram,
    /// Their latencies without the delays.
    pub undelayed: &'a Histogram,
}

impl<'a> RankedLatency<'a> {
    /// Ranks finished requests only.
    pub fn finished_only(finished: &'a Histogram) -> RankedLatency<'a> {
        RankedLatency { finished, at_least: None, blocks: None, own: None }
    }

    /// Ranks finished requests, and lower bounds of unfinished ones.
    pub fn with_unfinished(finished: &'a Histogram, at_least: &'a Histogram) -> RankedLatency<'a> {
        RankedLatency { finished, at_least: Some(at_least), blocks: None, own: None }
    }

    /// Returns the number of ranked requests.
    pub fn count(&self) -> u64 {
        self.finished.count() + self.unfinished()
    }

    /// Returns the number of unfinished requests.
    pub fn unfinished(&self) -> u64 {
        self.at_least.map_or(0, Histogram::count)
    }

    /// Adds the part that may be brunt's own.
    pub fn with_own(self, delayed: &'a Histogram, undelayed: &'a Histogram) -> RankedLatency<'a> {
        let own = (!delayed.is_empty()).then_some(OwnPart { delayed, undelayed });
        RankedLatency { own, ..self }
    }

    /// Returns the latencies of finished requests without the delays that may be brunt's own; `None` if there are none.
    pub fn undelayed(&self) -> Option<Histogram> {
        self.own.map(|own| self.finished.with_replaced(own.delayed, own.undelayed))
    }

    /// Returns the band of a figure that `figure` computes from the finished requests.
    fn band(&self, most: Figure, figure: impl FnOnce(&RankedLatency<'_>) -> Figure) -> Option<Band> {
        let undelayed = self.undelayed()?;
        Band::between(figure(&RankedLatency { finished: &undelayed, own: None, blocks: None, ..*self }), most)
    }

    /// Returns the band of the mean.
    pub fn mean_band(&self) -> Option<Band> {
        self.band(self.mean(), |least| least.mean())
    }

    /// Returns the band of the maximum.
    pub fn max_band(&self) -> Option<Band> {
        self.band(self.max(), |least| least.max())
    }

    /// Formats the mean for people, or its band if the mean cannot be trusted.
    pub fn show_mean(&self, lang: Lang) -> String {
        let band = self.mean_band();
        show(self.mean(), band, band.map_or(Grade::Ok, |band| band.grade(Nanos::ZERO)), lang)
    }

    /// Formats the maximum for people, or its band if the maximum cannot be trusted.
    pub fn show_max(&self, lang: Lang) -> String {
        let band = self.max_band();
        show(self.max(), band, band.map_or(Grade::Ok, |band| band.grade(Nanos::ZERO)), lang)
    }

    /// Returns the band of the minimum; `None` if it has no width.
    pub fn min_band(&self) -> Option<Band> {
        let figure = |ranked: &RankedLatency<'_>| ranked.min().map_or(Figure::Withheld, Figure::Exact);
        self.band(figure(self), figure)
    }

    /// Formats the minimum for people, or its band if the minimum cannot be trusted; `None` if nothing finished.
    pub fn show_min(&self, lang: Lang) -> Option<String> {
        let (min, band) = (self.min()?, self.min_band());
        Some(show(Figure::Exact(min), band, band.map_or(Grade::Ok, |band| band.grade(Nanos::ZERO)), lang))
    }

    /// Returns `true` if one of these quantiles, or the maximum, is printed as a band.
    pub fn shows_bands(&self, names: &[&str]) -> bool {
        let is_shown = |named: &&NamedQuantile| names.contains(&named.name);
        let is_band = |named: &NamedQuantile| self.quantile(named.q).grade() == Grade::Fail;
        let max = || self.max_band().is_some_and(|band| band.grade(Nanos::ZERO) == Grade::Fail);
        self.own.is_some() && (QUANTILES.iter().filter(is_shown).any(is_band) || max())
    }

    /// Returns the quantile with its interval and its band.
    pub fn quantile(&self, q: f64) -> QuantileEstimate {
        static NONE: LazyLock<Histogram> = LazyLock::new(Histogram::new);
        let estimate = |finished: &Histogram| {
            let at_least = self.at_least.unwrap_or(&NONE);
            let (value, interval) = quantile::correlated_quantile(finished, at_least, q, self.blocks);
            let figure = match value {
                QuantileValue::Value(t) => Figure::Exact(t),
                QuantileValue::AtLeast(t) => Figure::AtLeast(t.max(highest_below(finished, at_least, q))),
                QuantileValue::Withheld => Figure::Withheld,
            };
            (figure, interval)
        };
        let (figure, interval) = estimate(self.finished);
        let undelayed = self.undelayed().map(|finished| estimate(&finished));
        let band = undelayed.and_then(|(least, _)| Band::between(least, figure));
        let by_chance = undelayed.map_or(Nanos::ZERO, |(_, alone)| half(interval).min(half(alone)));
        let immaterial = by_chance.max(ORDINARY);
        QuantileEstimate { figure, interval, band, immaterial }
    }

    /// Returns `true` if the quantile is only a lower bound, because the share of unfinished requests reaches it; there
    /// is no minimum number of requests.
    pub fn is_lower_bound(&self, q: f64) -> bool {
        let above = self.count() as f64 * (1.0 - q);
        self.unfinished() > 0 && self.unfinished() as f64 >= above * (1.0 - 1e-9)
    }

    /// Returns the mean; a lower bound if a request did not finish.
    pub fn mean(&self) -> Figure {
        let n = self.count();
        if n == 0 {
            return Figure::Withheld;
        }
        let sum = self.finished.sum() + self.at_least.map_or(0, Histogram::sum);
        let mean = Nanos((sum / u128::from(n)) as u64);
        if self.unfinished() == 0 { Figure::Exact(mean) } else { Figure::AtLeast(mean) }
    }

    /// Returns the standard deviation, with each value at the middle of its bucket; withheld if a request did not
    /// finish, since the deviation then has no lower bound.
    pub fn deviation(&self) -> Figure {
        let n = self.finished.count();
        if n == 0 || self.unfinished() > 0 {
            return Figure::Withheld;
        }
        let middles =
            || self.finished.cells().map(|(low, width, count)| (low.0 as f64 + width.0 as f64 / 2.0, count as f64));
        let mean = middles().map(|(at, count)| at * count).sum::<f64>() / n as f64;
        let squares: f64 = middles().map(|(at, count)| count * (at - mean).powi(2)).sum();
        Figure::Exact(Nanos((squares / n as f64).sqrt().round() as u64))
    }

    /// Returns the maximum; a lower bound if a request did not finish.
    pub fn max(&self) -> Figure {
        let longest = Nanos(self.finished.max().max(self.at_least.map_or(0, Histogram::max)));
        match (self.count(), self.unfinished()) {
            (0, _) => Figure::Withheld,
            (_, 0) => Figure::Exact(longest),
            _ => Figure::AtLeast(longest),
        }
    }

    /// Returns the minimum of the finished requests.
    pub fn min(&self) -> Option<Nanos> {
        (!self.finished.is_empty()).then(|| Nanos(self.finished.min()))
    }
}

/// Returns the main latency of a second or a run.
pub fn headline(latency: &Latency, open: bool) -> RankedLatency<'_> {
    let (finished, at_least) = if open {
        (&latency.response, &latency.response_at_least)
    } else {
        (&latency.service, &latency.service_at_least)
    };
    let (delayed, undelayed) = if open {
        (&latency.response_delayed, &latency.response_undelayed)
    } else {
        (&latency.service_delayed, &latency.service_undelayed)
    };
    RankedLatency::with_unfinished(finished, at_least).with_own(delayed, undelayed)
}

/// Returns the response time of heartbeats, with unanswered ones ranked last.
pub fn heartbeats(latency: &Latency) -> RankedLatency<'_> {
    RankedLatency::with_unfinished(&latency.heartbeat, &latency.heartbeat_at_least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lower_bound_is_not_below_an_exact_lower_quantile() {
        let (mut finished, mut at_least) = (Histogram::new(), Histogram::new());
        finished.record_n(Nanos::from_millis(10), 890);
        finished.record_n(Nanos::from_secs(2), 40);
        at_least.record_n(Nanos::from_millis(1), 70);
        let ranked = RankedLatency::with_unfinished(&finished, &at_least);
        let figure = |q| ranked.quantile(q).figure;
        let p90 = figure(0.9).exact().expect("the unfinished are a smaller part");
        assert!(p90 >= Nanos::from_millis(1990), "{p90:?}");
        assert_eq!(figure(0.95), Figure::AtLeast(p90));
    }

    #[test]
    fn a_minimum_is_no_more_exact_than_the_quantiles_above_it() {
        let (mut finished, mut undelayed) = (Histogram::new(), Histogram::new());
        finished.record_n(Nanos::from_millis(10), 1000);
        undelayed.record_n(Nanos::from_millis(2), 1000);
        let ranked = RankedLatency::finished_only(&finished);
        assert_eq!(ranked.show_min(Lang::En).as_deref(), Some("10.0 ms"));
        let shown = ranked.with_own(&finished, &undelayed).show_min(Lang::En);
        assert_eq!(shown.as_deref(), Some("2.00 ms to 10.0 ms"));
        assert_eq!(RankedLatency::finished_only(&Histogram::new()).show_min(Lang::En), None);
    }
}
