//! Programs that are not ours, as tests and chores start them: where they are, a port for them, when they are up, nginx, and servers
//! of others.

pub mod nginx;
pub mod servers;

use std::io;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Child;
use std::time::{Duration, Instant};

/// Finds a program on the path and where Debian keeps servers.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let servers = ["/usr/sbin", "/sbin", "/usr/local/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(servers).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// A TCP port of 127.0.0.1 that nobody listens on now.
///
/// # Errors
/// There is none.
pub fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Waits until a server answers.
///
/// # Errors
/// It ended before, or does not answer within this time.
pub fn wait_until_up(server: &mut Child, within: Duration, mut answers: impl FnMut() -> bool) -> Result<(), String> {
    let began = Instant::now();
    while !answers() {
        if let Ok(Some(status)) = server.try_wait() {
            return Err(format!("ended with {status}"));
        }
        if began.elapsed() > within {
            return Err("does not answer".into());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}
