//! A connection that is waited for no longer than a bound, whatever the other side does.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// All of one question and its answer.
const PATIENCE: Duration = Duration::from_millis(500);
/// No answer is longer in earnest.
const LONGEST: usize = 16 << 20;

/// Where a service is.
#[derive(Debug)]
pub struct Place {
    host: String,
    port: u16,
    /// Its addresses, looked up once: a name server that hangs must not delay a run that goes on.
    known: Vec<SocketAddr>,
}

impl Place {
    /// Reads `h`, `h:1`, `[::1]:1`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str, usual: u16) -> Result<Place, String> {
        let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, rest)) => (host, rest.strip_prefix(':')),
            None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
        };
        if host.is_empty() {
            return Err(format!("`{text}` names no host; write HOST:PORT"));
        }
        let read = |port: &str| port.parse().ok().filter(|port| *port > 0);
        let port = match port {
            None => usual,
            Some(port) => read(port).ok_or_else(|| format!("`{port}` is no port; write 1 to 65535"))?,
        };
        Ok(Place { host: host.to_owned(), port, known: Vec::new() })
    }

    /// `host:port`, as URLs have it.
    pub fn authority(&self) -> String {
        let (host, port) = (&self.host, self.port);
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }

    /// Connects to the first address that lets us.
    pub fn open(&mut self) -> io::Result<Conversation> {
        if self.known.is_empty() {
            self.known = (&*self.host, self.port).to_socket_addrs()?.collect();
        }
        let until = Instant::now() + PATIENCE;
        let mut last = io::Error::new(ErrorKind::NotFound, "its name was not found");
        for address in &self.known {
            match TcpStream::connect_timeout(address, left(until)?) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    return Ok(Conversation { stream, until });
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

/// A connection, and until when its question must be answered.
#[derive(Debug)]
pub struct Conversation {
    stream: TcpStream,
    until: Instant,
}

impl Conversation {
    /// Says something; the time for its answer begins.
    pub fn say(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.until = Instant::now() + PATIENCE;
        self.stream.set_write_timeout(Some(left(self.until)?))?;
        self.stream.write_all(bytes)
    }

    /// Appends what comes next; false at the end.
    pub fn more(&mut self, heard: &mut Vec<u8>) -> io::Result<bool> {
        self.stream.set_read_timeout(Some(left(self.until)?))?;
        let mut piece = [0; 16 << 10];
        let length = loop {
            match self.stream.read(&mut piece) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        heard.extend_from_slice(&piece[..length]);
        if heard.len() > LONGEST {
            return Err(io::Error::new(ErrorKind::FileTooLarge, "its answer is longer than 16 MiB"));
        }
        Ok(length > 0)
    }
}

fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}
