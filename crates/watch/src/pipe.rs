//! A blocking socket, optionally with TLS, whose timeout holds even if the peer sends one byte at a time.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use brunt_contract::{ChannelProgress, Handshake, Origin, OutputBuffer, SecureChannel, SecureChannelFactory};

/// Timeout for connecting, for each answer, and for each step of a login.
pub const PATIENCE: Duration = Duration::from_millis(500);
/// Maximum length of an answer in bytes; no genuine one is longer.
const LONGEST: usize = 16 << 20;

pub struct TimedSocket {
    socket: TcpStream,
    channel: Option<Box<dyn SecureChannel>>,
    cipher: OutputBuffer,
    /// Received plaintext that is not read yet.
    plain: Vec<u8>,
    /// Deadline of the answer to the last output.
    until: Instant,
    /// Bytes received since then.
    received: usize,
    /// Set once the peer closed its sending side.
    ended: bool,
}

impl TimedSocket {
    /// Wraps a socket that has not carried any data yet.
    pub fn over(socket: TcpStream) -> TimedSocket {
        let (cipher, plain, until) = (OutputBuffer::default(), Vec::new(), Instant::now() + PATIENCE);
        TimedSocket { socket, channel: None, cipher, plain, until, received: 0, ended: false }
    }

    /// Starts TLS and completes the handshake.
    ///
    /// # Errors
    ///
    /// Returns an error if the handshake fails.
    pub fn secure(
        &mut self,
        security: &dyn SecureChannelFactory,
        origin: &Origin,
        alpn: &[&'static [u8]],
    ) -> io::Result<Handshake> {
        let mut channel = security.client(origin, alpn).map_err(|why| io::Error::other(why.to_string()))?;
        channel.start(&mut self.cipher);
        (self.until, self.received) = (Instant::now() + PATIENCE, 0);
        self.channel = Some(channel);
        self.write_sealed()?;
        loop {
            if let Some(settled) = self.channel.as_ref().and_then(|channel| channel.handshake()) {
                return Ok(settled);
            }
            self.more()?;
            if self.ended {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Sends output and starts the timeout for the answer.
    ///
    /// # Errors
    ///
    /// Returns an error if the socket does not accept it in time.
    pub fn send(&mut self, out: &mut OutputBuffer) -> io::Result<()> {
        if out.is_empty() {
            return Ok(());
        }
        (self.until, self.received) = (Instant::now() + PATIENCE, 0);
        let sent = match &mut self.channel {
            None => {
                self.socket.set_write_timeout(Some(left(self.until)?))?;
                self.socket.write_all(out.buffer())
            }
            Some(channel) => {
                channel.seal(out, &mut self.cipher);
                self.write_sealed()
            }
        };
        out.clear();
        sent
    }

    /// Waits for more input, which [`TimedSocket::take`] returns; returns `false` at the end of the stream.
    ///
    /// # Errors
    ///
    /// Returns an error if no input arrives in time, or too much.
    pub fn read(&mut self) -> io::Result<bool> {
        while self.plain.is_empty() && !self.ended {
            self.more()?;
        }
        Ok(!self.plain.is_empty())
    }

    /// Takes the received input.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.plain)
    }

    fn more(&mut self) -> io::Result<()> {
        self.socket.set_read_timeout(Some(left(self.until)?))?;
        let mut piece = [0; 16 << 10];
        let length = loop {
            match self.socket.read(&mut piece) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        if length == 0 {
            self.ended = true;
            return Ok(());
        }
        self.received += length;
        if self.received > LONGEST {
            return Err(io::Error::new(ErrorKind::FileTooLarge, "its response is longer than 16 MiB"));
        }
        let Some(channel) = &mut self.channel else {
            self.plain.extend_from_slice(&piece[..length]);
            return Ok(());
        };
        let fed = channel.feed(&piece[..length], &mut self.plain, &mut self.cipher);
        // On failure the peer gets an alert, but may be gone already.
        let sent = self.write_sealed();
        self.ended |= fed.map_err(|why| io::Error::other(why.to_string()))? == ChannelProgress::PeerFinished;
        sent
    }

    fn write_sealed(&mut self) -> io::Result<()> {
        self.socket.set_write_timeout(Some(left(self.until)?))?;
        let sent = self.socket.write_all(self.cipher.buffer());
        self.cipher.clear();
        sent
    }
}

fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}
