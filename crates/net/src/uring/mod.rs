//! The network on io_uring: one `enter` per batch.
//!
//! Receives are multishot into a shared ring of buffers, so that an idle connection holds no buffer and a receive costs
//! no submission. Sends are tried at submission and never wait in the kernel (`MSG_DONTWAIT`); only incomplete ones
//! post a completion, and their rest is sent once the socket is writable. Completions are reaped only inside `enter`
//! (`DEFER_TASKRUN`), on the only thread that submits. Connections are opened and closed with ordinary calls. Listening
//! and datagrams are left to [`crate::Epoll`].
//!
//! A connection that sends faster than it is read gets its share of each turn and no more (`deferred`), and so does one
//! that is written to: what exceeds a piece is written in the next turns.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};

use brunt_contract::{
    ConnId, ConnectParameters, Errno, ListenerId, Network, NetworkEvent, OutputBuffer, PeerAddress, ThreadStats,
    TurnRemainder,
};
use brunt_measure::{Clock, Nanos};
use io_uring::squeue::Flags;
use io_uring::types::{Fd, Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};

use self::buffers::Buffers;
use self::deferred::DeferredArrival;
use self::sends::{ARENA, COPY};
use self::slot::{AGE, OperationKind, Slot, UringState, mark};
use crate::nagle::Nagle;
use crate::running::OwnThreadCounters;
use crate::send_backlog::SendBacklog;
use crate::socket;

mod buffers;
mod deferred;
mod sends;
mod slot;

const SUBMISSIONS: u32 = 512;
const COMPLETIONS: u32 = 8192;
/// Maximum time to wait for further arrivals. It exceeds the system's own tick, because setting an earlier timer in
/// every turn costs more than is saved by waking up once for several arrivals.
const ALONE: Nanos = Nanos::from_millis(5);
/// An `enter` that returned fewer completions than this returned all that were available: the kernel processes at least
/// this many.
const ALL: usize = 16;

/// Sockets on one io_uring.
pub struct Uring {
    ring: IoUring,
    buffers: Buffers,
    /// The buffer lent out with the last `Received`.
    lent: Option<u16>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Connections whose receive must be armed again, longest waiting first.
    rearm: VecDeque<u32>,
    /// Arrivals deferred by earlier turns.
    aside: VecDeque<DeferredArrival>,
    /// Number of deferred arrivals not yet visited in this turn.
    recalls: usize,
    /// Number of completions at the beginning of this turn.
    completions: usize,
    /// Bytes of queued sends: one arena is filled while the completions of the other are read.
    arenas: [Vec<u8>; 2],
    filling: usize,
    /// Number of the current turn.
    turn: u32,
    queued: usize,
    unsent: BTreeMap<u32, SendBacklog>,
    sent: u64,
    /// Upper bound of the slots that can be registered.
    table: u32,
    /// Number of completions to wait for.
    wait_count: usize,
    clock: Clock,
    /// Time at which the last bytes were delivered.
    read_at: Nanos,
    thread: OwnThreadCounters,
}

impl std::fmt::Debug for Uring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Uring(fd {}, {} slots)", self.ring.as_raw_fd(), self.slots.len())
    }
}

impl Uring {
    /// Creates a network for the calling thread.
    ///
    /// # Errors
    /// Returns the error of the operating system: container runtimes often forbid io_uring.
    pub fn new() -> std::io::Result<Uring> {
        rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?;
        let ring: IoUring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_coop_taskrun()
            .setup_submit_all()
            .setup_no_sqarray()
            .setup_cqsize(COMPLETIONS)
            .build(SUBMISSIONS)?;
        let buffers = Buffers::register(&ring)?;
        ring.submitter().register_ring_fd()?;
        // The table may not be larger than the descriptor limit; without a table, plain descriptors are used.
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(1024);
        let table = limit.min(16_384) as u32;
        let table = if ring.submitter().register_files_sparse(table).is_ok() { table } else { 0 };
        Ok(Uring {
            ring,
            buffers,
            lent: None,
            slots: Vec::new(),
            free: Vec::new(),
            rearm: VecDeque::new(),
            aside: VecDeque::new(),
            recalls: 0,
            completions: 0,
            arenas: [Vec::with_capacity(ARENA), Vec::with_capacity(ARENA)],
            filling: 0,
            turn: 0,
            queued: 0,
            unsent: BTreeMap::new(),
            sent: 0,
            table,
            wait_count: 1,
            clock: Clock,
            read_at: Nanos::ZERO,
            thread: OwnThreadCounters::default(),
        })
    }

    /// Returns `true` if this kernel and this container allow everything the network needs.
    pub fn is_available() -> bool {
        let tried = std::thread::Builder::new().spawn(|| Uring::new().is_ok());
        tried.is_ok_and(|tried| tried.join().unwrap_or(false))
    }

    fn push(&mut self, entry: &squeue::Entry) {
        loop {
            // SAFETY: what entries point at (buffer ring, arenas) lives as long as the ring, and an arena is not
            // written to again before its sends are submitted, which never outlive the submission (MSG_DONTWAIT).
            if unsafe { self.ring.submission().push(entry) }.is_ok() {
                return;
            }
            let _ = self.ring.submit();
        }
    }

    fn arm_receive(&mut self, slot: u32) {
        let s = &mut self.slots[slot as usize];
        s.armed = true;
        let entry = if s.fixed {
            opcode::RecvMulti::new(Fixed(slot), Buffers::GROUP).build()
        } else {
            opcode::RecvMulti::new(Fd(s.fd), Buffers::GROUP).build()
        };
        let entry = entry.user_data(mark(OperationKind::Receive, slot, s.age));
        self.push(&entry);
    }

    fn arm_writable(&mut self, slot: u32) {
        let s = self.slots[slot as usize];
        let entry = opcode::PollAdd::new(Fd(s.fd), libc::POLLOUT as u32).build();
        let entry = entry.user_data(mark(OperationKind::Writable, slot, s.age));
        self.push(&entry);
    }

    fn release(&mut self, conn: ConnId, reset: bool) {
        let s = self.slots[conn.0 as usize];
        if s.state == UringState::Free {
            return;
        }
        if self.queued > 0 {
            self.submit_sends();
        }
        // SAFETY: the slot has owned this descriptor since `connect`, and is emptied below.
        let fd = unsafe { OwnedFd::from_raw_fd(s.fd) };
        if reset {
            let _ = rustix::net::sockopt::set_socket_linger(&fd, Some(std::time::Duration::ZERO));
        }
        if s.armed || s.state == UringState::Connecting {
            // The kernel holds the socket while the receive is armed.
            let kind = if s.armed { OperationKind::Receive } else { OperationKind::Writable };
            let cancel = opcode::AsyncCancel::new(mark(kind, conn.0, s.age)).build();
            self.push(&cancel.flags(Flags::SKIP_SUCCESS).user_data(mark(OperationKind::Cancel, conn.0, s.age)));
        }
        if s.fixed {
            let _ = self.ring.submitter().register_files_update(conn.0, &[-1]);
        }
        self.unsent.remove(&conn.0);
        let s = &mut self.slots[conn.0 as usize];
        *s = Slot { fd: -1, age: s.age.wrapping_add(1), ..Slot::vacant() };
        self.free.push(conn.0);
    }

    fn fd(&self, slot: u32) -> BorrowedFd<'_> {
        // SAFETY: the descriptor of an occupied slot is open until `release` closes it.
        unsafe { BorrowedFd::borrow_raw(self.slots[slot as usize].fd) }
    }

    /// Interprets a completion; `None` if it no longer concerns a connection.
    fn interpret(&mut self, entry: &cqueue::Entry) -> Option<CompletionEvent> {
        let data = entry.user_data();
        let slot = data as u32;
        let s = self.slots[slot as usize];
        let current = u64::from(s.age) & AGE == data >> 32 & AGE;
        let buffer = cqueue::buffer_select(entry.flags());
        let kind = data >> 61;
        if kind == OperationKind::Receive as u64 {
            if !current || s.state != UringState::Open {
                buffer.into_iter().for_each(|b| self.buffers.give_back(b));
                return None;
            }
            if !cqueue::more(entry.flags()) {
                self.slots[slot as usize].armed = false;
            }
            return self.received(slot, entry.result(), buffer);
        }
        if !current {
            return None;
        }
        if kind == OperationKind::Send as u64 {
            if self.fell_short(slot, entry.result()) {
                self.slots[slot as usize].state = UringState::Over;
                return Some(CompletionEvent::Closed(slot, Some(Errno(libc::EPIPE))));
            }
        } else if kind == OperationKind::Writable as u64 {
            return self.writable(slot, entry.result());
        }
        None
    }

    fn received(&mut self, slot: u32, result: i32, buffer: Option<u16>) -> Option<CompletionEvent> {
        match (result, buffer) {
            (n @ 1.., Some(buffer)) => {
                if self.is_over_share(slot) {
                    self.set_aside(slot, buffer, n as usize);
                    return None;
                }
                let s = &mut self.slots[slot as usize];
                s.pieces += 1;
                if !s.armed {
                    self.rearm.push_back(slot);
                }
                Some(CompletionEvent::Bytes(slot, buffer, n as usize))
            }
            (e, buffer) => {
                buffer.into_iter().for_each(|b| self.buffers.give_back(b));
                let why = (e < 0).then_some(Errno(-e));
                match -e {
                    // The ring of buffers was empty for a moment; nothing is lost. If pieces are set aside, the receive
                    // is armed once they are delivered.
                    libc::ENOBUFS | libc::EINTR | libc::EAGAIN => {
                        if self.slots[slot as usize].aside == 0 {
                            if -e == libc::ENOBUFS {
                                self.buffers.lend_more();
                            }
                            self.rearm.push_back(slot);
                        }
                        return None;
                    }
                    _ if self.slots[slot as usize].aside > 0 => {
                        self.end_later(slot, why);
                        return None;
                    }
                    _ => self.slots[slot as usize].state = UringState::Over,
                }
                Some(CompletionEvent::Closed(slot, why))
            }
        }
    }

    fn writable(&mut self, slot: u32, result: i32) -> Option<CompletionEvent> {
        if self.slots[slot as usize].state != UringState::Connecting {
            let left = self.flush(slot);
            return left.then_some(CompletionEvent::Sent(slot));
        }
        let broken = result & i32::from(libc::POLLERR | libc::POLLHUP) != 0;
        let why = match result {
            ..0 => Some(Errno(-result)),
            _ if broken => socket::pending_error(self.fd(slot)),
            _ => None,
        };
        if why.is_some() {
            self.slots[slot as usize].state = UringState::Over;
            return Some(CompletionEvent::Closed(slot, why));
        }
        self.slots[slot as usize].state = UringState::Open;
        self.arm_receive(slot);
        self.flush(slot);
        Some(CompletionEvent::Connected(slot))
    }
}

enum CompletionEvent {
    Connected(u32),
    Sent(u32),
    Bytes(u32, u16, usize),
    Closed(u32, Option<Errno>),
}

impl Network for Uring {
    #[inline]
    fn now(&mut self) -> Nanos {
        self.clock.now()
    }

    fn connect(&mut self, dial: &ConnectParameters) -> Result<ConnId, Errno> {
        if let PeerAddress::Udp(_) = dial.to {
            return Err(Errno(libc::EOPNOTSUPP));
        }
        let fd = socket::client(dial)?;
        socket::begin(&fd, &dial.to)?;
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::vacant());
            (self.slots.len() - 1) as u32
        });
        // Registration does not pay off for a single request.
        let fixed = !dial.single_use
            && slot < self.table
            && self.ring.submitter().register_files_update(slot, &[fd.as_raw_fd()]).is_ok();
        let s = &mut self.slots[slot as usize];
        *s = Slot {
            fd: fd.into_raw_fd(),
            age: s.age,
            state: UringState::Connecting,
            fixed,
            nagle: Nagle::towards(&dial.to),
            ..Slot::vacant()
        };
        self.arm_writable(slot);
        Ok(ConnId(slot))
    }

    #[inline]
    fn send(&mut self, conn: ConnId, out: &mut OutputBuffer) {
        let slot = conn.0;
        let s = self.slots[slot as usize];
        let len = out.bytes().len();
        if out.is_empty() || !matches!(s.state, UringState::Open | UringState::Connecting) {
            return out.clear();
        }
        if s.backlog || s.state == UringState::Connecting || out.tail().is_some() || len > COPY {
            return self.send_large(slot, out);
        }
        self.queue(slot, out.bytes());
        out.clear();
    }

    fn end_sending(&mut self, conn: ConnId) -> bool {
        let all_sent = self.queued == 0 && self.unsent(conn) == 0;
        if all_sent && self.slots[conn.0 as usize].state == UringState::Open {
            socket::end_sending(self.fd(conn.0));
        }
        all_sent
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

    fn wait_for_at_least(&mut self, arrivals: u32) {
        self.wait_count = arrivals as usize;
    }

    fn wait(&mut self, until: Nanos) {
        if let Some(buffer) = self.lent.take() {
            self.buffers.give_back(buffer);
        }
        if self.recalls > 0 || !self.ring.completion().is_empty() {
            // The turn is not over; only send what has been queued in the meantime.
            return self.submit_sends();
        }
        // At most one receive per buffer: further ones would only find the ring empty again.
        for _ in 0..buffers::COUNT {
            let Some(slot) = self.rearm.pop_front() else { break };
            let s = self.slots[slot as usize];
            if s.state == UringState::Open && !s.armed {
                self.arm_receive(slot);
            }
        }
        let until = if self.rearm.is_empty() && self.aside.is_empty() { until } else { Nanos::ZERO };
        if until == Nanos::MAX {
            let _ = self.ring.submit_and_wait(1);
        } else {
            let now = self.clock.now();
            let span = until.min(if self.wait_count > 1 { now + ALONE } else { Nanos::MAX }) - now;
            let span = Timespec::new().sec(span.0 / 1_000_000_000).nsec((span.0 % 1_000_000_000) as u32);
            // After ETIME, EINTR or a full completion queue, the completions so far are handled, and the caller's loop
            // waits again.
            let _ = self.ring.submitter().submit_with_args(self.wait_count, &SubmitArgs::new().timespec(&span));
            let fewer = self.wait_count > 1 && self.ring.completion().len() < self.wait_count;
            if fewer && self.clock.now() >= now + ALONE {
                // The arrivals did not come in time; they are not waited for again until the caller requests it.
                self.wait_count = 1;
            }
        }
        self.queued = 0;
        // The other arena's sends were submitted a turn ago and their completions have been read.
        self.filling ^= 1;
        self.turn = self.turn.wrapping_add(1);
        self.arenas[self.filling].clear();
        (self.completions, self.recalls) = (self.ring.completion().len(), self.aside.len());
    }

    #[inline]
    fn next(&mut self) -> Option<NetworkEvent<'_>> {
        if let Some(buffer) = self.lent.take() {
            self.buffers.give_back(buffer);
        }
        loop {
            let happened = match self.recalls {
                0 => {
                    let entry = self.ring.completion().next()?;
                    self.interpret(&entry)
                }
                _ => self.next_deferred(),
            };
            match happened {
                None => {}
                Some(CompletionEvent::Connected(slot)) => return Some(NetworkEvent::Connected(ConnId(slot))),
                Some(CompletionEvent::Sent(slot)) => return Some(NetworkEvent::Sent(ConnId(slot))),
                Some(CompletionEvent::Closed(slot, why)) => return Some(NetworkEvent::Closed(ConnId(slot), why)),
                Some(CompletionEvent::Bytes(slot, buffer, n)) => {
                    (self.lent, self.read_at) = (Some(buffer), self.clock.now());
                    return Some(NetworkEvent::Received(ConnId(slot), self.buffers.bytes(buffer, n)));
                }
            }
        }
    }

    #[inline]
    fn last_read_at(&mut self) -> Nanos {
        self.read_at
    }

    fn remaining(&mut self) -> TurnRemainder {
        if self.recalls > 0 || !self.ring.completion().is_empty() {
            TurnRemainder::Unfinished
        } else if self.completions >= ALL || !self.rearm.is_empty() {
            TurnRemainder::UnreadConnections(ALL as u32)
        } else if self.aside.is_empty() {
            TurnRemainder::Nothing
        } else {
            TurnRemainder::MoreToRead
        }
    }

    fn bytes_sent(&self) -> u64 {
        self.sent
    }

    fn report_sent(&mut self, conn: ConnId) -> bool {
        let s = &mut self.slots[conn.0 as usize];
        if s.state == UringState::Open && !std::mem::replace(&mut s.backlog, true) {
            self.unsent.insert(conn.0, SendBacklog::default());
            self.arm_writable(conn.0);
        }
        true
    }

    fn unsent(&self, conn: ConnId) -> usize {
        let failed = self.slots[conn.0 as usize].failed;
        self.unsent.get(&conn.0).map_or(0, SendBacklog::len) + usize::from(failed)
    }

    fn sends_at_once(&self) -> bool {
        false
    }

    fn thread_stats(&mut self) -> ThreadStats {
        self.thread.running()
    }

    fn ready_time(&mut self) -> Option<Nanos> {
        self.thread.ready_time()
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        for slot in 0..self.slots.len() as u32 {
            self.release(ConnId(slot), false);
        }
        let _ = self.ring.submit();
    }
}
