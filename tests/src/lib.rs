//! Helpers of the end-to-end tests: the real program, the built-in target, nginx, and servers that misbehave.
//!
//! Everything listens on this machine only, on ports the kernel chooses, and ends with the value that started it. Nothing
//! here asserts how long something took: a deadline only turns a hang into a failure.

pub mod certificates;
pub mod console;
pub mod daemon;
pub mod foreign;
pub mod grpc;
pub mod guide;
pub mod http2;
pub mod mariadb;
pub mod mysql_go;
pub mod nginx;
pub mod peer;
pub mod postgres;
pub mod program;
pub mod proxy;
pub mod redis;
pub mod report;
pub mod target;
pub mod websocket;

pub use console::Console;
pub use peer::Peer;
pub use program::{Ended, Running, brunt, prepare, start};
pub use proxy::Proxy;
pub use report::Report;
pub use target::Target;

/// Says that a test is left out, and why; where nothing may be left out (`CI=true`) that is a failure.
///
/// # Panics
/// With `CI=true`.
pub fn skip(why: &str) {
    assert!(!std::env::var("CI").is_ok_and(|ci| ci == "true" || ci == "1"), "cannot be left out here: {why}");
    eprintln!("SKIPPED: {why}");
}

/// True for the superuser, who may make namespaces and mount file systems.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
