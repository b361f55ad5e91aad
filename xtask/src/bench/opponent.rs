//! The servers for the benchmarks of other protocols: each pinned to the first core, with its own port and directory,
//! and killed on drop.

use std::io::Write;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::BenchSettings;
use crate::measure::{self, SERVER_CORE};
use crate::places::{self, free_port};
use crate::shell;

/// A running server.
pub(super) struct BenchServer {
    pub(super) port: u16,
    child: Child,
}

impl BenchServer {
    /// Starts a program and waits until its port answers; `None` if it is not installed.
    fn start(program: Option<PathBuf>, port: u16, line: &str) -> Result<Option<BenchServer>, String> {
        let Some(program) = program else { return Ok(None) };
        let mut command = Command::new(program);
        command.args(line.split_whitespace());
        BenchServer::run(command, port).map(Some)
    }

    fn run(mut command: Command, port: u16) -> Result<BenchServer, String> {
        let program = shell::shown(&command);
        // The tests' servers exit when standard input closes, so it stays open as long as the value lives.
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        measure::pin(&mut command, SERVER_CORE);
        let child = command.spawn().map_err(|e| format!("cannot start {program}: {e}"))?;
        let mut server = BenchServer { port, child };
        let answers = || TcpStream::connect(("127.0.0.1", port)).is_ok();
        let up = brunt_programs::wait_until_up(&mut server.child, Duration::from_secs(20), answers);
        up.map_err(|why| format!("{program} {why}"))?;
        Ok(server)
    }
}

impl Drop for BenchServer {
    fn drop(&mut self) {
        measure::signal(self.child.id(), libc::SIGTERM);
        let began = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if began.elapsed() > Duration::from_secs(10) {
                let _ = self.child.kill();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// nginx, HTTP/1.1.
pub(super) fn nginx(_: &BenchSettings) -> Result<Option<BenchServer>, String> {
    nginx_with("", ONE_BYTE)
}

/// nginx answering 1 kB of JSON that begins with a token, and also setting a cookie at `/login`.
pub(super) fn nginx_json(_: &BenchSettings) -> Result<Option<BenchServer>, String> {
    let items: Vec<String> =
        (0..18).map(|n| format!("{{\"id\":{n},\"name\":\"thing number {n:02}\",\"price\":{n}.50}}")).collect();
    let json = format!("{{\"token\":\"0123456789abcdef0123456789abcdef\",\"items\":[{}]}}", items.join(","));
    let locations = format!(
        "default_type application/json; location /login {{ add_header Set-Cookie \"session=fedcba9876543210; Path=/\"; \
         return 200 '{json}'; }} location / {{ return 200 '{json}'; }}"
    );
    nginx_with("", &locations)
}

const ONE_BYTE: &str = "location / { return 200 \"x\"; }";

/// nginx, HTTP/2 in clear text.
pub(super) fn nginx_h2(_: &BenchSettings) -> Result<Option<BenchServer>, String> {
    nginx_with("http2", ONE_BYTE)
}

fn nginx_with(http2: &str, locations: &str) -> Result<Option<BenchServer>, String> {
    let Some(program) = places::find("nginx") else { return Ok(None) };
    let (port, folder) = (free_port()?, places::scratch(&format!("nginx-duel{http2}"))?);
    let http = format!("access_log off; server {{ listen 127.0.0.1:{port} {http2} backlog=20000; {locations} }}");
    let command = brunt_programs::nginx::command(&program, &folder, 19_000, &http);
    BenchServer::run(command.map_err(|e| format!("cannot write to {}: {e}", folder.display()))?, port).map(Some)
}

/// The built-in target.
pub(super) fn target(settings: &BenchSettings) -> Result<Option<BenchServer>, String> {
    let port = free_port()?;
    BenchServer::start(settings.brunt.clone(), port, &format!("target 127.0.0.1:{port} -w 1"))
}

/// Redis without persistence, with the requested key set.
pub(super) fn redis(_: &BenchSettings) -> Result<Option<BenchServer>, String> {
    let port = free_port()?;
    let line = format!("--port {port} --bind 127.0.0.1 --save --appendonly no --daemonize no");
    // The command line cannot contain an empty argument, so `save ""` is in a file.
    let file = places::scratch("redis")?.join("redis.conf");
    std::fs::write(&file, "save \"\"\n").map_err(|e| format!("cannot write {}: {e}", file.display()))?;
    let line = format!("{} {}", file.display(), line.replace("--save ", ""));
    let server = BenchServer::start(places::find("redis-server"), port, &line)?;
    if server.is_some() {
        say(port, b"SET key value\r\n")?;
    }
    Ok(server)
}

/// memcached with the requested key set.
pub(super) fn memcached(_: &BenchSettings) -> Result<Option<BenchServer>, String> {
    let port = free_port()?;
    let server =
        BenchServer::start(places::find("memcached"), port, &format!("-u root -l 127.0.0.1 -p {port} -t 1 -c 4096"))?;
    if server.is_some() {
        say(port, b"set key 0 0 5\r\nvalue\r\n")?;
    }
    Ok(server)
}

fn say(port: u16, what: &[u8]) -> Result<(), String> {
    let told = |e: std::io::Error| format!("127.0.0.1:{port}: {e}");
    let mut stream = TcpStream::connect(("127.0.0.1", port)).map_err(told)?;
    stream.write_all(what).map_err(told)?;
    let mut answer = [0; 8];
    std::io::Read::read(&mut stream, &mut answer).map(drop).map_err(told)
}

/// grpc-go, from the tests' servers.
pub(super) fn grpc_go(_: &BenchSettings) -> Result<Option<BenchServer>, String> {
    let Some(go) = places::find("go") else { return Ok(None) };
    let program = places::scratch("grpc-go")?.join("grpc-go");
    if !program.is_file() {
        let source = places::root().join("tests/servers/grpc-go");
        shell::run(Command::new(go).args(["build", "-o"]).arg(&program).arg(".").current_dir(source))?;
    }
    let port = free_port()?;
    BenchServer::start(Some(program), port, &format!("--port {port}"))
}

/// MariaDB in its own directory, with sysbench's table.
pub(super) fn mariadb(_: &BenchSettings) -> Result<Option<BenchServer>, String> {
    let (Some(install), Some(sysbench)) = (places::find("mariadb-install-db"), places::find("sysbench")) else {
        return Ok(None);
    };
    let folder = places::scratch("mariadb")?;
    let (data, port) = (folder.join("data"), free_port()?);
    let fresh = !data.join("mysql").is_dir();
    if fresh {
        shell::run(brunt_programs::mariadb_install(&install, &data, "root").stdout(Stdio::null()))?;
    }
    let socket = Path::new("/tmp").join(format!("brunt-bench-{}.sock", std::process::id()));
    let program = places::find("mariadbd");
    let line = format!(
        "--no-defaults --user=root --datadir={} --socket={} --port={port} --bind-address=127.0.0.1 --max-connections=200",
        data.display(),
        socket.display()
    );
    let server = BenchServer::start(program, port, &line)?;
    if fresh {
        let sql = "CREATE DATABASE sbtest; CREATE USER bench@localhost; GRANT ALL ON sbtest.* TO bench@localhost; \
                   CREATE USER bench@127.0.0.1; GRANT ALL ON sbtest.* TO bench@127.0.0.1";
        let client = places::find("mariadb").ok_or("mariadb's client is not installed")?;
        shell::run(Command::new(client).arg("--no-defaults").arg("-uroot").arg("-S").arg(&socket).args(["-e", sql]))?;
        let line = format!(
            "oltp_point_select --mysql-host=127.0.0.1 --mysql-port={port} --mysql-user=bench --mysql-db=sbtest --tables=1 \
             --table-size=10000 prepare"
        );
        shell::run(Command::new(sysbench).args(line.split_whitespace()).stdout(Stdio::null()))?;
    }
    Ok(server)
}
