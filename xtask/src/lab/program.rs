//! Command lines of the cases' servers.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::server::words;
use crate::{install, places};

/// Returns the data directory of a case's database: next to the lab's other files, or, for
/// PostgreSQL, in the temporary directory, because its user cannot read the lab's files.
pub fn data(kind: &str, port: u16, log: &Path) -> PathBuf {
    match kind.starts_with("postgres") {
        true => std::env::temp_dir().join(format!("brunt-lab-{port}")),
        false => log.with_extension("data"),
    }
}

/// Returns the command line of a server on `port` that writes errors to `log`.
pub fn program(kind: &str, port: u16, log: &Path, brunt: &Path) -> Result<Vec<String>, String> {
    let mut rest = words(kind);
    let at = port.to_string();
    match rest.next().as_deref() {
        Some("redis") => {
            let fixed = ["redis-server", "--port", &at, "--bind", "127.0.0.1", "--save", ""];
            Ok(fixed.map(str::to_owned).into_iter().chain(rest).collect())
        }
        Some("target") => Ok(vec![brunt.display().to_string(), "target".into(), format!("127.0.0.1:{port}")]),
        Some("nginx") => nginx([(); 3].map(|()| rest.next().unwrap_or_default()), port, log),
        Some("apache") => apache(&rest.next().unwrap_or_default(), port, log),
        Some("mariadb") => mariadb(rest, port, &data(kind, port, log)),
        Some("postgres") => postgres(rest, port, &data(kind, port, log)),
        _ => {
            let script = places::root().join("tests/servers/queueing.py").display().to_string();
            Ok(["python3".to_owned(), script, at].into_iter().chain(kind.split(' ').map(str::to_owned)).collect())
        }
    }
}

fn nginx([connections, does, around]: [String; 3], port: u16, log: &Path) -> Result<Vec<String>, String> {
    let file = log.with_extension("conf");
    let text = format!(
        "daemon off; master_process off; worker_processes 1; pid {0}.pid; error_log {0} warn;\n\
         events {{ worker_connections {connections}; }}\n\
         http {{ {around} access_log off; client_body_temp_path {0}.1; proxy_temp_path {0}.2; fastcgi_temp_path {0}.3;\n\
         uwsgi_temp_path {0}.4; scgi_temp_path {0}.5; server {{ listen 127.0.0.1:{port} backlog=1024;\n\
         location / {{ {does}; }} }} }}\n",
        log.display()
    );
    std::fs::write(&file, text).map_err(|e| format!("cannot write {}: {e}", file.display()))?;
    let nginx = places::find("nginx").ok_or("nginx is not installed: apt-get install nginx")?;
    Ok(vec![nginx.display().to_string(), "-c".into(), file.display().to_string()])
}

/// Configures an Apache whose workers each serve one connection, kept alive, at a time.
fn apache(workers: &str, port: u16, log: &Path) -> Result<Vec<String>, String> {
    let missing = "Apache is not installed: apt-get install apache2";
    let server = places::find("apache2").or_else(|| places::find("httpd")).ok_or(missing)?;
    let modules = ["/usr/lib/apache2/modules", "/usr/lib64/httpd/modules"];
    let modules = modules.into_iter().find(|folder| Path::new(folder).is_dir()).ok_or(missing)?;
    let (file, folder) = (log.with_extension("conf"), log.with_extension("pages"));
    let failed = |e| format!("cannot write {}: {e}", file.display());
    std::fs::create_dir_all(&folder).map_err(failed)?;
    std::fs::write(folder.join("index.html"), "ok\n").map_err(failed)?;
    let text = format!(
        "ServerRoot {0}\nServerName localhost\nListen 127.0.0.1:{port}\nPidFile {0}/pid\nDefaultRuntimeDir {0}\n\
         LoadModule mpm_prefork_module {modules}/mod_mpm_prefork.so\n\
         LoadModule authz_core_module {modules}/mod_authz_core.so\n\
         User nobody\nGroup nogroup\nServerLimit {workers}\nMaxRequestWorkers {workers}\nStartServers 1\n\
         MaxKeepAliveRequests 0\nKeepAliveTimeout 60\nListenBacklog 1024\nErrorLog {1}\nDocumentRoot {0}\n",
        folder.display(),
        log.display()
    );
    std::fs::write(&file, text).map_err(failed)?;
    Ok(vec![server.display().to_string(), "-DFOREGROUND".into(), "-f".into(), file.display().to_string()])
}

/// Sets up an empty MariaDB in which `root` needs no password.
fn mariadb(options: impl Iterator<Item = String>, port: u16, data: &Path) -> Result<Vec<String>, String> {
    let missing = "MariaDB is not installed: apt-get install mariadb-server";
    let (server, install) =
        (places::find("mariadbd").ok_or(missing)?, places::find("mariadb-install-db").ok_or(missing)?);
    let user = if install::is_root() { "root".to_owned() } else { std::env::var("USER").unwrap_or_default() };
    let mut setting_up = brunt_programs::mariadb_install(&install, data, &user);
    setting_up.arg("--innodb-log-file-size=16M");
    quietly(setting_up)?;
    let data = data.display();
    let fixed = [
        server.display().to_string(),
        "--no-defaults".into(),
        format!("--user={user}"),
        format!("--datadir={data}"),
        format!("--socket={data}/socket"),
        format!("--port={port}"),
        "--bind-address=127.0.0.1".into(),
    ];
    Ok(fixed.into_iter().chain(options).collect())
}

/// Sets up an empty PostgreSQL in which `postgres` needs no password. PostgreSQL refuses to run as root.
fn postgres(settings: impl Iterator<Item = String>, port: u16, data: &Path) -> Result<Vec<String>, String> {
    let programs = brunt_programs::postgres().ok_or("PostgreSQL is not installed: apt-get install postgresql")?;
    let (mut under, data) = (Vec::new(), data.display().to_string());
    if install::is_root() {
        let mut handing_over = Command::new("install");
        handing_over.args(["-d", "-o", "postgres", "-g", "postgres", &data]);
        quietly(handing_over)?;
        under = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"].map(str::to_owned).to_vec();
    }
    let mut line = under.clone();
    line.push(programs.join("initdb").display().to_string());
    line.extend(["--no-sync", "-U", "postgres", "-A", "trust", "-D", &data].map(str::to_owned));
    let mut setting_up = Command::new(&line[0]);
    setting_up.args(&line[1..]);
    quietly(setting_up)?;
    let mut line = under;
    line.push(programs.join("postgres").display().to_string());
    line.extend(["-D", &data, "-p", &port.to_string(), "-c"].map(str::to_owned));
    line.push(format!("unix_socket_directories={data}"));
    settings.for_each(|setting| line.extend(["-c".to_owned(), setting]));
    Ok(line)
}

/// Returns `true` if the server on this port accepts requests; PostgreSQL refuses clients while it
/// starts.
pub fn serves(kind: &str, port: u16) -> bool {
    let asks = || {
        Some(
            Command::new(brunt_programs::postgres()?.join("pg_isready"))
                .args(["-q", "-h", "127.0.0.1", "-p", &port.to_string()])
                .status(),
        )
    };
    !kind.starts_with("postgres") || asks().is_some_and(|status| status.is_ok_and(|status| status.success()))
}

fn quietly(mut command: Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|e| format!("cannot start {}: {e}", command.get_program().display()))?;
    let said = || String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or_default().to_owned();
    if output.status.success() {
        Ok(())
    } else {
        Err(format!("{} failed: {}", command.get_program().display(), said()))
    }
}
