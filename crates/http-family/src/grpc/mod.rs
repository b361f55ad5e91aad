//! gRPC, client ([`GrpcProtocol`], [`GrpcSession`]) and the parts a server needs ([`server`]).
//!
//! Supports gRPC over HTTP/2 (`doc/PROTOCOL-HTTP2.md` of the grpc project) on this crate's own HTTP/2: unary calls and
//! streams in all directions, metadata, deadlines, statuses, server reflection v1 and v1alpha, health checks. Services
//! come from `.proto` files or from the server, including those of editions; requests are JSON, encoded before the run.
//! Responses are counted as they arrive, and examined if there are checks. Not supported: retries, hedging and load
//! balancing.

mod answer;
mod compressed;
mod editions;
mod expect;
mod framing;
mod held_streams;
mod json;
mod message_template;
mod metadata;
mod options;
#[cfg(any(test, feature = "oracle"))]
pub mod oracle;
mod reflection;
mod request;
mod response_head;
mod schema;
pub mod server;
mod session;
mod slots;
mod sources;
mod status;
mod step_shape;
mod steps;
mod suggestion;
#[cfg(test)]
mod tests;
mod times;
mod transcript;
mod wire_source;
mod workload;

pub use request::GrpcRequest;
pub use session::GrpcSession;
pub use workload::{GrpcProtocol, GrpcWorkload};
