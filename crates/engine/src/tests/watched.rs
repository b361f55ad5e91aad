//! Simulated networks of a run's workers: watched, and kept in step where workers wait for each other.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex};

use measure::Nanos;
use wire::{Arrival, ConnId, Dial, Errno, ListenerId, Network, Out, Place, Rest};

use super::harness::Books;
use crate::Stop;

/// Turns of the loop without time passing after which a worker is considered to spin.
const SPINS: u32 = 100_000;

/// Workers on threads, each with its own clock: only the one whose clock is furthest behind runs, so that their
/// messages come in the order of time, and every run is the same.
pub(super) struct InStep {
    clocks: Mutex<Vec<Nanos>>,
    moved: Condvar,
}

impl InStep {
    pub fn new(workers: u32) -> InStep {
        InStep { clocks: Mutex::new(vec![Nanos::ZERO; workers as usize]), moved: Condvar::new() }
    }

    /// Records that this worker has come to `now`, and waits until it is its turn.
    fn wait(&self, index: u32, now: Nanos) {
        let mut clocks = self.clocks.lock().unwrap_or_else(|broken| broken.into_inner());
        clocks[index as usize] = now;
        self.moved.notify_all();
        while clocks.iter().enumerate().min_by_key(|(_, clock)| **clock).is_some_and(|(at, _)| at != index as usize) {
            clocks = self.moved.wait(clocks).unwrap_or_else(|broken| broken.into_inner());
        }
    }

    /// Removes this worker: the others no longer wait for it.
    fn leave(&self, index: u32) {
        self.clocks.lock().unwrap_or_else(|broken| broken.into_inner())[index as usize] = Nanos::MAX;
        self.moved.notify_all();
    }
}

/// A simulation with a watchdog: requests the stop, counts bytes, and ends a loop that spins.
pub(super) struct Watched<N: Network> {
    net: N,
    stop_at: Nanos,
    stop: Stop,
    books: Arc<Books>,
    last: Nanos,
    idle_turns: u32,
    received: u64,
    told: bool,
    /// The other workers, and its own index among them.
    step: Option<(Arc<InStep>, u32)>,
}

impl<N: Network> Watched<N> {
    pub fn new(
        net: N,
        stop_at: Option<Nanos>,
        stop: Stop,
        books: Arc<Books>,
        step: Option<(Arc<InStep>, u32)>,
    ) -> Watched<N> {
        let stop_at = stop_at.unwrap_or(Nanos::MAX);
        Watched { net, stop_at, stop, books, last: Nanos::ZERO, idle_turns: 0, received: 0, told: false, step }
    }
}

impl<N: Network> Network for Watched<N> {
    fn now(&mut self) -> Nanos {
        let now = self.net.now();
        if now >= self.stop_at {
            self.stop.request();
        }
        now
    }
    fn read_at(&mut self) -> Nanos {
        let at = self.net.read_at();
        if at >= self.stop_at {
            self.stop.request();
        }
        at
    }
    fn connect(&mut self, dial: &Dial) -> Result<ConnId, Errno> {
        self.told = true;
        self.net.connect(dial)
    }
    fn send(&mut self, conn: ConnId, out: &mut Out) {
        self.told = true;
        self.net.send(conn, out);
    }
    fn close(&mut self, conn: ConnId) {
        self.net.close(conn);
    }
    fn abort(&mut self, conn: ConnId) {
        self.net.abort(conn);
    }
    fn listen(&mut self, at: &Place, backlog: u32, shared: bool) -> Result<ListenerId, Errno> {
        self.net.listen(at, backlog, shared)
    }
    fn listening_at(&self, listener: ListenerId) -> Option<std::net::SocketAddr> {
        self.net.listening_at(listener)
    }
    fn set_accepting(&mut self, listener: ListenerId, accepting: bool) {
        self.net.set_accepting(listener, accepting);
    }
    fn wait(&mut self, until: Nanos) {
        self.net.wait(until);
        let now = self.net.now();
        let idle = now == self.last && !std::mem::take(&mut self.told);
        self.idle_turns = if idle { self.idle_turns + 1 } else { 0 };
        assert!(self.idle_turns < SPINS, "the worker spins at {now}, waiting until {until}");
        self.last = now;
        if let Some((step, index)) = &self.step {
            step.wait(*index, now);
        }
    }
    fn next(&mut self) -> Option<Arrival<'_>> {
        let arrival = self.net.next();
        if let Some(Arrival::Received(_, bytes)) = &arrival {
            self.received += bytes.len() as u64;
        }
        self.told |= arrival.is_some();
        arrival
    }
    fn rest(&mut self) -> Rest {
        self.net.rest()
    }
    fn bytes_sent(&self) -> u64 {
        self.net.bytes_sent()
    }
    fn refused(&self) -> u64 {
        self.net.refused()
    }
    fn unsent(&self, conn: ConnId) -> usize {
        self.books.looks.fetch_add(1, Ordering::Relaxed);
        self.net.unsent(conn)
    }
}

impl<N: Network> Drop for Watched<N> {
    fn drop(&mut self) {
        if let Some((step, index)) = &self.step {
            step.leave(*index);
        }
        self.books.sent.fetch_add(self.net.bytes_sent(), Ordering::Relaxed);
        self.books.received.fetch_add(self.received, Ordering::Relaxed);
    }
}
