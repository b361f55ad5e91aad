//! Two runs beside each other: the figures of both, how far the second is from the first, and what can be said of that.
//!
//! The interval of a change is made of those of both figures (`docs/measurement.md`, Comparing two runs): it knows how much the
//! seconds of one run differ from each other, and not how much one run differs from the next of the same thing.

mod side;

use serde::Serialize;

pub use self::side::Side;

/// What can be said of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The whole interval is better by more than what matters.
    Better,
    /// The whole interval is within what matters.
    Same,
    /// The whole interval is worse by more than what matters.
    Worse,
    /// The interval holds more than one of these, there is none, or the figures of one of the runs are not to be trusted.
    CannotTell,
}

impl Verdict {
    /// Its word in documents.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Same => "same",
            Verdict::Worse => "worse",
            Verdict::CannotTell => "cannot_tell",
        }
    }
}

/// What is compared, and how.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measure {
    /// A stable word.
    pub name: &'static str,
    /// More of it is better.
    pub more_is_better: bool,
    /// A change that matters: a share of the first run's figure, or for shares a difference.
    pub matters: f64,
    /// The figure is a share, and the difference is told instead of the ratio.
    pub is_share: bool,
    of: Of,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Of {
    Throughput,
    Failed,
    Quantile(f64),
}

impl Measure {
    /// The quantile it is; None: another figure.
    pub(crate) fn quantile(&self) -> Option<f64> {
        if let Of::Quantile(q) = self.of { Some(q) } else { None }
    }
}

/// What is compared of runs.
pub const MEASURES: [Measure; 5] = [
    Measure { name: "throughput_per_s", more_is_better: true, matters: 0.05, is_share: false, of: Of::Throughput },
    Measure { name: "p50_us", more_is_better: false, matters: 0.05, is_share: false, of: Of::Quantile(0.5) },
    Measure { name: "p95_us", more_is_better: false, matters: 0.1, is_share: false, of: Of::Quantile(0.95) },
    Measure { name: "p99_us", more_is_better: false, matters: 0.1, is_share: false, of: Of::Quantile(0.99) },
    Measure { name: "failed_share", more_is_better: false, matters: 0.001, is_share: true, of: Of::Failed },
];

/// One figure of two runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contrast {
    /// What it is.
    pub measure: Measure,
    /// Which latency a quantile is of: `response`, or `service` where one of the runs has no other. None: not of latency.
    pub latency: Option<&'static str>,
    /// Of both runs; None: withheld, or a lower bound.
    pub values: [Option<f64>; 2],
    /// The second ÷ the first, or for shares their difference.
    pub change: Option<f64>,
    /// Its 95 % interval, which holds it; the upper end is infinite where nothing bounds it.
    pub interval: Option<[f64; 2]>,
    /// What can be said.
    pub verdict: Verdict,
}

impl Contrast {
    /// As documents have it.
    pub fn document(&self) -> ContrastReport {
        ContrastReport {
            name: self.measure.name,
            more_is_better: self.measure.more_is_better,
            matters: self.measure.matters,
            is_share: self.measure.is_share,
            latency: self.latency,
            values: self.values,
            change: self.change,
            interval: self.interval.map(|ends| ends.map(|end| Some(end).filter(|end| end.is_finite()))),
            verdict: self.verdict.name(),
        }
    }
}

/// A figure of two runs.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContrastReport {
    /// What it is: `throughput_per_s`, `p99_us`, `failed_share`.
    name: &'static str,
    /// More of it is better.
    more_is_better: bool,
    /// A change that matters: a share of the first run's figure, or of shares a difference.
    matters: f64,
    /// It is a share, and `change` a difference.
    is_share: bool,
    /// Which latency a percentile is of: `response`, or `service` where one of the runs has no other; null: not of latency.
    latency: Option<&'static str>,
    /// Of the first run and of this one; null where it is withheld or only a lower bound.
    values: [Option<f64>; 2],
    /// The second divided by the first, or their difference.
    change: Option<f64>,
    /// Its 95 % interval; an upper end of null is infinite.
    interval: Option<[Option<f64>; 2]>,
    /// What can be said: `better`, `same`, `worse` or `cannot_tell`.
    verdict: &'static str,
}

/// The second run beside the first.
pub fn contrast(first: &Side, second: &Side) -> [Contrast; MEASURES.len()] {
    let sides = [first, second];
    // A time that counts waiting before sending says nothing of one that does not.
    let open = first.is_open() && second.is_open();
    MEASURES.map(|measure| {
        let [a, b] = sides.map(|side| side.known(measure.of, open));
        let change = match (a.value, b.value) {
            (Some(a), Some(b)) if measure.is_share => Some(b - a),
            (Some(a), Some(b)) => (a > 0.0).then(|| b / a),
            _ => None,
        };
        let interval = match (a.estimate(), b.estimate()) {
            (Some(a), Some(b)) if measure.is_share => Some(b.minus(a)),
            (Some(a), Some(b)) => b.divided_by(a),
            _ => None,
        };
        let interval = interval.map(|change| [change.low, change.high]).filter(|ends| *ends != [0.0, f64::INFINITY]);
        let trusted = first.is_trusted() && second.is_trusted();
        let verdict = if trusted { judged(&measure, interval) } else { Verdict::CannotTell };
        let latency = measure.quantile().map(|_| if open { "response" } else { "service" });
        Contrast { measure, latency, values: [a.value, b.value], change, interval, verdict }
    })
}

fn judged(measure: &Measure, interval: Option<[f64; 2]>) -> Verdict {
    let Some([low, high]) = interval else { return Verdict::CannotTell };
    let [least, most] = match measure.is_share {
        true => [-measure.matters, measure.matters],
        false => [1.0 / (1.0 + measure.matters), 1.0 + measure.matters],
    };
    let (more, less) = match measure.more_is_better {
        true => (Verdict::Better, Verdict::Worse),
        false => (Verdict::Worse, Verdict::Better),
    };
    match () {
        () if low >= least && high <= most => Verdict::Same,
        () if low > most => more,
        () if high < least => less,
        () => Verdict::CannotTell,
    }
}

#[cfg(test)]
mod tests;
