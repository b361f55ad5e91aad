//! Counters of another host: `brunt probe` serves them there, and `--probe` reads them here.
//!
//! The two sides exchange frames (`brunt_record::frames`). Each sends a hello; the probe sends a challenge; the client
//! proves that it has the token, and sends the address under load; from then on the probe sends a sample a second, and
//! its time on request. A client can send nothing else, so a probe changes nothing on its host. It reads nothing while
//! no client is connected.
//!
//! The clocks of two hosts are compared as in NTP (RFC 5905, section 8): four timestamps of an exchange give the
//! offset, and half its round trip the maximum error. The exchange with the shortest round trip is the most precise;
//! its error bound grows over time, because clocks drift.

mod clock;
mod joined_probe;
mod messages;
#[cfg(any(test, feature = "oracle"))]
pub mod oracle;
mod server;
#[cfg(test)]
mod tests;

use std::io::{self, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

pub use clock::ClockReading;
pub use joined_probe::{JoinOptions, JoinedProbe, ProbeEvent, ProbeReceiver};
pub use messages::HostDescription;
pub use server::{ProbeRemark, ProbeServer, ProbeServerOptions, ServiceSelector};

/// A connection that is read and written as plaintext, with or without TLS on the wire.
pub trait ByteStream: Read + Write + Send {}

impl<T: Read + Write + Send> ByteStream for T {}

/// A function that wraps a socket in TLS, or returns it unchanged.
pub type TlsWrapper = Box<dyn Fn(TcpStream) -> io::Result<Box<dyn ByteStream>> + Send + Sync>;

/// Timeout for a peer that sends nothing, or does not read what it is sent.
const PATIENCE: Duration = Duration::from_secs(5);

/// A socket with its plaintext stream.
struct ProbeConnection {
    stream: BufReader<Box<dyn ByteStream>>,
    socket: TcpStream,
}

impl ProbeConnection {
    fn new(socket: TcpStream, seal: &TlsWrapper) -> io::Result<ProbeConnection> {
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_write_timeout(Some(PATIENCE))?;
        Ok(ProbeConnection { stream: BufReader::new(seal(socket.try_clone()?)?), socket })
    }

    /// Sets the read timeout; never unlimited.
    fn set_read_timeout(&self, time: Duration) -> io::Result<()> {
        self.socket.set_read_timeout(Some(time.max(Duration::from_millis(1))))
    }

    fn writer(&mut self) -> &mut Box<dyn ByteStream> {
        self.stream.get_mut()
    }
}

/// Returns `true` for the error of a read that timed out.
fn timed_out(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
