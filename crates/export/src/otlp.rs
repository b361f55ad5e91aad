//! Export to OpenTelemetry: the same families as cumulative OTLP metrics, so that a lost export costs only the values
//! of that moment. Histograms are exponential.

use std::borrow::Cow;

use prost::Message;

use crate::buckets::{ExponentialBuckets, ZERO};
use crate::catalogue::{Family, MetricKind, Point, PointValue, families};
use crate::figures::FiguresSnapshot;
use crate::messages::*;

/// Encodes one export of all current metrics.
pub(crate) fn metrics(reading: &FiguresSnapshot, resource: &[(String, String)]) -> Vec<u8> {
    let times = CountedPeriod { start: reading.now.began_unix_ns, now: reading.now.unix_ns };
    let all = families(reading);
    let told = all.iter().filter(|family| !family.points.is_empty());
    let scope = ScopeMetrics { scope: Some(scope()), metrics: told.map(|family| metric(family, times)).collect() };
    let resource = ResourceMetrics { resource: Some(otlp_resource(resource)), scope_metrics: vec![scope] };
    ExportMetricsServiceRequest { resource_metrics: vec![resource] }.encode_to_vec()
}

/// Returns the instrumentation scope.
pub(crate) fn scope() -> InstrumentationScope {
    InstrumentationScope { name: "brunt".into(), version: env!("CARGO_PKG_VERSION").into() }
}

/// Creates the resource with these attributes.
pub(crate) fn otlp_resource(attributes: &[(String, String)]) -> OtlpResource {
    let attributes = attributes.iter().map(|(name, value)| text(name, value)).collect();
    OtlpResource { attributes }
}

/// Start and end of the counted period.
#[derive(Clone, Copy)]
struct CountedPeriod {
    start: u64,
    now: u64,
}

fn metric(family: &Family<'_>, times: CountedPeriod) -> OtlpMetric {
    let numbers = || family.points.iter().filter_map(|point| number(point, times)).collect();
    let data = match family.kind {
        MetricKind::Gauge => MetricData::Gauge(Gauge { data_points: numbers() }),
        MetricKind::Counter => {
            MetricData::Sum(OtlpSum { data_points: numbers(), aggregation_temporality: CUMULATIVE, is_monotonic: true })
        }
        MetricKind::Histogram => MetricData::ExponentialHistogram(ExponentialHistogram {
            data_points: family.points.iter().filter_map(|point| histogram(point, times)).collect(),
            aggregation_temporality: CUMULATIVE,
        }),
    };
    OtlpMetric {
        name: format!("brunt.{}", family.name),
        description: family.help.into(),
        unit: family.unit.into(),
        data: Some(data),
    }
}

fn attributes(point: &Point<'_>) -> Vec<KeyValue> {
    let told = point.labels.iter().filter(|(_, value): &&(_, Cow<'_, str>)| !value.is_empty());
    told.map(|(name, value)| text(name, value)).collect()
}

fn number(point: &Point<'_>, times: CountedPeriod) -> Option<NumberDataPoint> {
    let value = match &point.value {
        PointValue::Count(n) => PointNumber::Int(i64::try_from(*n).unwrap_or(i64::MAX)),
        PointValue::Real(real) => PointNumber::Double(*real),
        PointValue::Times(..) => return None,
    };
    Some(NumberDataPoint {
        attributes: attributes(point),
        start_time_unix_nano: times.start,
        time_unix_nano: times.now,
        value: Some(value),
    })
}

fn histogram(point: &Point<'_>, times: CountedPeriod) -> Option<ExponentialHistogramDataPoint> {
    let PointValue::Times(histogram, most) = &point.value else { return None };
    let ExponentialBuckets { scale, zero, offset, counts } = ExponentialBuckets::of(histogram, *most);
    let any = !histogram.is_empty();
    Some(ExponentialHistogramDataPoint {
        attributes: attributes(point),
        start_time_unix_nano: times.start,
        time_unix_nano: times.now,
        count: histogram.count(),
        sum: Some(histogram.sum() as f64 / 1e9),
        scale,
        zero_count: zero,
        positive: Some(Buckets { offset, bucket_counts: counts }),
        min: any.then(|| histogram.min() as f64 / 1e9),
        max: any.then(|| histogram.max() as f64 / 1e9),
        zero_threshold: ZERO,
    })
}
