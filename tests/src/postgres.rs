//! PostgreSQL in a temporary directory; its statistics verify ours.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::program::until;
use crate::target::free_port;

/// A running server with the database `postgres` and the superuser `postgres`; killed on drop.
pub struct PostgresProcess {
    child: Child,
    directory: TempDir,
    programs: PathBuf,
    /// Port it listens on.
    pub port: u16,
}

/// Creates a command that runs as another user if we are root, as PostgreSQL refuses to run as root.
fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    if crate::is_root()
        && let Some((user, group)) = postgres_user()
    {
        command.uid(user).gid(group);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Returns the user and group id of the user that Debian's package creates.
fn postgres_user() -> Option<(u32, u32)> {
    let accounts = std::fs::read_to_string("/etc/passwd").ok()?;
    let account = accounts.lines().find_map(|line| line.strip_prefix("postgres:"))?;
    let mut fields = account.split(':').skip(1);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

impl PostgresProcess {
    /// Starts a server whose clients log in by `method` (a word of pg_hba.conf), with the password `secret` and these
    /// configuration lines. Returns `None` if PostgreSQL is not installed; the test is then skipped.
    ///
    /// # Panics
    /// Panics if it does not come up.
    pub fn start(method: &str, configuration: &str) -> Option<PostgresProcess> {
        let Some(programs) = brunt_programs::postgres() else {
            crate::skip("PostgreSQL is not installed (cargo xtask test installs it)");
            return None;
        };
        let directory = tempfile::tempdir().expect("a directory");
        let (data, password) = (directory.path().join("data"), directory.path().join("password"));
        std::fs::write(&password, "secret\n").expect("written");
        for path in [directory.path(), &password] {
            give(path);
        }
        let made = command(&programs.join("initdb"))
            .args(["--no-sync", "-U", "postgres", "--pwfile"])
            .arg(&password)
            .args(["-A", method, "-D"])
            .arg(&data)
            .status();
        assert!(made.expect("initdb runs").success(), "initdb fails");
        let port = free_port();
        let mut settings = std::fs::read_to_string(data.join("postgresql.conf")).expect("a configuration");
        settings.push_str(&format!(
            "\nlisten_addresses = '127.0.0.1'\nport = {port}\nunix_socket_directories = '{}'\nfsync = off\n\
             stats_fetch_consistency = none\n{configuration}\n",
            directory.path().display()
        ));
        std::fs::write(data.join("postgresql.conf"), settings).expect("written");
        let child = command(&programs.join("postgres")).arg("-D").arg(&data).spawn().expect("it starts");
        let postgres = PostgresProcess { child, directory, programs, port };
        until("PostgreSQL answers", || postgres.psql("SELECT 1").is_some());
        Some(postgres)
    }

    /// Returns the URL for a login.
    pub fn url(&self, login: &str) -> String {
        format!("postgres://{login}@127.0.0.1:{}/postgres", self.port)
    }

    /// Returns the path of its Unix socket.
    pub fn socket(&self) -> String {
        self.directory.path().join(format!(".s.PGSQL.{}", self.port)).display().to_string()
    }

    /// Returns the output of psql, or `None` if it fails.
    fn psql(&self, sql: &str) -> Option<String> {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args([
            "-X",
            "-q",
            "-A",
            "-t",
            "-h",
            "127.0.0.1",
            "-U",
            "postgres",
            "-p",
            &self.port.to_string(),
            "-c",
            sql,
        ]);
        let output = psql.env("PGPASSWORD", "secret").env("PGDATABASE", "postgres").output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Returns the server's result of a statement.
    ///
    /// # Panics
    /// Panics if the statement fails.
    pub fn ask(&self, sql: &str) -> String {
        self.psql(sql).unwrap_or_else(|| panic!("psql fails: {sql}"))
    }

    /// Kills the server, which cuts open connections.
    pub fn stop(&mut self) {
        // SIGQUIT is the immediate shutdown, which also ends the processes of the connections.
        let id = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(id, rustix::process::Signal::QUIT);
        let _ = self.child.wait();
    }
}

/// Makes the user that PostgreSQL runs as the owner of a file.
fn give(path: &Path) {
    if let Some((user, group)) = postgres_user().filter(|_| crate::is_root()) {
        std::os::unix::fs::chown(path, Some(user), Some(group)).expect("root may give away");
    }
}

impl PostgresProcess {
    /// Copies a key for PostgreSQL, which accepts only keys that it alone can read. Returns the path of the copy.
    ///
    /// # Panics
    /// Panics if it cannot be copied.
    pub fn key(from: &Path, directory: &Path) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let to = directory.join("postgres.key");
        std::fs::copy(from, &to).expect("copied");
        std::fs::set_permissions(&to, std::fs::Permissions::from_mode(0o600)).expect("set");
        give(&to);
        to
    }
}

impl Drop for PostgresProcess {
    fn drop(&mut self) {
        self.stop();
    }
}
