//! The simulated networks of a run's workers: watched, and kept in step if workers wait for each other.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex};

use brunt_contract::{
    ConnId, ConnectParameters, Errno, ListenerId, Network, NetworkEvent, OutputBuffer, PeerAddress, TurnRemainder,
};
use brunt_measure::Nanos;

use super::harness::ServerLog;
use crate::Stop;

/// Number of turns of the loop without progress of time after which a worker is considered to be spinning.
const SPINS: u32 = 100_000;

/// A lock for workers on threads, each with its own clock: only the worker whose clock is furthest behind runs, so that
/// messages arrive in chronological order and every run is the same.
pub(super) struct StepLock {
    clocks: Mutex<Vec<Nanos>>,
    moved: Condvar,
}

impl StepLock {
    pub fn new(workers: u32) -> StepLock {
        StepLock { clocks: Mutex::new(vec![Nanos::ZERO; workers as usize]), moved: Condvar::new() }
    }

    /// Records that this worker has reached `now`, and waits for its turn.
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
pub(super) struct WatchedNetwork<N: Network> {
    net: N,
    stop_at: Nanos,
    stop: Stop,
    books: Arc<ServerLog>,
    last: Nanos,
    idle_turns: u32,
    received: u64,
    told: bool,
    /// The other workers, and its own index among them.
    step: Option<(Arc<StepLock>, u32)>,
}

impl<N: Network> WatchedNetwork<N> {
    pub fn new(
        net: N,
        stop_at: Option<Nanos>,
        stop: Stop,
        books: Arc<ServerLog>,
        step: Option<(Arc<StepLock>, u32)>,
    ) -> WatchedNetwork<N> {
        let stop_at = stop_at.unwrap_or(Nanos::MAX);
        WatchedNetwork { net, stop_at, stop, books, last: Nanos::ZERO, idle_turns: 0, received: 0, told: false, step }
    }
}

impl<N: Network> Network for WatchedNetwork<N> {
    fn now(&mut self) -> Nanos {
        let now = self.net.now();
        if now >= self.stop_at {
            self.stop.request();
        }
        now
    }
    fn last_read_at(&mut self) -> Nanos {
        let at = self.net.last_read_at();
        if at >= self.stop_at {
            self.stop.request();
        }
        at
    }
    fn connect(&mut self, dial: &ConnectParameters) -> Result<ConnId, Errno> {
        self.told = true;
        self.net.connect(dial)
    }
    fn send(&mut self, conn: ConnId, out: &mut OutputBuffer) {
        self.told = true;
        self.net.send(conn, out);
    }
    fn end_sending(&mut self, conn: ConnId) -> bool {
        self.net.end_sending(conn)
    }
    fn close(&mut self, conn: ConnId) {
        self.net.close(conn);
    }
    fn abort(&mut self, conn: ConnId) {
        self.net.abort(conn);
    }
    fn listen(&mut self, at: &PeerAddress, backlog: u32, shared: bool) -> Result<ListenerId, Errno> {
        self.net.listen(at, backlog, shared)
    }
    fn local_addr(&self, listener: ListenerId) -> Option<std::net::SocketAddr> {
        self.net.local_addr(listener)
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
    fn next(&mut self) -> Option<NetworkEvent<'_>> {
        let arrival = self.net.next();
        if let Some(NetworkEvent::Received(_, bytes)) = &arrival {
            self.received += bytes.len() as u64;
        }
        self.told |= arrival.is_some();
        arrival
    }
    fn remaining(&mut self) -> TurnRemainder {
        self.net.remaining()
    }
    fn bytes_sent(&self) -> u64 {
        self.net.bytes_sent()
    }
    fn rejected_datagrams(&self) -> u64 {
        self.net.rejected_datagrams()
    }
    fn ready_time(&mut self) -> Option<Nanos> {
        self.net.ready_time()
    }
    fn report_sent(&mut self, conn: ConnId) -> bool {
        self.net.report_sent(conn)
    }
    fn unsent(&self, conn: ConnId) -> usize {
        self.books.looks.fetch_add(1, Ordering::Relaxed);
        self.net.unsent(conn)
    }

    fn sends_at_once(&self) -> bool {
        self.net.sends_at_once()
    }
}

impl<N: Network> Drop for WatchedNetwork<N> {
    fn drop(&mut self) {
        if let Some((step, index)) = &self.step {
            step.leave(*index);
        }
        self.books.sent.fetch_add(self.net.bytes_sent(), Ordering::Relaxed);
        self.books.received.fetch_add(self.received, Ordering::Relaxed);
    }
}
