//! The world between the two ends, which processes events, the peer's timers and the peer's actions in order of time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use brunt_contract::Errno;
use brunt_measure::Nanos;

use super::path::{SimPath, outage};
use super::peer::{ConnectDecision, PeerAction, PeerActions, SimPeer};
use super::settings::SimSettings;
use super::slot::SimConnection;
use super::stream::{SimPiece, SimSignal, SimStream};

/// Number of timer calls at the same time after which the peer is considered stuck.
const STUCK: u32 = 10_000_000;

/// The destination of something in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SimSide {
    Peer,
    Client,
}

/// The state of the simulation, except for the client.
pub(super) struct SimWorld<P: SimPeer + ?Sized> {
    pub(super) settings: SimSettings,
    pub(super) path: SimPath,
    pub(super) slots: Vec<SimConnection>,
    /// Connections with arrivals for the client, in order of arrival.
    pub(super) arrivals: VecDeque<u32>,
    pub(super) events: u64,
    /// Number of bytes that no socket accepted before their connection ended.
    pub(super) never_sent: u64,
    free: Vec<u32>,
    /// Event queue of (time, sequence, stream); events at the same time are in the order in which they were scheduled.
    queue: BinaryHeap<Reverse<(Nanos, u64, u32)>>,
    sequence: u64,
    now: Nanos,
    timer_calls: u32,
    say: PeerActions,
    pub(super) peer: Box<P>,
}

impl<P: SimPeer + ?Sized> SimWorld<P> {
    pub(super) fn new(seed: u64, settings: SimSettings, peer: Box<P>) -> SimWorld<P> {
        SimWorld {
            path: SimPath::new(seed),
            now: settings.starts_at,
            settings,
            slots: Vec::new(),
            arrivals: VecDeque::new(),
            events: 0,
            never_sent: 0,
            free: Vec::new(),
            queue: BinaryHeap::new(),
            sequence: 0,
            timer_calls: 0,
            say: PeerActions::default(),
            peer,
        }
    }

    pub(super) fn memory(&self) -> usize {
        let slots: usize = self.slots.iter().map(|s| s.to_peer.memory() + s.to_client.memory()).sum();
        slots
            + self.slots.capacity() * size_of::<SimConnection>()
            + self.queue.capacity() * 24
            + self.arrivals.capacity() * 4
    }

    /// Processes everything due up to `until`; with `stop`, only up to the first arrival for the client. Returns the
    /// time of that arrival, or `until`.
    pub(super) fn run_until(&mut self, until: Nanos, stop: bool) -> Nanos {
        loop {
            let event = self.queue.peek().map_or(Nanos::MAX, |Reverse((at, ..))| *at);
            let timer = self.peer.next_timer().unwrap_or(Nanos::MAX);
            let next = event.min(timer);
            if next > until || next == Nanos::MAX {
                return until;
            }
            if next > self.now {
                (self.now, self.timer_calls) = (next, 0);
            }
            if timer <= event {
                self.timer_calls += 1;
                assert!(self.timer_calls < STUCK, "the peer's timer does not move on from {}", self.now);
                self.peer.timer(self.now, &mut self.say);
                self.apply_actions();
            } else if let Some(Reverse((at, _, stream))) = self.queue.pop() {
                self.fire(at, stream);
            }
            self.events += 1;
            if stop && !self.arrivals.is_empty() {
                return self.now;
            }
        }
    }

    /// Handles the event of a stream: delivers what is due, and schedules the next piece.
    fn fire(&mut self, at: Nanos, stream: u32) {
        let (conn, side) = (stream / 2, if stream.is_multiple_of(2) { SimSide::Peer } else { SimSide::Client });
        if self.stream(conn, side).event_at != at {
            return;
        }
        self.stream(conn, side).event_at = Nanos::MAX;
        let now = self.now;
        while let Some(what) = self.stream(conn, side).pop_due(now) {
            match side {
                SimSide::Peer => self.deliver_to_peer(conn, what),
                SimSide::Client => self.deliver_to_client(conn, what),
            }
        }
        self.schedule(conn, side);
        if side == SimSide::Peer {
            self.free_if_closed(conn);
        }
    }

    fn deliver_to_peer(&mut self, conn: u32, what: SimSignal) {
        let slot = &mut self.slots[conn as usize];
        match what {
            SimSignal::ConnectRequest => return self.asked(conn),
            SimSignal::Bytes(len) => {
                if slot.served {
                    self.peer.received(self.now, conn, slot.to_peer.peek(len), &mut self.say);
                }
                let waited = slot.unsent(self.settings.window) > 0;
                slot.to_peer.take(len);
                if waited && slot.unsent(self.settings.window) == 0 {
                    self.all_sent(conn);
                }
            }
            SimSignal::End | SimSignal::Gone(_) => {
                if std::mem::take(&mut slot.served) {
                    self.peer.closed(self.now, conn);
                }
            }
            SimSignal::Connected => {}
        }
        self.apply_actions();
    }

    fn asked(&mut self, conn: u32) {
        let slot = &mut self.slots[conn as usize];
        let place = slot.place.take();
        let welcome = match place {
            Some(place) if !slot.refuse => self.peer.connecting(self.now, &place),
            _ => ConnectDecision::Refuse,
        };
        let due = slot.to_client.last_due;
        match welcome {
            ConnectDecision::Ignore => return,
            ConnectDecision::Refuse => {
                slot.to_client.push(SimPiece::new(due, SimSignal::Gone(Errno(libc::ECONNREFUSED))));
            }
            ConnectDecision::Accept => {
                slot.served = true;
                slot.to_client.push(SimPiece::new(due, SimSignal::Connected));
                self.peer.opened(self.now, conn);
            }
        }
        self.schedule(conn, SimSide::Client);
    }

    fn deliver_to_client(&mut self, conn: u32, what: SimSignal) {
        let slot = &mut self.slots[conn as usize];
        if !slot.held || slot.closed {
            return;
        }
        match what {
            SimSignal::Connected => (slot.connected, slot.pending.stands) = (true, true),
            SimSignal::Bytes(len) => {
                slot.pending.bytes += len;
                if slot.datagrams {
                    slot.pending.lengths.push_back(len);
                }
            }
            SimSignal::End => (slot.broken, slot.closed, slot.pending.over) = (true, true, Some(None)),
            SimSignal::Gone(errno) => (slot.broken, slot.closed, slot.pending.over) = (true, true, Some(Some(errno))),
            SimSignal::ConnectRequest => {}
        }
        if !std::mem::replace(&mut slot.queued, true) {
            self.arrivals.push_back(conn);
        }
    }

    /// Notifies the client that everything that waited for the socket has been sent.
    fn all_sent(&mut self, conn: u32) {
        let slot = &mut self.slots[conn as usize];
        if !slot.held || slot.broken {
            return;
        }
        slot.pending.sent = true;
        if !std::mem::replace(&mut slot.queued, true) {
            self.arrivals.push_back(conn);
        }
    }

    fn apply_actions(&mut self) {
        if self.say.is_empty() {
            return;
        }
        let mut say = std::mem::take(&mut self.say);
        say.carry_out(|deed| match deed {
            PeerAction::Send(conn, bytes) => {
                let Some(slot) = self.slots.get_mut(conn as usize).filter(|s| s.served && s.held && !s.broken) else {
                    return;
                };
                if !bytes.is_empty() {
                    slot.to_client.put(bytes);
                    self.dispatch(conn, SimSide::Client, bytes.len(), self.now);
                }
            }
            PeerAction::Close(conn) => self.peer_ends(conn, SimSignal::End),
            PeerAction::Reset(conn) => {
                // There is no connection to reset between two datagram sockets: the peer rejects datagrams (ICMP).
                let datagrams = self.slots.get(conn as usize).is_some_and(|slot| slot.datagrams);
                let errno = if datagrams { libc::ECONNREFUSED } else { libc::ECONNRESET };
                self.peer_ends(conn, SimSignal::Gone(Errno(errno)));
            }
        });
        self.say = say;
    }

    fn peer_ends(&mut self, conn: u32, what: SimSignal) {
        let Some(slot) = self.slots.get_mut(conn as usize).filter(|s| s.served) else { return };
        let broken = slot.broken;
        slot.served = false;
        if what != SimSignal::End {
            slot.broken = true;
            self.never_sent += slot.unsent(self.settings.window) as u64;
            slot.to_peer.drop_in_flight(0);
            slot.to_client.drop_in_flight(slot.pending.bytes);
        }
        if slot.held && !broken {
            self.send_signal(conn, SimSide::Client, self.now, what);
        }
        self.free_if_closed(conn);
    }

    /// Breaks the connection for both sides.
    pub(super) fn break_both(&mut self, conn: u32, now: Nanos) {
        let slot = &mut self.slots[conn as usize];
        slot.broken = true;
        self.never_sent += slot.unsent(self.settings.window) as u64;
        slot.to_peer.drop_in_flight(0);
        slot.to_client.drop_in_flight(slot.pending.bytes);
        let gone = SimSignal::Gone(Errno(libc::ECONNRESET));
        self.send_signal(conn, SimSide::Peer, now, gone);
        self.send_signal(conn, SimSide::Client, now, gone);
    }

    /// Sends a signal without bytes.
    pub(super) fn send_signal(&mut self, conn: u32, side: SimSide, now: Nanos, what: SimSignal) {
        let SimWorld { path, settings, slots, .. } = self;
        let stream = stream(&mut slots[conn as usize], side);
        let due = path.due(settings, now, 0, false, stream);
        stream.push(SimPiece::new(due, what));
        self.schedule(conn, side);
    }

    /// Sends the last `len` bytes of a stream, in one piece or several.
    pub(super) fn dispatch(&mut self, conn: u32, side: SimSide, len: usize, now: Nanos) {
        let SimWorld { path, settings, slots, .. } = self;
        let datagrams = slots[conn as usize].datagrams;
        let stream = stream(&mut slots[conn as usize], side);
        if datagrams && path.loses(settings) {
            return stream.lose(len);
        }
        let due = path.due(settings, now, len, datagrams, stream);
        if datagrams {
            stream.push(SimPiece::new(due, SimSignal::Bytes(len)));
            return self.schedule(conn, side);
        }
        if path.joins(settings) && stream.join(len, due) {
            return;
        }
        if settings.split == 0.0 {
            stream.push(SimPiece::new(due, SimSignal::Bytes(len)));
        } else {
            let count = path.cut(settings, len);
            let (mut due, mut from) = (due, 0);
            for i in 0..count {
                let to = path.ends[i];
                stream.push(SimPiece::new(due, SimSignal::Bytes(to - from)));
                from = to;
                due = outage(settings, due + path.gap(settings));
            }
        }
        self.schedule(conn, side);
    }

    /// Schedules the event of a stream, unless an early enough one is scheduled already.
    pub(super) fn schedule(&mut self, conn: u32, side: SimSide) {
        let index = conn * 2 + u32::from(side == SimSide::Client);
        let stream = stream(&mut self.slots[conn as usize], side);
        let Some(first) = stream.first() else { return };
        if first.due < stream.event_at {
            stream.event_at = first.due;
            self.queue.push(Reverse((first.due, self.sequence, index)));
            self.sequence += 1;
        }
    }

    /// Takes a slot for a new connection.
    pub(super) fn take_slot(&mut self) -> u32 {
        match self.free.pop() {
            Some(conn) => conn,
            None => {
                self.slots.push(SimConnection::default());
                self.slots.len() as u32 - 1
            }
        }
    }

    /// Frees the slot if both sides are done with it.
    pub(super) fn free_if_closed(&mut self, conn: u32) {
        let slot = &mut self.slots[conn as usize];
        if slot.is_free() {
            slot.renew();
            self.free.push(conn);
        }
    }

    fn stream(&mut self, conn: u32, side: SimSide) -> &mut SimStream {
        stream(&mut self.slots[conn as usize], side)
    }
}

fn stream(slot: &mut SimConnection, side: SimSide) -> &mut SimStream {
    match side {
        SimSide::Peer => &mut slot.to_peer,
        SimSide::Client => &mut slot.to_client,
    }
}
