//! HTTP/1.1, both halves: the client's ([`Http1`], [`Http1Session`]) and the server's ([`Http1Server`]).
//!
//! Spoken: RFC 9110 and 9112, to servers of HTTP/1.1 and 1.0: every method but CONNECT, keep-alive, bodies by length,
//! in chunks and until the connection ends, interim answers, redirects, basic authentication, bodies that wait for `100 Continue`. Left out: pipelining
//! (client side), decompression (bodies are counted as they come), other protocols after an upgrade,
//! folded header lines. `codec` says what is tolerated and what is refused.

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
