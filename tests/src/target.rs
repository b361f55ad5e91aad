//! The built-in target in its own process, and its counters.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::program;

/// A running target; killed on drop.
pub struct TargetProcess {
    child: Child,
    /// Address it listens on: `http://127.0.0.1:1234/`, or `unix:/path`.
    pub address: String,
}

impl TargetProcess {
    /// Starts a target without faults.
    pub fn healthy() -> TargetProcess {
        TargetProcess::with(&[])
    }

    /// Starts a target with these flags, on a free port.
    pub fn with(flags: &[&str]) -> TargetProcess {
        TargetProcess::at("127.0.0.1:0", flags)
    }

    /// Starts a target whose threads may each have this many descriptors.
    pub fn limited(descriptors: u32, flags: &[&str]) -> TargetProcess {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("ulimit -n {descriptors}; exec \"$0\" \"$@\"")]).arg(program::path());
        TargetProcess::run(shell, "127.0.0.1:0", flags)
    }

    /// Starts a target that listens on this address.
    pub fn at(address: &str, flags: &[&str]) -> TargetProcess {
        TargetProcess::run(Command::new(program::path()), address, flags)
    }

    /// Runs the target by the program of `command`.
    ///
    /// # Panics
    /// Panics if it does not come up.
    fn run(mut command: Command, address: &str, flags: &[&str]) -> TargetProcess {
        let mut child = command
            .args(["target", address])
            .args(flags)
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the target starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("the target speaks");
        let address = line.split_whitespace().next_back().unwrap_or_default().to_string();
        let target = TargetProcess { child, address };
        assert!(target.address.contains(':'), "the target says where it listens: {line:?}");
        target
    }

    /// Starts a target on a Unix socket.
    pub fn on_unix_socket(path: &Path) -> TargetProcess {
        TargetProcess::at(&format!("unix:{}", path.display()), &[])
    }

    /// Returns the URL of a path, which is given without its leading slash.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.address)
    }

    /// Returns host and port.
    pub fn host(&self) -> &str {
        self.address.trim_start_matches("http://").trim_start_matches("https://").trim_end_matches('/')
    }

    /// Returns its counters.
    ///
    /// # Panics
    /// Panics if it does not answer.
    pub fn stats(&self) -> Value {
        let (_, body) = get(self.host(), "/-/stats");
        serde_json::from_slice(&body).expect("stats are JSON")
    }

    /// Returns the number of requests received, not counting those for its counters.
    pub fn requests(&self) -> u64 {
        self.stats()["requests"]["heard"].as_u64().expect("a count")
    }

    /// Returns its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills the target.
    pub fn kill(&mut self) {
        // Both fail only if it has exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Ends the target with SIGTERM, so that its log is complete.
    pub fn stop(mut self) {
        let id = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
        let _ = self.child.wait();
    }
}

impl Drop for TargetProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Sends one plain request. Returns head and body of the response.
///
/// # Panics
/// Panics if there is no response.
pub fn get(host: &str, path: &str) -> (String, Vec<u8>) {
    let mut stream = TcpStream::connect(host).expect("the server is there");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").expect("the request is sent");
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("the answer comes");
    let end = bytes.windows(4).position(|w| w == b"\r\n\r\n").expect("a head") + 4;
    (String::from_utf8_lossy(&bytes[..end]).into_owned(), bytes[end..].to_vec())
}

/// Returns a free port of this machine, on which nothing listens.
///
/// # Panics
/// Panics if there is none.
pub fn free_port() -> u16 {
    brunt_programs::free_port().expect("a port")
}

/// Returns a path in a directory, as text.
///
/// # Panics
/// Panics if it is not UTF-8.
pub fn text(directory: &Path, name: &str) -> String {
    let path: PathBuf = directory.join(name);
    path.to_str().expect("a path in UTF-8").to_string()
}
