//! The protobuf exposition of Prometheus: delimited messages of `io.prometheus.client.MetricFamily`, which
//! contain histograms both in classic buckets and as native ones.

use prost::Message;

use crate::buckets::{self, BOUNDS, ExponentialBuckets, ZERO};
use crate::catalogue::{Family, MetricKind, Point, PointValue};

/// Content type of the response.
pub(crate) const CONTENT_TYPE: &str =
    "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";

#[derive(Clone, PartialEq, Message)]
struct MetricFamily {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(string, optional, tag = "2")]
    help: Option<String>,
    /// Counter 0, gauge 1, histogram 4.
    #[prost(int32, optional, tag = "3")]
    kind: Option<i32>,
    #[prost(message, repeated, tag = "4")]
    metric: Vec<PrometheusMetric>,
}

#[derive(Clone, PartialEq, Message)]
struct PrometheusMetric {
    #[prost(message, repeated, tag = "1")]
    label: Vec<Label>,
    #[prost(message, optional, tag = "2")]
    gauge: Option<MetricNumber>,
    #[prost(message, optional, tag = "3")]
    counter: Option<MetricNumber>,
    #[prost(message, optional, boxed, tag = "7")]
    histogram: Option<Box<PrometheusHistogram>>,
}

#[derive(Clone, PartialEq, Message)]
struct Label {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(string, optional, tag = "2")]
    value: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct MetricNumber {
    #[prost(double, optional, tag = "1")]
    value: Option<f64>,
}

#[derive(Clone, PartialEq, Message)]
struct PrometheusHistogram {
    #[prost(uint64, optional, tag = "1")]
    sample_count: Option<u64>,
    #[prost(double, optional, tag = "2")]
    sample_sum: Option<f64>,
    #[prost(message, repeated, tag = "3")]
    bucket: Vec<Bucket>,
    #[prost(sint32, optional, tag = "5")]
    schema: Option<i32>,
    #[prost(double, optional, tag = "6")]
    zero_threshold: Option<f64>,
    #[prost(uint64, optional, tag = "7")]
    zero_count: Option<u64>,
    #[prost(message, repeated, tag = "12")]
    positive_span: Vec<BucketSpan>,
    #[prost(sint64, repeated, tag = "13")]
    positive_delta: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
struct Bucket {
    #[prost(uint64, optional, tag = "1")]
    cumulative_count: Option<u64>,
    #[prost(double, optional, tag = "2")]
    upper_bound: Option<f64>,
}

#[derive(Clone, PartialEq, Message)]
struct BucketSpan {
    #[prost(sint32, optional, tag = "1")]
    offset: Option<i32>,
    #[prost(uint32, optional, tag = "2")]
    length: Option<u32>,
}

/// Encodes all families.
pub(crate) fn write(families: &[Family<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    for family in families.iter().filter(|family| !family.points.is_empty()) {
        let message = MetricFamily {
            name: Some(family.prometheus_name()),
            help: Some(family.help.into()),
            kind: Some(match family.kind {
                MetricKind::Counter => 0,
                MetricKind::Gauge => 1,
                MetricKind::Histogram => 4,
            }),
            metric: family.points.iter().map(|point| metric(family.kind, point)).collect(),
        };
        message.encode_length_delimited(&mut out).expect("memory has room for what is encoded");
    }
    out
}

fn metric(kind: MetricKind, point: &Point<'_>) -> PrometheusMetric {
    let label = |name: &str, value: &str| Label { name: Some(name.into()), value: Some(value.into()) };
    let mut metric = PrometheusMetric {
        label: point.labels.iter().map(|(name, value)| label(name, value)).collect(),
        ..PrometheusMetric::default()
    };
    let number = match &point.value {
        PointValue::Count(n) => *n as f64,
        PointValue::Real(real) => *real,
        PointValue::Times(times, most) => {
            metric.histogram = Some(Box::new(histogram(times, *most)));
            return metric;
        }
    };
    let place = if kind == MetricKind::Counter { &mut metric.counter } else { &mut metric.gauge };
    *place = Some(MetricNumber { value: Some(number) });
    metric
}

fn histogram(times: &brunt_measure::Histogram, most: usize) -> PrometheusHistogram {
    let bucket = |(bound, n): (f64, u64)| Bucket { cumulative_count: Some(n), upper_bound: Some(bound) };
    let classic = BOUNDS.into_iter().zip(buckets::classic(times));
    let native = ExponentialBuckets::of(times, most);
    let (positive_span, positive_delta) = spans(&native);
    PrometheusHistogram {
        sample_count: Some(times.count()),
        sample_sum: Some(times.sum() as f64 / 1e9),
        bucket: classic.chain([(f64::INFINITY, times.count())]).map(bucket).collect(),
        schema: Some(native.scale),
        // This also marks the histogram as native while it has no counts.
        zero_threshold: Some(ZERO),
        zero_count: Some(native.zero),
        positive_span,
        positive_delta,
    }
}

/// Returns the non-empty buckets as spans without gaps, and the difference of each count from the previous one.
fn spans(native: &ExponentialBuckets) -> (Vec<BucketSpan>, Vec<i64>) {
    let (mut spans, mut deltas): (Vec<BucketSpan>, Vec<i64>) = (Vec::new(), Vec::new());
    let (mut before, mut gap) = (0, 0);
    for (at, n) in native.counts.iter().enumerate() {
        if *n == 0 {
            gap += 1;
            continue;
        }
        match spans.last_mut().filter(|_| gap == 0) {
            Some(BucketSpan { length: Some(length), .. }) => *length += 1,
            _ => {
                // Prometheus numbers buckets by their upper bounds and we by their lower ones, so its numbers are one
                // higher.
                let offset = if spans.is_empty() { native.offset + 1 + at as i32 } else { gap };
                spans.push(BucketSpan { offset: Some(offset), length: Some(1) });
            }
        }
        deltas.push(*n as i64 - before);
        (before, gap) = (*n as i64, 0);
    }
    (spans, deltas)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filled_buckets_are_told_as_stretches_and_differences() {
        let native = ExponentialBuckets { scale: 3, zero: 0, offset: -10, counts: vec![5, 0, 0, 2, 2, 0, 7] };
        let (spans, deltas) = spans(&native);
        let spans: Vec<_> = spans.iter().map(|span| (span.offset(), span.length())).collect();
        assert_eq!((spans, deltas), (vec![(-9, 1), (2, 2), (1, 1)], vec![5, -3, 0, 5]));
    }
}
