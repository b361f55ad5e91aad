//! nginx, the server that is not ours: its access log judges our counts.

use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::program::until;
use crate::target::free_port;

/// An nginx that runs; ended with the value.
pub struct Nginx {
    child: Child,
    directory: TempDir,
    /// Where it listens.
    pub port: u16,
}

/// Where nginx is; none where it is not installed.
pub fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin"), PathBuf::from("/usr/local/sbin")]);
    places.map(|place| place.join("nginx")).find(|program| program.is_file())
}

impl Nginx {
    /// Starts one; `listen` stands behind the address (`ssl`), `server` holds further directives of the server.
    ///
    /// None where nginx is not installed, and the test is left out.
    ///
    /// # Panics
    /// Where it does not come up.
    pub fn start(http: &str, listen: &str, server: &str) -> Option<Nginx> {
        let Some(program) = find() else {
            crate::skip("nginx is not installed (cargo xtask test installs it)");
            return None;
        };
        let directory = tempfile::tempdir().expect("a directory");
        let port = free_port();
        let configuration = format!(
            "daemon off;\nmaster_process off;\nworker_processes 1;\npid nginx.pid;\nerror_log error.log warn;\n\
             events {{ worker_connections 1000; }}\n\
             http {{\n  log_format counts \"$status $connection $ssl_session_reused\";\n  access_log access.log counts;\n\
             \x20 client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5;\n\
             \x20 keepalive_requests 1000000000;\n  keepalive_timeout 1h;\n  {http}\n\
             \x20 server {{ listen 127.0.0.1:{port} {listen} backlog=1024; server_name localhost;\n  {server}\n  }}\n}}\n"
        );
        std::fs::write(directory.path().join("nginx.conf"), configuration).expect("written");
        let child = spawn(&program, &directory);
        let mut nginx = Nginx { child, directory, port };
        nginx.wait_until_up();
        Some(nginx)
    }

    fn wait_until_up(&mut self) {
        let (port, child, log) = (self.port, &mut self.child, self.directory.path().join("error.log"));
        until("nginx answers", || {
            if let Ok(Some(status)) = child.try_wait() {
                panic!("nginx ended with {status}: {}", std::fs::read_to_string(&log).unwrap_or_default());
            }
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
    }

    /// Ends it at once: open connections are cut.
    pub fn stop(&mut self) {
        let id = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
        let _ = self.child.wait();
    }

    /// Starts it again where it stood.
    pub fn start_again(&mut self) {
        self.child = spawn(&find().expect("it was here a moment ago"), &self.directory);
        self.wait_until_up();
    }

    /// The lines of its access log: status, number of the connection, `r` where a TLS session was resumed. Waits until
    /// nginx has ended, so that all are there; the first line is the program's first answer before the run.
    ///
    /// # Panics
    /// Where the log cannot be read.
    pub fn stop_and_read_log(mut self) -> Vec<String> {
        self.stop();
        let log = std::fs::read_to_string(self.directory.path().join("access.log")).expect("an access log");
        log.lines().map(String::from).collect()
    }

    /// A file that its configuration names.
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Where it complains.
    pub fn error_log(&self) -> PathBuf {
        self.directory.path().join("error.log")
    }

    /// Lines in its log now.
    pub fn logged(&self) -> usize {
        std::fs::read_to_string(self.directory.path().join("access.log")).map_or(0, |log| log.lines().count())
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// Its URL for TLS, by name.
    pub fn secure_url(&self) -> String {
        format!("https://localhost:{}/", self.port)
    }
}

fn spawn(program: &PathBuf, directory: &TempDir) -> Child {
    Command::new(program)
        .arg("-p")
        .arg(directory.path())
        .args(["-c", "nginx.conf", "-e", "error.log"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("nginx starts")
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // Both fail only where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
