//! A peer with something in front of it: who is let in, what is heard before the peer hears it, who goes.

use measure::Nanos;
use sim::{Peer, Say, Welcome};
use wire::Place;

type Asked = Box<dyn FnMut(Nanos) -> Welcome + Send>;
type Heard = Box<dyn FnMut(Nanos, u32, &[u8], &mut Say) -> bool + Send>;

/// The peer, and what is in front of it.
pub struct Fronted<P> {
    peer: P,
    asked: Asked,
    heard: Heard,
    left: Box<dyn FnMut() + Send>,
}

impl<P: Peer> Fronted<P> {
    /// Nothing is in front of it yet.
    pub fn new(peer: P) -> Fronted<P> {
        let heard = |_: Nanos, _: u32, _: &[u8], _: &mut Say| false;
        Fronted { peer, asked: Box::new(|_| Welcome::Accept), heard: Box::new(heard), left: Box::new(|| {}) }
    }

    /// Who asks for a connection is let in where this is true of the moment.
    pub fn open_when(mut self, mut open: impl FnMut(Nanos) -> bool + Send + 'static) -> Self {
        self.asked = Box::new(move |now| if open(now) { Welcome::Accept } else { Welcome::Refuse });
        self
    }

    /// Hears all that comes; what it answers true to the peer never hears.
    pub fn hearing(mut self, heard: impl FnMut(Nanos, u32, &[u8], &mut Say) -> bool + Send + 'static) -> Self {
        self.heard = Box::new(heard);
        self
    }

    /// Called for each connection that the client closed.
    pub fn leaving(mut self, left: impl FnMut() + Send + 'static) -> Self {
        self.left = Box::new(left);
        self
    }
}

impl<P: Peer> Peer for Fronted<P> {
    fn asked(&mut self, now: Nanos, _to: &Place) -> Welcome {
        (self.asked)(now)
    }
    fn opened(&mut self, now: Nanos, conn: u32) {
        self.peer.opened(now, conn);
    }
    fn received(&mut self, now: Nanos, conn: u32, bytes: &[u8], say: &mut Say) {
        if !(self.heard)(now, conn, bytes, say) {
            self.peer.received(now, conn, bytes, say);
        }
    }
    fn closed(&mut self, now: Nanos, conn: u32) {
        (self.left)();
        self.peer.closed(now, conn);
    }
    fn next_timer(&self) -> Option<Nanos> {
        self.peer.next_timer()
    }
    fn timer(&mut self, now: Nanos, say: &mut Say) {
        self.peer.timer(now, say);
    }
}
