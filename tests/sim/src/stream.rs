//! One direction of a simulated connection: bytes and tidings on their way, in order.

use std::collections::VecDeque;

use measure::Nanos;
use wire::Errno;

/// What arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// To the peer: somebody asks for the connection.
    Asked,
    /// To the client: it stands.
    Stands,
    /// So many bytes.
    Bytes(usize),
    /// The other side closed in order.
    End,
    /// The other side is gone, or never was there.
    Gone(Errno),
}

/// Something on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) due: Nanos,
    pub(super) what: What,
    /// How many sends it joined already.
    pub(super) joined: u8,
}

impl Piece {
    pub(super) fn new(due: Nanos, what: What) -> Piece {
        Piece { due, what, joined: 0 }
    }
}

/// Sends that may join one piece: each of them delays it.
const JOINS: u8 = 8;

/// One direction. Only the first piece has an event in the world's queue, so that the queue grows with connections and
/// not with what they send.
#[derive(Debug)]
pub(super) struct Stream {
    bytes: Vec<u8>,
    taken: usize,
    pieces: VecDeque<Piece>,
    /// When the event for the first piece comes up; MAX: there is none.
    pub(super) event_at: Nanos,
    /// Nothing may arrive before this.
    pub(super) last_due: Nanos,
    /// When the line has taken what was sent so far.
    pub(super) line_free: Nanos,
}

impl Default for Stream {
    fn default() -> Self {
        Stream {
            bytes: Vec::new(),
            taken: 0,
            pieces: VecDeque::new(),
            event_at: Nanos::MAX,
            last_due: Nanos::ZERO,
            line_free: Nanos::ZERO,
        }
    }
}

impl Stream {
    /// Puts bytes behind those on their way; pieces for them follow.
    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Something more is on its way, behind everything else.
    pub(super) fn push(&mut self, piece: Piece) {
        debug_assert!(piece.due >= self.last_due);
        self.last_due = piece.due;
        self.pieces.push_back(piece);
    }

    /// Joins bytes to the last piece on its way, which then arrives no earlier than `due`. False where there is none.
    pub(super) fn join(&mut self, len: usize, due: Nanos) -> bool {
        match self.pieces.back_mut() {
            Some(Piece { due: at, what: What::Bytes(n), joined }) if *joined < JOINS => {
                *n += len;
                *joined += 1;
                *at = due;
                self.last_due = due;
                true
            }
            _ => false,
        }
    }

    pub(super) fn first(&self) -> Option<Piece> {
        self.pieces.front().copied()
    }

    /// The next piece that is due.
    pub(super) fn pop_due(&mut self, now: Nanos) -> Option<What> {
        match self.pieces.front() {
            Some(piece) if piece.due <= now => self.pieces.pop_front().map(|p| p.what),
            _ => None,
        }
    }

    /// The first `len` bytes that were not taken yet.
    pub(super) fn peek(&self, len: usize) -> &[u8] {
        &self.bytes[self.taken..self.taken + len]
    }

    /// Marks bytes as taken; their memory is used again.
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

    /// Bytes on their way or waiting to be taken.
    pub(super) fn held(&self) -> usize {
        self.bytes.len() - self.taken
    }

    /// Memory held.
    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity() + self.pieces.capacity() * size_of::<Piece>()
    }

    /// Drops what is on its way, but not the first `arrived` bytes.
    pub(super) fn drop_in_flight(&mut self, arrived: usize) {
        self.bytes.truncate(self.taken + arrived);
        self.take(0);
        self.pieces.clear();
        self.last_due = Nanos::ZERO;
        self.line_free = Nanos::ZERO;
    }

    /// Drops the last `len` bytes: those the socket has not taken.
    pub(super) fn drop_unsent(&mut self, mut len: usize) {
        self.bytes.truncate(self.bytes.len() - len);
        while len > 0 {
            match self.pieces.back_mut() {
                Some(Piece { what: What::Bytes(n), .. }) if *n > len => {
                    *n -= len;
                    len = 0;
                }
                Some(Piece { what: What::Bytes(n), .. }) => {
                    len -= *n;
                    self.pieces.pop_back();
                }
                _ => break,
            }
        }
    }

    /// Forgets the last `len` bytes put, for which no piece is on its way.
    pub(super) fn lose(&mut self, len: usize) {
        self.bytes.truncate(self.bytes.len() - len);
    }

    /// As new, for the next connection; small memory is kept, and so is the time of an event still in the queue.
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
