//! The first line of a run on a page: the JSON report without its seconds, and its sentences.

use serde_json::{Map, Value, json};

use super::agents::AgentCurves;
use super::counters::LIVE_COARSE;
use super::flows::Flows;
use super::histogram::COARSEST;
use super::resolution::{HostCounterSet, Resolution};
use super::sentences::sentences;
use crate::document::{Report, grade};
use crate::escape;
use crate::ranked::{Figure, QuantileEstimate};
use crate::summary::Summary;
use crate::text::Lang;

/// Percentiles on the distribution's axis.
const PERCENTILES: [f64; 8] = [0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999];

/// Version of the line format.
const FORMAT: u32 = 1;

/// Returns the head (see the module documentation). The texts of `summary` must be escaped already.
pub(super) fn head(name: &str, summary: &Summary, grain: &Resolution) -> Value {
    let report = serde_json::to_value(Report::of(summary, Box::new(std::iter::empty()))).unwrap_or_default();
    let mut report = without_histograms(report);
    // Sums by name are shared and were not escaped with the rest.
    escape::escape_json(&mut report);
    let ranked = summary.headline();
    let percentiles = PERCENTILES.map(|q| percentile(q, ranked.quantile(q)));
    let host = |(host, told): (&String, &HostCounterSet)| {
        let told = json!({ "readings": told.readings, "coarse": told.coarse_interval() });
        (brunt_measure::sanitize::line(host).into_owned(), told)
    };
    let hosts: Map<String, Value> = grain.hosts.iter().map(host).collect();
    let curves = AgentCurves::of(summary);
    let mut head = json!({
        "run": FORMAT,
        "name": brunt_measure::sanitize::line(name),
        "report": report,
        "percentiles": percentiles,
        "only_holds": summary.only_holds(),
        "names": summary.names(),
        "groups": summary.spans().filter_map(|row| row.group).collect::<Vec<_>>(),
        "flows": Flows::of(summary).names(),
        "live": grain.live,
        "grain": {
            "second_s": grain.second_s, "buckets": grain.buckets, "names": grain.names, "block_s": grain.block_s,
            "phases": COARSEST, "phases_s": grain.phases_s, "coarse": LIVE_COARSE,
        },
        "hosts": hosts,
        "words": { "en": sentences(summary, Lang::En), "zh": sentences(summary, Lang::Zh) },
    });
    if let Value::Object(entries) = &mut head
        && !curves.names.is_empty()
    {
        entries.insert("curves".into(), curves.to_json(grain.agents_s));
    }
    head
}

/// Returns `[q, nanoseconds (null: withheld), true if only a lower bound, interval (null: none), band (null: none), grade
/// (null: trusted)]`.
fn percentile(q: f64, quantile: QuantileEstimate) -> Value {
    let ns = match quantile.figure {
        Figure::Exact(time) | Figure::AtLeast(time) => Some(time.0),
        Figure::Withheld => None,
    };
    let interval = quantile.interval.map(|ends| ends.map(|end| end.map(|end| end.0)));
    let band = quantile.band.map(|band| [band.least.0, band.most.0]);
    json!([q, ns, quantile.figure.at_least().is_some(), interval, band, grade(quantile)])
}

/// Removes all histograms except those of the whole run's latency; of the others, only the figures remain.
fn without_histograms(mut report: Value) -> Value {
    let latency = report.get_mut("latency").map(Value::take);
    strip(&mut report);
    if let (Value::Object(entries), Some(latency)) = (&mut report, latency) {
        entries.insert("latency".into(), latency);
    }
    report
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(entries) => {
            entries.retain(|name, _| !name.starts_with("histogram"));
            entries.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}
