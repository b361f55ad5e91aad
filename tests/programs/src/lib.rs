//! Programs that are not ours, as tests and chores start them: where they are, a port for them, when they are up, nginx, and servers
//! of others.

pub mod nginx;
pub mod servers;

use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// Finds a program on the path, where Debian keeps servers, and where Go's own archive is unpacked.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let further = ["/usr/sbin", "/sbin", "/usr/local/sbin", "/usr/local/go/bin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(further).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Where Debian puts the programs of the newest PostgreSQL; none where it is not installed.
pub fn postgres() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let found = versions.filter_map(|entry| Some(entry.ok()?.path().join("bin")));
    found.filter(|bin| bin.join("initdb").is_file()).max()
}

/// The command that makes an empty MariaDB in `data`, owned by `user`, in which `root` needs no password.
pub fn mariadb_install(program: &Path, data: &Path, user: &str) -> Command {
    let mut command = Command::new(program);
    command.args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]);
    command.arg(format!("--datadir={}", data.display())).arg(format!("--user={user}"));
    command
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
