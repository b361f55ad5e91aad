//! The text exposition of Prometheus (version 0.0.4): one line per value, and classic buckets for histograms.

use std::fmt::Write;

use crate::buckets::{self, BOUNDS};
use crate::catalogue::{Family, MetricKind, MetricLabels, PointValue};

/// Content type of the response.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Writes all families.
pub(crate) fn write(families: &[Family<'_>]) -> Vec<u8> {
    let mut out = String::new();
    for family in families.iter().filter(|family| !family.points.is_empty()) {
        // Writing to memory does not fail.
        let _ = one(&mut out, family);
    }
    out.into_bytes()
}

fn one(out: &mut String, family: &Family<'_>) -> std::fmt::Result {
    let name = family.prometheus_name();
    let kind = match family.kind {
        MetricKind::Counter => "counter",
        MetricKind::Gauge => "gauge",
        MetricKind::Histogram => "histogram",
    };
    writeln!(out, "# HELP {name} {}\n# TYPE {name} {kind}", family.help)?;
    for point in &family.points {
        match &point.value {
            PointValue::Count(n) => line(out, (&name, ""), &point.labels, None, n)?,
            PointValue::Real(real) => line(out, (&name, ""), &point.labels, None, real)?,
            PointValue::Times(histogram, _) => {
                for (bound, n) in BOUNDS.iter().zip(buckets::classic(histogram)) {
                    line(out, (&name, "_bucket"), &point.labels, Some(&bound.to_string()), n)?;
                }
                line(out, (&name, "_bucket"), &point.labels, Some("+Inf"), histogram.count())?;
                line(out, (&name, "_sum"), &point.labels, None, histogram.sum() as f64 / 1e9)?;
                line(out, (&name, "_count"), &point.labels, None, histogram.count())?;
            }
        }
    }
    Ok(())
}

fn line(
    out: &mut String,
    (name, of): (&str, &str),
    labels: &MetricLabels<'_>,
    bound: Option<&str>,
    value: impl std::fmt::Display,
) -> std::fmt::Result {
    write!(out, "{name}{of}")?;
    let all = labels.iter().map(|(name, value)| (*name, &**value)).chain(bound.map(|bound| ("le", bound)));
    for (at, (label, value)) in all.enumerate() {
        write!(out, "{}{label}=\"", if at == 0 { '{' } else { ',' })?;
        escaped(out, value);
        out.push('"');
    }
    if !labels.is_empty() || bound.is_some() {
        out.push('}');
    }
    writeln!(out, " {value}")
}

/// Writes the value of a label between its quotes.
fn escaped(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            _ => out.push(c),
        }
    }
}
