//! Servers of gRPC that are not ours: grpc-go, and the C core (by Python). Their own counts judge ours.
//!
//! The sources are under `tests/servers`; what they need is fetched once, into the build output, with the versions that
//! are written there. Where Go or Python or the fetching is missing, the tests are left out.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

/// A server that runs; ended with the value.
pub struct GrpcServer {
    child: Child,
    stdin: Option<ChildStdin>,
    out: BufReader<ChildStdout>,
    /// Where it listens.
    pub port: u16,
}

impl GrpcServer {
    /// grpc-go with these arguments; none where Go is missing.
    pub fn go(args: &[&str]) -> Option<GrpcServer> {
        static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
        match BUILT.get_or_init(build_go) {
            Ok(program) => Some(GrpcServer::start(Command::new(program).args(args))),
            Err(why) => left_out(why),
        }
    }

    /// The C core by Python; none where Python or pip is missing.
    pub fn python() -> Option<GrpcServer> {
        static FETCHED: OnceLock<Result<PathBuf, String>> = OnceLock::new();
        match FETCHED.get_or_init(fetch_python) {
            Ok(packages) => {
                let script = sources("grpc-python").join("server.py");
                Some(GrpcServer::start(Command::new("python3").arg(script).env("PYTHONPATH", packages)))
            }
            Err(why) => left_out(why),
        }
    }

    fn start(command: &mut Command) -> GrpcServer {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = piped.spawn().expect("the server starts");
        let stdin = child.stdin.take();
        let mut out = BufReader::new(child.stdout.take().expect("it is a pipe"));
        let mut line = String::new();
        out.read_line(&mut line).expect("it says its port");
        let port = line.trim().parse().unwrap_or_else(|_| panic!("no port: `{line}`"));
        GrpcServer { child, stdin, out, port }
    }

    /// The URL of a method, such as `brunt.Target/Unary`.
    pub fn url(&self, method: &str) -> String {
        format!("grpc://127.0.0.1:{}/{method}", self.port)
    }

    /// Ends it and reads what it counted.
    ///
    /// # Panics
    /// Where it says nothing.
    pub fn counts(mut self) -> Value {
        drop(self.stdin.take());
        let mut text = String::new();
        self.out.read_to_string(&mut text).expect("it says what it counted");
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("no counts ({error}): {text}"))
    }
}

impl Drop for GrpcServer {
    fn drop(&mut self) {
        drop(self.stdin.take());
        // Both fail only where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn left_out(why: &str) -> Option<GrpcServer> {
    crate::skip(why);
    None
}

fn sources(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("servers").join(name)
}

/// A directory in the build output.
fn made(name: &str) -> Result<PathBuf, String> {
    let test = std::env::current_exe().map_err(|error| error.to_string())?;
    // target/debug/deps/test-0123 → target/servers
    let target = test.ancestors().nth(3).ok_or("a test lies in target/debug/deps")?;
    let directory = target.join("servers").join(name);
    std::fs::create_dir_all(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    Ok(directory)
}

fn build_go() -> Result<PathBuf, String> {
    let program = made("grpc-go")?.join("server");
    let installed = PathBuf::from("/usr/local/go/bin/go");
    let go = if installed.is_file() { installed } else { PathBuf::from("go") };
    let mut build = Command::new(go);
    build.args(["build", "-o"]).arg(&program).arg(".").current_dir(sources("grpc-go"));
    done(&mut build, "the server of grpc-go is not built (Go: apt-get install golang-go)").map(|()| program)
}

fn fetch_python() -> Result<PathBuf, String> {
    let packages = made("grpc-python")?;
    let wanted = sources("grpc-python").join("requirements.txt");
    let text = std::fs::read_to_string(&wanted).map_err(|error| error.to_string())?;
    let mark = packages.join("fetched.txt");
    if std::fs::read_to_string(&mark).is_ok_and(|fetched| fetched == text) {
        return Ok(packages);
    }
    let mut fetch = Command::new("python3");
    fetch.args(["-m", "pip", "install", "--quiet", "--upgrade", "--target"]).arg(&packages).arg("-r").arg(wanted);
    done(&mut fetch, "grpcio is not fetched (pip: apt-get install python3-pip)")?;
    std::fs::write(mark, text).map_err(|error| error.to_string())?;
    Ok(packages)
}

fn done(command: &mut Command, trouble: &str) -> Result<(), String> {
    match command.stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("{trouble}: {}", String::from_utf8_lossy(&output.stderr).trim())),
        Err(error) => Err(format!("{trouble}: {error}")),
    }
}
