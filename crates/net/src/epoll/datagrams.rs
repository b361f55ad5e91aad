//! Datagram sockets on epoll: one send and one arrival per datagram.
//!
//! They are registered level-triggered and for reading only: a datagram left in the queue raises the next event by
//! itself, whereas an edge would need a further read to find the queue empty. A socket that accepts no more is
//! registered for writing until it does.

use std::os::fd::OwnedFd;

use brunt_contract::{ConnId, Errno, OutputBuffer};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno as Os;
use rustix::net::SendFlags;

use super::{Epoll, EpollState};
use crate::socket;

/// Consecutive datagrams that a socket has not accepted yet.
#[derive(Debug, Default)]
pub(super) struct QueuedDatagrams {
    bytes: Vec<u8>,
    /// End offset of each datagram.
    ends: Vec<u32>,
}

impl QueuedDatagrams {
    pub fn len(&self) -> usize {
        self.bytes.len()
    }
}

impl Epoll {
    pub(super) fn adopt_datagrams(&mut self, fd: OwnedFd) -> Result<ConnId, Errno> {
        let conn = self.settle(fd, EpollState::Standing, EventFlags::IN)?;
        self.recheck.push((conn.0, self.slots[conn.0 as usize].age));
        Ok(conn)
    }

    /// Sends each datagram of `out`; without boundaries, the whole output is one datagram. Empty output without a
    /// boundary is no datagram.
    pub(super) fn send_datagrams(&mut self, slot: u32, out: &mut OutputBuffer) {
        if out.is_empty() {
            return;
        }
        // Copies a shared block into the buffer.
        out.buffer();
        let end = out.bytes().len() as u32;
        let whole = out.boundaries().last() == Some(&end);
        let ends = out.boundaries().iter().copied().chain((!whole).then_some(end));
        if self.slots[slot as usize].backlog {
            let waiting = self.waiting.entry(slot).or_default();
            let base = waiting.bytes.len() as u32;
            waiting.bytes.extend_from_slice(out.bytes());
            return waiting.ends.extend(ends.map(|end| base + end));
        }
        let mut from = 0;
        for (index, end) in ends.clone().enumerate() {
            if !self.send_one(slot, &out.bytes()[from as usize..end as usize]) {
                if self.slots[slot as usize].state == EpollState::Datagrams {
                    let bytes = out.bytes()[from as usize..].to_vec();
                    let ends = ends.skip(index).map(|end| end - from).collect();
                    self.keep_waiting(slot, QueuedDatagrams { bytes, ends });
                }
                return;
            }
            from = end;
        }
    }

    /// Returns `true` if the system accepted the datagram. After `false`, the slot's state shows whether the socket may
    /// accept more later.
    fn send_one(&mut self, slot: u32, datagram: &[u8]) -> bool {
        let mut told = false;
        loop {
            match rustix::net::send(self.fd(slot), datagram, SendFlags::NOSIGNAL) {
                Ok(n) => {
                    self.sent += n as u64;
                    return true;
                }
                Err(Os::INTR) => {}
                Err(Os::AGAIN | Os::NOBUFS) => return false,
                // The refusal of an earlier datagram; the next read reports what happens to this one.
                Err(Os::CONNREFUSED) if !told => {
                    told = true;
                    self.refused += 1;
                }
                Err(e) => {
                    self.refusals.insert(slot, socket::errno(e));
                    self.fail(slot);
                    return false;
                }
            }
        }
    }

    fn keep_waiting(&mut self, slot: u32, waiting: QueuedDatagrams) {
        self.waiting.insert(slot, waiting);
        self.slots[slot as usize].backlog = true;
        self.listen_for(slot, EventFlags::IN | EventFlags::OUT);
    }

    pub(super) fn flush_datagrams(&mut self, slot: u32) {
        let Some(QueuedDatagrams { bytes, ends }) = self.waiting.remove(&slot) else { return };
        self.slots[slot as usize].backlog = false;
        let mut from = 0;
        for (index, end) in ends.iter().enumerate() {
            if !self.send_one(slot, &bytes[from as usize..*end as usize]) {
                if self.slots[slot as usize].state == EpollState::Datagrams {
                    let ends = ends[index..].iter().map(|end| end - from).collect();
                    self.keep_waiting(slot, QueuedDatagrams { bytes: bytes[from as usize..].to_vec(), ends });
                }
                return;
            }
            from = *end;
        }
        self.listen_for(slot, EventFlags::IN);
    }

    fn listen_for(&mut self, slot: u32, flags: EventFlags) {
        let age = self.slots[slot as usize].age;
        let data = EventData::new_u64(u64::from(age & 0x7fff_ffff) << 32 | u64::from(slot));
        // A socket that cannot be watched runs into its timeout.
        let _ = epoll::modify(&self.poll, self.fd(slot), data, flags);
    }
}
