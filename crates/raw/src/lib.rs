//! Private protocols without code: bytes over TCP, TLS and UDP, with the framing declared ([`Raw`], `tcp://`, `tls://`,
//! `udp://`).
//!
//! Spoken: whatever [`values::template`] can write, answered by frames that end after a fixed size, at a delimiter, where a
//! length says, at a regular expression or with the connection; on UDP by a datagram. Answers belong to requests in their
//! order or by a field that both hold. Left out: requests that depend on earlier answers, answers of several datagrams,
//! a server's half for the built-in target.

mod dialogue;
mod field;
mod framing;
mod options;
#[cfg(any(test, feature = "oracle"))]
pub mod oracle;
mod pieces;
mod request;
mod rules;
mod session;
#[cfg(test)]
mod tests;

pub use dialogue::{Raw, RawDialogue};
pub use request::Request;
pub use session::RawSession;
