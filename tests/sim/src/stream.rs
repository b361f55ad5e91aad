//! One direction of a simulated connection: bytes and signals in flight, in order.

use std::collections::VecDeque;

use brunt_contract::Errno;
use brunt_measure::Nanos;

/// An arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SimSignal {
    /// A connection request, to the peer.
    ConnectRequest,
    /// An established connection, to the client.
    Connected,
    /// A number of bytes.
    Bytes(usize),
    /// The other side closed in an orderly way.
    End,
    /// The other side is gone, or never existed.
    Gone(Errno),
}

/// A piece in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct SimPiece {
    pub(super) due: Nanos,
    pub(super) what: SimSignal,
    /// Number of sends merged into it.
    pub(super) joined: u8,
}

impl SimPiece {
    pub(super) fn new(due: Nanos, what: SimSignal) -> SimPiece {
        SimPiece { due, what, joined: 0 }
    }
}

/// Maximum number of sends merged into one piece, as each of them delays it.
const JOINS: u8 = 8;

/// One direction of a connection. Only the first piece has an event in the world's queue, so the queue grows with the
/// number of connections and not with the amount of data.
#[derive(Debug)]
pub(super) struct SimStream {
    bytes: Vec<u8>,
    taken: usize,
    pieces: VecDeque<SimPiece>,
    /// Time of the event for the first piece; `MAX` if there is none.
    pub(super) event_at: Nanos,
    /// Earliest time of the next arrival.
    pub(super) last_due: Nanos,
    /// Time when the link has transmitted everything sent so far.
    pub(super) line_free: Nanos,
}

impl Default for SimStream {
    fn default() -> Self {
        SimStream {
            bytes: Vec::new(),
            taken: 0,
            pieces: VecDeque::new(),
            event_at: Nanos::MAX,
            last_due: Nanos::ZERO,
            line_free: Nanos::ZERO,
        }
    }
}

impl SimStream {
    /// Appends bytes to those in flight; the caller adds pieces for them afterwards.
    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends a piece.
    pub(super) fn push(&mut self, piece: SimPiece) {
        debug_assert!(piece.due >= self.last_due);
        self.last_due = piece.due;
        self.pieces.push_back(piece);
    }

    /// Merges bytes into the last piece in flight, which then arrives no earlier than `due`. Returns `false` if there
    /// is none.
    pub(super) fn join(&mut self, len: usize, due: Nanos) -> bool {
        match self.pieces.back_mut() {
            Some(SimPiece { due: at, what: SimSignal::Bytes(n), joined }) if *joined < JOINS => {
                *n += len;
                *joined += 1;
                *at = due;
                self.last_due = due;
                true
            }
            _ => false,
        }
    }

    pub(super) fn first(&self) -> Option<SimPiece> {
        self.pieces.front().copied()
    }

    /// Removes the next piece that is due.
    pub(super) fn pop_due(&mut self, now: Nanos) -> Option<SimSignal> {
        match self.pieces.front() {
            Some(piece) if piece.due <= now => self.pieces.pop_front().map(|p| p.what),
            _ => None,
        }
    }

    /// Returns the first `len` bytes that have not been taken yet.
    pub(super) fn peek(&self, len: usize) -> &[u8] {
        &self.bytes[self.taken..self.taken + len]
    }

    /// Marks bytes as taken, so that their memory can be reused.
    pub(super) fn take(&mut self, len: usize) {
        self.taken += len;
        if self.taken == self.bytes.len() {
            self.bytes.clear();
            self.taken = 0;
        } else if self.taken > 4096 && self.taken * 2 > self.bytes.len() {
            self.bytes.drain(..self.taken);
            self.taken = 0;
        }
    }

    /// Returns the number of bytes in flight or waiting to be taken.
    pub(super) fn held(&self) -> usize {
        self.bytes.len() - self.taken
    }

    /// Returns the memory held.
    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity() + self.pieces.capacity() * size_of::<SimPiece>()
    }

    /// Drops everything in flight except for the first `arrived` bytes.
    pub(super) fn drop_in_flight(&mut self, arrived: usize) {
        self.bytes.truncate(self.taken + arrived);
        self.take(0);
        self.pieces.clear();
        self.last_due = Nanos::ZERO;
        self.line_free = Nanos::ZERO;
    }

    /// Drops the last `len` bytes, which the socket has not accepted.
    pub(super) fn drop_unsent(&mut self, mut len: usize) {
        self.bytes.truncate(self.bytes.len() - len);
        while len > 0 {
            match self.pieces.back_mut() {
                Some(SimPiece { what: SimSignal::Bytes(n), .. }) if *n > len => {
                    *n -= len;
                    len = 0;
                }
                Some(SimPiece { what: SimSignal::Bytes(n), .. }) => {
                    len -= *n;
                    self.pieces.pop_back();
                }
                _ => break,
            }
        }
    }

    /// Drops the last `len` bytes put, for which there is no piece in flight.
    pub(super) fn lose(&mut self, len: usize) {
        self.bytes.truncate(self.bytes.len() - len);
    }

    /// Resets the stream for the next connection, but keeps small buffers and the time of an event still in the queue.
    pub(super) fn renew(&mut self) {
        self.drop_in_flight(0);
        self.bytes.clear();
        self.taken = 0;
        if self.memory() > 4096 {
            self.bytes = Vec::new();
            self.pieces = VecDeque::new();
        }
    }
}
