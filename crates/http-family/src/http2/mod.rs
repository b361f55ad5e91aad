//! HTTP/2 (RFC 9113, HPACK RFC 7541): many exchanges on one connection.
//!
//! [`Http2Connection`] is the client end, independent of what its streams carry, for HTTP and for gRPC; `frames` and
//! [`hpack`] are shared with the server end. Not supported: priorities (deprecated, 5.3.2), push (refused), the upgrade
//! from HTTP/1.1 (removed, 3.1) and extended CONNECT.

mod answer;
pub mod connection;
mod control;
pub mod frames;
mod head;
pub mod hpack;
#[cfg(any(test, feature = "oracle"))]
pub mod oracle;
mod receiving;
mod request;
mod sending;
mod server;
mod session;
mod slots;
mod streams;
#[cfg(test)]
mod tests;
pub mod transcript;

pub use connection::{Http2Connection, StreamDecision, StreamListener};
pub use request::Http2Request;
pub(crate) use request::{Http2Preparer, readable};
pub use server::Http2Server;
pub use session::Http2Session;
pub(crate) use slots::{Http2SlotValues, Http2Template};
