//! Support for the end-to-end tests: the real program, the built-in target, nginx, and misbehaving servers.
//!
//! All servers listen on this machine only, on ports chosen by the kernel, and end when the value
//! that started them is dropped. No assertion here depends on how long something took: a deadline
//! only turns a hang into a failure.

pub mod certificates;
pub mod console;
pub mod daemon;
pub mod external;
pub mod fleet;
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

pub use console::ConsoleProcess;
pub use fleet::TestFleet;
pub use peer::ScriptedPeer;
pub use program::{ProgramOutput, RunningProgram, brunt, prepare, start};
pub use proxy::TestProxy;
pub use report::TestReport;
pub use target::TargetProcess;

/// Reports that a test is skipped, and why. With `CI=true`, skipping is a failure.
///
/// # Panics
/// Panics with `CI=true`.
pub fn skip(why: &str) {
    assert!(!std::env::var("CI").is_ok_and(|ci| ci == "true" || ci == "1"), "cannot be left out here: {why}");
    eprintln!("SKIPPED: {why}");
}

/// Returns `true` for the superuser, who may create namespaces and mount file systems.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
