//! Servers of HTTP/2 that are not ours beside nginx: Go's standard library, Node, and nghttpd of nghttp2. Their own counts
//! judge ours. Where the program is missing, the tests are left out.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

use tempfile::TempDir;

use crate::program::until;
use crate::target::free_port;

/// A server that says its port and, when its input ends, what it counted; ended with the value.
pub struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    out: BufReader<ChildStdout>,
    /// Where it listens.
    pub port: u16,
}

impl Server {
    /// Go's server; with a certificate and its key over TLS.
    pub fn go(tls: &[String]) -> Option<Server> {
        static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
        match BUILT.get_or_init(build_go) {
            Some(program) => Some(Server::start(Command::new(program).args(tls))),
            None => left_out("go is not installed, or does not build tests/servers/http2-go"),
        }
    }

    /// Node's server; with a certificate and its key over TLS.
    pub fn node(tls: &[String]) -> Option<Server> {
        if Command::new("node").arg("--version").stdout(Stdio::null()).status().is_err() {
            return left_out("node is not installed");
        }
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("servers/http2-node/server.js");
        Some(Server::start(Command::new("node").arg(script).args(tls)))
    }

    fn start(command: &mut Command) -> Server {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = piped.spawn().expect("the server starts");
        let stdin = child.stdin.take();
        let mut out = BufReader::new(child.stdout.take().expect("it is a pipe"));
        let mut line = String::new();
        out.read_line(&mut line).expect("it says its port");
        let port = line.trim().parse().unwrap_or_else(|_| panic!("no port: `{line}`"));
        Server { child, stdin, out, port }
    }

    /// Its URL in the clear.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    /// Its URL for TLS.
    pub fn secure_url(&self, path: &str) -> String {
        format!("https://localhost:{}/{path}", self.port)
    }

    /// Ends it and reads how many requests it answered, and how many of them by HTTP/2. The first answer before the run is
    /// among them.
    ///
    /// # Panics
    /// Where it says nothing.
    pub fn counts(mut self) -> [u64; 2] {
        drop(self.stdin.take());
        let mut text = String::new();
        self.out.read_to_string(&mut text).expect("it says what it counted");
        let counts: Vec<u64> = text.split_whitespace().map(|n| n.parse().expect("a number")).collect();
        [counts[0], counts[1]]
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stdin.take());
        // Both fail only where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn left_out<T>(why: &str) -> Option<T> {
    crate::skip(why);
    None
}

fn build_go() -> Option<PathBuf> {
    let test = std::env::current_exe().ok()?;
    let program = test.parent()?.join(format!("http2-go-{}", std::process::id()));
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("servers/http2-go");
    let built = Command::new("go").arg("build").arg("-o").arg(&program).arg(".").current_dir(sources).status().ok()?;
    built.success().then_some(program)
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
            return left_out("nghttpd is not installed (Debian: nghttp2-server; cargo xtask test installs it)");
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
