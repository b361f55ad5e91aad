//! WebSocket servers that are not ours: gorilla/websocket (Go) and ws (Node). Their own counts judge ours.

use serde_json::Value;

use crate::foreign::{Foreign, Made};

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
        Foreign::node(&FETCHED, "websocket-node", "server.js").map(WebSocketServer)
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
