//! nginx as a single process in the foreground, with all of its files in one folder.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// Returns the command that starts nginx in `folder`, with these directives in its `http` block; it logs errors to
/// `error.log` there.
///
/// # Errors
/// Returns an error if its configuration cannot be written.
pub fn command(program: &Path, folder: &Path, connections: u32, http: &str) -> io::Result<Command> {
    let text = format!(
        "daemon off; master_process off; worker_processes 1; pid nginx.pid; error_log error.log warn;\n\
         events {{ worker_connections {connections}; }}\n\
         http {{\n  keepalive_requests 1000000000; keepalive_timeout 1h;\n  client_body_temp_path t1; proxy_temp_path t2;\n\
         \x20 fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5;\n  {http}\n}}\n"
    );
    std::fs::write(folder.join("nginx.conf"), text)?;
    let mut command = Command::new(program);
    command.arg("-p").arg(folder).args(["-c", "nginx.conf", "-e", "error.log"]);
    command.stdin(Stdio::null()).stderr(Stdio::null());
    Ok(command)
}
