//! The console in its own process, and a client that acts like a browser or a script.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::program;

/// A running console; killed on drop.
pub struct ConsoleProcess {
    child: Child,
    /// Host and port, such as `127.0.0.1:1234`.
    pub host: String,
    /// Token that permits control.
    pub token: String,
    /// Token that permits viewing only.
    pub viewer_token: String,
}

/// An HTTP response.
#[derive(Debug)]
pub struct ConsoleResponse {
    /// Status code.
    pub status: u16,
    /// Status line and header lines, as received.
    pub head: String,
    /// Body.
    pub body: Vec<u8>,
}

impl ConsoleResponse {
    /// Returns the body as JSON; null if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Returns a header field.
    pub fn field(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Returns the response if it has the expected status.
    ///
    /// # Panics
    /// Panics if it has another status.
    #[track_caller]
    pub fn with(self, status: u16) -> ConsoleResponse {
        assert_eq!(self.status, status, "{}\n{}", self.head, String::from_utf8_lossy(&self.body));
        self
    }
}

impl ConsoleProcess {
    /// Starts a console that keeps its state in this folder.
    pub fn start(home: &Path) -> ConsoleProcess {
        ConsoleProcess::with(home, &[])
    }

    /// Starts a console with these flags.
    ///
    /// # Panics
    /// Panics if the console does not come up.
    pub fn with(home: &Path, flags: &[&str]) -> ConsoleProcess {
        let mut command = Command::new(program::path());
        command.args(["ui", "--no-open"]).args(flags).env("XDG_STATE_HOME", home).env("LC_ALL", "C");
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("the console starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
        let mut link = || {
            let line = lines.next().unwrap_or_default();
            let link = line.rsplit(' ').next().unwrap_or_default().to_owned();
            let (place, token) = link.split_once("/?token=").expect("a link with a token");
            (place.replace("http://", "").replace("https://", ""), token.to_owned())
        };
        let ((host, token), (_, look)) = (link(), link());
        ConsoleProcess { child, host, token, viewer_token: look }
    }

    /// Sends a request with these header lines.
    ///
    /// # Panics
    /// Panics if there is no response.
    pub fn raw(&self, method: &str, path: &str, fields: &[&str], body: &[u8]) -> ConsoleResponse {
        let mut socket = TcpStream::connect(&self.host).expect("it listens");
        socket.set_read_timeout(Some(Duration::from_secs(60))).expect("a time");
        let fields: String = fields.iter().map(|field| format!("{field}\r\n")).collect();
        let head =
            format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n{fields}\r\n", body.len());
        // The console may reject the request before it has read everything.
        let _ = socket.write_all(head.as_bytes()).and_then(|()| socket.write_all(body));
        let mut bytes = Vec::new();
        let _ = socket.read_to_end(&mut bytes);
        let at = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
        let head = String::from_utf8_lossy(&bytes[..at]).into_owned();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        let rest = bytes[at + 4..].to_vec();
        let chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
        ConsoleResponse { status, head, body: if chunked { unchunked(&rest) } else { rest } }
    }

    /// Sends a request with a token.
    pub fn ask_as(&self, token: &str, method: &str, path: &str, body: &Value) -> ConsoleResponse {
        let fields = [
            format!("Host: {}", self.host),
            format!("Authorization: Bearer {token}"),
            "Content-Type: application/json".to_owned(),
        ];
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.raw(method, path, &fields, body.as_bytes())
    }

    /// Sends a `GET` request.
    pub fn get(&self, path: &str) -> ConsoleResponse {
        self.ask_as(&self.token, "GET", path, &Value::Null)
    }

    /// Sends a `POST` request.
    pub fn post(&self, path: &str, body: &Value) -> ConsoleResponse {
        self.ask_as(&self.token, "POST", path, body)
    }

    /// Returns a run from the library.
    pub fn run(&self, id: &str) -> Value {
        self.get(&format!("/api/v1/runs/{id}")).with(200).json()
    }

    /// Returns the events of a run until its end, each as its name and data.
    pub fn events(&self, id: &str) -> Vec<(String, Value)> {
        let answer = self.get(&format!("/api/v1/runs/{id}/events")).with(200);
        let text = String::from_utf8(answer.body).expect("events are text");
        let field = |event: &str, name: &str| {
            let line = event.lines().find_map(|line| line.strip_prefix(name).map(str::trim));
            line.unwrap_or_default().to_owned()
        };
        let events = text.split("\n\n").filter(|event| event.contains("data:"));
        events
            .map(|event| (field(event, "event:"), serde_json::from_str(&field(event, "data:")).expect("JSON")))
            .collect()
    }

    /// Sends a signal to the console.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let _ = rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal);
    }

    /// Returns its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the console to exit. Returns its exit code.
    pub fn end(&mut self) -> Option<i32> {
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for ConsoleProcess {
    fn drop(&mut self) {
        // The runs of the console end with it.
        self.signal(rustix::process::Signal::TERM);
        let _ = self.child.wait();
    }
}

fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(at) = bytes.windows(2).position(|two| two == b"\r\n") {
        let size = usize::from_str_radix(String::from_utf8_lossy(&bytes[..at]).trim(), 16).unwrap_or(0);
        let rest = &bytes[at + 2..];
        if size == 0 || rest.len() < size {
            break;
        }
        whole.extend_from_slice(&rest[..size]);
        bytes = rest.get(size + 2..).unwrap_or_default();
    }
    whole
}
