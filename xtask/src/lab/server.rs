//! The server of a case, and a run against it.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::cases::LabCase;
use super::program::{data, program, serves};
use crate::places;

/// The server of a case, killed on drop.
pub struct LabServer {
    child: Child,
    port: u16,
    /// The path of the error log.
    log: PathBuf,
    network: NetworkNamespace,
    /// The data directory of a database.
    data: PathBuf,
}

/// The name of a network namespace, deleted on drop; `None` for that of the host.
struct NetworkNamespace(Option<String>);

impl NetworkNamespace {
    fn of(case: &LabCase) -> Result<NetworkNamespace, String> {
        if case.network.is_empty() {
            return Ok(NetworkNamespace(None));
        }
        let name = format!("brunt-lab-{}", std::process::id());
        let network = NetworkNamespace(Some(name.clone()));
        let own = network.files();
        let shell = format!(
            "mkdir -p {own} && echo nameserver 127.0.0.1 > {own}/resolv.conf && ip netns add {name} && \
             ip netns exec {name} sh -c 'ip link set lo up && {}'",
            case.network
        );
        match Command::new("sh").args(["-c", &shell]).status() {
            Ok(status) if status.success() => Ok(network),
            _ => Err(format!(
                "`{}` needs root, iproute2 and the tools that set up its network: {}",
                case.name, case.network
            )),
        }
    }

    /// Returns the directory whose files replace those in `/etc` for programs in the namespace.
    fn files(&self) -> String {
        format!("/etc/netns/{}", self.0.as_deref().unwrap_or_default())
    }

    /// Returns the command prefix that runs a program in the namespace.
    fn under(&self) -> Vec<String> {
        let enter = |name: &String| ["ip", "netns", "exec", name].map(str::to_owned).to_vec();
        self.0.as_ref().map(enter).unwrap_or_default()
    }

    /// Returns `true` if a server listens on this port of the namespace's loopback.
    fn reaches(&self, port: u16) -> bool {
        let mut under = self.under().into_iter();
        let Some(first) = under.next() else { return TcpStream::connect(("127.0.0.1", port)).is_ok() };
        let shell = format!("exec 3<>/dev/tcp/127.0.0.1/{port}");
        let mut command = Command::new(first);
        command.args(under).args(["bash", "-c", &shell]).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }
}

impl Drop for NetworkNamespace {
    fn drop(&mut self) {
        if let Some(name) = &self.0 {
            let _ = Command::new("ip").args(["netns", "del", name]).status();
            let _ = std::fs::remove_dir_all(self.files());
        }
    }
}

impl LabServer {
    pub fn start(case: &LabCase, brunt: &Path) -> Result<LabServer, String> {
        let (needs, package) = case.needs;
        if !needs.is_empty() && needs.iter().all(|program| places::find(program).is_none()) {
            return Err(format!("{package} is not installed: apt-get install {package}"));
        }
        let port = places::free_port()?;
        let log = places::scratch("lab-server")?.join(format!("{port}.log"));
        let network = NetworkNamespace::of(case)?;
        let mut line: Vec<String> = network.under();
        line.extend(case.under.iter().map(|word| (*word).to_owned()));
        let data = data(case.kind, port, &log);
        line.extend(program(case.kind, port, &log, brunt)?);
        let mut command = Command::new(&line[0]);
        command.args(&line[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|e| format!("cannot start {}: {e}", line[0]))?;
        let server = LabServer { child, port, log, network, data };
        let began = Instant::now();
        while !(server.network.reaches(port) && serves(case.kind, port)) {
            if began.elapsed() > Duration::from_secs(30) {
                return Err(format!("`{}` did not answer", line.join(" ")));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    /// Runs the case's load against the server; returns the JSON report.
    pub fn load(&self, case: &LabCase, brunt: &Path) -> Result<Value, String> {
        let home = places::scratch("lab")?;
        let mut line = self.network.under();
        line.extend(case.own.iter().map(|word| (*word).to_owned()));
        line.push(brunt.display().to_string());
        let port = self.port.to_string();
        let log = self.log.display().to_string();
        line.extend(words(case.load).map(|word| word.replace("{port}", &port).replace("{log}", &log)));
        line.extend(["--quiet", "--format", "json"].map(str::to_owned));
        if !case.load.contains("{port}") {
            line.push(format!("http://127.0.0.1:{port}/"));
        }
        let mut command = Command::new(&line[0]);
        let output = command.args(&line[1..]).env("XDG_STATE_HOME", &home).stdin(Stdio::null()).output();
        let output = output.map_err(|e| format!("cannot start {}: {e}", line[0]))?;
        serde_json::from_slice(&output.stdout).map_err(|_| {
            format!("`{}` wrote no report: {}", line.join(" "), String::from_utf8_lossy(&output.stderr).trim())
        })
    }
}

/// Splits a line into words; in each, `~` is a space.
pub fn words(line: &str) -> impl Iterator<Item = String> {
    line.split(' ').map(|word| word.replace('~', " "))
}

impl Drop for LabServer {
    fn drop(&mut self) {
        // An error means that the process has already exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.data);
        // The groups should be empty now; one that is not cannot be removed and stays.
        for folder in ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/blkio", "/sys/fs/cgroup/memory", "/sys/fs/cgroup"] {
            let ours = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with("brunt-lab-");
            let found = std::fs::read_dir(folder).into_iter().flatten().flatten().filter(ours);
            found.for_each(|entry| drop(std::fs::remove_dir(entry.path())));
        }
    }
}
