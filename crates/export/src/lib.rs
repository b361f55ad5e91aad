//! Export of a run's figures while it goes on, for monitoring systems: served to Prometheus, sent to
//! OpenTelemetry.
//!
//! [`Figures`] is a listener that sums the run up as the report does. One list of metric families
//! (`catalogue.rs`) is the source of every format: the text and the protobuf exposition of Prometheus, and
//! OTLP. No code here is reached from the path of a request, and none of it runs unless it is asked for.

mod accept;
mod buckets;
mod catalogue;
mod collector;
mod databases;
mod described;
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

pub use accept::{Asked, asked};
pub use collector::{Collector, Endpoint, Settings, Variable};
pub use figures::Figures;
pub use push::Push;
pub use serve::{Linger, Prometheus};
pub use spans::SpanPush;
