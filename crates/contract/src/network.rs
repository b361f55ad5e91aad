//! The trait that a network implements: completion-style sockets. One instance per worker thread; nothing is shared.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use brunt_measure::Nanos;

use crate::{ConnId, Errno, OutputBuffer};

/// A listening socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ListenerId(pub u32);

/// Address of a peer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PeerAddress {
    /// TCP.
    Tcp(SocketAddr),
    /// UDP: every [`OutputBuffer::end_datagram`] ends a datagram, and every `Received` is one. Rejections by the other
    /// side (ICMP) arrive as `Closed`, or are counted in [`Network::rejected_datagrams`].
    Udp(SocketAddr),
    /// A Unix stream socket.
    Unix(Arc<PathBuf>),
}

/// Parameters of a connect.
#[derive(Clone, Debug)]
pub struct ConnectParameters {
    /// Address to connect to.
    pub to: PeerAddress,
    /// Source address. The port is left to `connect`, where the kernel can give the same port to connections to
    /// different destinations.
    pub source: Option<IpAddr>,
    /// Set if the connection carries a single request: setup that only pays off over many requests is skipped.
    pub single_use: bool,
}

/// Scheduler statistics of the calling thread since it started; zero if the operating system provides none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadStats {
    /// Time on a core.
    pub cpu: Nanos,
    /// Time spent runnable without a core to run on.
    pub ready: Nanos,
    /// Number of enforcement periods of the CPU quota of the thread's control group.
    pub periods: u64,
    /// Number of these periods in which the quota was used up and the group was throttled.
    pub throttled: u64,
}

/// A network event. `Received` borrows the network's buffer until the next call.
#[derive(Debug)]
pub enum NetworkEvent<'a> {
    /// A requested connection is established.
    Connected(ConnId),
    /// Bytes arrived.
    Received(ConnId, &'a [u8]),
    /// The connection is closed (`None`: the peer closed cleanly) or failed to open (`Some` before `Connected`). The
    /// slot stays occupied until [`Network::close`].
    Closed(ConnId, Option<Errno>),
    /// Bytes that had to wait for the socket were sent: nothing is [`Network::unsent`] on this connection.
    Sent(ConnId),
    /// A listener accepted a connection.
    Accepted(ListenerId, ConnId),
}

/// Events remaining after a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnRemainder {
    /// The turn is not over.
    Unfinished,
    /// No events: everything that had arrived when [`Network::wait`] was called has been returned.
    Nothing,
    /// Some connections have more to read, after one read each.
    MoreToRead,
    /// Number of connections that were not read in this turn; the next turn begins with those that have waited longest.
    UnreadConnections(u32),
}

/// Sockets of one worker, in completion style. Events are returned in turns: a turn begins with [`Network::wait`] and
/// reads at most one piece per connection, so that no peer keeps the loop from checking the time.
pub trait Network {
    /// Reads the clock; takes about 20 ns on real networks.
    fn now(&mut self) -> Nanos;
    /// Starts to connect; `Connected` or `Closed` follows, but never during this call.
    ///
    /// # Errors
    /// Returns an error that the operating system reports at once (EMFILE, EADDRNOTAVAIL …); no slot is taken.
    fn connect(&mut self, dial: &ConnectParameters) -> Result<ConnId, Errno>;
    /// Queues the bytes of `out` for sending and empties `out`. The bytes are sent as soon as the socket accepts them,
    /// at most one piece per connection and turn; failures are reported as `Closed`.
    fn send(&mut self, conn: ConnId, out: &mut OutputBuffer);
    /// Closes the connection: bytes that the socket has not accepted yet are dropped.
    fn close(&mut self, conn: ConnId);
    /// Like `close`, but the peer sees a reset (no TIME_WAIT is left behind).
    fn abort(&mut self, conn: ConnId) {
        self.close(conn);
    }
    /// Tells the peer that nothing more is sent (shutdown(2)); the connection can still be read. Returns `false` as long
    /// as something is unsent, and nothing is told. Networks that cannot tell do nothing: their peers learn of the end by
    /// `close` alone.
    fn end_sending(&mut self, _conn: ConnId) -> bool {
        true
    }
    /// Listens; `backlog` as in listen(2), `shared` lets several workers listen on the same address.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    fn listen(&mut self, at: &PeerAddress, backlog: u32, shared: bool) -> Result<ListenerId, Errno>;
    /// Accepts connections from a stream socket that is already listening and non-blocking: one listener may be passed
    /// from worker to worker, or be polled by several.
    ///
    /// # Errors
    /// Returns the error of the operating system; EOPNOTSUPP (95) for networks without descriptors.
    fn adopt(&mut self, _listener: OwnedFd) -> Result<ListenerId, Errno> {
        Err(Errno(95))
    }
    /// Returns the address that a listener is bound to, with its actual port if it asked for port 0.
    fn local_addr(&self, listener: ListenerId) -> Option<SocketAddr>;
    /// Stops or resumes accepting connections: a stalled accept loop, for fault injection.
    fn set_accepting(&mut self, listener: ListenerId, accepting: bool);
    /// Makes [`Self::wait`] return only once this many arrivals are available (1: at the first), if the network can
    /// wait for several without waking up for each. If fewer arrive within a few milliseconds, it stops waiting for the
    /// rest.
    fn wait_for_at_least(&mut self, _arrivals: u32) {}
    /// Sends queued bytes and waits for an event, at most until `until`. Returns at once if something is pending, even
    /// if that yields no event. Continues an unfinished turn.
    fn wait(&mut self, until: Nanos);
    /// Returns the next event of this turn; further data of a connection is returned in the next turn.
    fn next(&mut self) -> Option<NetworkEvent<'_>>;
    /// Returns the time at which the most recently returned bytes were read, regardless of how long they have been
    /// processed since. Must be called before any other method.
    fn last_read_at(&mut self) -> Nanos {
        self.now()
    }
    /// Returns what is left to read in this turn and after it.
    fn remaining(&mut self) -> TurnRemainder {
        TurnRemainder::Nothing
    }
    /// Returns the number of bytes that the sockets have accepted so far.
    fn bytes_sent(&self) -> u64;
    /// Returns how many rejections (ICMP) of earlier datagrams have been reported by later sends; the socket stays
    /// open.
    fn rejected_datagrams(&self) -> u64 {
        0
    }
    /// Has `Sent` reported in a later turn, once nothing is unsent on this connection, even if nothing is now: for a
    /// caller that sends in pieces. Returns `false` if the network accepts any amount at once, and reports nothing.
    fn report_sent(&mut self, _conn: ConnId) -> bool {
        false
    }
    /// Returns the number of bytes still queued on this connection; not 0 once a write has failed, until `Closed`
    /// reports it.
    fn unsent(&self, conn: ConnId) -> usize;
    /// Returns `true` if sent bytes reach their socket at once. If not, [`Self::unsent`] tells about the bytes of a turn
    /// only at the end of the next.
    fn sends_at_once(&self) -> bool {
        true
    }
    /// Returns the scheduler statistics of the calling thread. This reads some files, so call it only once a second.
    fn thread_stats(&mut self) -> ThreadStats {
        ThreadStats::default()
    }
    /// Returns only [`ThreadStats::ready`], if available; takes about 1 µs.
    fn ready_time(&mut self) -> Option<Nanos> {
        None
    }
}
