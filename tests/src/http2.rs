//! Third-party HTTP/2 servers other than nginx, whose own counts verify ours: Go's standard library, Node, and nghttpd
//! of nghttp2. If a program is missing, its tests are skipped.

use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::external::{BuildOnce, ExternalServer, sources};
use crate::program::until;
use crate::target::free_port;

/// A running server that counts its requests; killed on drop.
pub struct Http2TestServer(ExternalServer);

impl Http2TestServer {
    /// Starts Go's server, over TLS if given a certificate and its key.
    pub fn go(tls: &[String]) -> Option<Http2TestServer> {
        static BUILT: BuildOnce = BuildOnce::new();
        let tls: Vec<&str> = tls.iter().map(String::as_str).collect();
        ExternalServer::go(&BUILT, "http2-go", &tls).map(Http2TestServer)
    }

    /// Starts Node's server, over TLS if given a certificate and its key.
    pub fn node(tls: &[String]) -> Option<Http2TestServer> {
        if Command::new("node").arg("--version").stdout(Stdio::null()).status().is_err() {
            crate::skip("node is not installed");
            return None;
        }
        let script = sources("http2-node").join("server.js");
        Some(Http2TestServer(ExternalServer::start(Command::new("node").arg(script).args(tls))))
    }

    /// Returns its URL without TLS.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.0.port)
    }

    /// Returns its URL for TLS.
    pub fn secure_url(&self, path: &str) -> String {
        format!("https://localhost:{}/{path}", self.0.port)
    }

    /// Ends the server. Returns the number of requests it answered, including the pre-flight request, and how many of
    /// them used HTTP/2.
    ///
    /// # Panics
    /// Panics if it prints nothing.
    pub fn counts(self) -> [u64; 2] {
        let text = self.0.counts();
        let counts: Vec<u64> = text.split_whitespace().map(|n| n.parse().expect("a number")).collect();
        [counts[0], counts[1]]
    }
}

/// nghttpd without TLS, with its log in a file; killed on drop.
pub struct Nghttpd {
    child: Child,
    directory: TempDir,
    /// Port it listens on.
    pub port: u16,
}

impl Nghttpd {
    /// Starts nghttpd with additional arguments; it serves the file `x` of five bytes. Returns
    /// `None` if it is not installed.
    ///
    /// # Panics
    /// Panics if it does not come up.
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

    /// Returns the URL of the file `x`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/x", self.port)
    }

    /// Ends the server. Returns the number of requests in its log.
    ///
    /// # Panics
    /// Panics if the log cannot be read.
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
