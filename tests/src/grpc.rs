//! Servers of gRPC that are not ours: grpc-go, and the C core (by Python). Their own counts judge ours.

use std::process::Command;

use serde_json::Value;

use crate::foreign::{Foreign, Made, packages, sources};

/// A server that runs; ended with the value.
pub struct GrpcServer(Foreign);

impl GrpcServer {
    /// grpc-go with these arguments; none where Go is missing.
    pub fn go(args: &[&str]) -> Option<GrpcServer> {
        static BUILT: Made = Made::new();
        Foreign::go(&BUILT, "grpc-go", args).map(GrpcServer)
    }

    /// The C core by Python; none where Python or pip is missing.
    pub fn python() -> Option<GrpcServer> {
        static FETCHED: Made = Made::new();
        let packages = packages(&FETCHED, "grpc-python")?;
        let script = sources("grpc-python").join("server.py");
        Some(GrpcServer(Foreign::start(Command::new("python3").arg(script).env("PYTHONPATH", packages))))
    }

    /// The URL of a method, such as `brunt.Target/Unary`.
    pub fn url(&self, method: &str) -> String {
        format!("grpc://127.0.0.1:{}/{method}", self.0.port)
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.0.port
    }

    /// Ends it and reads what it counted.
    ///
    /// # Panics
    /// Where it says nothing.
    pub fn counts(self) -> Value {
        let text = self.0.counts();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("no counts ({error}): {text}"))
    }
}
