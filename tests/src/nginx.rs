//! nginx, whose access log verifies our counts.

use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command};

use tempfile::TempDir;

use crate::program::DEADLINE;
use crate::target::free_port;

/// A running nginx; killed on drop.
pub struct NginxProcess {
    command: Command,
    child: Child,
    directory: TempDir,
    /// Port it listens on.
    pub port: u16,
}

impl NginxProcess {
    /// Starts nginx; `listen` is appended to the address (`ssl`), `server` holds further directives of the server
    /// block.
    ///
    /// Returns `None` if nginx is not installed; the test is then skipped.
    ///
    /// # Panics
    /// Panics if it does not come up.
    pub fn start(http: &str, listen: &str, server: &str) -> Option<NginxProcess> {
        let program = crate::daemon::find("nginx")?;
        let directory = tempfile::tempdir().expect("a directory");
        let port = free_port();
        let http = format!(
            "log_format counts \"$status $connection $ssl_session_reused\";\n  access_log access.log counts;\n  {http}\n\
             \x20 server {{ listen 127.0.0.1:{port} {listen} backlog=1024; server_name localhost;\n  {server}\n  }}"
        );
        let mut command = brunt_programs::nginx::command(&program, directory.path(), 1000, &http).expect("written");
        let child = command.spawn().expect("nginx starts");
        let mut nginx = NginxProcess { command, child, directory, port };
        nginx.wait_until_up();
        Some(nginx)
    }

    fn wait_until_up(&mut self) {
        let answers = || TcpStream::connect(("127.0.0.1", self.port)).is_ok();
        if let Err(why) = brunt_programs::wait_until_up(&mut self.child, DEADLINE, answers) {
            panic!("nginx {why}: {}", std::fs::read_to_string(self.error_log()).unwrap_or_default());
        }
    }

    /// Kills nginx, which cuts open connections.
    pub fn stop(&mut self) {
        let id = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
        let _ = self.child.wait();
    }

    /// Restarts nginx on the same port.
    pub fn start_again(&mut self) {
        self.child = self.command.spawn().expect("it was here a moment ago");
        self.wait_until_up();
    }

    /// Returns the lines of its access log: status, number of the connection, and `r` if a TLS session was resumed.
    /// Stops nginx first, so that all lines are written; the first line is the pre-flight request.
    ///
    /// # Panics
    /// Panics if the log cannot be read.
    pub fn stop_and_read_log(mut self) -> Vec<String> {
        self.stop();
        let log = std::fs::read_to_string(self.directory.path().join("access.log")).expect("an access log");
        log.lines().map(String::from).collect()
    }

    /// Returns the path of a file named in its configuration.
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Returns the path of its error log.
    pub fn error_log(&self) -> PathBuf {
        self.directory.path().join("error.log")
    }

    /// Returns the current number of lines in its log.
    pub fn logged(&self) -> usize {
        std::fs::read_to_string(self.directory.path().join("access.log")).map_or(0, |log| log.lines().count())
    }

    /// Returns its URL.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// Returns its URL for TLS, by name.
    pub fn secure_url(&self) -> String {
        format!("https://localhost:{}/", self.port)
    }
}

impl Drop for NginxProcess {
    fn drop(&mut self) {
        // Both fail only if it has exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
