//! Third-party WebSocket servers, whose own counts verify ours: gorilla/websocket (Go) and ws (Node).

use serde_json::Value;

use crate::external::{BuildOnce, ExternalServer};

/// A running server; killed on drop.
pub struct ExternalWebSocketServer(ExternalServer);

impl ExternalWebSocketServer {
    /// Starts gorilla/websocket, over TLS if given a certificate and its key. Returns `None` if Go is missing.
    pub fn go(tls: &[String]) -> Option<ExternalWebSocketServer> {
        static BUILT: BuildOnce = BuildOnce::new();
        let tls: Vec<&str> = tls.iter().map(String::as_str).collect();
        ExternalServer::go(&BUILT, "websocket-go", &tls).map(ExternalWebSocketServer)
    }

    /// Starts the server of the ws package. Returns `None` if Node is missing.
    pub fn node() -> Option<ExternalWebSocketServer> {
        static FETCHED: BuildOnce = BuildOnce::new();
        ExternalServer::node(&FETCHED, "websocket-node", "server.js").map(ExternalWebSocketServer)
    }

    /// Returns its URL.
    pub fn url(&self, path: &str) -> String {
        format!("ws://127.0.0.1:{}/{path}", self.0.port)
    }

    /// Returns its URL for TLS, by name.
    pub fn secure_url(&self, path: &str) -> String {
        format!("wss://localhost:{}/{path}", self.0.port)
    }

    /// Returns its process id.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Ends the server and returns its counts; they include the connection and the message of the pre-flight request.
    ///
    /// # Panics
    /// Panics if it prints nothing.
    pub fn counts(self) -> Value {
        let text = self.0.counts();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("no counts ({error}): {text}"))
    }
}
