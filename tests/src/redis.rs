//! Redis, whose own counts of commands verify ours.

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::program::until;
use crate::target::free_port;

/// A running server; killed on drop.
pub struct RedisProcess {
    child: Child,
    _directory: TempDir,
    /// Port for connections without TLS.
    pub port: u16,
}

impl RedisProcess {
    /// Starts a server with these additional command-line options. Returns `None` if Redis is not installed; the test
    /// is then skipped.
    ///
    /// # Panics
    /// Panics if it does not come up.
    pub fn start(options: &[&str]) -> Option<RedisProcess> {
        if Command::new("redis-server").arg("--version").stdout(Stdio::null()).status().is_err() {
            crate::skip("redis-server is not installed (cargo xtask test installs it)");
            return None;
        }
        // A port that was free a moment ago may be taken by now.
        let redis = (0..5).find_map(|_| RedisProcess::at_some_port(options));
        Some(redis.expect("redis-server comes up"))
    }

    /// Starts a server on a free port; returns `None` if it exits at once.
    fn at_some_port(options: &[&str]) -> Option<RedisProcess> {
        let directory = tempfile::tempdir().expect("a directory");
        let (port, log) = (free_port(), directory.path().join("log"));
        let mut command = Command::new("redis-server");
        command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--dir"]).arg(directory.path());
        command.args(options).stdin(Stdio::null()).stderr(Stdio::null());
        let child = command.stdout(File::create(&log).expect("a log")).spawn().expect("it is installed");
        let mut redis = RedisProcess { child, _directory: directory, port };
        let mut ended = false;
        // The log is read because another server on that port might accept connections.
        until("Redis is ready", || {
            ended = matches!(redis.child.try_wait(), Ok(Some(_)));
            ended || std::fs::read_to_string(&log).is_ok_and(|text| text.contains("Ready to accept connections"))
        });
        (!ended).then_some(redis)
    }

    /// Returns the URL of a database, without a password.
    pub fn url(&self, database: u32) -> String {
        format!("redis://127.0.0.1:{}/{database}", self.port)
    }

    /// Returns its reply to lines of commands.
    ///
    /// # Panics
    /// Panics if it does not reply.
    pub fn ask(&self, lines: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("Redis listens");
        stream.write_all(format!("{lines}\r\nQUIT\r\n").as_bytes()).expect("Redis reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("Redis answers in UTF-8");
        answer
    }

    /// Returns how often the server has executed a command so far; `lines` (AUTH) are sent first.
    pub fn calls(&self, lines: &str, command: &str) -> u64 {
        let statistics = self.ask(&format!("{lines}\r\nINFO commandstats"));
        let line = statistics.split(&format!("cmdstat_{command}:calls=")).nth(1).unwrap_or_default();
        line.split(',').next().unwrap_or_default().parse().unwrap_or(0)
    }

    /// Kills the server, which cuts open connections.
    pub fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for RedisProcess {
    fn drop(&mut self) {
        self.stop();
    }
}
