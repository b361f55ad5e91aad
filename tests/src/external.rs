//! Third-party servers from `tests/servers`: each prints its port on the first line and, when its input ends, its
//! counts. Their dependencies are fetched or built once, into the build output, at the pinned versions; if that is not
//! possible, the tests are skipped.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

use brunt_programs::servers;
pub use brunt_programs::servers::sources;

/// A running server; killed on drop.
pub struct ExternalServer {
    child: Child,
    stdin: Option<ChildStdin>,
    out: BufReader<ChildStdout>,
    /// Port it listens on.
    pub port: u16,
}

/// A program or package built once per process, or the reason why it could not be built.
pub type BuildOnce = OnceLock<Result<PathBuf, String>>;

impl ExternalServer {
    /// Starts the server.
    ///
    /// # Panics
    /// Panics if it does not come up and print its port.
    pub fn start(command: &mut Command) -> ExternalServer {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = piped.spawn().expect("the server starts");
        let stdin = child.stdin.take();
        let mut out = BufReader::new(child.stdout.take().expect("it is a pipe"));
        let mut line = String::new();
        out.read_line(&mut line).expect("it says its port");
        let port = line.trim().parse().unwrap_or_else(|_| panic!("no port: `{line}`"));
        ExternalServer { child, stdin, out, port }
    }

    /// Starts the Go server of this folder with these arguments. Returns `None` if it cannot be built.
    pub fn go(built: &'static BuildOnce, folder: &str, arguments: &[&str]) -> Option<ExternalServer> {
        let program = or_skip(built.get_or_init(|| servers::build_go(&target()?, folder)))?;
        Some(ExternalServer::start(Command::new(program).args(arguments)))
    }

    /// Starts the JavaScript server of this folder, whose packages npm fetches. Returns `None` if Node or the packages
    /// are missing.
    pub fn node(fetched: &'static BuildOnce, folder: &str, script: &str) -> Option<ExternalServer> {
        let place = or_skip(fetched.get_or_init(|| servers::fetch_node(&target()?, folder)))?;
        Some(ExternalServer::start(Command::new("node").arg(place.join(script))))
    }

    /// Returns its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends the server. Returns the counts it prints.
    ///
    /// # Panics
    /// Panics if it prints nothing.
    pub fn counts(mut self) -> String {
        drop(self.stdin.take());
        let mut text = String::new();
        self.out.read_to_string(&mut text).expect("it says what it counted");
        text
    }
}

impl Drop for ExternalServer {
    fn drop(&mut self) {
        drop(self.stdin.take());
        // Both fail only if it has exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the path of what was built, or reports that the test is skipped.
fn or_skip(made: &Result<PathBuf, String>) -> Option<&Path> {
    made.as_ref().map_err(|why| crate::skip(why)).ok().map(PathBuf::as_path)
}

/// Returns the Python packages of a folder of servers, for `PYTHONPATH`. Returns `None` if Python or pip is missing.
pub fn packages(fetched: &'static BuildOnce, folder: &str) -> Option<&'static Path> {
    or_skip(fetched.get_or_init(|| servers::fetch_python(&target()?, folder)))
}

/// Returns the directory of the build output.
pub(crate) fn target() -> Result<PathBuf, String> {
    let test = std::env::current_exe().map_err(|error| error.to_string())?;
    // target/debug/deps/test-0123 → target
    test.ancestors().nth(3).map(Path::to_path_buf).ok_or_else(|| "a test lies in target/debug/deps".into())
}
