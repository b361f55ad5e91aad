//! WebSocket servers that are not ours: gorilla/websocket (Go) and ws (Node). Their own counts judge ours.
//!
//! The sources are under `tests/servers`; what they need is fetched once, into the build output, with the versions that
//! are written there. Where Go, Node or the fetching is missing, the tests are left out.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

/// A server that runs; ended with the value.
pub struct WebSocketServer {
    child: Child,
    stdin: Option<ChildStdin>,
    out: BufReader<ChildStdout>,
    /// Where it listens.
    pub port: u16,
}

impl WebSocketServer {
    /// gorilla/websocket, over TLS with a certificate and its key; none where Go is missing.
    pub fn go(tls: &[String]) -> Option<WebSocketServer> {
        static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
        match BUILT.get_or_init(build_go) {
            Ok(program) => Some(WebSocketServer::start(Command::new(program).args(tls))),
            Err(why) => left_out(why),
        }
    }

    /// ws; none where Node is missing.
    pub fn node() -> Option<WebSocketServer> {
        static FETCHED: OnceLock<Result<PathBuf, String>> = OnceLock::new();
        match FETCHED.get_or_init(fetch_node) {
            Ok(script) => Some(WebSocketServer::start(Command::new("node").arg(script))),
            Err(why) => left_out(why),
        }
    }

    fn start(command: &mut Command) -> WebSocketServer {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = piped.spawn().expect("the server starts");
        let stdin = child.stdin.take();
        let mut out = BufReader::new(child.stdout.take().expect("it is a pipe"));
        let mut line = String::new();
        out.read_line(&mut line).expect("it says its port");
        let port = line.trim().parse().unwrap_or_else(|_| panic!("no port: `{line}`"));
        WebSocketServer { child, stdin, out, port }
    }

    /// Its URL.
    pub fn url(&self, path: &str) -> String {
        format!("ws://127.0.0.1:{}/{path}", self.port)
    }

    /// Its URL for TLS, by name.
    pub fn secure_url(&self, path: &str) -> String {
        format!("wss://localhost:{}/{path}", self.port)
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends it and reads what it counted; the connection and the message before the run are among them.
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

impl Drop for WebSocketServer {
    fn drop(&mut self) {
        drop(self.stdin.take());
        // Both fail only where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn left_out(why: &str) -> Option<WebSocketServer> {
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
    let program = made("websocket-go")?.join("server");
    let installed = PathBuf::from("/usr/local/go/bin/go");
    let go = if installed.is_file() { installed } else { PathBuf::from("go") };
    let mut build = Command::new(go);
    build.args(["build", "-o"]).arg(&program).arg(".").current_dir(sources("websocket-go"));
    done(&mut build, "the WebSocket server in Go is not built (Go: apt-get install golang-go)").map(|()| program)
}

/// Copies the server beside its packages: Node looks for them there.
fn fetch_node() -> Result<PathBuf, String> {
    let place = made("websocket-node")?;
    let before = std::fs::read(place.join("package-lock.json")).unwrap_or_default();
    for file in ["package.json", "package-lock.json", "server.js"] {
        std::fs::copy(sources("websocket-node").join(file), place.join(file)).map_err(|error| error.to_string())?;
    }
    let wanted = std::fs::read(place.join("package-lock.json")).unwrap_or_default();
    if before != wanted || !place.join("node_modules/ws").is_dir() {
        let mut fetch = Command::new("npm");
        fetch.args(["ci", "--silent", "--no-audit", "--no-fund"]).current_dir(&place);
        done(&mut fetch, "the packages of the WebSocket server in Node are not fetched (apt-get install npm)")?;
    }
    done(
        Command::new("node").arg("--version").stdout(Stdio::null()),
        "node is not installed (apt-get install nodejs)",
    )?;
    Ok(place.join("server.js"))
}

fn done(command: &mut Command, otherwise: &str) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{otherwise}: {status}")),
        Err(error) => Err(format!("{otherwise}: {error}")),
    }
}
