//! Counters: one set per worker, written by that worker alone, read and summed on demand.
//!
//! Every request is accounted for: heard = answered + spoiled + withheld + abandoned + waiting. Requests for
//! `/-/…` are counted separately, so that observing the counters does not change them. A reset takes a baseline
//! and subtracts it from then on; writing zeros into another thread's counters would lose counts.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::path_spec::PathKind;
use crate::protocol_session::TargetProtocol;

const KINDS: usize = PathKind::ALL.len();
const STATUSES: usize = 1000;
const PROTOCOLS: usize = TargetProtocol::ALL.len();

/// A counter with one writer: a plain load and store, no locked instruction.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    #[inline]
    pub(crate) fn add(&self, n: u64) {
        self.0.store(self.0.load(Ordering::Relaxed) + n, Ordering::Relaxed);
    }
    pub(crate) fn set(&self, n: u64) {
        self.0.store(n, Ordering::Relaxed);
    }
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// One worker's counters of one protocol.
#[derive(Debug, Default)]
pub(crate) struct ProtocolTally {
    pub(crate) opened: Counter,
    pub(crate) closed: Counter,
    pub(crate) messages: Counter,
    pub(crate) heartbeats: Counter,
}

/// One worker's counters; aligned so that no two workers write to one cache line.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct ServerTally {
    pub(crate) accepted: Counter,
    pub(crate) closed: Counter,
    pub(crate) heard: Counter,
    pub(crate) answered: Counter,
    pub(crate) spoiled: Counter,
    pub(crate) withheld: Counter,
    pub(crate) abandoned: Counter,
    pub(crate) malformed: Counter,
    pub(crate) watching: Counter,
    pub(crate) received: Counter,
    pub(crate) sent: Counter,
    pub(crate) calls: Counter,
    pub(crate) call_messages_heard: Counter,
    pub(crate) call_messages_said: Counter,
    pub(crate) status: [Counter; STATUSES],
    pub(crate) kinds: [Counter; KINDS],
    pub(crate) spoken: [ProtocolTally; PROTOCOLS],
}

impl Default for ServerTally {
    fn default() -> ServerTally {
        let [accepted, closed, heard, answered, spoiled, withheld, abandoned, malformed, watching, received, sent] =
            std::array::from_fn(|_| Counter::default());
        ServerTally {
            accepted,
            closed,
            heard,
            answered,
            spoiled,
            withheld,
            abandoned,
            malformed,
            watching,
            received,
            sent,
            calls: Counter::default(),
            call_messages_heard: Counter::default(),
            call_messages_said: Counter::default(),
            status: std::array::from_fn(|_| Counter::default()),
            kinds: std::array::from_fn(|_| Counter::default()),
            spoken: std::array::from_fn(|_| ProtocolTally::default()),
        }
    }
}

/// A target's counts for one protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProtocolStats {
    /// Connections that use the protocol now.
    pub open: u64,
    /// Connections that have used the protocol.
    pub opened: u64,
    /// Requests or messages received in the protocol, including those for `/-/…`.
    pub messages: u64,
    /// Pings answered.
    pub heartbeats: u64,
}

/// A target's counts of gRPC calls, each of which is also counted as an HTTP/2 request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallStats {
    /// Calls begun.
    pub calls: u64,
    /// Messages received in calls.
    pub heard: u64,
    /// Complete messages sent in calls.
    pub said: u64,
}

/// A target's counts, summed over its workers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Worker threads.
    pub workers: u64,
    /// Connections accepted.
    pub accepted: u64,
    /// Connections open now.
    pub open: u64,
    /// Requests received.
    pub heard: u64,
    /// Requests whose whole answer was handed to the socket.
    pub answered: u64,
    /// Requests whose answer was corrupted or cut short on purpose.
    pub spoiled: u64,
    /// Requests answered, on purpose, only by a close or a reset.
    pub withheld: u64,
    /// Requests whose connection closed before the answer was complete.
    pub abandoned: u64,
    /// Requests waiting for their answer now, including those that hang.
    pub waiting: u64,
    /// Connections that received something that is not a request.
    pub malformed: u64,
    /// Requests for `/-/…`, included in no other count.
    pub watching: u64,
    /// Bytes received.
    pub bytes_received: u64,
    /// Bytes accepted by the sockets.
    pub bytes_sent: u64,
    /// Answers by status, without the spoiled ones.
    pub by_status: BTreeMap<u16, u64>,
    /// Requests received by path prefix.
    pub by_path: BTreeMap<&'static str, u64>,
    /// gRPC calls.
    pub grpc: CallStats,
    /// Counts by protocol; only protocols that were used.
    pub by_protocol: BTreeMap<&'static str, ProtocolStats>,
}

impl Stats {
    fn add(&mut self, tally: &ServerTally) {
        // Ends are read before beginnings, so that a request counted in the meantime never appears
        // as ended but not begun.
        for (status, counter) in tally.status.iter().enumerate().filter(|(_, counter)| counter.get() > 0) {
            *self.by_status.entry(status as u16).or_default() += counter.get();
        }
        self.answered += tally.answered.get();
        self.spoiled += tally.spoiled.get();
        self.withheld += tally.withheld.get();
        self.abandoned += tally.abandoned.get();
        let closed = tally.closed.get();
        self.heard += tally.heard.get();
        self.accepted += tally.accepted.get();
        self.open += tally.accepted.get().saturating_sub(closed);
        self.malformed += tally.malformed.get();
        self.watching += tally.watching.get();
        self.bytes_received += tally.received.get();
        self.bytes_sent += tally.sent.get();
        self.grpc.said += tally.call_messages_said.get();
        self.grpc.heard += tally.call_messages_heard.get();
        self.grpc.calls += tally.calls.get();
        for ((_, prefix), counter) in PathKind::ALL.iter().zip(&tally.kinds).filter(|(_, counter)| counter.get() > 0) {
            *self.by_path.entry(prefix).or_default() += counter.get();
        }
        for ((_, name), tally) in
            TargetProtocol::ALL.iter().zip(&tally.spoken).filter(|(_, tally)| tally.opened.get() > 0)
        {
            let stats = self.by_protocol.entry(name).or_default();
            let closed = tally.closed.get();
            stats.opened += tally.opened.get();
            stats.open += tally.opened.get().saturating_sub(closed);
            stats.messages += tally.messages.get();
            stats.heartbeats += tally.heartbeats.get();
        }
    }

    fn since(mut self, baseline: &Stats) -> Stats {
        let minus = |value: &mut u64, before: u64| *value = value.saturating_sub(before);
        minus(&mut self.accepted, baseline.accepted);
        minus(&mut self.heard, baseline.heard);
        minus(&mut self.answered, baseline.answered);
        minus(&mut self.spoiled, baseline.spoiled);
        minus(&mut self.withheld, baseline.withheld);
        minus(&mut self.abandoned, baseline.abandoned);
        minus(&mut self.malformed, baseline.malformed);
        minus(&mut self.watching, baseline.watching);
        minus(&mut self.bytes_received, baseline.bytes_received);
        minus(&mut self.bytes_sent, baseline.bytes_sent);
        minus(&mut self.grpc.calls, baseline.grpc.calls);
        minus(&mut self.grpc.heard, baseline.grpc.heard);
        minus(&mut self.grpc.said, baseline.grpc.said);
        for (status, before) in &baseline.by_status {
            self.by_status.entry(*status).and_modify(|n| minus(n, *before));
        }
        for (prefix, before) in &baseline.by_path {
            self.by_path.entry(prefix).and_modify(|n| minus(n, *before));
        }
        for (name, before) in &baseline.by_protocol {
            self.by_protocol.entry(name).and_modify(|now| {
                minus(&mut now.opened, before.opened);
                minus(&mut now.messages, before.messages);
                minus(&mut now.heartbeats, before.heartbeats);
            });
        }
        self.by_status.retain(|_, n| *n > 0);
        self.by_path.retain(|_, n| *n > 0);
        self
    }

    /// Formats the counts as `/-/stats` returns them.
    pub fn to_json(&self) -> String {
        let mut json = format!(
            "{{\"workers\":{},\"connections\":{{\"accepted\":{},\"open\":{},\"malformed\":{}}},\
             \"requests\":{{\"heard\":{},\"answered\":{},\"spoiled\":{},\"withheld\":{},\"abandoned\":{},\"waiting\":{},\
             \"watching\":{}}},\"bytes\":{{\"received\":{},\"sent\":{}}},\"status\":{{",
            self.workers,
            self.accepted,
            self.open,
            self.malformed,
            self.heard,
            self.answered,
            self.spoiled,
            self.withheld,
            self.abandoned,
            self.waiting,
            self.watching,
            self.bytes_received,
            self.bytes_sent
        );
        put_counts(&mut json, &self.by_status);
        json.push_str("},\"paths\":{");
        put_counts(&mut json, &self.by_path);
        json.push_str("},\"protocols\":{");
        for (i, (name, of)) in self.by_protocol.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            let ProtocolStats { open, opened, messages, heartbeats } = of;
            let _ = write!(
                json,
                "{comma}\"{name}\":{{\"open\":{open},\"opened\":{opened},\"messages\":{messages},\"heartbeats\":{heartbeats}}}"
            );
        }
        let CallStats { calls, heard, said } = self.grpc;
        let _ = writeln!(json, "}},\"grpc\":{{\"calls\":{calls},\"heard\":{heard},\"said\":{said}}}}}");
        json
    }
}

fn put_counts<K: std::fmt::Display>(json: &mut String, counts: &BTreeMap<K, u64>) {
    for (i, (name, n)) in counts.iter().enumerate() {
        let comma = if i == 0 { "" } else { "," };
        let _ = write!(json, "{comma}\"{name}\":{n}");
    }
}

/// The tallies of all workers.
#[derive(Debug)]
pub struct Tallies {
    workers: Mutex<Vec<Arc<ServerTally>>>,
    baseline: Mutex<Stats>,
    /// Total bytes that the workers hold for their clients, as last reported by each.
    pub(crate) held: AtomicUsize,
}

impl Tallies {
    /// Creates empty tallies for `workers` workers.
    pub fn new(workers: usize) -> Arc<Tallies> {
        let workers = Mutex::new((0..workers).map(|_| Arc::default()).collect());
        Arc::new(Tallies { workers, baseline: Mutex::default(), held: AtomicUsize::new(0) })
    }

    /// Returns the tally of worker number `worker`, which may have started later than the others.
    pub(crate) fn of_worker(&self, worker: usize) -> Arc<ServerTally> {
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        if workers.len() <= worker {
            workers.resize_with(worker + 1, Arc::default);
        }
        Arc::clone(&workers[worker])
    }

    fn total(&self) -> Stats {
        let workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stats = Stats { workers: workers.len() as u64, ..Stats::default() };
        workers.iter().for_each(|tally| stats.add(tally));
        let ended = stats.answered + stats.spoiled + stats.withheld + stats.abandoned;
        stats.waiting = stats.heard.saturating_sub(ended);
        stats
    }

    /// Returns the counts since the start or the last reset; `open` and `waiting` are current values.
    pub fn read(&self) -> Stats {
        self.total().since(&self.baseline.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Restarts the counts from zero.
    pub fn reset(&self) {
        *self.baseline.lock().unwrap_or_else(PoisonError::into_inner) = self.total();
    }
}
