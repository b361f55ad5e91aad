//! Servers that are not ours, from `tests/servers`: each says its port on its first line and, when its input ends, what it
//! counted. What they need is fetched or built once, into the build output, with the versions that are written there; where
//! that is not possible, the tests are left out.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

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
        let program = or_left_out(built.get_or_init(|| build_go(folder)))?;
        Some(Foreign::start(Command::new(program).args(arguments)))
    }

    /// A script in JavaScript of this folder, whose packages npm fetches; none where Node or they are missing.
    pub fn node(fetched: &'static Made, folder: &str, script: &str) -> Option<Foreign> {
        let place = or_left_out(fetched.get_or_init(|| fetch_node(folder)))?;
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
pub fn or_left_out(made: &Result<PathBuf, String>) -> Option<&Path> {
    made.as_ref().map_err(|why| crate::skip(why)).ok().map(PathBuf::as_path)
}

/// The folder of a server.
pub fn sources(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("servers").join(name)
}

/// A directory in the build output.
///
/// # Errors
/// It cannot be made.
pub fn output(name: &str) -> Result<PathBuf, String> {
    let test = std::env::current_exe().map_err(|error| error.to_string())?;
    // target/debug/deps/test-0123 → target/servers
    let target = test.ancestors().nth(3).ok_or("a test lies in target/debug/deps")?;
    let directory = target.join("servers").join(name);
    std::fs::create_dir_all(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    Ok(directory)
}

fn build_go(name: &str) -> Result<PathBuf, String> {
    let program = output(name)?.join("server");
    let installed = PathBuf::from("/usr/local/go/bin/go");
    let go = if installed.is_file() { installed } else { PathBuf::from("go") };
    let mut build = Command::new(go);
    build.args(["build", "-o"]).arg(&program).arg(".").current_dir(sources(name));
    let trouble = format!("the server of tests/servers/{name} is not built (Go: apt-get install golang-go)");
    done(&mut build, &trouble).map(|()| program)
}

/// Copies the scripts of a folder beside their packages: Node looks for them there.
fn fetch_node(folder: &str) -> Result<PathBuf, String> {
    let place = output(folder)?;
    let lock = "package-lock.json";
    let before = std::fs::read(place.join(lock)).unwrap_or_default();
    for file in std::fs::read_dir(sources(folder)).map_err(|error| error.to_string())?.flatten() {
        std::fs::copy(file.path(), place.join(file.file_name())).map_err(|error| error.to_string())?;
    }
    if before != std::fs::read(place.join(lock)).unwrap_or_default() || !place.join("node_modules").is_dir() {
        let mut fetch = Command::new("npm");
        fetch.args(["ci", "--silent", "--no-audit", "--no-fund"]).current_dir(&place);
        done(&mut fetch, &format!("the packages of tests/servers/{folder} are not fetched (apt-get install npm)"))?;
    }
    done(Command::new("node").arg("--version"), "node is not installed (apt-get install nodejs)")?;
    Ok(place)
}

/// Runs a command to its end.
///
/// # Errors
/// It failed: `trouble`, and what it said.
pub fn done(command: &mut Command, trouble: &str) -> Result<(), String> {
    match command.stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("{trouble}: {}", String::from_utf8_lossy(&output.stderr).trim())),
        Err(error) => Err(format!("{trouble}: {error}")),
    }
}
