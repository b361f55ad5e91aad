//! Counters of another host: `brunt probe` tells them there, `--probe` reads them here.
//!
//! They speak in frames (`record::frames`). Each side says hello; the probe challenges; the client proves that it has the token, and
//! says which address is under load; from then on the probe sends a sample a second, and tells the time when it is asked. A client
//! can say nothing else, so that a probe changes nothing on its host. Nothing is read there while nobody is connected.
//!
//! The clocks of two hosts are compared as NTP does (RFC 5905, section 8): four stamps of an exchange give the difference, and half
//! its round trip by how much that may be wrong. The exchange with the shortest round trip tells most; an old one tells less each second, as
//! clocks drift.

mod clock;
mod joined;
#[cfg(any(test, feature = "oracle"))]
pub mod oracle;
mod serving;
mod speech;
#[cfg(test)]
mod tests;

use std::io::{self, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

pub use clock::ClockReading;
pub use joined::{Following, Joined, Joining, News};
pub use serving::{Follow, Granting, Serving};
pub use speech::Facts;

/// A connection that is read and written in clear, whatever goes over the wire.
pub trait Clear: Read + Write + Send {}

impl<T: Read + Write + Send> Clear for T {}

/// Puts TLS over a socket, or leaves it as it is.
pub type Seal = Box<dyn Fn(TcpStream) -> io::Result<Box<dyn Clear>> + Send + Sync>;

/// One who says nothing for so long, or takes nothing of what is said, is not waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// A socket, and what is read and written over it.
struct Line {
    clear: BufReader<Box<dyn Clear>>,
    socket: TcpStream,
}

impl Line {
    fn over(socket: TcpStream, seal: &Seal) -> io::Result<Line> {
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_write_timeout(Some(PATIENCE))?;
        Ok(Line { clear: BufReader::new(seal(socket.try_clone()?)?), socket })
    }

    /// So long a read waits from now on; never for ever.
    fn wait_at_most(&self, time: Duration) -> io::Result<()> {
        self.socket.set_read_timeout(Some(time.max(Duration::from_millis(1))))
    }

    fn to(&mut self) -> &mut Box<dyn Clear> {
        self.clear.get_mut()
    }
}

/// A read that gave up waiting.
fn gave_up(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
