//! The other end of simulated connections, and what it can do.

use measure::Nanos;
use wire::{Out, Place};

/// What happens to a connection somebody asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Welcome {
    /// It stands.
    Accept,
    /// It is refused (ECONNREFUSED).
    Refuse,
    /// Nobody answers: a listen queue that is full, a packet filter.
    Ignore,
}

/// Whatever stands at the other end of all connections of a simulation. A connection is named by its number from
/// `opened` until `closed` was called or the peer closed or reset it; then the number may be given out again.
pub trait Peer: Send {
    /// Somebody asks for a connection.
    fn asked(&mut self, _now: Nanos, _to: &Place) -> Welcome {
        Welcome::Accept
    }
    /// A connection stands.
    fn opened(&mut self, now: Nanos, conn: u32);
    /// Bytes arrived.
    fn received(&mut self, now: Nanos, conn: u32, bytes: &[u8], say: &mut Say);
    /// The client closed or reset the connection. Not called where the peer did so first.
    fn closed(&mut self, now: Nanos, conn: u32);
    /// When it wants to be woken; asked again after every call, so it must move on once [`Peer::timer`] was called.
    fn next_timer(&self) -> Option<Nanos> {
        None
    }
    /// The time asked for has come.
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

/// What a peer does, collected and carried out in order after each of its calls.
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

/// One thing a peer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed<'a> {
    /// Sends bytes.
    Send(u32, &'a [u8]),
    /// Closes in order: what was sent before arrives first.
    Close(u32),
    /// Resets: what is on its way is dropped.
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

    /// Closes in order.
    pub fn close(&mut self, conn: u32) {
        self.acts.push(Act::Close(conn));
    }

    /// Resets; a socket of datagrams refuses.
    pub fn reset(&mut self, conn: u32) {
        self.acts.push(Act::Reset(conn));
    }

    /// Hands everything collected to `act`, in order, and forgets it.
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

    /// True where nothing was collected.
    pub fn is_empty(&self) -> bool {
        self.acts.is_empty()
    }
}
