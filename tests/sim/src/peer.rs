//! The peer of the simulated connections, and the actions it can take.

use brunt_contract::{OutputBuffer, PeerAddress};
use brunt_measure::Nanos;

/// The peer's decision about a requested connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectDecision {
    /// The connection is established.
    Accept,
    /// The connection is refused (ECONNREFUSED).
    Refuse,
    /// No reply: a full listen queue, or a packet filter.
    Ignore,
}

/// The other end of all connections of a simulation. A number identifies a connection from the call
/// of `opened` until `closed` is called or the peer closes or resets the connection. It may be
/// reused afterwards.
pub trait SimPeer: Send {
    /// Called when a connection is requested.
    fn connecting(&mut self, _now: Nanos, _to: &PeerAddress) -> ConnectDecision {
        ConnectDecision::Accept
    }
    /// Called when a connection is established.
    fn opened(&mut self, now: Nanos, conn: u32);
    /// Called when bytes arrive.
    fn received(&mut self, now: Nanos, conn: u32, bytes: &[u8], say: &mut PeerActions);
    /// Called when the client has closed or reset the connection, unless the peer did so first.
    fn closed(&mut self, now: Nanos, conn: u32);
    /// Returns when to call [`SimPeer::timer`]. It is evaluated after every call, so it must advance with each timer
    /// call.
    fn next_timer(&self) -> Option<Nanos> {
        None
    }
    /// Called at the time of [`SimPeer::next_timer`].
    fn timer(&mut self, _now: Nanos, _say: &mut PeerActions) {}
}

impl<P: SimPeer + ?Sized> SimPeer for Box<P> {
    fn connecting(&mut self, now: Nanos, to: &PeerAddress) -> ConnectDecision {
        (**self).connecting(now, to)
    }
    fn opened(&mut self, now: Nanos, conn: u32) {
        (**self).opened(now, conn);
    }
    fn received(&mut self, now: Nanos, conn: u32, bytes: &[u8], say: &mut PeerActions) {
        (**self).received(now, conn, bytes, say);
    }
    fn closed(&mut self, now: Nanos, conn: u32) {
        (**self).closed(now, conn);
    }
    fn next_timer(&self) -> Option<Nanos> {
        (**self).next_timer()
    }
    fn timer(&mut self, now: Nanos, say: &mut PeerActions) {
        (**self).timer(now, say);
    }
}

/// Actions of a peer, collected and applied in order after each of its calls.
#[derive(Debug, Default)]
pub struct PeerActions {
    acts: Vec<QueuedAction>,
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
enum QueuedAction {
    Send(u32, usize),
    Close(u32),
    Reset(u32),
}

/// One action of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerAction<'a> {
    /// Sends bytes.
    Send(u32, &'a [u8]),
    /// Closes in an orderly way: everything sent before arrives first.
    Close(u32),
    /// Resets the connection: everything in flight is dropped.
    Reset(u32),
}

impl PeerActions {
    /// Sends bytes on a connection.
    pub fn send(&mut self, conn: u32, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.acts.push(QueuedAction::Send(conn, bytes.len()));
    }

    /// Sends the contents of `out` at once, and empties it.
    pub fn send_out(&mut self, conn: u32, out: &mut OutputBuffer) {
        self.bytes.extend_from_slice(out.bytes());
        if let Some(block) = out.tail() {
            self.bytes.extend_from_slice(block);
        }
        self.acts.push(QueuedAction::Send(conn, out.len()));
        out.clear();
    }

    /// Closes the connection in an orderly way.
    pub fn close(&mut self, conn: u32) {
        self.acts.push(QueuedAction::Close(conn));
    }

    /// Resets the connection; for a datagram socket, the client gets ECONNREFUSED.
    pub fn reset(&mut self, conn: u32) {
        self.acts.push(QueuedAction::Reset(conn));
    }

    /// Passes all collected actions to `act`, in order, and clears them.
    pub fn carry_out(&mut self, mut act: impl FnMut(PeerAction<'_>)) {
        let mut at = 0;
        for a in self.acts.drain(..) {
            match a {
                QueuedAction::Send(conn, len) => {
                    act(PeerAction::Send(conn, &self.bytes[at..at + len]));
                    at += len;
                }
                QueuedAction::Close(conn) => act(PeerAction::Close(conn)),
                QueuedAction::Reset(conn) => act(PeerAction::Reset(conn)),
            }
        }
        self.bytes.clear();
    }

    /// Returns `true` if no actions were collected.
    pub fn is_empty(&self) -> bool {
        self.acts.is_empty()
    }
}
