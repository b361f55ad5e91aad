//! A NATS server with JetStream (`tests/servers/nats`), which can be killed and started again where it was.

use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// A NATS server; it ends when this is dropped.
pub struct NatsServer {
    child: Mutex<Child>,
    program: PathBuf,
    store: PathBuf,
    /// Its URL (`nats://127.0.0.1:PORT`).
    pub url: String,
}

impl NatsServer {
    /// Builds and starts a server that keeps its streams in a directory.
    ///
    /// # Errors
    /// It cannot be built, or does not start.
    pub fn start(target: &Path, store: &Path) -> Result<NatsServer, String> {
        let program = crate::servers::build_go(target, "nats")?;
        let (child, url) = run(&program, store, None).map_err(|error| error.to_string())?;
        Ok(NatsServer { child: Mutex::new(child), program, store: store.to_owned(), url })
    }

    /// Kills it.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn kill(&self) -> io::Result<()> {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        child.kill()?;
        child.wait().map(drop)
    }

    /// Starts it again on the port where it was, with what is on its disk.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn start_again(&self) -> io::Result<()> {
        let (child, _) = run(&self.program, &self.store, self.url.rsplit(':').next())?;
        *self.child.lock().unwrap_or_else(PoisonError::into_inner) = child;
        Ok(())
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

fn run(program: &Path, store: &Path, port: Option<&str>) -> io::Result<(Child, String)> {
    let mut command = Command::new(program);
    let mut child = command.arg(store).args(port).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut url = String::new();
    if let Some(out) = child.stdout.take() {
        BufReader::new(out).read_line(&mut url)?;
    }
    Ok((child, url.trim().to_owned()))
}
