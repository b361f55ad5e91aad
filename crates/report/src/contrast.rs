//! Two runs side by side: the figures of both, the difference of the second from the first, and a verdict.
//!
//! The interval of a change is computed from the intervals of both figures (`docs/measurement.md`, Comparing two runs):
//! it covers the variation between the seconds of a run, but not the variation between repeated runs. It is widened by
//! the bands of both: a change that holds whatever part of the figures is brunt's own needs no undisturbed run.

mod side;
mod words;

use brunt_measure::Estimate;
use serde::Serialize;

pub use self::side::ComparedFigures;
use self::side::KnownFigure;

/// The verdict on a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeVerdict {
    /// The whole interval is better by more than the threshold.
    Better,
    /// The whole interval is within the threshold.
    Same,
    /// The whole interval is worse by more than the threshold.
    Worse,
    /// The interval covers more than one of these cases, there is no interval, or one of the runs is in doubt for a
    /// reason without a size.
    CannotTell,
}

impl ChangeVerdict {
    /// Returns its identifier in documents.
    pub fn name(self) -> &'static str {
        match self {
            ChangeVerdict::Better => "better",
            ChangeVerdict::Same => "same",
            ChangeVerdict::Worse => "worse",
            ChangeVerdict::CannotTell => "cannot_tell",
        }
    }
}

/// A figure to compare, with its threshold and direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measure {
    /// Stable identifier.
    pub name: &'static str,
    /// Set if a larger value is better.
    pub more_is_better: bool,
    /// Threshold above which a change matters: relative to the first figure, or an absolute difference for shares.
    pub threshold: f64,
    /// Set if the figure is a share, for which the difference is given instead of the ratio.
    pub is_share: bool,
    kind: MeasureKind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum MeasureKind {
    Throughput,
    Failed,
    Quantile(f64),
}

impl Measure {
    /// Returns the quantile to compare; `None` for any other figure.
    pub fn quantile(&self) -> Option<f64> {
        if let MeasureKind::Quantile(q) = self.kind { Some(q) } else { None }
    }

    /// Returns the measure with another threshold for ratios; that of shares stays.
    #[must_use]
    pub fn with_margin(self, margin: f64) -> Measure {
        if self.is_share { self } else { Measure { threshold: margin, ..self } }
    }

    /// Returns the verdict on a change within this interval: a ratio, or for shares a difference.
    pub fn verdict(&self, interval: Option<[f64; 2]>) -> ChangeVerdict {
        let Some([low, high]) = interval else { return ChangeVerdict::CannotTell };
        let [least, most] = match self.is_share {
            true => [-self.threshold, self.threshold],
            false => [1.0 / (1.0 + self.threshold), 1.0 + self.threshold],
        };
        let (more, less) = match self.more_is_better {
            true => (ChangeVerdict::Better, ChangeVerdict::Worse),
            false => (ChangeVerdict::Worse, ChangeVerdict::Better),
        };
        match () {
            () if low >= least && high <= most => ChangeVerdict::Same,
            () if low > most => more,
            () if high < least => less,
            () => ChangeVerdict::CannotTell,
        }
    }
}

/// Figures compared between runs.
pub const MEASURES: [Measure; 5] = [
    Measure {
        name: "throughput_per_s",
        more_is_better: true,
        threshold: 0.05,
        is_share: false,
        kind: MeasureKind::Throughput,
    },
    Measure {
        name: "p50_us",
        more_is_better: false,
        threshold: 0.05,
        is_share: false,
        kind: MeasureKind::Quantile(0.5),
    },
    Measure {
        name: "p95_us",
        more_is_better: false,
        threshold: 0.1,
        is_share: false,
        kind: MeasureKind::Quantile(0.95),
    },
    Measure {
        name: "p99_us",
        more_is_better: false,
        threshold: 0.1,
        is_share: false,
        kind: MeasureKind::Quantile(0.99),
    },
    Measure {
        name: "failed_share",
        more_is_better: false,
        threshold: 0.001,
        is_share: true,
        kind: MeasureKind::Failed,
    },
];

/// A figure of two runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FigureChange {
    /// Figure that is compared.
    pub measure: Measure,
    /// Kind of latency: `response`, or `service` if one of the runs has no response times; `None` if the figure is not
    /// a latency.
    pub latency: Option<&'static str>,
    /// Values of both runs; `None` if withheld or only a lower bound.
    pub values: [Option<f64>; 2],
    /// Bands of both values; `None` if nothing of a value is brunt's own.
    pub bands: [Option<[f64; 2]>; 2],
    /// Second value ÷ first value, or, for shares, their difference.
    pub change: Option<f64>,
    /// 95 % interval of the change, widened by the bands; the upper end is infinite if unbounded.
    pub interval: Option<[f64; 2]>,
    /// Verdict on the change.
    pub verdict: ChangeVerdict,
}

impl FigureChange {
    /// Returns the form used in documents.
    pub fn document(&self) -> FigureChangeReport {
        FigureChangeReport {
            name: self.measure.name,
            more_is_better: self.measure.more_is_better,
            matters: self.measure.threshold,
            is_share: self.measure.is_share,
            latency: self.latency,
            values: self.values,
            bands: self.bands.iter().any(Option::is_some).then_some(self.bands),
            change: self.change,
            interval: self.interval.map(|ends| ends.map(|end| Some(end).filter(|end| end.is_finite()))),
            verdict: self.verdict.name(),
        }
    }
}

/// A figure of two runs.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FigureChangeReport {
    /// Figure: `throughput_per_s`, `p99_us`, `failed_share`.
    name: &'static str,
    /// `true` if a larger value is better.
    more_is_better: bool,
    /// Threshold of a change that matters: a share of the first run's figure, or for shares a difference.
    matters: f64,
    /// `true` if the figure is a share, and `change` a difference.
    is_share: bool,
    /// Latency of a percentile: `response`, or `service` if one of the runs has no other; null: not a latency.
    latency: Option<&'static str>,
    /// Values of the first run and of this one; null if withheld or only a lower bound.
    values: [Option<f64>; 2],
    /// Bands of both values, whatever part of them is brunt's own; null or absent if nothing is.
    #[serde(skip_serializing_if = "Option::is_none")]
    bands: Option<[Option<[f64; 2]>; 2]>,
    /// The second value divided by the first, or for shares their difference.
    change: Option<f64>,
    /// 95 % interval of the change, widened by the bands; an upper end of null is infinite.
    interval: Option<[Option<f64>; 2]>,
    /// Verdict: `better`, `same`, `worse` or `cannot_tell`.
    verdict: &'static str,
}

/// Compares the second run with the first.
pub fn compare_figures(first: &ComparedFigures, second: &ComparedFigures) -> [FigureChange; MEASURES.len()] {
    let sides = [first, second];
    // A response time, which includes waiting before sending, is not comparable with a service time.
    let open = first.is_open() && second.is_open();
    MEASURES.map(|measure| {
        let [a, b] = sides.map(|side| side.figure(measure.kind, open));
        let change = match (a.value, b.value) {
            (Some(a), Some(b)) if measure.is_share => Some(b - a),
            (Some(a), Some(b)) => (a > 0.0).then(|| b / a),
            _ => None,
        };
        let interval = interval_of(&measure, a, b).filter(|ends| *ends != [0.0, f64::INFINITY]);
        let sound = first.is_sound() && second.is_sound();
        let verdict = if sound { measure.verdict(interval) } else { ChangeVerdict::CannotTell };
        let latency = measure.quantile().map(|_| if open { "response" } else { "service" });
        FigureChange {
            measure,
            latency,
            values: [a.value, b.value],
            bands: [a.band, b.band],
            change,
            interval,
            verdict,
        }
    })
}

/// Returns the interval of the change from `a` to `b`: from the least that their bands allow to the most.
fn interval_of(measure: &Measure, a: KnownFigure, b: KnownFigure) -> Option<[f64; 2]> {
    let ([a_least, a_most], [b_least, b_most]) = (a.estimates()?, b.estimates()?);
    let change = |a: Estimate, b: Estimate| if measure.is_share { Some(b.minus(a)) } else { b.divided_by(a) };
    Some([change(a_most, b_least)?.low, change(a_least, b_most)?.high])
}

#[cfg(test)]
mod tests;
