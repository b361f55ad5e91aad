//! How a network plugs in: sockets in completion style. One instance per worker thread; nothing is shared.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use measure::Nanos;

use crate::{ConnId, Errno, Out};

/// A listening socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ListenerId(pub u32);

/// An address of a peer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// TCP.
    Tcp(SocketAddr),
    /// UDP: every [`Out::end_datagram`] ends a datagram, and every `Received` is one. What the other side refuses (ICMP)
    /// arrives as `Closed`, or is counted in [`Network::refused`].
    Udp(SocketAddr),
    /// A Unix stream socket.
    Unix(Arc<PathBuf>),
}

/// How to connect.
#[derive(Clone, Debug)]
pub struct Dial {
    /// Where to.
    pub to: Place,
    /// From which address; the port is bound late, so that one machine is not limited to one port range.
    pub source: Option<IpAddr>,
    /// One request and no more goes over it: what only many would pay for is left out.
    pub once: bool,
}

/// What the operating system says of the running of the calling thread, since it began; zero where it says nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Running {
    /// Time on a core.
    pub cpu: Nanos,
    /// Time ready to run without a core to run on.
    pub ready: Nanos,
    /// Enforcement periods of the CPU quota that its control group lives under.
    pub periods: u64,
    /// Of these, those in which the quota was used up and the group had to stand still.
    pub throttled: u64,
}

/// What happened. `Received` borrows the network's buffer until the next call.
#[derive(Debug)]
pub enum Arrival<'a> {
    /// A connection asked for stands.
    Connected(ConnId),
    /// Bytes arrived.
    Received(ConnId, &'a [u8]),
    /// The connection is gone (`None`: the peer closed in order) or never stood (`Some` before `Connected`). The slot stays
    /// taken until [`Network::close`].
    Closed(ConnId, Option<Errno>),
    /// Bytes that had to wait until the socket took more have left: nothing is [`Network::unsent`] on this connection.
    Sent(ConnId),
    /// A listener took a connection.
    Accepted(ListenerId, ConnId),
}

/// What a turn left unread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// The turn is not over.
    Untold,
    /// Everything that had arrived when [`Network::wait`] was called has been told.
    Nothing,
    /// Every connection was told of, and some have more to say.
    More,
    /// Only so many connections were looked at, and others wait: whoever has waited longest comes first.
    Others(u32),
}

/// Sockets of one worker, in completion style. What happens is told in turns: a turn begins with [`Network::wait`], and
/// none is longer than a piece for each connection, so that no peer keeps the loop from looking at the time.
pub trait Network {
    /// Reads the clock: about 20 ns on real networks.
    fn now(&mut self) -> Nanos;
    /// Begins to connect; `Connected` or `Closed` follows, never from within this call.
    ///
    /// # Errors
    /// What the operating system refused at once (EMFILE, EADDRNOTAVAIL …); no slot is taken.
    fn connect(&mut self, dial: &Dial) -> Result<ConnId, Errno>;
    /// Hands bytes over and empties `out`. They leave as soon as the socket takes them; failures arrive as `Closed`.
    fn send(&mut self, conn: ConnId, out: &mut Out);
    /// Lets go of the connection: bytes not yet taken by the socket are dropped.
    fn close(&mut self, conn: ConnId);
    /// As `close`, but the peer sees a reset (no TIME_WAIT is left behind).
    fn abort(&mut self, conn: ConnId) {
        self.close(conn);
    }
    /// Listens; `backlog` as in listen(2), `shared` lets several workers listen on the same address.
    ///
    /// # Errors
    /// What the operating system refused.
    fn listen(&mut self, at: &Place, backlog: u32, shared: bool) -> Result<ListenerId, Errno>;
    /// Takes connections of a stream socket that listens already and does not block: one listener may be handed on from
    /// worker to worker, or be watched by several.
    ///
    /// # Errors
    /// What the operating system refused; EOPNOTSUPP (95) of networks without descriptors.
    fn adopt(&mut self, _listener: OwnedFd) -> Result<ListenerId, Errno> {
        Err(Errno(95))
    }
    /// The address a listener got (port 0 asks for any).
    fn listening_at(&self, listener: ListenerId) -> Option<SocketAddr>;
    /// Stops or resumes taking connections: a stalled accept loop, for faults made on purpose.
    fn set_accepting(&mut self, listener: ListenerId, accepting: bool);
    /// From now on [`Self::wait`] may return only once so many arrivals came together (1: with the first), if the network
    /// can wait for them without a wake-up for each. Where fewer come within a few milliseconds, none are waited for any more.
    fn wait_for_at_least(&mut self, _arrivals: u32) {}
    /// Sends what is queued and waits until something happened or `until` passed; at once when something is pending. It may
    /// return with nothing to tell. A turn that was left before its end goes on.
    fn wait(&mut self, until: Nanos);
    /// The next thing that happened in this turn; what more a connection has to say is told in the next one.
    fn next(&mut self) -> Option<Arrival<'_>>;
    /// When the bytes that were told last were read, whatever was done with them since; asked for before anything else.
    fn read_at(&mut self) -> Nanos {
        self.now()
    }
    /// What is left of the turn and behind it.
    fn rest(&mut self) -> Rest {
        Rest::Nothing
    }
    /// Bytes the sockets have taken so far.
    fn bytes_sent(&self) -> u64;
    /// Refusals of earlier datagrams (ICMP) that came to light in a send so far; the socket lives on.
    fn refused(&self) -> u64 {
        0
    }
    /// Bytes still waiting to leave on this connection.
    fn unsent(&self, conn: ConnId) -> usize;
    /// How the calling thread has run so far; some files are read, so once a second.
    fn running(&mut self) -> Running {
        Running::default()
    }
    /// [`Running::ready`] alone, where it is known: about 1 µs.
    fn ready_time(&mut self) -> Option<Nanos> {
        None
    }
}
