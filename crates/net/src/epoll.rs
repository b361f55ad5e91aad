//! The network on epoll.
//!
//! Makes no system call that the work does not require. Every connection is registered once, edge-triggered, for both
//! directions; a request is written at once, in one call; a read that did not fill the buffer is not followed by
//! another, because the next byte raises a new edge; there is no `epoll_ctl` per request and no call per timer. Edge
//! triggering also saves the kernel a second look at every ready socket in the following `epoll_pwait2`.
//!
//! A read that filled the buffer is followed by another in the next turn, after all other connections: a peer that
//! sends faster than it is read gets its share of every turn and no more. The same holds for writes: what exceeds a
//! piece is written in the next turns.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};

use brunt_contract::{
    ConnId, ConnectParameters, Errno, ListenerId, Network, NetworkEvent, OutputBuffer, PeerAddress, ThreadStats,
    TurnRemainder,
};
use brunt_measure::{Clock, Nanos};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno as Os;
use rustix::net::RecvFlags;

use self::datagrams::QueuedDatagrams;
use self::slot::{EpollListener, EpollSlot, EpollState};
use crate::nagle::Nagle;
use crate::running::OwnThreadCounters;
use crate::send_backlog::{PIECE, SendBacklog, write_piece};
use crate::socket;
use crate::stamps::ReadLateness;

mod accept;
mod backlog;
mod datagrams;
mod slot;

/// Maximum number of events taken from the kernel in one turn, and of connections read further in it.
const TURN: usize = 256;
/// Marks a listener in the event data.
const LISTENER: u64 = 1 << 63;

/// Sockets on one epoll instance.
pub struct Epoll {
    poll: OwnedFd,
    events: Vec<epoll::Event>,
    at: usize,
    slots: Vec<EpollSlot>,
    free: Vec<u32>,
    /// Connections to look at again in this turn, without an event: (slot, age).
    recheck: Vec<(u32, u32)>,
    /// Connections with more data than a turn takes: read in the next turns, in this order.
    later: VecDeque<(u32, u32)>,
    /// Number of connections in `later` that are still to be read in this turn, after its events.
    later_budget: usize,
    unsent: BTreeMap<u32, SendBacklog>,
    /// Connections whose sockets may accept more of their backlog: written in the next turns, in this order.
    unwritten: VecDeque<(u32, u32)>,
    /// Number of connections in `unwritten` that are still to be written in this turn.
    unwritten_budget: usize,
    /// Set if the last connection taken from these two queues was one to write to.
    took_write: bool,
    /// Queued datagrams, by slot.
    waiting: BTreeMap<u32, QueuedDatagrams>,
    /// Errors of refused datagrams, by slot.
    refusals: BTreeMap<u32, Errno>,
    /// Number of refusals of earlier datagrams that were found when sending.
    refused: u64,
    listeners: Vec<EpollListener>,
    accepting: Option<u32>,
    /// Set if a listener is starved.
    starving: bool,
    buffer: Vec<u8>,
    /// The collector of read delays, if enabled.
    stamps: Option<ReadLateness>,
    sent: u64,
    clock: Clock,
    thread: OwnThreadCounters,
    /// The latest reading of the clock, valid for one wait; zero once used.
    read_at: Nanos,
}

/// The timeout of a wait that ends more than this after the latest reading of the clock is computed from that reading,
/// because a turn takes far less. Shorter waits, which an arrival usually ends, read the clock again.
const FAR: Nanos = Nanos::from_millis(1);

enum ReadResult {
    Bytes,
    Nothing,
    Closed(Option<Errno>),
}

impl Epoll {
    /// Creates a network for the calling thread, whose timer slack is set to 1 ns so that waits end on time.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    pub fn new() -> std::io::Result<Epoll> {
        rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?;
        Ok(Epoll {
            poll: epoll::create(CreateFlags::CLOEXEC)?,
            events: Vec::with_capacity(TURN),
            at: 0,
            slots: Vec::new(),
            free: Vec::new(),
            recheck: Vec::new(),
            later: VecDeque::new(),
            later_budget: 0,
            unsent: BTreeMap::new(),
            unwritten: VecDeque::new(),
            unwritten_budget: 0,
            took_write: false,
            waiting: BTreeMap::new(),
            refusals: BTreeMap::new(),
            refused: 0,
            listeners: Vec::new(),
            accepting: None,
            starving: false,
            buffer: Vec::with_capacity(PIECE),
            stamps: None,
            sent: 0,
            read_at: Nanos::ZERO,
            clock: Clock,
            thread: OwnThreadCounters::default(),
        })
    }

    /// Enables the collection of read delays.
    #[must_use]
    pub fn stamping(mut self, lateness: Option<ReadLateness>) -> Epoll {
        self.stamps = lateness;
        self
    }

    fn settle(&mut self, fd: OwnedFd, state: EpollState, flags: EventFlags) -> Result<ConnId, Errno> {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                self.slots.push(EpollSlot {
                    fd: -1,
                    age: 0,
                    state: EpollState::Free,
                    writable_armed: false,
                    backlog: false,
                    hung_up: false,
                    later: false,
                    writing: false,
                    nagle: Nagle::Off,
                });
                (self.slots.len() - 1) as u32
            }
        };
        let age = self.slots[slot as usize].age;
        let data = EventData::new_u64(u64::from(age & 0x7fff_ffff) << 32 | u64::from(slot));
        let edge = if state == EpollState::Standing { EventFlags::empty() } else { EventFlags::ET };
        if let Err(e) = epoll::add(&self.poll, &fd, data, flags | edge) {
            self.free.push(slot);
            return Err(socket::errno(e));
        }
        let s = &mut self.slots[slot as usize];
        (s.fd, s.state, s.backlog, s.hung_up, s.later) = (fd.into_raw_fd(), state, false, false, false);
        (s.writing, s.nagle) = (false, Nagle::Off);
        s.writable_armed = flags.contains(EventFlags::OUT);
        Ok(ConnId(slot))
    }

    #[inline]
    fn fd(&self, slot: u32) -> BorrowedFd<'_> {
        // SAFETY: the descriptor of an occupied slot is open until `release` closes it.
        unsafe { BorrowedFd::borrow_raw(self.slots[slot as usize].fd) }
    }

    fn release(&mut self, conn: ConnId, reset: bool) {
        let s = &mut self.slots[conn.0 as usize];
        if s.state == EpollState::Free {
            return;
        }
        // SAFETY: the slot has owned this descriptor since `settle`, and is emptied here.
        let fd = unsafe { OwnedFd::from_raw_fd(s.fd) };
        // A refusal that has not been read yet must not be lost with the socket.
        if s.state == EpollState::Datagrams && socket::pending_error(&fd) == Some(Errno(libc::ECONNREFUSED)) {
            self.refused += 1;
        }
        (s.fd, s.state) = (-1, EpollState::Free);
        s.age = s.age.wrapping_add(1);
        if std::mem::take(&mut s.backlog) {
            self.unsent.remove(&conn.0);
            self.waiting.remove(&conn.0);
        }
        if !self.refusals.is_empty() {
            self.refusals.remove(&conn.0);
        }
        if reset {
            let _ = rustix::net::sockopt::set_socket_linger(&fd, Some(std::time::Duration::ZERO));
        }
        self.free.push(conn.0);
        if self.starving {
            drop(fd);
            self.feed_listeners();
        }
    }

    /// Resumes starved listeners after a descriptor became free.
    fn feed_listeners(&mut self) {
        self.starving = false;
        for (id, l) in self.listeners.iter_mut().enumerate().filter(|(_, l)| l.starved) {
            l.starved = false;
            let _ = epoll::modify(&self.poll, &l.fd, EventData::new_u64(LISTENER | id as u64), EventFlags::IN);
        }
    }

    /// Reads once into the buffer.
    #[inline]
    fn read(&mut self, slot: u32) -> ReadResult {
        self.buffer.clear();
        // SAFETY: as in `fd`; not borrowed from `self`, so that the buffer can be written to.
        let fd = unsafe { BorrowedFd::borrow_raw(self.slots[slot as usize].fd) };
        let room = self.buffer.capacity();
        let read = match &self.stamps {
            None => rustix::net::recv(fd, spare_capacity(&mut self.buffer), RecvFlags::empty()).map(|(n, _)| n),
            Some(stamps) => stamps.receive(fd, &mut self.buffer),
        };
        match read {
            Ok(0) if self.slots[slot as usize].state != EpollState::Datagrams => ReadResult::Closed(None),
            Ok(n) => {
                let s = &mut self.slots[slot as usize];
                if n == room || s.state == EpollState::Failing {
                    s.later = true;
                    self.later.push_back((slot, s.age));
                } else if s.hung_up {
                    // The last bytes: only the end of the stream is still to be read.
                    self.recheck.push((slot, s.age));
                }
                ReadResult::Bytes
            }
            Err(Os::AGAIN) if self.slots[slot as usize].state == EpollState::Failing => {
                ReadResult::Closed(Some(self.refusals.remove(&slot).unwrap_or(Errno(libc::EPIPE))))
            }
            Err(Os::AGAIN | Os::INTR) => ReadResult::Nothing,
            Err(e) => ReadResult::Closed(Some(socket::errno(e))),
        }
    }

    /// Returns the next slot to handle, with its event flags.
    #[inline]
    fn upcoming(&mut self) -> Option<(u32, EventFlags)> {
        while let Some((slot, age)) = self.recheck.pop() {
            if self.slots[slot as usize].age == age {
                return Some((slot, EventFlags::IN));
            }
        }
        while let Some(&event) = self.events.get(self.at) {
            self.at += 1;
            let data = event.data.u64();
            if data & LISTENER != 0 {
                self.accepting = Some(data as u32);
                return None;
            }
            let slot = data as u32;
            if u64::from(self.slots[slot as usize].age & 0x7fff_ffff) == data >> 32 {
                return Some((slot, event.flags));
            }
        }
        while self.later_budget + self.unwritten_budget > 0 {
            // In turn, because a long turn is cut: neither direction may keep the other waiting.
            self.took_write = self.unwritten_budget > 0 && (self.later_budget == 0 || !self.took_write);
            let (budget, queue, flags) = match self.took_write {
                true => (&mut self.unwritten_budget, &mut self.unwritten, EventFlags::OUT),
                false => (&mut self.later_budget, &mut self.later, EventFlags::IN),
            };
            *budget -= 1;
            if let Some((slot, age)) = queue.pop_front()
                && self.slots[slot as usize].age == age
            {
                let s = &mut self.slots[slot as usize];
                *(if self.took_write { &mut s.writing } else { &mut s.later }) = false;
                return Some((slot, flags));
            }
        }
        None
    }
}

impl Network for Epoll {
    #[inline]
    fn now(&mut self) -> Nanos {
        self.read_at = self.clock.now();
        self.read_at
    }

    fn connect(&mut self, dial: &ConnectParameters) -> Result<ConnId, Errno> {
        let fd = socket::client(dial)?;
        if let Some(stamps) = &self.stamps {
            stamps.ask(fd.as_fd());
        }
        socket::begin(&fd, &dial.to)?;
        if let PeerAddress::Udp(_) = dial.to {
            return self.adopt_datagrams(fd);
        }
        let conn = self.settle(fd, EpollState::Connecting, EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP)?;
        self.slots[conn.0 as usize].nagle = Nagle::towards(&dial.to);
        Ok(conn)
    }

    #[inline]
    fn send(&mut self, conn: ConnId, out: &mut OutputBuffer) {
        let s = self.slots[conn.0 as usize];
        if out.is_empty() || !matches!(s.state, EpollState::Open | EpollState::Connecting) {
            if s.state == EpollState::Datagrams {
                self.send_datagrams(conn.0, out);
            }
            return out.clear();
        }
        if s.backlog {
            return self.unsent.entry(conn.0).or_default().append(out);
        }
        if s.state == EpollState::Connecting {
            return self.keep_unsent(conn.0, out, 0);
        }
        let tail: &[u8] = out.tail().map_or(&[], |t| t);
        self.slots[conn.0 as usize].nagle = s.nagle.before_write(self.fd(conn.0), true);
        match write_piece(self.fd(conn.0), out.bytes(), tail) {
            Ok(n) => {
                self.sent += n as u64;
                if n < out.len() {
                    self.keep_unsent(conn.0, out, n);
                }
            }
            Err(Os::AGAIN | Os::INTR) => self.keep_unsent(conn.0, out, 0),
            Err(_) => self.fail(conn.0),
        }
        out.clear();
    }

    fn end_sending(&mut self, conn: ConnId) -> bool {
        let s = self.slots[conn.0 as usize];
        if s.state == EpollState::Open && !s.backlog {
            socket::end_sending(self.fd(conn.0));
        }
        !s.backlog
    }

    fn close(&mut self, conn: ConnId) {
        self.release(conn, false);
    }

    fn abort(&mut self, conn: ConnId) {
        self.release(conn, true);
    }

    fn listen(&mut self, at: &PeerAddress, backlog: u32, shared: bool) -> Result<ListenerId, Errno> {
        self.adopt(socket::listener(at, backlog, shared)?)
    }

    fn adopt(&mut self, listener: OwnedFd) -> Result<ListenerId, Errno> {
        let id = self.listeners.len() as u32;
        epoll::add(&self.poll, &listener, EventData::new_u64(LISTENER | u64::from(id)), EventFlags::IN)
            .map_err(socket::errno)?;
        self.listeners.push(EpollListener { fd: listener, accepting: true, starved: false });
        Ok(ListenerId(id))
    }

    fn local_addr(&self, listener: ListenerId) -> Option<SocketAddr> {
        socket::address(&self.listeners[listener.0 as usize].fd)
    }

    fn set_accepting(&mut self, listener: ListenerId, accepting: bool) {
        let l = &mut self.listeners[listener.0 as usize];
        if l.accepting != accepting {
            l.accepting = accepting;
            let flags = if accepting { EventFlags::IN } else { EventFlags::empty() };
            let _ = epoll::modify(&self.poll, &l.fd, EventData::new_u64(LISTENER | u64::from(listener.0)), flags);
        }
    }

    fn wait(&mut self, until: Nanos) {
        if self.at < self.events.len() || self.accepting.is_some() {
            return;
        }
        self.events.clear();
        self.at = 0;
        self.later_budget = TURN.min(self.later.len());
        self.unwritten_budget = TURN.min(self.unwritten.len());
        let span = if !self.recheck.is_empty() || !self.later.is_empty() || !self.unwritten.is_empty() {
            Some(Nanos::ZERO)
        } else if until == Nanos::MAX {
            None
        } else {
            let read_at = std::mem::take(&mut self.read_at);
            let fresh = read_at > Nanos::ZERO && until > read_at + FAR;
            Some(until - if fresh { read_at } else { self.clock.now() })
        };
        let timeout = span.map(socket::timespec);
        // A signal or an error leaves the turn empty; the caller's loop waits again.
        let _ = epoll::wait(&self.poll, spare_capacity(&mut self.events), timeout.as_ref());
    }

    #[inline]
    fn next(&mut self) -> Option<NetworkEvent<'_>> {
        loop {
            if let Some(listener) = self.accepting {
                match self.accept(listener) {
                    Some(conn) => return Some(NetworkEvent::Accepted(ListenerId(listener), conn)),
                    None => self.accepting = None,
                }
            }
            let Some((slot, flags)) = self.upcoming() else {
                if self.accepting.is_some() {
                    continue;
                }
                return None;
            };
            let conn = ConnId(slot);
            let broken = flags.intersects(EventFlags::ERR | EventFlags::HUP);
            let s = &mut self.slots[slot as usize];
            s.hung_up |= broken || flags.contains(EventFlags::RDHUP);
            match s.state {
                EpollState::Connecting if broken || flags.contains(EventFlags::OUT) => {
                    let failed = if broken { socket::pending_error(self.fd(slot)) } else { None };
                    let s = &mut self.slots[slot as usize];
                    if failed.is_some() {
                        s.state = EpollState::Over;
                        return Some(NetworkEvent::Closed(conn, failed));
                    }
                    s.state = EpollState::Open;
                    if s.hung_up || flags.contains(EventFlags::IN) {
                        self.recheck.push((slot, s.age));
                    }
                    self.flush(slot);
                    return Some(NetworkEvent::Connected(conn));
                }
                EpollState::Standing => {
                    s.state = EpollState::Datagrams;
                    return Some(NetworkEvent::Connected(conn));
                }
                EpollState::Open | EpollState::Datagrams | EpollState::Failing => {
                    if s.backlog && !s.writing && flags.contains(EventFlags::OUT) && self.flush(slot) {
                        let s = &self.slots[slot as usize];
                        if !s.later && (flags.contains(EventFlags::IN) || s.hung_up) {
                            self.recheck.push((slot, s.age));
                        }
                        return Some(NetworkEvent::Sent(conn));
                    }
                    let s = &self.slots[slot as usize];
                    if s.later || (!s.hung_up && !flags.contains(EventFlags::IN)) {
                        continue;
                    }
                    match self.read(slot) {
                        ReadResult::Bytes => {
                            self.read_at = self.clock.now();
                            return Some(NetworkEvent::Received(conn, &self.buffer));
                        }
                        ReadResult::Nothing => {}
                        ReadResult::Closed(why) => {
                            self.slots[slot as usize].state = EpollState::Over;
                            return Some(NetworkEvent::Closed(conn, why));
                        }
                    }
                }
                EpollState::Free | EpollState::Over | EpollState::Connecting => {}
            }
        }
    }

    #[inline]
    fn last_read_at(&mut self) -> Nanos {
        self.read_at
    }

    fn remaining(&mut self) -> TurnRemainder {
        let budget = self.later_budget + self.unwritten_budget;
        if self.at < self.events.len() || self.accepting.is_some() || !self.recheck.is_empty() || budget > 0 {
            TurnRemainder::Unfinished
        } else if self.events.len() == TURN || self.later.len() > TURN {
            TurnRemainder::UnreadConnections(TURN as u32)
        } else if self.later.is_empty() {
            TurnRemainder::Nothing
        } else {
            TurnRemainder::MoreToRead
        }
    }

    fn bytes_sent(&self) -> u64 {
        self.sent
    }

    fn rejected_datagrams(&self) -> u64 {
        self.refused
    }

    fn report_sent(&mut self, conn: ConnId) -> bool {
        let s = &mut self.slots[conn.0 as usize];
        if s.state == EpollState::Open && !std::mem::replace(&mut s.backlog, true) {
            self.unsent.insert(conn.0, SendBacklog::default());
            self.write_next_turn(conn.0);
        }
        true
    }

    fn unsent(&self, conn: ConnId) -> usize {
        let failed = self.slots[conn.0 as usize].state == EpollState::Failing;
        self.unsent.get(&conn.0).map_or(0, SendBacklog::len)
            + self.waiting.get(&conn.0).map_or(0, QueuedDatagrams::len)
            + usize::from(failed)
    }

    fn thread_stats(&mut self) -> ThreadStats {
        self.thread.running()
    }

    fn ready_time(&mut self) -> Option<Nanos> {
        self.thread.ready_time()
    }
}

impl Drop for Epoll {
    fn drop(&mut self) {
        for slot in 0..self.slots.len() as u32 {
            self.release(ConnId(slot), false);
        }
    }
}

impl std::fmt::Debug for Epoll {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Epoll(fd {}, {} slots)", self.poll.as_raw_fd(), self.slots.len())
    }
}
