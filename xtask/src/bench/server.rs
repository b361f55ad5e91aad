//! nginx as every peer sees it: one process on the first core, answering one byte, writing no log.
//!
//! Its `stub_status` counts requests for all; it is read over a port of its own, and each reading is itself one request.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::measure;
use crate::places;

/// The core nginx lives on; generators live on the other.
pub(super) const SERVER_CORE: usize = 0;
/// The core of the generators.
pub(super) const GENERATOR_CORE: usize = 1;

/// A running nginx, ended with the value.
pub(super) struct Server {
    child: Child,
    port: u16,
    status_port: u16,
}

/// What nginx has counted so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Counts {
    pub(super) accepted: u64,
    pub(super) requests: u64,
}

impl Server {
    /// Starts it and waits until it answers.
    pub(super) fn start() -> Result<Self, String> {
        let program = places::find("nginx").ok_or("nginx is not here: apt-get install nginx")?;
        let folder = places::scratch("nginx")?;
        let (port, status_port) = (free_port()?, free_port()?);
        let file: PathBuf = folder.join("nginx.conf");
        fs::write(&file, configuration(port, status_port))
            .map_err(|e| format!("cannot write {}: {e}", file.display()))?;
        let mut command = Command::new(program);
        command.arg("-p").arg(&folder).arg("-c").arg(&file).stdin(Stdio::null());
        measure::pin(&mut command, SERVER_CORE);
        let child = command.spawn().map_err(|e| format!("cannot start nginx: {e}"))?;
        let mut server = Self { child, port, status_port };
        let began = Instant::now();
        while server.counts().is_err() {
            if let Ok(Some(status)) = server.child.try_wait() {
                return Err(format!("nginx ended with {status}; see {}", folder.join("error.log").display()));
            }
            if began.elapsed() > Duration::from_secs(10) {
                return Err("nginx does not answer".into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    /// Where the one byte is.
    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// Its process.
    pub(super) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Asks for its counts; the question itself is counted.
    pub(super) fn counts(&self) -> Result<Counts, String> {
        let told = |e: std::io::Error| format!("nginx does not tell its counts: {e}");
        let mut stream = TcpStream::connect(("127.0.0.1", self.status_port)).map_err(told)?;
        stream.set_read_timeout(Some(Duration::from_secs(10))).map_err(told)?;
        stream.write_all(b"GET / HTTP/1.0\r\n\r\n").map_err(told)?;
        let mut text = String::new();
        stream.read_to_string(&mut text).map_err(told)?;
        read_counts(&text).ok_or_else(|| format!("nginx's counts cannot be read: {text}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be stopped by the stall bench; and nothing is lost if it is already gone.
        measure::signal(self.child.id(), libc::SIGCONT);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn configuration(port: u16, status_port: u16) -> String {
    format!(
        "daemon off;\nmaster_process off;\nworker_processes 1;\npid nginx.pid;\nerror_log error.log crit;\n\
         events {{ worker_connections 19000; }}\n\
         http {{\n  access_log off;\n  keepalive_requests 1000000000;\n  keepalive_timeout 1h;\n\
         \x20 server {{ listen 127.0.0.1:{port} backlog=4096; location / {{ default_type text/plain; return 200 \"x\"; }} }}\n\
         \x20 server {{ listen 127.0.0.1:{status_port}; location / {{ stub_status; }} }}\n}}\n"
    )
}

/// Reads ` 17 17 31 ` below `server accepts handled requests`.
fn read_counts(text: &str) -> Option<Counts> {
    let (_, rest) = text.split_once("server accepts handled requests")?;
    let mut numbers = rest.split_whitespace().map(str::parse::<u64>);
    let accepted = numbers.next()?.ok()?;
    let requests = numbers.nth(1)?.ok()?;
    Some(Counts { accepted, requests })
}

/// A port nobody listens on now.
pub(super) fn free_port() -> Result<u16, String> {
    let told = |e| format!("no free port: {e}");
    Ok(TcpListener::bind("127.0.0.1:0").map_err(told)?.local_addr().map_err(told)?.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_stub_status() {
        let text =
            "HTTP/1.1 200 OK\r\n\r\nActive connections: 2 \nserver accepts handled requests\n 17 17 31 \nReading: 0";
        assert_eq!(read_counts(text), Some(Counts { accepted: 17, requests: 31 }));
        assert_eq!(read_counts("HTTP/1.1 404 Not Found"), None);
    }
}
