//! Bytes that a socket on epoll did not accept at once, or that exceed a piece: kept, and written a piece in each turn.

use brunt_contract::OutputBuffer;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno as Os;

use super::{Epoll, EpollState};
use crate::send_backlog::write_piece;

impl Epoll {
    /// Writes a piece of the backlog of a connection; returns `true` if nothing is left of it.
    pub(super) fn flush(&mut self, slot: u32) -> bool {
        if self.slots[slot as usize].state == EpollState::Datagrams {
            self.flush_datagrams(slot);
            let s = &self.slots[slot as usize];
            return s.state == EpollState::Datagrams && !s.backlog;
        }
        let Some(mut waiting) = self.unsent.remove(&slot) else { return false };
        let (head, tail) = waiting.pieces();
        let written = if waiting.is_empty() { Ok(0) } else { write_piece(self.fd(slot), head, tail) };
        match written {
            Ok(n) => {
                self.sent += n as u64;
                waiting.advance(n);
            }
            Err(Os::INTR | Os::AGAIN) => {}
            Err(_) => {
                self.slots[slot as usize].backlog = false;
                self.fail(slot);
                return false;
            }
        }
        if waiting.is_empty() {
            self.slots[slot as usize].backlog = false;
            return true;
        }
        self.unsent.insert(slot, waiting);
        // A full socket raises an edge once it accepts more.
        if written != Err(Os::AGAIN) {
            self.write_next_turn(slot);
        }
        false
    }

    /// Has the backlog of a connection written further in the next turn.
    pub(super) fn write_next_turn(&mut self, slot: u32) {
        let s = &mut self.slots[slot as usize];
        if !std::mem::replace(&mut s.writing, true) {
            self.unwritten.push_back((slot, s.age));
        }
    }

    /// Handles a failed write: what can still be read is read first, then the failure is reported.
    pub(super) fn fail(&mut self, slot: u32) {
        let s = &mut self.slots[slot as usize];
        s.state = EpollState::Failing;
        if !s.later {
            self.recheck.push((slot, s.age));
        }
    }

    /// Keeps `out` without its first `taken` bytes, which the socket has accepted.
    pub(super) fn keep_unsent(&mut self, slot: u32, out: &mut OutputBuffer, taken: usize) {
        self.slots[slot as usize].nagle = self.slots[slot as usize].nagle.before_write(self.fd(slot), false);
        let waiting = self.unsent.entry(slot).or_default();
        waiting.append(out);
        waiting.advance(taken);
        self.slots[slot as usize].backlog = true;
        self.arm_writable(slot);
        if taken > 0 {
            self.write_next_turn(slot);
        }
    }

    pub(super) fn arm_writable(&mut self, slot: u32) {
        let s = self.slots[slot as usize];
        if s.writable_armed {
            return;
        }
        let data = EventData::new_u64(u64::from(s.age & 0x7fff_ffff) << 32 | u64::from(slot));
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        if epoll::modify(&self.poll, self.fd(slot), data, flags).is_ok() {
            self.slots[slot as usize].writable_armed = true;
        }
    }
}
