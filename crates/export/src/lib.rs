//! Export of a run's figures while it goes on, for monitoring systems: served to Prometheus, sent to
//! OpenTelemetry.
//!
//! [`LiveFigures`] is a listener that sums the run up as the report does. One list of metric families
//! (`catalogue.rs`) is the source of every format: the text and the protobuf exposition of Prometheus, and
//! OTLP. No code here is reached from the path of a request, and none of it runs unless it is asked for.

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
