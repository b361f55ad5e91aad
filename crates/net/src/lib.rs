//! Transport of bytes: the implementations of [`brunt_contract::Network`], and TLS.
//!
//! - [`Epoll`]: works everywhere and is tuned first.
//! - [`Uring`]: io_uring, one system call per batch, where the kernel and the container allow it.
//! - `tls`: rustls as a layer without I/O.
//! - `tunnel`: the handshake with a proxy before a connection reaches the target.
//! - `heap`: memory returned to the system.
//! - `tables` and `sources`: more connections in one process than one descriptor table and one port range allow.

mod epoll;
pub mod heap;
mod nagle;
mod running;
mod send_backlog;
mod socket;
pub mod sources;
mod stamps;
pub mod tables;
pub mod tls;
pub mod tunnel;
mod uring;

pub use epoll::Epoll;
pub use send_backlog::{PIECE, SendBacklog};
pub use socket::{address, listener};
pub use stamps::ReadLateness;
pub use uring::Uring;
