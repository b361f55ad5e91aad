//! Third-party servers that need only a command line: each is started in its own directory and killed on drop.

use std::net::{TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::program::until;

/// A running server.
pub struct Daemon {
    child: Child,
    directory: TempDir,
    name: String,
}

/// Returns the path of a program, or `None` if it is not installed; the test is then skipped.
pub fn find(program: &str) -> Option<PathBuf> {
    let found = brunt_programs::find(program);
    if found.is_none() {
        crate::skip(&format!("{program} is not installed (cargo xtask test installs it)"));
    }
    found
}

/// Returns a port that is free for both UDP and TCP, since some servers use both.
///
/// # Panics
/// Panics if there is none.
pub fn free_datagram_port() -> u16 {
    let both = || {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let port = socket.local_addr().expect("an address").port();
        TcpListener::bind(("127.0.0.1", port)).is_ok().then_some(port)
    };
    (0..100).find_map(|_| both()).expect("a port of both")
}

impl Daemon {
    /// Starts a program in a directory with `files` (name and content); its output goes to the file `said` there.
    /// `{dir}` in arguments and files stands for that directory. Returns `None` if the program is not installed.
    ///
    /// # Panics
    /// Panics if it does not start.
    pub fn start(program: &str, args: &[&str], files: &[(&str, &str)]) -> Option<Daemon> {
        let found = find(program)?;
        let directory = tempfile::tempdir().expect("a directory");
        let here = directory.path().to_str().expect("a path in UTF-8").to_owned();
        for (name, content) in files {
            std::fs::write(directory.path().join(name), content.replace("{dir}", &here)).expect("written");
        }
        let said = std::fs::File::create(directory.path().join("said")).expect("a file");
        let child = Command::new(found)
            .args(args.iter().map(|arg| arg.replace("{dir}", &here)))
            .current_dir(directory.path())
            .stdin(Stdio::null())
            .stdout(said.try_clone().expect("a descriptor"))
            .stderr(said)
            .spawn()
            .expect("it starts");
        Some(Daemon { child, directory, name: program.into() })
    }

    /// Waits until `holds` returns `true`, which shows that the server is up.
    ///
    /// # Panics
    /// Panics if the server exits first, or if the condition never holds.
    pub fn up(mut self, mut holds: impl FnMut(&Daemon) -> bool) -> Daemon {
        until(&format!("{} is up", self.name), || {
            if let Ok(Some(status)) = self.child.try_wait() {
                panic!("{} ended with {status}: {}", self.name, self.text("said"));
            }
            holds(&self)
        });
        self
    }

    /// Returns its directory.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the contents of a file in its directory; empty if there is none.
    pub fn text(&self, name: &str) -> String {
        let bytes = std::fs::read(self.directory.path().join(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Sends a signal to the server.
    pub fn signal(&self, signal: rustix::process::Signal) {
        // An error means that it has exited already, which the test will notice.
        let _ = rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal);
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Both fail only if it has exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
