//! A peer behind a filter that can refuse connections, intercept input and observe closes.

use brunt_contract::PeerAddress;
use brunt_measure::Nanos;
use brunt_sim::{ConnectDecision, PeerActions, SimPeer};

type AcceptFilter = Box<dyn FnMut(Nanos, &PeerAddress) -> ConnectDecision + Send>;
type InputFilter = Box<dyn FnMut(Nanos, u32, &[u8], &mut PeerActions) -> bool + Send>;

/// The peer, and its filter.
pub struct FilteredPeer<P> {
    peer: P,
    asked: AcceptFilter,
    heard: InputFilter,
    left: Box<dyn FnMut() + Send>,
}

impl<P: SimPeer> FilteredPeer<P> {
    /// Wraps a peer with an empty filter.
    pub fn new(peer: P) -> FilteredPeer<P> {
        let heard = |_: Nanos, _: u32, _: &[u8], _: &mut PeerActions| false;
        FilteredPeer {
            peer,
            asked: Box::new(|_, _| ConnectDecision::Accept),
            heard: Box::new(heard),
            left: Box::new(|| {}),
        }
    }

    /// Accepts connections only at times for which `open` returns `true`.
    pub fn accept_when(mut self, mut open: impl FnMut(Nanos) -> bool + Send + 'static) -> Self {
        self.asked = Box::new(move |now, _| if open(now) { ConnectDecision::Accept } else { ConnectDecision::Refuse });
        self
    }

    /// Accepts connections only to addresses for which `open` returns `true`.
    pub fn accept_at(mut self, mut open: impl FnMut(&PeerAddress) -> bool + Send + 'static) -> Self {
        self.asked = Box::new(move |_, to| if open(to) { ConnectDecision::Accept } else { ConnectDecision::Refuse });
        self
    }

    /// Intercepts all input; the peer does not receive input for which `heard` returns `true`.
    pub fn with_input_filter(
        mut self,
        heard: impl FnMut(Nanos, u32, &[u8], &mut PeerActions) -> bool + Send + 'static,
    ) -> Self {
        self.heard = Box::new(heard);
        self
    }

    /// Sets a callback for each connection that the client closed.
    pub fn on_close(mut self, left: impl FnMut() + Send + 'static) -> Self {
        self.left = Box::new(left);
        self
    }
}

impl<P: SimPeer> SimPeer for FilteredPeer<P> {
    fn connecting(&mut self, now: Nanos, to: &PeerAddress) -> ConnectDecision {
        (self.asked)(now, to)
    }
    fn opened(&mut self, now: Nanos, conn: u32) {
        self.peer.opened(now, conn);
    }
    fn received(&mut self, now: Nanos, conn: u32, bytes: &[u8], say: &mut PeerActions) {
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
    fn timer(&mut self, now: Nanos, say: &mut PeerActions) {
        self.peer.timer(now, say);
    }
}
