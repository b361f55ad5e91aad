//! Peer of the simulated connections, and the actions it can take.

use measure::Nanos;
use wire::{Out, Place};

/// Decision about a requested connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Welcome {
    /// The connection is established.
    Accept,
    /// The connection is refused (ECONNREFUSED).
    Refuse,
    /// No reply: a full listen queue, or a packet filter.
    Ignore,
}

/// The other end of all connections of a simulation. A connection is identified by its number from `opened` until
/// `closed` was called or the peer closed or reset it; then the number may be reused.
pub trait Peer: Send {
    /// Called when a connection is requested.
    fn asked(&mut self, _now: Nanos, _to: &Place) -> Welcome {
        Welcome::Accept
    }
    /// Called when a connection is established.
    fn opened(&mut self, now: Nanos, conn: u32);
    /// Called when bytes arrive.
    fn received(&mut self, now: Nanos, conn: u32, bytes: &[u8], say: &mut Say);
    /// Called when the client closed or reset the connection, unless the peer did so first.
    fn closed(&mut self, now: Nanos, conn: u32);
    /// Returns when to call [`Peer::timer`]; evaluated after every call, so it must advance with each timer call.
    fn next_timer(&self) -> Option<Nanos> {
        None
    }
    /// Called at the time of [`Peer::next_timer`].
    fn timer(&mut self, _now: Nanos, _say: &mut Say) {}
}

impl<P: Peer + ?Sized> Peer for Box<P> {
    fn asked(&mut self, now: Nanos, to: &Place) -> Welcome {
        (**self).asked(now, to)
    }
    fn opened(&mut self, now: Nanos, conn: u32) {
        (**self).opened(now, conn);
    }
    fn received(&mut self, now: Nanos, conn: u32, bytes: &[u8], say: &mut Say) {
        (**self).received(now, conn, bytes, say);
    }
    fn closed(&mut self, now: Nanos, conn: u32) {
        (**self).closed(now, conn);
    }
    fn next_timer(&self) -> Option<Nanos> {
        (**self).next_timer()
    }
    fn timer(&mut self, now: Nanos, say: &mut Say) {
        (**self).timer(now, say);
    }
}

/// Actions of a peer, collected and applied in order after each of its calls.
#[derive(Debug, Default)]
pub struct Say {
    acts: Vec<Act>,
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Send(u32, usize),
    Close(u32),
    Reset(u32),
}

/// One action of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed<'a> {
    /// Sends bytes.
    Send(u32, &'a [u8]),
    /// Closes in an orderly way: what was sent before arrives first.
    Close(u32),
    /// Resets: what is in flight is dropped.
    Reset(u32),
}

impl Say {
    /// Sends bytes on a connection.
    pub fn send(&mut self, conn: u32, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.acts.push(Act::Send(conn, bytes.len()));
    }

    /// Sends what is in `out`, at once, and empties it.
    pub fn send_out(&mut self, conn: u32, out: &mut Out) {
        self.bytes.extend_from_slice(out.bytes());
        if let Some(block) = out.tail() {
            self.bytes.extend_from_slice(block);
        }
        self.acts.push(Act::Send(conn, out.len()));
        out.clear();
    }

    /// Closes in an orderly way.
    pub fn close(&mut self, conn: u32) {
        self.acts.push(Act::Close(conn));
    }

    /// Resets; a datagram socket refuses.
    pub fn reset(&mut self, conn: u32) {
        self.acts.push(Act::Reset(conn));
    }

    /// Passes all collected actions to `act`, in order, and clears them.
    pub fn carry_out(&mut self, mut act: impl FnMut(Deed<'_>)) {
        let mut at = 0;
        for a in self.acts.drain(..) {
            match a {
                Act::Send(conn, len) => {
                    act(Deed::Send(conn, &self.bytes[at..at + len]));
                    at += len;
                }
                Act::Close(conn) => act(Deed::Close(conn)),
                Act::Reset(conn) => act(Deed::Reset(conn)),
            }
        }
        self.bytes.clear();
    }

    /// Returns `true` if no actions were collected.
    pub fn is_empty(&self) -> bool {
        self.acts.is_empty()
    }
}
