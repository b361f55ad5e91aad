//! A peer with a filter in front: connections may be refused, input intercepted, and closes observed.

use measure::Nanos;
use sim::{Peer, Say, Welcome};
use wire::Place;

type Asked = Box<dyn FnMut(Nanos) -> Welcome + Send>;
type Heard = Box<dyn FnMut(Nanos, u32, &[u8], &mut Say) -> bool + Send>;

/// The peer, and its filter.
pub struct Fronted<P> {
    peer: P,
    asked: Asked,
    heard: Heard,
    left: Box<dyn FnMut() + Send>,
}

impl<P: Peer> Fronted<P> {
    /// Wraps a peer with an empty filter.
    pub fn new(peer: P) -> Fronted<P> {
        let heard = |_: Nanos, _: u32, _: &[u8], _: &mut Say| false;
        Fronted { peer, asked: Box::new(|_| Welcome::Accept), heard: Box::new(heard), left: Box::new(|| {}) }
    }

    /// Accepts connections only at times for which `open` returns `true`.
    pub fn open_when(mut self, mut open: impl FnMut(Nanos) -> bool + Send + 'static) -> Self {
        self.asked = Box::new(move |now| if open(now) { Welcome::Accept } else { Welcome::Refuse });
        self
    }

    /// Intercepts all input; the peer does not receive input for which `heard` returns `true`.
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
