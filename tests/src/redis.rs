//! Redis, the server whose own counts of commands judge ours.

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::program::until;
use crate::target::free_port;

/// A server that runs; ended with the value.
pub struct Redis {
    child: Child,
    _directory: TempDir,
    /// Where it listens without TLS.
    pub port: u16,
}

impl Redis {
    /// Starts one with these options beside its own, as on its command line; none where it is not installed, and the test is
    /// left out.
    ///
    /// # Panics
    /// Where it does not come up.
    pub fn start(options: &[&str]) -> Option<Redis> {
        if Command::new("redis-server").arg("--version").stdout(Stdio::null()).status().is_err() {
            crate::skip("redis-server is not installed (cargo xtask test installs it)");
            return None;
        }
        // A port that was free a moment ago may be somebody else's by now.
        let redis = (0..5).find_map(|_| Redis::at_some_port(options));
        Some(redis.expect("redis-server comes up"))
    }

    /// None where it ended at once.
    fn at_some_port(options: &[&str]) -> Option<Redis> {
        let directory = tempfile::tempdir().expect("a directory");
        let (port, log) = (free_port(), directory.path().join("log"));
        let mut command = Command::new("redis-server");
        command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--dir"]).arg(directory.path());
        command.args(options).stdin(Stdio::null()).stderr(Stdio::null());
        let child = command.stdout(File::create(&log).expect("a log")).spawn().expect("it is installed");
        let mut redis = Redis { child, _directory: directory, port };
        let mut ended = false;
        // Not by connecting: whoever listens there might answer.
        until("Redis is ready", || {
            ended = matches!(redis.child.try_wait(), Ok(Some(_)));
            ended || std::fs::read_to_string(&log).is_ok_and(|text| text.contains("Ready to accept connections"))
        });
        (!ended).then_some(redis)
    }

    /// The URL of a database, as whoever needs no password.
    pub fn url(&self, database: u32) -> String {
        format!("redis://127.0.0.1:{}/{database}", self.port)
    }

    /// What it answers to lines of commands.
    ///
    /// # Panics
    /// Where it does not answer.
    pub fn ask(&self, lines: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("Redis listens");
        stream.write_all(format!("{lines}\r\nQUIT\r\n").as_bytes()).expect("Redis reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("Redis answers in UTF-8");
        answer
    }

    /// How often it has carried out a command so far; `lines` are said before it is asked (AUTH).
    pub fn calls(&self, lines: &str, command: &str) -> u64 {
        let statistics = self.ask(&format!("{lines}\r\nINFO commandstats"));
        let line = statistics.split(&format!("cmdstat_{command}:calls=")).nth(1).unwrap_or_default();
        line.split(',').next().unwrap_or_default().parse().unwrap_or(0)
    }

    /// Ends it at once: open connections are cut.
    pub fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.stop();
    }
}
