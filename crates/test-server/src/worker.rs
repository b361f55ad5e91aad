//! One worker: a network, its connections, and a responder that decides how and when each request is answered.
//!
//! Requests received in one read are answered in one send. Answers of one connection leave in the
//! order of their requests, so one timer per connection is enough, for the oldest waiting request.
//! Timers are checked after every read, not once per turn, so that many connections do not make
//! them late. The network does not report when a socket has room, so the few connections whose
//! client is slower than the answer (large bodies, a last answer before a close) are polled, at
//! growing intervals up to a millisecond; nothing is written for them while anything is unsent. The
//! bytes held for a client are bounded, and so is their total over all clients: a client that keeps
//! sending requests without reading the answers is cut off.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use brunt_contract::{ConnId, ListenerId, Network, NetworkEvent, OutputBuffer, RequestPart};
use brunt_measure::Nanos;

use crate::accounting::Accounting;
use crate::arrivals::ArrivalLog;
use crate::calls::CallAction;
use crate::connection::{CloseMode, TargetConnection};
use crate::framed::put_filler;
use crate::protocol_session::{TargetProtocol, TargetSession};
use crate::responder::{ParsedRequest, Responder};
use crate::stats::Tallies;

/// Limit on bytes waiting for a client to read them, above which answers are held back.
const MOST_UNSENT: usize = 256 << 10;
/// Maximum number of bytes held for one client, which is cut off above it: enough for a message of
/// the largest size in each direction.
const MOST_HELD: usize = 33 << 20;
/// Total over all workers above which clients with more than their share of it are cut off; a share
/// is at least `LEAST_PART`.
const MOST_IN_ALL: usize = MOST_HELD;
const LEAST_PART: usize = 256 << 10;
/// Minimum change in the bytes that a worker holds before it reports them to the others.
const STEP: usize = 64 << 10;
/// Size above which a buffer is freed once it is sent.
const MOST_SPARE: usize = 1 << 20;
/// Amount of released bytes after which memory is returned to the system.
const MUCH: usize = 4 << 20;
/// Number of stale timers per connection above which they are dropped.
const STALE_TIMERS: usize = 64;
/// Number of unanswered requests above which a client is cut off.
const MOST_WAITING: usize = 65_536;
/// Maximum number of blocks of one large answer written in one turn, so that other connections are
/// served in between.
const BLOCKS_A_TURN: u32 = 16;
/// Shortest and longest interval between polls of slow connections.
const LOOKS: (Nanos, Nanos) = (Nanos(50_000), Nanos(1_000_000));

/// One worker of a target.
pub struct TargetWorker<N, S, F> {
    net: N,
    listener: ListenerId,
    session: F,
    accounting: Accounting,
    lines: Vec<Option<TargetConnection<S>>>,
    timers: BinaryHeap<Reverse<(Nanos, u32, u32)>>,
    watched: Vec<(u32, u32)>,
    heard: Vec<ParsedRequest>,
    births: u32,
    open: u32,
    most_open: u32,
    /// Number of open connections at which a full worker accepts again.
    resume_at: u32,
    /// Set while it accepts nothing, because the limit is reached.
    full: bool,
    /// Consecutive polls of slow connections that made no progress.
    idle_looks: u32,
    /// Bytes held for all clients, as last measured; the value last reported to the other workers;
    /// and the maximum since memory was last returned to the system.
    held: usize,
    reported: usize,
    peak: usize,
}

/// A network event, in a form that outlives the network's buffer.
enum WorkerStep {
    Accepted(ConnId),
    Received(ConnId, bool),
    /// One read contained more data to echo than may be held.
    Flooded(ConnId),
    Sent(ConnId),
    Gone(ConnId),
    Nothing,
}

impl<N: Network, S: TargetSession, F: FnMut() -> S> TargetWorker<N, S, F> {
    /// Creates a worker that accepts connections from `listener`, creates a session for each, and counts as worker
    /// `number` in `tallies`.
    pub fn new(
        net: N,
        listener: ListenerId,
        session: F,
        responder: Responder,
        tallies: &Arc<Tallies>,
        number: usize,
    ) -> Self {
        let accounting = Accounting {
            responder,
            tallies: Arc::clone(tallies),
            tally: tallies.of_worker(number),
            log: None,
            unstamped: 0,
            out: OutputBuffer::default(),
        };
        TargetWorker {
            net,
            listener,
            session,
            accounting,
            lines: Vec::new(),
            timers: BinaryHeap::new(),
            watched: Vec::new(),
            heard: Vec::with_capacity(64),
            births: 0,
            open: 0,
            most_open: u32::MAX,
            resume_at: u32::MAX - 1,
            full: false,
            idle_looks: 0,
            held: 0,
            reported: 0,
            peak: 0,
        }
    }

    /// Limits the number of open connections: nothing is accepted while `most_open` of them are
    /// open.
    pub fn bounded(mut self, most_open: u32) -> Self {
        self.most_open = most_open.max(1);
        self.resume_at = self.most_open - 1;
        self
    }

    /// Like [`TargetWorker::bounded`], but a full worker accepts again only once a quarter of its
    /// connections have closed. Meant for workers that have a successor.
    pub fn relieved(mut self, most_open: u32) -> Self {
        self = self.bounded(most_open);
        self.resume_at = self.most_open - (self.most_open / 4).max(1);
        self
    }

    /// Returns `true` while it accepts nothing because its limit is reached.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// Sets the arrivals log.
    pub(crate) fn logging(mut self, log: Option<ArrivalLog>) -> Self {
        self.accounting.log = log;
        self
    }

    /// Returns the network, for tests and simulations that act on it.
    pub fn network(&mut self) -> &mut N {
        &mut self.net
    }

    /// Waits for events for at most `longest`, and handles all of them.
    pub fn turn(&mut self, longest: Nanos) {
        let now = self.net.now();
        self.net.wait(self.next_look(now).min(now.saturating_add(longest)));
        loop {
            match self.take() {
                Some(WorkerStep::Accepted(conn)) => self.accepted(conn),
                Some(WorkerStep::Received(conn, sound)) => self.received(conn, sound),
                Some(WorkerStep::Gone(conn)) => {
                    self.net.close(conn);
                    self.forget(conn);
                }
                Some(WorkerStep::Flooded(conn)) => {
                    self.heard.clear();
                    self.net.abort(conn);
                    self.forget(conn);
                }
                Some(WorkerStep::Sent(conn)) => {
                    let now = self.net.now();
                    self.dispatch(conn, now);
                }
                Some(WorkerStep::Nothing) => {}
                None => break,
            }
        }
        let now = self.net.now();
        self.fire(now);
        if !self.watched.is_empty() {
            self.poll_slow(now);
        }
        self.accounting.tally.sent.set(self.net.bytes_sent());
        // An answer cut to nothing is never sent, so it is stamped here.
        self.accounting.stamp(now);
        if let Some(log) = &mut self.accounting.log {
            log.flush_if_due(now);
            self.accounting.unstamped = log.entries.len();
        }
    }

    /// Sends queued output and ends the worker. Requests still waiting are abandoned, and the log
    /// is passed on.
    pub fn finish(mut self) {
        let now = self.net.now();
        self.net.wait(now);
        for slot in 0..self.lines.len() {
            self.forget(ConnId(slot as u32));
        }
        self.accounting.tally.sent.set(self.net.bytes_sent());
    }

    fn next_look(&self, now: Nanos) -> Nanos {
        let timer = self.timers.peek().map_or(Nanos::MAX, |Reverse((due, ..))| *due);
        if self.watched.is_empty() {
            return timer;
        }
        let pause = match self.idle_looks {
            0 => Nanos::ZERO,
            n => Nanos((LOOKS.0.0 << n.min(10)).min(LOOKS.1.0)),
        };
        timer.min(now + pause)
    }

    /// Takes the next event of the network; a request is parsed here, while its bytes are available.
    #[inline]
    fn take(&mut self) -> Option<WorkerStep> {
        Some(match self.net.next()? {
            NetworkEvent::Accepted(_, conn) => WorkerStep::Accepted(conn),
            NetworkEvent::Closed(conn, _) => WorkerStep::Gone(conn),
            NetworkEvent::Sent(conn) => WorkerStep::Sent(conn),
            NetworkEvent::Connected(_) => WorkerStep::Nothing,
            NetworkEvent::Received(conn, bytes) => {
                self.accounting.tally.received.add(bytes.len() as u64);
                match self.lines.get_mut(conn.0 as usize) {
                    Some(Some(line)) if line.end == CloseMode::Open => {
                        let (responder, heard) = (&mut self.accounting.responder, &mut self.heard);
                        let mut held = 0;
                        let read = line.session.receive(bytes, &mut |ask| {
                            // A few bytes of HTTP/2 may decompress to a long head that must be echoed.
                            if held <= MOST_HELD {
                                heard.push(responder.parse(&ask));
                                held += heard.last().and_then(|heard| heard.echo.as_ref()).map_or(0, |echo| echo.len());
                            }
                        });
                        if held > MOST_HELD {
                            WorkerStep::Flooded(conn)
                        } else {
                            WorkerStep::Received(conn, read.is_ok())
                        }
                    }
                    _ => WorkerStep::Nothing,
                }
            }
        })
    }

    fn accepted(&mut self, conn: ConnId) {
        let slot = conn.0 as usize;
        if self.lines.len() <= slot {
            self.lines.resize_with(slot + 1, || None);
        }
        self.births = self.births.wrapping_add(1);
        self.lines[slot] = Some(TargetConnection::new((self.session)(), self.births));
        self.accounting.tally.accepted.add(1);
        self.open += 1;
        if self.open == self.most_open {
            self.full = true;
            self.net.set_accepting(self.listener, false);
        }
    }

    #[inline]
    fn received(&mut self, conn: ConnId, sound: bool) {
        let now = self.net.last_read_at();
        let Some(line) = &mut self.lines[conn.0 as usize] else { return };
        let (accounting, room) = (&mut self.accounting, MOST_UNSENT.saturating_sub(self.net.unsent(conn)));
        line.session.set_room(room);
        let begun =
            self.heard.iter().filter(|heard| matches!(heard.extent, RequestPart::Whole | RequestPart::Head)).count();
        accounting.update_protocol(line, begun as u64);
        let in_frames = line.session.protocol() != TargetProtocol::Http1;
        if in_frames && line.large_answer.is_none() {
            // Output that a server must send first (SETTINGS) precedes the first answer.
            line.session.write_due(&mut accounting.out);
        }
        for heard in self.heard.drain(..) {
            if heard.extent != RequestPart::Whole {
                accounting.receive_call(line, heard, now, room);
                continue;
            }
            accounting.count(&heard);
            let plan = accounting.responder.plan(now, heard);
            accounting.take(line, plan, now, room);
        }
        if line.is_free() && (in_frames || line.waiting.is_empty()) {
            line.session.write_due(&mut accounting.out);
            if line.session.is_finished() {
                line.end = CloseMode::Close;
            }
        }
        if !sound {
            accounting.refuse(line);
        } else if line.waiting.len() > MOST_WAITING {
            line.end = CloseMode::Reset;
        }
        self.dispatch(conn, now);
        if self.timers.peek().is_some_and(|Reverse((due, ..))| *due <= now) {
            self.fire(now);
        }
    }

    /// Sends the output of a connection, then arms its timer, has it polled, or ends it, as its
    /// state requires.
    #[inline]
    fn dispatch(&mut self, conn: ConnId, now: Nanos) {
        if !self.accounting.out.is_empty() {
            self.net.send(conn, &mut self.accounting.out);
            self.accounting.out.shrink_to(MOST_SPARE);
            if self.accounting.log.is_some() {
                let sent = self.net.now();
                self.accounting.stamp(sent);
            }
        }
        self.measure_held(conn);
        let Some(line) = &mut self.lines[conn.0 as usize] else { return };
        match line.end {
            CloseMode::Open if line.large_answer.is_none() && !line.session.waits_for_room() => {
                let Some(front) = line.waiting.front() else { return };
                if front.due > now {
                    if front.due != line.armed && front.due != Nanos::MAX {
                        line.armed = front.due;
                        self.timers.push(Reverse((front.due, conn.0, line.generation)));
                    }
                    return;
                }
            }
            CloseMode::Close if line.large_answer.is_none() && self.net.unsent(conn) == 0 => {
                self.net.close(conn);
                return self.forget(conn);
            }
            CloseMode::Reset => {
                self.net.abort(conn);
                return self.forget(conn);
            }
            _ => {}
        }
        if !line.watched {
            line.watched = true;
            self.watched.push((conn.0, line.generation));
            self.idle_looks = 0;
        }
    }

    /// Measures the bytes held for a client, and cuts it off if there are too many.
    #[inline]
    fn measure_held(&mut self, conn: ConnId) {
        let unsent = self.net.unsent(conn);
        let Some(Some(line)) = self.lines.get_mut(conn.0 as usize) else { return };
        let weight = line.held() + unsent;
        self.held = self.held - line.weight + weight;
        line.weight = weight;
        let few = weight <= LEAST_PART.max(MOST_IN_ALL / self.open as usize);
        if weight > MOST_HELD || !few && self.accounting.tallies.held.load(Ordering::Relaxed) > MOST_IN_ALL {
            line.end = CloseMode::Reset;
        }
        self.report_held();
    }

    /// Reports the bytes held here to the other workers if their number changed enough.
    #[inline]
    fn report_held(&mut self) {
        if self.held.abs_diff(self.reported) < STEP {
            return;
        }
        // A decrease is added as its two's complement.
        self.accounting.tallies.held.fetch_add(self.held.wrapping_sub(self.reported), Ordering::Relaxed);
        self.reported = self.held;
        self.peak = self.peak.max(self.held);
        if self.peak - self.held > MUCH && self.held < self.peak / 4 {
            self.peak = self.held;
            brunt_net::heap::give_back();
        }
    }

    /// Answers requests that are due on connections whose timer fired.
    fn fire(&mut self, now: Nanos) {
        if self.timers.len() > STALE_TIMERS * (self.open as usize + 1024) {
            let lines = &self.lines;
            self.timers.retain(|Reverse((due, slot, birth))| {
                let line = lines.get(*slot as usize).and_then(Option::as_ref);
                line.is_some_and(|line| line.generation == *birth && line.armed == *due)
            });
        }
        while let Some(&Reverse((due, slot, birth))) = self.timers.peek()
            && due <= now
        {
            self.timers.pop();
            if let Some(Some(line)) = self.lines.get_mut(slot as usize)
                && line.generation == birth
                && line.armed == due
            {
                line.armed = Nanos::MAX;
                self.serve(ConnId(slot), now);
            }
        }
    }

    /// Answers requests that are due on a connection; returns `true` if there were any.
    fn serve(&mut self, conn: ConnId, now: Nanos) -> bool {
        let Some(line) = &mut self.lines[conn.0 as usize] else { return false };
        let room = MOST_UNSENT.saturating_sub(self.net.unsent(conn));
        line.session.set_room(room);
        let before = line.waiting.len();
        if line.session.waits_for_room() {
            line.session.resume_in_room(&mut self.accounting.out);
        }
        let resumed = !self.accounting.out.is_empty();
        while line.is_free()
            && self.accounting.has_room(line, room)
            && let Some(plan) = line.take_due(now)
        {
            self.accounting.begin_answer(line, plan);
        }
        if resumed && line.session.is_finished() {
            line.end = CloseMode::Close;
        }
        let moved = resumed || line.waiting.len() < before;
        self.dispatch(conn, now);
        moved
    }

    /// Polls connections that had no room or have unsent output.
    fn poll_slow(&mut self, now: Nanos) {
        let mut moved = false;
        for i in 0..self.watched.len() {
            let (slot, birth) = self.watched[i];
            let Some(Some(line)) = self.lines.get_mut(slot as usize) else { continue };
            if line.generation != birth {
                continue;
            }
            moved |= match line.large_answer {
                Some(_) => self.continue_large_answer(ConnId(slot), now),
                None => self.serve(ConnId(slot), now),
            };
        }
        let (lines, net) = (&mut self.lines, &self.net);
        self.watched.retain(|&(slot, birth)| match lines.get_mut(slot as usize) {
            Some(Some(line)) if line.generation == birth => {
                let due = line.waiting.front().is_some_and(|plan| plan.due <= now);
                let begun = line.large_answer.is_some() || line.session.waits_for_room();
                line.watched = line.end != CloseMode::Open || begun || due;
                // A socket whose output was sent has room again.
                moved |= line.watched && net.unsent(ConnId(slot)) == 0;
                line.watched
            }
            _ => false,
        });
        self.idle_looks = if moved { 0 } else { self.idle_looks.saturating_add(1) };
    }

    /// Continues a large answer as far as the socket accepts it; returns `true` if it accepted any bytes.
    fn continue_large_answer(&mut self, conn: ConnId, now: Nanos) -> bool {
        for put in 0..BLOCKS_A_TURN {
            let Some(Some(line)) = self.lines.get_mut(conn.0 as usize) else { return true };
            if self.net.unsent(conn) > 0 {
                return put > 0;
            }
            let Some(pouring) = &mut line.large_answer else { return true };
            let (plan, left) = &mut **pouring;
            match line.session.protocol() {
                TargetProtocol::Http1 => plan.put_block(*left, &mut self.accounting.out),
                _ => drop(put_filler(plan.spec().size.unwrap_or(0) as usize, *left, &mut self.accounting.out)),
            }
            *left -= 1;
            if *left == 0
                && let Some(done) = line.large_answer.take()
            {
                self.accounting.complete(line, done.0);
                if line.session.protocol() != TargetProtocol::Http1 {
                    // Pending protocol replies must not fall inside a message.
                    line.session.write_due(&mut self.accounting.out);
                }
                self.serve(conn, now);
                return true;
            }
            self.net.send(conn, &mut self.accounting.out);
        }
        true
    }

    /// Removes a closed connection: the requests waiting on it are abandoned.
    fn forget(&mut self, conn: ConnId) {
        let Some(line) = self.lines.get_mut(conn.0 as usize).and_then(Option::take) else { return };
        self.accounting.uncount(&line);
        self.held -= line.weight;
        self.report_held();
        let pouring = line.large_answer.map(|pouring| pouring.0);
        // A call is abandoned as a whole (below), not once for each part of its answer.
        for plan in pouring.into_iter().chain(line.waiting).filter(|plan| plan.action == CallAction::Whole) {
            self.accounting.abandon(plan);
        }
        line.calls.into_all().for_each(|call| self.accounting.abandon_call(call));
        self.accounting.tally.closed.add(1);
        self.open -= 1;
        if self.full && self.open <= self.resume_at {
            self.full = false;
            self.net.set_accepting(self.listener, true);
        }
    }
}
