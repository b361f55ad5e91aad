//! The client side of the simulation: [`brunt_contract::Network`] over virtual time.
//!
//! Whatever becomes due while the client works is delivered in its next turn, as with a real event
//! loop. The peer uses the time of the simulated world, and is never delayed by the client.

use std::net::SocketAddr;

use brunt_contract::{
    ConnId, ConnectParameters, Errno, ListenerId, Network, NetworkEvent, OutputBuffer, PeerAddress, TurnRemainder,
};
use brunt_measure::{Nanos, Rng};

use super::path::outage;
use super::peer::SimPeer;
use super::settings::SimSettings;
use super::stream::{SimPiece, SimSignal};
use super::world::{SimSide, SimWorld};

/// A seeded simulation of clock and network, with `P` at the other end of all connections.
pub struct Sim<P: SimPeer + ?Sized = dyn SimPeer> {
    world: SimWorld<P>,
    now: Nanos,
    next_pause: usize,
    /// Time that the client was ready to run in a pause.
    ready: Nanos,
    /// Set if a signal ended the wait before the network was looked at.
    interrupted: bool,
    ports: LocalPorts,
    descriptors: usize,
    sent: u64,
    trace: u64,
    /// The bytes delivered last; discarded with the next call.
    delivered: Option<(u32, usize)>,
    /// Time at which these bytes were read.
    read_at: Nanos,
    /// Number of connections still to be reported in this turn, each once.
    turn: usize,
    /// Random stream for late wake-ups, separate so that it does not affect anything else.
    sleeps: Rng,
}

impl<P: SimPeer + ?Sized> Sim<P> {
    /// Creates a network whose randomness all comes from `seed`.
    pub fn new(seed: u64, settings: SimSettings, peers: Box<P>) -> Sim<P> {
        let now = settings.starts_at;
        Sim {
            world: SimWorld::new(seed, settings, peers),
            now,
            next_pause: 0,
            ready: Nanos::ZERO,
            interrupted: false,
            ports: LocalPorts::default(),
            descriptors: 0,
            sent: 0,
            trace: 0xcbf2_9ce4_8422_2325,
            delivered: None,
            read_at: now,
            turn: 0,
            sleeps: Rng::new(!seed),
        }
    }

    /// Returns the peer, to inspect what it counted.
    pub fn peer(&self) -> &P {
        &self.world.peer
    }

    /// Returns the peer, to change its behaviour.
    pub fn peer_mut(&mut self) -> &mut P {
        &mut self.world.peer
    }

    /// Returns a hash of everything the client did and received, with times; equal for equal runs.
    pub fn trace(&self) -> u64 {
        self.trace
    }

    /// Returns the number of events processed by the world.
    pub fn events(&self) -> u64 {
        self.world.events
    }

    /// Returns the memory held for connections and for data in flight, in bytes.
    pub fn memory(&self) -> usize {
        self.world.memory() + self.ports.resting.capacity() * size_of::<Nanos>()
    }

    fn note(&mut self, what: u64, conn: u32, len: usize) {
        for x in [self.now.0, what << 32 | u64::from(conn), len as u64] {
            self.trace = (self.trace ^ x).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
        }
    }

    /// Advances the time by `cost` of the client's processor, and by a pause that begins in the
    /// meantime.
    fn spend(&mut self, cost: Nanos) {
        if cost == Nanos::ZERO {
            return;
        }
        self.now += cost;
        while let Some(pause) = self.world.settings.pauses.get(self.next_pause).filter(|p| p.from < self.now) {
            self.now += pause.to - pause.from;
            self.ready += pause.to - pause.from;
            self.next_pause += 1;
        }
    }

    /// Wakes the client's thread at `moment`, or at the end of the pause that contains it.
    fn wake(&mut self, moment: Nanos) {
        self.now = self.now.max(moment);
        while let Some(pause) = self.world.settings.pauses.get(self.next_pause).filter(|p| p.from <= self.now) {
            self.ready += pause.to - self.now;
            self.now = self.now.max(pause.to);
            self.next_pause += 1;
        }
    }

    /// Discards the bytes delivered last.
    fn discard_delivered(&mut self) {
        if let Some((conn, len)) = self.delivered.take() {
            self.world.slots[conn as usize].to_client.take(len);
        }
    }

    fn release(&mut self, conn: ConnId, reset: bool) {
        self.discard_delivered();
        let Some(slot) = self.world.slots.get_mut(conn.0 as usize).filter(|s| s.held) else { return };
        slot.held = false;
        slot.pending = Default::default();
        slot.to_client.drop_in_flight(0);
        self.descriptors -= 1;
        if self.world.settings.max_ports.is_some() {
            let rests = slot.connected && !slot.broken && !reset;
            self.ports.give_back(rests.then_some(self.now + self.world.settings.time_wait));
        }
        let unsent = slot.unsent(self.world.settings.window);
        slot.to_peer.drop_unsent(unsent);
        self.world.never_sent += unsent as u64;
        if reset || !slot.served {
            slot.to_peer.drop_in_flight(0);
        }
        if slot.served {
            let what = if reset { SimSignal::Gone(Errno(libc::ECONNRESET)) } else { SimSignal::End };
            self.world.send_signal(conn.0, SimSide::Peer, self.now, what);
        }
        self.world.free_if_closed(conn.0);
        self.note(if reset { 6 } else { 5 }, conn.0, 0);
    }

    /// Sends each datagram separately; one without bytes is not sent.
    fn send_datagrams(&mut self, conn: u32, out: &OutputBuffer) {
        let mut from = 0;
        for end in out.boundaries().iter().map(|end| *end as usize).filter(|end| *end > 0) {
            self.world.slots[conn as usize].to_peer.put(&out.bytes()[from..end]);
            self.world.dispatch(conn, SimSide::Peer, end - from, self.now);
            from = end;
        }
    }

    fn dial(&mut self, to: &PeerAddress) -> Result<ConnId, Errno> {
        self.spend(self.world.settings.connect_cost);
        let settings = &self.world.settings;
        if settings.max_descriptors.is_some_and(|m| self.descriptors >= m) {
            return Err(Errno(libc::EMFILE));
        }
        if settings.max_ports.is_some_and(|m| !self.ports.take(m, self.now)) {
            return Err(Errno(libc::EADDRNOTAVAIL));
        }
        self.descriptors += 1;
        let conn = self.world.take_slot();
        let SimWorld { path, settings, slots, .. } = &mut self.world;
        let slot = &mut slots[conn as usize];
        (slot.held, slot.vacant) = (true, false);
        slot.refuse = path.refuses(settings);
        slot.place = Some(to.clone());
        slot.datagrams = matches!(to, PeerAddress::Udp(_));
        let (there, back) = path.handshake(settings, self.now);
        slot.to_peer.push(SimPiece::new(there, SimSignal::ConnectRequest));
        // The reply cannot arrive before this time; it is sent once the peer has decided.
        slot.to_client.last_due = outage(settings, there + back);
        self.world.schedule(conn, SimSide::Peer);
        self.note(1, conn, 0);
        Ok(ConnId(conn))
    }
}

impl<P: SimPeer + ?Sized> Network for Sim<P> {
    fn now(&mut self) -> Nanos {
        self.spend(self.world.settings.clock_cost);
        self.now
    }

    fn last_read_at(&mut self) -> Nanos {
        self.read_at
    }

    fn connect(&mut self, dial: &ConnectParameters) -> Result<ConnId, Errno> {
        self.discard_delivered();
        let asked = self.dial(&dial.to);
        if let Err(errno) = asked {
            self.note(2, errno.0 as u32, 0);
        }
        asked
    }

    fn send(&mut self, conn: ConnId, out: &mut OutputBuffer) {
        self.discard_delivered();
        if out.is_empty() {
            return;
        }
        self.spend(self.world.settings.send_cost);
        self.note(3, conn.0, out.len());
        let SimWorld { path, settings, slots, .. } = &mut self.world;
        if let Some(slot) = slots.get_mut(conn.0 as usize).filter(|s| s.held && s.connected && !s.broken) {
            self.sent += out.len() as u64;
            if path.resets(settings) {
                self.world.break_both(conn.0, self.now);
            } else if slot.datagrams {
                self.send_datagrams(conn.0, out);
            } else {
                slot.to_peer.put(out.bytes());
                if let Some(block) = out.tail() {
                    slot.to_peer.put(block);
                }
                self.world.dispatch(conn.0, SimSide::Peer, out.len(), self.now);
            }
        }
        out.clear();
    }

    fn close(&mut self, conn: ConnId) {
        self.release(conn, false);
    }

    fn abort(&mut self, conn: ConnId) {
        self.release(conn, true);
    }

    fn listen(&mut self, _at: &PeerAddress, _backlog: u32, _shared: bool) -> Result<ListenerId, Errno> {
        Err(Errno(libc::EOPNOTSUPP))
    }

    fn local_addr(&self, _listener: ListenerId) -> Option<SocketAddr> {
        None
    }

    fn set_accepting(&mut self, _listener: ListenerId, _accepting: bool) {}

    /// Advances to the next arrival or to `until`.
    ///
    /// # Panics
    /// Panics if `until` is `Nanos::MAX` and no event will ever happen.
    fn wait(&mut self, until: Nanos) {
        self.discard_delivered();
        self.interrupted = false;
        self.spend(self.world.settings.wait_cost);
        if self.turn > 0 {
            return;
        }
        self.world.run_until(self.now, false);
        if self.world.arrivals.is_empty() && self.now < until {
            let woken = self.world.run_until(until, true);
            assert!(woken < Nanos::MAX, "the simulation waits for ever: no timer is set and nothing is on its way");
            let late = if woken == until { self.world.settings.oversleep.draw(&mut self.sleeps) } else { Nanos::ZERO };
            let before = self.next_pause;
            self.wake(woken + late);
            self.world.run_until(self.now, false);
            self.interrupted = self.world.settings.pauses_interrupt && self.next_pause > before;
        }
        self.turn = if self.interrupted { 0 } else { self.world.arrivals.len() };
    }

    fn next(&mut self) -> Option<NetworkEvent<'_>> {
        self.discard_delivered();
        while self.turn > 0 {
            let conn = *self.world.arrivals.front()?;
            let limit = self.world.settings.read_size.max(1);
            let slot = &mut self.world.slots[conn as usize];
            if std::mem::take(&mut slot.pending.stands) {
                self.spend(self.world.settings.event_cost);
                self.note(7, conn, 0);
                return Some(NetworkEvent::Connected(ConnId(conn)));
            }
            if std::mem::take(&mut slot.pending.sent) {
                self.spend(self.world.settings.event_cost);
                self.note(10, conn, 0);
                return Some(NetworkEvent::Sent(ConnId(conn)));
            }
            if slot.pending.bytes > 0 {
                let len = slot.pending.lengths.pop_front().unwrap_or_else(|| slot.pending.bytes.min(limit));
                slot.pending.bytes -= len;
                if slot.pending.bytes > 0 {
                    // The rest is delivered in the next turn.
                    self.world.arrivals.rotate_left(1);
                    self.turn -= 1;
                }
                self.delivered = Some((conn, len));
                self.spend(self.world.settings.event_cost + self.world.settings.clock_cost);
                self.note(8, conn, len);
                self.read_at = self.now;
                self.spend(self.world.settings.look_cost);
                return Some(NetworkEvent::Received(ConnId(conn), self.world.slots[conn as usize].to_client.peek(len)));
            }
            let over = slot.pending.over.take();
            slot.queued = false;
            self.world.arrivals.pop_front();
            self.turn -= 1;
            if let Some(why) = over {
                self.spend(self.world.settings.event_cost);
                self.note(9, conn, why.map_or(0, |e| e.0 as usize));
                return Some(NetworkEvent::Closed(ConnId(conn), why));
            }
        }
        None
    }

    fn remaining(&mut self) -> TurnRemainder {
        match self.world.arrivals.is_empty() {
            _ if self.turn > 0 => TurnRemainder::Unfinished,
            _ if self.interrupted => TurnRemainder::Nothing,
            true => TurnRemainder::Nothing,
            false => TurnRemainder::MoreToRead,
        }
    }

    fn bytes_sent(&self) -> u64 {
        let window = self.world.settings.window;
        let unsent: usize = if window.is_some() { self.world.slots.iter().map(|s| s.unsent(window)).sum() } else { 0 };
        self.sent - unsent as u64 - self.world.never_sent
    }

    fn ready_time(&mut self) -> Option<Nanos> {
        self.world.settings.pauses_count.then_some(self.ready)
    }

    fn unsent(&self, conn: ConnId) -> usize {
        self.world.slots.get(conn.0 as usize).map_or(0, |s| s.unsent(self.world.settings.window))
    }
}

/// Local ports: in use, or in TIME_WAIT.
#[derive(Debug, Default)]
struct LocalPorts {
    used: usize,
    resting: std::collections::VecDeque<Nanos>,
}

impl LocalPorts {
    fn take(&mut self, max: usize, now: Nanos) -> bool {
        while self.resting.front().is_some_and(|rested| *rested <= now) {
            self.resting.pop_front();
        }
        let free = self.used + self.resting.len() < max;
        self.used += usize::from(free);
        free
    }

    fn give_back(&mut self, rests_until: Option<Nanos>) {
        self.used -= 1;
        self.resting.extend(rests_until);
    }
}
