//! The figures of a run while it goes on, for programs that watch many things: served to Prometheus, sent to OpenTelemetry.
//!
//! [`Figures`] is a listener that sums the run up as the report does. What is told of it is one list of families
//! (`catalogue.rs`), from which every format is written: the text and the protobuf exposition of Prometheus, OTLP. Nothing
//! here is reached from the path of a request, and nothing of it is there unless it is asked for.

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
