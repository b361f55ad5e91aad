//! Servers that are not ours, from `tests/servers`: each says its port on its first line and, when its input ends, what it
//! counted. What they need is fetched or built once, into the build output, with the versions that are written there; where
//! that is not possible, the tests are left out.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

use programs::servers;
pub use programs::servers::sources;

/// A server that runs; ended with the value.
pub struct Foreign {
    child: Child,
    stdin: Option<ChildStdin>,
    out: BufReader<ChildStdout>,
    /// Where it listens.
    pub port: u16,
}

/// A program or a package that was made once in this process, or why it could not be.
pub type Made = OnceLock<Result<PathBuf, String>>;

impl Foreign {
    /// Starts it.
    ///
    /// # Panics
    /// Where it does not come up and say its port.
    pub fn start(command: &mut Command) -> Foreign {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = piped.spawn().expect("the server starts");
        let stdin = child.stdin.take();
        let mut out = BufReader::new(child.stdout.take().expect("it is a pipe"));
        let mut line = String::new();
        out.read_line(&mut line).expect("it says its port");
        let port = line.trim().parse().unwrap_or_else(|_| panic!("no port: `{line}`"));
        Foreign { child, stdin, out, port }
    }

    /// The server in Go of this folder with these arguments; none where it is not built.
    pub fn go(built: &'static Made, folder: &str, arguments: &[&str]) -> Option<Foreign> {
        let program = or_left_out(built.get_or_init(|| servers::build_go(&target()?, folder)))?;
        Some(Foreign::start(Command::new(program).args(arguments)))
    }

    /// A script in JavaScript of this folder, whose packages npm fetches; none where Node or they are missing.
    pub fn node(fetched: &'static Made, folder: &str, script: &str) -> Option<Foreign> {
        let place = or_left_out(fetched.get_or_init(|| servers::fetch_node(&target()?, folder)))?;
        Some(Foreign::start(Command::new("node").arg(place.join(script))))
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends it; what it counted, as it says it.
    ///
    /// # Panics
    /// Where it says nothing.
    pub fn counts(mut self) -> String {
        drop(self.stdin.take());
        let mut text = String::new();
        self.out.read_to_string(&mut text).expect("it says what it counted");
        text
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        drop(self.stdin.take());
        // Both fail only where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What was made; where it could not be, says that the test is left out.
fn or_left_out(made: &Result<PathBuf, String>) -> Option<&Path> {
    made.as_ref().map_err(|why| crate::skip(why)).ok().map(PathBuf::as_path)
}

/// The packages of a folder of servers in Python, for `PYTHONPATH`; none where Python or pip is missing.
pub fn packages(fetched: &'static Made, folder: &str) -> Option<&'static Path> {
    or_left_out(fetched.get_or_init(|| servers::fetch_python(&target()?, folder)))
}

/// The build output.
fn target() -> Result<PathBuf, String> {
    let test = std::env::current_exe().map_err(|error| error.to_string())?;
    // target/debug/deps/test-0123 → target
    test.ancestors().nth(3).map(Path::to_path_buf).ok_or_else(|| "a test lies in target/debug/deps".into())
}
