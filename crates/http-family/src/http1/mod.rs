//! HTTP/1.1, client ([`Http1`], [`Http1Session`]) and server ([`Http1Server`]).
//!
//! Implements RFC 9110 and 9112 for servers of HTTP/1.1 and 1.0: all methods but CONNECT, keep-alive, bodies delimited
//! by length, by chunks and by the end of the connection, interim responses, redirects, basic authentication, and
//! `Expect: 100-continue`. Not supported: pipelining (client side), decompression (bodies are counted as received),
//! other protocols after an upgrade. `codec` documents what is tolerated and what is rejected.

mod body;
mod body_options;
pub(crate) mod captures;
pub(crate) mod codec;
pub(crate) mod evaluation;
mod expect_continue;
mod multipart;
pub(crate) mod options;
#[cfg(any(test, feature = "oracle"))]
pub mod oracle;
pub(crate) mod redirect;
pub(crate) mod request;
mod server;
pub(crate) mod session;
pub(crate) mod slots;
mod status;
#[cfg(test)]
mod tests;
pub(crate) mod transcript;
mod vector;
mod workload;

pub use options::no_colon;
pub use request::HttpRequest;
pub use server::{Http1Server, UpgradeRequest};
pub use session::Http1Session;
pub use workload::{Http1, Http1Workload};
