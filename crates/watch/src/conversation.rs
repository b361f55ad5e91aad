//! A connection that is waited for no longer than a bound, whatever the other side does.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

use probe::remote::Clear;

/// All of one question and its answer.
const PATIENCE: Duration = Duration::from_millis(500);
/// No answer is longer in earnest.
const LONGEST: usize = 16 << 20;

type Seal = dyn Fn(TcpStream, &str) -> io::Result<Box<dyn Clear>> + Send + Sync;

/// Puts TLS over a socket that is connected to a host of this name.
#[derive(Clone)]
pub struct Sealing(Arc<Seal>);

impl Sealing {
    /// TLS as `seal` puts it over a socket; its handshake is done with the first byte.
    pub fn new(seal: impl Fn(TcpStream, &str) -> io::Result<Box<dyn Clear>> + Send + Sync + 'static) -> Sealing {
        Sealing(Arc::new(seal))
    }
}

impl fmt::Debug for Sealing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sealing")
    }
}

/// Where a service is.
#[derive(Debug)]
pub struct Place {
    host: String,
    port: u16,
    tls: bool,
    sealing: Option<Sealing>,
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
            return Err(format!("`{text}` has no host; write HOST:PORT"));
        }
        let read = |port: &str| port.parse().ok().filter(|port| *port > 0);
        let port = match port {
            None => usual,
            Some(port) => read(port).ok_or_else(|| format!("`{port}` is not a port; write 1 to 65535"))?,
        };
        Ok(Place { host: host.to_owned(), port, tls: false, sealing: None, known: Vec::new() })
    }

    /// The same, asked over TLS or not.
    pub fn over_tls(self, tls: bool) -> Place {
        Place { tls, ..self }
    }

    /// Whether it is asked over TLS.
    pub fn is_over_tls(&self) -> bool {
        self.tls
    }

    /// With what TLS is spoken.
    pub fn seal_with(&mut self, sealing: Sealing) {
        self.sealing = Some(sealing);
    }

    /// Goes on over TLS, which is this place's.
    ///
    /// # Errors
    /// Its name is none that a certificate can be for.
    pub fn seal(&self, talk: Conversation) -> io::Result<Conversation> {
        let Some(Sealing(seal)) = &self.sealing else {
            return Err(io::Error::new(ErrorKind::Unsupported, "it needs TLS, which is not set up here"));
        };
        let clear = seal(talk.socket.try_clone()?, &self.host)?;
        Ok(Conversation { clear: Some(clear), ..talk })
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
                    return Ok(Conversation { socket: stream, clear: None, until });
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

/// A connection, and until when its question must be answered.
pub struct Conversation {
    socket: TcpStream,
    /// What TLS makes of it.
    clear: Option<Box<dyn Clear>>,
    until: Instant,
}

impl Conversation {
    /// Says something; the time for its answer begins.
    pub fn say(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.until = Instant::now() + PATIENCE;
        // A handshake reads, too.
        self.socket.set_read_timeout(Some(left(self.until)?))?;
        self.socket.set_write_timeout(Some(left(self.until)?))?;
        match &mut self.clear {
            Some(clear) => clear.write_all(bytes).and_then(|()| clear.flush()),
            None => self.socket.write_all(bytes),
        }
    }

    /// Appends what comes next; false at the end.
    pub fn more(&mut self, heard: &mut Vec<u8>) -> io::Result<bool> {
        self.socket.set_read_timeout(Some(left(self.until)?))?;
        let mut piece = [0; 16 << 10];
        let length = loop {
            let read = match &mut self.clear {
                Some(clear) => clear.read(&mut piece),
                None => self.socket.read(&mut piece),
            };
            match read {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        heard.extend_from_slice(&piece[..length]);
        if heard.len() > LONGEST {
            return Err(io::Error::new(ErrorKind::FileTooLarge, "its response is longer than 16 MiB"));
        }
        Ok(length > 0)
    }
}

impl fmt::Debug for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversation").field("socket", &self.socket).field("tls", &self.clear.is_some()).finish()
    }
}

fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}
