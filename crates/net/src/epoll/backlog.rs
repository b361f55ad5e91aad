//! Bytes that a socket on epoll did not accept at once: kept, and written when it accepts more.

use brunt_contract::OutputBuffer;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno as Os;

use super::{Epoll, EpollState};
use crate::send_backlog::{SendBacklog, write_two};

impl Epoll {
    /// Writes the backlog of a connection; returns `true` if all of it was written.
    pub(super) fn flush(&mut self, slot: u32) -> bool {
        if self.slots[slot as usize].state == EpollState::Datagrams {
            self.flush_datagrams(slot);
            let s = &self.slots[slot as usize];
            return s.state == EpollState::Datagrams && !s.backlog;
        }
        let Some(mut waiting) = self.unsent.remove(&slot) else { return false };
        let done = loop {
            let (head, tail) = waiting.pieces();
            if head.is_empty() && tail.is_empty() {
                break true;
            }
            match write_two(self.fd(slot), head, tail) {
                Ok(n) => {
                    self.sent += n as u64;
                    waiting.advance(n);
                }
                Err(Os::INTR) => {}
                Err(Os::AGAIN) => break false,
                Err(_) => {
                    self.fail(slot);
                    break true;
                }
            }
        };
        if done {
            self.slots[slot as usize].backlog = false;
        } else {
            self.unsent.insert(slot, waiting);
        }
        done && self.slots[slot as usize].state == EpollState::Open
    }

    /// Handles a failed write: what can still be read is read first, then the failure is reported.
    pub(super) fn fail(&mut self, slot: u32) {
        let s = &mut self.slots[slot as usize];
        s.state = EpollState::Failing;
        if !s.later {
            self.recheck.push((slot, s.age));
        }
    }

    pub(super) fn keep_unsent(&mut self, slot: u32, out: &OutputBuffer, taken: usize) {
        self.slots[slot as usize].nagle = self.slots[slot as usize].nagle.before_write(self.fd(slot), false);
        let waiting = SendBacklog::rest_of(out, taken);
        self.unsent.insert(slot, waiting);
        self.slots[slot as usize].backlog = true;
        self.arm_writable(slot);
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
