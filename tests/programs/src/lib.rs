//! Support for third-party programs in tests and tools: finding and starting them, free ports,
//! nginx, and servers built from source.

pub mod nats;
pub mod nginx;
pub mod servers;

use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// Finds a program in `PATH`, in Debian's directories for servers, or where Go's own archive is
/// usually unpacked.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let further = ["/usr/sbin", "/sbin", "/usr/local/sbin", "/usr/local/go/bin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(further).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Returns the directory in which Debian puts the programs of the newest PostgreSQL. Returns `None` if it is not
/// installed.
pub fn postgres() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let found = versions.filter_map(|entry| Some(entry.ok()?.path().join("bin")));
    found.filter(|bin| bin.join("initdb").is_file()).max()
}

/// Returns the command that creates an empty MariaDB in `data`, owned by `user`, with a `root` that needs no password.
pub fn mariadb_install(program: &Path, data: &Path, user: &str) -> Command {
    let mut command = Command::new(program);
    command.args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]);
    command.arg(format!("--datadir={}", data.display())).arg(format!("--user={user}"));
    command
}

/// Returns a currently free TCP port of 127.0.0.1.
///
/// # Errors
/// Returns an error if there is none.
pub fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Waits until a server answers.
///
/// # Errors
/// Returns an error if it exits first, or does not answer in time.
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
