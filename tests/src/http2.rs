//! Servers of HTTP/2 that are not ours beside nginx: Go's standard library, Node, and nghttpd of nghttp2. Their own counts
//! judge ours. Where the program is missing, the tests are left out.

use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::foreign::{Foreign, Made, sources};
use crate::program::until;
use crate::target::free_port;

/// A server that counts; ended with the value.
pub struct Server(Foreign);

impl Server {
    /// Go's server; with a certificate and its key over TLS.
    pub fn go(tls: &[String]) -> Option<Server> {
        static BUILT: Made = Made::new();
        let tls: Vec<&str> = tls.iter().map(String::as_str).collect();
        Foreign::go(&BUILT, "http2-go", &tls).map(Server)
    }

    /// Node's server; with a certificate and its key over TLS.
    pub fn node(tls: &[String]) -> Option<Server> {
        if Command::new("node").arg("--version").stdout(Stdio::null()).status().is_err() {
            crate::skip("node is not installed");
            return None;
        }
        let script = sources("http2-node").join("server.js");
        Some(Server(Foreign::start(Command::new("node").arg(script).args(tls))))
    }

    /// Its URL in the clear.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.0.port)
    }

    /// Its URL for TLS.
    pub fn secure_url(&self, path: &str) -> String {
        format!("https://localhost:{}/{path}", self.0.port)
    }

    /// Ends it and reads how many requests it answered, and how many of them by HTTP/2. The first answer before the run is
    /// among them.
    ///
    /// # Panics
    /// Where it says nothing.
    pub fn counts(self) -> [u64; 2] {
        let text = self.0.counts();
        let counts: Vec<u64> = text.split_whitespace().map(|n| n.parse().expect("a number")).collect();
        [counts[0], counts[1]]
    }
}

/// nghttpd in the clear, its log in a file; ended with the value.
pub struct Nghttpd {
    child: Child,
    directory: TempDir,
    /// Where it listens.
    pub port: u16,
}

impl Nghttpd {
    /// Starts it with further arguments; it serves the file `x` of five bytes. None where it is not installed.
    ///
    /// # Panics
    /// Where it does not come up.
    pub fn start(more: &[&str]) -> Option<Nghttpd> {
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::write(directory.path().join("x"), "hello").expect("written");
        let log = std::fs::File::create(directory.path().join("log")).expect("a log");
        let port = free_port();
        let mut command = Command::new("nghttpd");
        command.args(["--no-tls", "--verbose", "-a", "127.0.0.1", "-d"]).arg(directory.path()).args(more);
        command.arg(port.to_string()).stdin(Stdio::null()).stdout(log).stderr(Stdio::null());
        let Ok(child) = command.spawn() else {
            crate::skip("nghttpd is not installed (Debian: nghttp2-server; cargo xtask test installs it)");
            return None;
        };
        let server = Nghttpd { child, directory, port };
        until("nghttpd answers", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        Some(server)
    }

    /// The URL of its file.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/x", self.port)
    }

    /// Ends it and counts the requests in its log.
    ///
    /// # Panics
    /// Where the log cannot be read.
    pub fn count(mut self) -> u64 {
        let id = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
        let _ = self.child.wait();
        let log = std::fs::read(self.directory.path().join("log")).expect("a log");
        let log = String::from_utf8_lossy(&log);
        log.lines().filter(|line| line.contains(":method: ")).count() as u64
    }
}

impl Drop for Nghttpd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
