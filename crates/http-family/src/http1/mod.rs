//! HTTP/1.1, client ([`Http1`], [`Http1Session`]) and server ([`Http1Server`]).
//!
//! Implements RFC 9110 and 9112 for servers of HTTP/1.1 and 1.0: all methods but CONNECT, keep-alive, bodies delimited
//! by length, by chunks and by the end of the connection, interim responses, redirects, basic authentication, and
//! `Expect: 100-continue`. Not supported: pipelining (client side), decompression (bodies are counted as received),
//! other protocols after an upgrade, folded header lines. `codec` documents what is tolerated and what is rejected.

mod bodies;
mod body;
pub(crate) mod captured;
pub(crate) mod codec;
mod dialogue;
pub(crate) mod filled;
pub(crate) mod judge;
mod multipart;
pub(crate) mod options;
#[cfg(any(test, feature = "oracle"))]
pub mod oracle;
pub(crate) mod redirect;
pub(crate) mod request;
mod server;
pub(crate) mod session;
mod status;
#[cfg(test)]
mod tests;
pub(crate) mod transcript;
mod wide;
mod withheld;

pub use dialogue::{Http1, Http1Dialogue};
pub use request::Request;
pub use server::{Http1Server, Upgrade};
pub use session::Http1Session;
