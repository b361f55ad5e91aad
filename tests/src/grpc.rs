//! Third-party gRPC servers, whose own counts verify ours: grpc-go, and the C core (through Python).

use std::process::Command;

use serde_json::Value;

use crate::external::{BuildOnce, ExternalServer, packages, sources};

/// A running server; killed on drop.
pub struct ExternalGrpcServer(ExternalServer);

impl ExternalGrpcServer {
    /// Starts grpc-go with these arguments. Returns `None` if Go is missing.
    pub fn go(args: &[&str]) -> Option<ExternalGrpcServer> {
        static BUILT: BuildOnce = BuildOnce::new();
        ExternalServer::go(&BUILT, "grpc-go", args).map(ExternalGrpcServer)
    }

    /// Starts the C core through Python. Returns `None` if Python or pip is missing.
    pub fn python() -> Option<ExternalGrpcServer> {
        static FETCHED: BuildOnce = BuildOnce::new();
        let packages = packages(&FETCHED, "grpc-python")?;
        let script = sources("grpc-python").join("server.py");
        Some(ExternalGrpcServer(ExternalServer::start(Command::new("python3").arg(script).env("PYTHONPATH", packages))))
    }

    /// Returns the URL of a method, such as `brunt.Target/Unary`.
    pub fn url(&self, method: &str) -> String {
        format!("grpc://127.0.0.1:{}/{method}", self.0.port)
    }

    /// Returns the port it listens on.
    pub fn port(&self) -> u16 {
        self.0.port
    }

    /// Ends the server and returns its counts.
    ///
    /// # Panics
    /// Panics if it prints none.
    pub fn counts(self) -> Value {
        let text = self.0.counts();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("no counts ({error}): {text}"))
    }
}
