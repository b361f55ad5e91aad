//! A MySQL server that is neither ours nor MariaDB's, in Go: its accounts use `caching_sha2_password`, and its rows end as
//! those of old servers do. Where Go is missing, the test is left out.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use tempfile::TempDir;

/// The program, built once for some servers.
pub struct Program {
    directory: TempDir,
}

/// A server that runs; ended with the value.
pub struct Server {
    child: Child,
    out: BufReader<ChildStdout>,
    /// Where it listens.
    pub port: u16,
}

impl Program {
    /// Builds it; none where that is not possible here, and the test is left out.
    ///
    /// # Panics
    /// Where no directory can be made.
    pub fn build() -> Option<Program> {
        let directory = tempfile::tempdir().expect("a directory");
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("servers/mysql-go");
        let go = Some(PathBuf::from("/usr/local/go/bin/go")).filter(|go| go.is_file()).unwrap_or_else(|| "go".into());
        let mut build = Command::new(go);
        build.args(["build", "-o"]).arg(directory.path().join("server")).arg(".").current_dir(sources);
        if build.status().is_ok_and(|status| status.success()) {
            return Some(Program { directory });
        }
        crate::skip("Go is not installed, or does not build tests/servers/mysql-go");
        None
    }

    /// Starts one.
    ///
    /// # Panics
    /// Where it does not come up.
    pub fn start(&self) -> Server {
        let mut command = Command::new(self.directory.path().join("server"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the server starts");
        let mut out = BufReader::new(child.stdout.take().expect("it is a pipe"));
        let mut line = String::new();
        out.read_line(&mut line).expect("it says its port");
        let port = line.trim().parse().expect("a port");
        Server { child, out, port }
    }
}

impl Server {
    /// Its URL.
    pub fn url(&self) -> String {
        format!("mysql://brunt:pass%3Aword@localhost:{}/test", self.port)
    }

    /// Ends it; logins, passwords told in full, queries and executions.
    ///
    /// # Panics
    /// Where it says nothing.
    pub fn counts(mut self) -> [u64; 4] {
        drop(self.child.stdin.take());
        let mut text = String::new();
        self.out.read_to_string(&mut text).expect("it says what it counted");
        let mut counts = text.split_whitespace().map(|number| number.parse().expect("a number"));
        [(); 4].map(|()| counts.next().expect("four counts"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
