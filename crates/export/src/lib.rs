//! Export of a run's live figures to monitoring systems: served to Prometheus, pushed to OpenTelemetry.
//!
//! [`LiveFigures`] is a listener that sums up the run as the report does. One list of metric families (`catalogue.rs`)
//! is the source of every format: the text and the protobuf exposition of Prometheus, and OTLP. No code in this crate
//! is on the path of a request, and none of it runs unless an export is requested.

mod accept;
mod buckets;
mod catalogue;
mod client_spans;
mod collector;
mod databases;
mod figures;
mod grpc;
mod http;
mod messages;
mod otlp;
mod protobuf;
mod push;
mod serve;
mod spans;
#[cfg(test)]
mod tests;
mod text;

pub use accept::{ScrapeRequest, parse_request};
pub use collector::{CollectorClient, Endpoint, EnvVariable, ExporterSettings};
pub use figures::LiveFigures;
pub use push::FiguresPush;
pub use serve::{LingerOutcome, PrometheusServer};
pub use spans::SpanPush;
