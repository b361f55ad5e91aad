//! nginx as an independent server: one process on the first core, answering one byte.
//!
//! Benchmarks run it without a log, accuracy tests with one. Its `stub_status` counts all requests;
//! it is read through a separate port, and each reading counts as a request.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Child;
use std::time::Duration;

use crate::measure::{self, SERVER_CORE};
use crate::places::{self, free_port};

/// Maximum number of concurrent connections.
const CONNECTIONS: u32 = 19_000;

/// A running nginx, killed on drop.
pub struct Nginx {
    child: Child,
    port: u16,
    status_port: u16,
}

/// The configuration of an nginx.
#[derive(Clone, Debug)]
pub struct NginxConfig {
    port: u16,
    status_port: u16,
    /// The log file with a line per request, if any.
    pub access_log: Option<PathBuf>,
    /// Share of requests whose connection is closed instead of answered, in percent.
    pub cut_percent: u32,
}

impl NginxConfig {
    /// Creates a configuration with a one-byte response to every request, no log, and free ports.
    pub fn plain() -> Result<Self, String> {
        Ok(Self { port: free_port()?, status_port: free_port()?, access_log: None, cut_percent: 0 })
    }
}

/// The counters of nginx so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NginxStatus {
    pub accepted: u64,
    pub requests: u64,
}

impl Nginx {
    /// Starts nginx and waits until it answers.
    pub fn start(setup: &NginxConfig) -> Result<Self, String> {
        let program = places::find("nginx").ok_or("nginx is not installed: apt-get install nginx")?;
        let folder = places::scratch("nginx")?;
        let command = brunt_programs::nginx::command(&program, &folder, CONNECTIONS, &configuration(setup));
        let mut command = command.map_err(|e| format!("cannot write to {}: {e}", folder.display()))?;
        measure::pin(&mut command, SERVER_CORE);
        let child = command.spawn().map_err(|e| format!("cannot start nginx: {e}"))?;
        let mut server = Self { child, port: setup.port, status_port: setup.status_port };
        let status_port = server.status_port;
        let up = brunt_programs::wait_until_up(&mut server.child, Duration::from_secs(10), || {
            counts_at(status_port).is_ok()
        });
        up.map_err(|why| format!("nginx {why}; see {}", folder.join("error.log").display()))?;
        Ok(server)
    }

    /// Returns the URL of the one-byte response.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// Kills nginx at once, which cuts open connections.
    pub fn stop(mut self) {
        measure::signal(self.child.id(), libc::SIGTERM);
        // An error means that the process has already exited.
        let _ = self.child.wait();
    }

    /// Returns the process id.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Reads the counters of nginx; this request is counted, too.
    pub fn counts(&self) -> Result<NginxStatus, String> {
        counts_at(self.status_port)
    }
}

fn counts_at(port: u16) -> Result<NginxStatus, String> {
    let told = |e: std::io::Error| format!("cannot read nginx's counters: {e}");
    let mut stream = TcpStream::connect(("127.0.0.1", port)).map_err(told)?;
    stream.set_read_timeout(Some(Duration::from_secs(10))).map_err(told)?;
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").map_err(told)?;
    let mut text = String::new();
    stream.read_to_string(&mut text).map_err(told)?;
    read_counts(&text).ok_or_else(|| format!("cannot parse nginx's counters: {text}"))
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // The stall benchmark may have stopped it; errors mean that it has already exited.
        measure::signal(self.child.id(), libc::SIGCONT);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn configuration(setup: &NginxConfig) -> String {
    let NginxConfig { port, status_port, access_log, cut_percent } = setup;
    let log = match access_log {
        None => "access_log off;".to_owned(),
        Some(path) => format!("log_format counts \"$status $server_port\"; access_log {} counts;", path.display()),
    };
    let (choice, cut) = match cut_percent {
        0 => (String::new(), ""),
        // 444 is nginx's code for closing the connection without an answer.
        percent => (format!("split_clients $request_id $cut {{ {percent}% 1; * 0; }}"), "if ($cut) { return 444; }"),
    };
    format!(
        "{log}\n  {choice}\n\
         \x20 server {{ listen 127.0.0.1:{port} backlog=4096;\n\
         \x20   location / {{ {cut} default_type text/plain; return 200 \"x\"; }} }}\n\
         \x20 server {{ listen 127.0.0.1:{status_port}; access_log off; location / {{ stub_status; }} }}"
    )
}

/// Reads ` 17 17 31 ` below `server accepts handled requests`.
fn read_counts(text: &str) -> Option<NginxStatus> {
    let (_, rest) = text.split_once("server accepts handled requests")?;
    let mut numbers = rest.split_whitespace().map(str::parse::<u64>);
    let accepted = numbers.next()?.ok()?;
    let requests = numbers.nth(1)?.ok()?;
    Some(NginxStatus { accepted, requests })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_stub_status() {
        let text =
            "HTTP/1.1 200 OK\r\n\r\nActive connections: 2 \nserver accepts handled requests\n 17 17 31 \nReading: 0";
        assert_eq!(read_counts(text), Some(NginxStatus { accepted: 17, requests: 31 }));
        assert_eq!(read_counts("HTTP/1.1 404 Not Found"), None);
    }
}
