//! WebSocket servers that are not ours: gorilla/websocket (Go) and ws (Node). Their own counts judge ours.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::foreign::{Foreign, Made, done, or_left_out, output, sources};

/// A server that runs; ended with the value.
pub struct WebSocketServer(Foreign);

impl WebSocketServer {
    /// gorilla/websocket, over TLS with a certificate and its key; none where Go is missing.
    pub fn go(tls: &[String]) -> Option<WebSocketServer> {
        static BUILT: Made = Made::new();
        let tls: Vec<&str> = tls.iter().map(String::as_str).collect();
        Foreign::go(&BUILT, "websocket-go", &tls).map(WebSocketServer)
    }

    /// ws; none where Node is missing.
    pub fn node() -> Option<WebSocketServer> {
        static FETCHED: Made = Made::new();
        let script = or_left_out(FETCHED.get_or_init(fetch_node))?;
        Some(WebSocketServer(Foreign::start(Command::new("node").arg(script))))
    }

    /// Its URL.
    pub fn url(&self, path: &str) -> String {
        format!("ws://127.0.0.1:{}/{path}", self.0.port)
    }

    /// Its URL for TLS, by name.
    pub fn secure_url(&self, path: &str) -> String {
        format!("wss://localhost:{}/{path}", self.0.port)
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Ends it and reads what it counted; the connection and the message before the run are among them.
    ///
    /// # Panics
    /// Where it says nothing.
    pub fn counts(self) -> Value {
        let text = self.0.counts();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("no counts ({error}): {text}"))
    }
}

/// Copies the server beside its packages: Node looks for them there.
fn fetch_node() -> Result<PathBuf, String> {
    let place = output("websocket-node")?;
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
    done(Command::new("node").arg("--version"), "node is not installed (apt-get install nodejs)")?;
    Ok(place.join("server.js"))
}
