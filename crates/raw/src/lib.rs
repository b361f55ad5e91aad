//! Private protocols without code: bytes over TCP, TLS and UDP, with declared framing ([`RawProtocol`], `tcp://`,
//! `tls://`, `udp://`).
//!
//! A request is anything that [`brunt_values::template`] can express. An answer ends after a fixed number of bytes, at
//! a delimiter, as given by a length field, at a match of a regular expression, or with the connection; on UDP, it ends
//! with the datagram. Answers are matched with requests in order or by a field that both contain. Not supported:
//! requests that depend on earlier answers, answers of several datagrams, and a server side for the built-in target.

mod field;
mod framing;
mod options;
#[cfg(any(test, feature = "oracle"))]
pub mod oracle;
mod partial_answer;
mod request;
mod rules;
mod session;
#[cfg(test)]
mod tests;
mod workload;

pub use request::RawRequest;
pub use session::RawSession;
pub use workload::{RawProtocol, RawWorkload};
