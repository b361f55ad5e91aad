//! The server of a case, and a run against it.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::cases::Case;
use crate::places;

/// `tests/servers/queueing.py`; gone with the value.
pub struct Server {
    child: Child,
    port: u16,
}

impl Server {
    pub fn start(case: &Case) -> Result<Server, String> {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let port = free.map_err(|e| format!("no free port: {e}"))?.port();
        let mut line: Vec<String> = case.under.iter().map(|word| (*word).to_owned()).collect();
        line.push("python3".into());
        line.push(places::root().join("tests/servers/queueing.py").display().to_string());
        line.push(port.to_string());
        line.extend(case.kind.split(' ').map(str::to_owned));
        let mut command = Command::new(&line[0]);
        command.args(&line[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|e| format!("cannot start {}: {e}", line[0]))?;
        let server = Server { child, port };
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if began.elapsed() > Duration::from_secs(10) {
                return Err(format!("`{}` does not answer", line.join(" ")));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    /// Loads it as the case says; the JSON report.
    pub fn load(&self, case: &Case, brunt: &Path) -> Result<Value, String> {
        let home = places::scratch("lab")?;
        let mut line: Vec<String> = case.own.iter().map(|word| (*word).to_owned()).collect();
        line.push(brunt.display().to_string());
        line.extend(case.load.split(' ').map(str::to_owned));
        line.extend(["--quiet", "--format", "json"].map(str::to_owned));
        line.push(format!("http://127.0.0.1:{}/", self.port));
        let mut command = Command::new(&line[0]);
        let output = command.args(&line[1..]).env("XDG_STATE_HOME", &home).stdin(Stdio::null()).output();
        let output = output.map_err(|e| format!("cannot start {}: {e}", line[0]))?;
        serde_json::from_slice(&output.stdout)
            .map_err(|_| format!("`{}` said {}", line.join(" "), String::from_utf8_lossy(&output.stderr).trim()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Nothing is lost if it is already gone.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
