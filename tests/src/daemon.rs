//! Servers of other people's making that need no more than a command line: started in a directory of their own, and ended
//! with the value.

use std::net::{TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::program::until;

/// A server that runs.
pub struct Daemon {
    child: Child,
    directory: TempDir,
    name: String,
}

/// Where a program is; none where it is not installed, and the test is left out.
pub fn find(program: &str) -> Option<PathBuf> {
    let found = programs::find(program);
    if found.is_none() {
        crate::skip(&format!("{program} is not installed (cargo xtask test installs it)"));
    }
    found
}

/// A port that nobody listens at, neither by UDP nor by TCP: some servers take both.
///
/// # Panics
/// Where there is none.
pub fn free_datagram_port() -> u16 {
    let both = || {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let port = socket.local_addr().expect("an address").port();
        TcpListener::bind(("127.0.0.1", port)).is_ok().then_some(port)
    };
    (0..100).find_map(|_| both()).expect("a port of both")
}

impl Daemon {
    /// Starts a program in a directory that holds `files` (name and content); what it says goes to `said` there. `{dir}` in
    /// arguments and files is that directory. None where the program is not installed.
    ///
    /// # Panics
    /// Where it does not start.
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

    /// Waits until something holds that shows it is up.
    ///
    /// # Panics
    /// Where it ends before, or never does.
    pub fn up(mut self, mut holds: impl FnMut(&Daemon) -> bool) -> Daemon {
        until(&format!("{} is up", self.name), || {
            if let Ok(Some(status)) = self.child.try_wait() {
                panic!("{} ended with {status}: {}", self.name, self.text("said"));
            }
            holds(&self)
        });
        self
    }

    /// Its directory.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// A file of its directory; empty where there is none.
    pub fn text(&self, name: &str) -> String {
        let bytes = std::fs::read(self.directory.path().join(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: rustix::process::Signal) {
        // An error means that it is gone already, which the test will find out.
        let _ = rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal);
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Both fail only where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
