//! Servers of gRPC that are not ours: grpc-go, and the C core (by Python). Their own counts judge ours.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::foreign::{Foreign, Made, done, or_left_out, output, sources};

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
        let packages = or_left_out(FETCHED.get_or_init(fetch_python))?;
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

fn fetch_python() -> Result<PathBuf, String> {
    let packages = output("grpc-python")?;
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
