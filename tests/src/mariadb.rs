//! MariaDB from Debian with its own data directory, socket and port; its counters verify ours.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use brunt_programs::find;
use tempfile::TempDir;

use crate::program::until;
use crate::target::free_port;

/// A running MariaDB; killed on drop.
pub struct Mariadb {
    child: Child,
    directory: TempDir,
    flags: Vec<String>,
    /// Port it listens on.
    pub port: u16,
}

impl Mariadb {
    /// Starts a server with these flags, with a database `test` and the user `brunt`, whose password is `pass:word`.
    ///
    /// Returns `None` if MariaDB is not installed; the test is then skipped.
    ///
    /// # Panics
    /// Panics if the server does not come up.
    pub fn start(flags: &[&str]) -> Option<Mariadb> {
        let (Some(server), Some(install)) = (find("mariadbd"), find("mariadb-install-db")) else {
            crate::skip("MariaDB is not installed (cargo xtask test installs it)");
            return None;
        };
        let directory = tempfile::tempdir().expect("a directory");
        let data = directory.path().join("data");
        let user = std::env::var("USER").unwrap_or_else(|_| "root".into());
        let user = if crate::is_root() { "root".to_owned() } else { user };
        let made = brunt_programs::mariadb_install(&install, &data, &user)
            // Two servers that are set up at the same time would use each other's temporary tables.
            .env("TMPDIR", directory.path())
            .arg("--innodb-log-file-size=4M")
            .output()
            .expect("mariadb-install-db runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let port = free_port();
        let flags = flags.iter().map(|flag| (*flag).to_owned()).chain([format!("--user={user}")]).collect();
        let child = spawn(&server, directory.path(), port, &flags);
        let mut mariadb = Mariadb { child, directory, flags, port };
        mariadb.wait_until_up();
        mariadb.sql(
            "CREATE DATABASE test; CREATE USER brunt@'%' IDENTIFIED BY 'pass:word'; GRANT ALL ON *.* TO brunt@'%'; \
             CREATE USER brunt@localhost IDENTIFIED BY 'pass:word'; GRANT ALL ON *.* TO brunt@localhost",
        );
        Some(mariadb)
    }

    fn wait_until_up(&mut self) {
        let (child, directory) = (&mut self.child, self.directory.path());
        until("MariaDB answers", || {
            if let Ok(Some(status)) = child.try_wait() {
                let log = std::fs::read_to_string(directory.join("error.log")).unwrap_or_default();
                panic!("MariaDB ended with {status}: {log}");
            }
            client(directory, "SELECT 1").is_ok()
        });
    }

    /// Runs statements as root. Returns their output, one line per row.
    ///
    /// # Panics
    /// Panics if a statement fails.
    #[track_caller]
    pub fn sql(&self, statements: &str) -> String {
        client(self.directory.path(), statements).unwrap_or_else(|trouble| panic!("{statements}: {trouble}"))
    }

    /// Runs statements as root in a separate process, in parallel with the test.
    ///
    /// # Panics
    /// Panics if the client cannot be started.
    pub fn sql_beside(&self, statements: &str) -> Child {
        command(self.directory.path(), statements).stdout(Stdio::null()).spawn().expect("the client starts")
    }

    /// Returns its global counters by name.
    pub fn counters(&self) -> BTreeMap<String, u64> {
        let text = self.sql("SHOW GLOBAL STATUS");
        let pair =
            |line: &str| line.split_once('\t').and_then(|(name, value)| Some((name.to_owned(), value.parse().ok()?)));
        text.lines().filter_map(pair).collect()
    }

    /// Returns the path of its Unix socket.
    ///
    /// # Panics
    /// Panics if it is not UTF-8.
    pub fn socket(&self) -> String {
        self.directory.path().join("socket").to_str().expect("a path in UTF-8").to_owned()
    }

    /// Returns the URL of the database, with its user.
    pub fn url(&self) -> String {
        format!("mysql://brunt:pass%3Aword@127.0.0.1:{}/test", self.port)
    }

    /// Kills the server, as in a crash.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Restarts the server on the same port.
    ///
    /// # Panics
    /// Panics if the server does not come up.
    pub fn start_again(&mut self) {
        let server = find("mariadbd").expect("it was here a moment ago");
        self.child = spawn(&server, self.directory.path(), self.port, &self.flags);
        self.wait_until_up();
    }
}

fn command(directory: &Path, statements: &str) -> Command {
    let mut command = Command::new(find("mariadb").unwrap_or_else(|| "mariadb".into()));
    command.arg("--no-defaults").arg(format!("--socket={}", directory.join("socket").display()));
    command
        .args(["--user=root", "--skip-ssl", "--batch", "--skip-column-names", "--execute", statements])
        .stdin(Stdio::null());
    command
}

fn client(directory: &Path, statements: &str) -> Result<String, String> {
    let output = command(directory, statements).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

fn spawn(server: &Path, directory: &Path, port: u16, flags: &Vec<String>) -> Child {
    let at = |name: &str| directory.join(name).display().to_string();
    Command::new(server)
        .arg("--no-defaults")
        .args([format!("--datadir={}", at("data")), format!("--socket={}", at("socket"))])
        .args([format!("--pid-file={}", at("pid")), format!("--log-error={}", at("error.log"))])
        .args([format!("--port={port}"), "--bind-address=127.0.0.1".into(), "--innodb-log-file-size=4M".into()])
        .args(["--innodb-buffer-pool-size=32M", "--innodb-flush-log-at-trx-commit=2", "--skip-name-resolve"])
        .args(flags)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("MariaDB starts")
}

impl Drop for Mariadb {
    fn drop(&mut self) {
        self.kill();
    }
}
