//! Sends on io_uring: small ones are queued and submitted together, large ones are written at once, and bytes that a
//! socket did not accept wait until it accepts more.

use brunt_contract::{Errno, OutputBuffer};
use io_uring::opcode;
use io_uring::squeue::Flags;
use io_uring::types::{Fd, Fixed};

use super::Uring;
use super::slot::{OperationKind, UringState, mark};
use crate::send_backlog::write_piece;
use crate::socket;

/// Maximum number of sends that wait for one `enter`. A request is timestamped when its send is queued; the kernel
/// takes about 20 µs for this many sends, which bounds the age of the timestamp.
const SENDS: usize = 4;
/// Requests up to this size in bytes are copied side by side until they are submitted; larger ones are written at once.
pub(super) const COPY: usize = 4096;
/// Capacity for the sends of one `enter`, in bytes.
pub(super) const ARENA: usize = SENDS * COPY;

impl Uring {
    /// Queues a small send, which the next `enter` submits.
    #[inline]
    pub(super) fn queue(&mut self, slot: u32, bytes: &[u8]) {
        let (s, len) = (self.slots[slot as usize], bytes.len());
        self.slots[slot as usize].nagle = s.nagle.before_write(self.fd(slot), true);
        let at = self.arenas[self.filling].len();
        if at + len > self.arenas[self.filling].capacity() {
            // Growing the arena would move the bytes, so no queued send may point at them.
            self.submit_sends();
        }
        self.arenas[self.filling].extend_from_slice(bytes);
        let place = &mut self.slots[slot as usize];
        place.send_again = place.send_turn == self.turn;
        (place.send_at, place.send_len, place.send_turn) = (at as u32, len as u32, self.turn);
        let from = self.arenas[self.filling][at..].as_ptr();
        let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT | libc::MSG_WAITALL;
        let entry = if s.fixed {
            opcode::Send::new(Fixed(slot), from, len as u32).flags(flags).build()
        } else {
            opcode::Send::new(Fd(s.fd), from, len as u32).flags(flags).build()
        };
        let entry = entry.flags(Flags::SKIP_SUCCESS).user_data(mark(OperationKind::Send, slot, s.age));
        self.push(&entry);
        self.sent += len as u64;
        self.queued += 1;
        if self.queued >= SENDS {
            self.submit_sends();
        }
    }

    /// Submits queued sends to the kernel, which has finished with them when this returns.
    pub(super) fn submit_sends(&mut self) {
        let _ = self.ring.submit();
        self.queued = 0;
    }

    /// Keeps `out` without its first `taken` bytes, which the socket has accepted, and requests a notification for when
    /// it accepts more.
    pub(super) fn keep_unsent(&mut self, slot: u32, out: &mut OutputBuffer, taken: usize) {
        self.slots[slot as usize].nagle = self.slots[slot as usize].nagle.before_write(self.fd(slot), false);
        let s = &mut self.slots[slot as usize];
        let first = !std::mem::replace(&mut s.backlog, true);
        let waiting = self.unsent.entry(slot).or_default();
        waiting.append(out);
        waiting.advance(taken);
        if first && self.slots[slot as usize].state == UringState::Open {
            self.arm_writable(slot);
        }
    }

    /// Writes a piece at once, without the ring; returns the number of bytes that the socket accepted.
    fn write(&mut self, slot: u32, head: &[u8], tail: &[u8]) -> Result<usize, Errno> {
        use rustix::io::Errno as Os;
        match write_piece(self.fd(slot), head, tail) {
            Ok(n) => {
                self.sent += n as u64;
                Ok(n)
            }
            Err(Os::AGAIN | Os::INTR) => Ok(0),
            Err(e) => Err(socket::errno(e)),
        }
    }

    /// Writes a piece of the backlog of a connection; returns `true` if nothing is left of it.
    pub(super) fn flush(&mut self, slot: u32) -> bool {
        let Some(mut waiting) = self.unsent.remove(&slot) else { return false };
        if !waiting.is_empty() {
            let (head, tail) = waiting.pieces();
            let Ok(n) = self.write(slot, head, tail) else {
                let s = &mut self.slots[slot as usize];
                (s.backlog, s.failed) = (false, true);
                return false;
            };
            waiting.advance(n);
        }
        if waiting.is_empty() {
            self.slots[slot as usize].backlog = false;
            return true;
        }
        self.unsent.insert(slot, waiting);
        self.arm_writable(slot);
        false
    }

    /// Handles an incomplete queued send, whose rest is kept. Returns `true` if later bytes of the connection may have
    /// left before the rest, which makes the connection unusable.
    pub(super) fn fell_short(&mut self, slot: u32, result: i32) -> bool {
        let s = self.slots[slot as usize];
        let taken = (result.max(0) as u32).min(s.send_len);
        self.sent -= u64::from(s.send_len - taken);
        if result < 0 && result != -libc::EAGAIN {
            self.slots[slot as usize].failed = true;
            return false;
        }
        let arena = match self.turn.wrapping_sub(s.send_turn) {
            0 => self.filling,
            1 => self.filling ^ 1,
            _ => return true,
        };
        if s.send_again {
            return true;
        }
        let rest = (s.send_at + taken) as usize..(s.send_at + s.send_len) as usize;
        let mut out = OutputBuffer::default();
        out.put(self.arenas[arena].get(rest).unwrap_or_default());
        self.keep_unsent(slot, &mut out, 0);
        false
    }

    /// Sends large requests, and requests that follow bytes still waiting, in order and without the arena.
    pub(super) fn send_large(&mut self, slot: u32, out: &mut OutputBuffer) {
        let s = self.slots[slot as usize];
        if s.backlog || s.state == UringState::Connecting {
            return self.keep_unsent(slot, out, 0);
        }
        self.slots[slot as usize].nagle = self.slots[slot as usize].nagle.before_write(self.fd(slot), false);
        // Bytes queued for this connection must be sent first.
        self.submit_sends();
        match self.write(slot, out.bytes(), out.tail().map_or(&[], |tail| tail)) {
            Ok(n) if n < out.len() => self.keep_unsent(slot, out, n),
            sent => {
                self.slots[slot as usize].failed |= sent.is_err();
                out.clear();
            }
        }
    }
}
