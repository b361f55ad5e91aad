//! Export to OpenTelemetry: the same families as OTLP metrics, all of them cumulative, so that a lost export
//! loses only its moment. Histograms are exponential ones.

use std::borrow::Cow;

use prost::Message;

use crate::buckets::{Exponential, ZERO};
use crate::catalogue::{Family, Kind, Point, Value, families};
use crate::figures::Reading;
use crate::messages::*;

/// Encodes one export of all current metrics.
pub(crate) fn metrics(reading: &Reading, resource: &[(String, String)]) -> Vec<u8> {
    let times = Times { start: reading.now.began_unix_ns, now: reading.now.unix_ns };
    let all = families(reading);
    let told = all.iter().filter(|family| !family.points.is_empty());
    let scope = ScopeMetrics { scope: Some(scope()), metrics: told.map(|family| metric(family, times)).collect() };
    let resource = ResourceMetrics { resource: Some(described(resource)), scope_metrics: vec![scope] };
    ExportMetricsServiceRequest { resource_metrics: vec![resource] }.encode_to_vec()
}

/// Returns the instrumentation scope.
pub(crate) fn scope() -> InstrumentationScope {
    InstrumentationScope { name: "brunt".into(), version: env!("CARGO_PKG_VERSION").into() }
}

/// Creates the resource with these attributes.
pub(crate) fn described(attributes: &[(String, String)]) -> Resource {
    let attributes = attributes.iter().map(|(name, value)| text(name, value)).collect();
    Resource { attributes }
}

/// Start and end of the counted period.
#[derive(Clone, Copy)]
struct Times {
    start: u64,
    now: u64,
}

fn metric(family: &Family<'_>, times: Times) -> Metric {
    let numbers = || family.points.iter().filter_map(|point| number(point, times)).collect();
    let data = match family.kind {
        Kind::Gauge => Data::Gauge(Gauge { data_points: numbers() }),
        Kind::Counter => {
            Data::Sum(Sum { data_points: numbers(), aggregation_temporality: CUMULATIVE, is_monotonic: true })
        }
        Kind::Histogram => Data::ExponentialHistogram(ExponentialHistogram {
            data_points: family.points.iter().filter_map(|point| histogram(point, times)).collect(),
            aggregation_temporality: CUMULATIVE,
        }),
    };
    Metric {
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

fn number(point: &Point<'_>, times: Times) -> Option<NumberDataPoint> {
    let value = match &point.value {
        Value::Count(n) => Number::Int(i64::try_from(*n).unwrap_or(i64::MAX)),
        Value::Real(real) => Number::Double(*real),
        Value::Times(..) => return None,
    };
    Some(NumberDataPoint {
        attributes: attributes(point),
        start_time_unix_nano: times.start,
        time_unix_nano: times.now,
        value: Some(value),
    })
}

fn histogram(point: &Point<'_>, times: Times) -> Option<ExponentialHistogramDataPoint> {
    let Value::Times(histogram, most) = &point.value else { return None };
    let Exponential { scale, zero, offset, counts } = Exponential::of(histogram, *most);
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
