//! How bytes travel: the implementations of [`wire::Network`], and TLS.
//!
//! - [`Epoll`]: works everywhere, tuned first.
//! - `sim`: a seeded simulation of clock and network.
//! - `tls`: rustls as a layer without I/O.

mod epoll;
pub mod sim;
mod socket;
pub mod tls;

pub use epoll::Epoll;
