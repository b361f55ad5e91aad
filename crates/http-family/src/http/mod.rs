//! The HTTP plug-in: `http://` and `https://`, in version 1.1 or 2 (`--http`).
//!
//! Requests are prepared once, by [`crate::http1`]; for HTTP/2 each of them also gets its header list. The version of a
//! connection is known once it is established: from the option, or from ALPN. Not supported: the upgrade from 1.1 to 2
//! (removed by RFC 9113 3.1) and HTTP/3.

#[cfg(test)]
mod flow_tests;
#[cfg(test)]
mod jar_tests;
mod options;
#[cfg(test)]
mod tests;
mod workload;

pub use workload::{Http, HttpWorkload};
