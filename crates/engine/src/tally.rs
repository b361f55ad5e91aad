//! The counts of one worker in one second, and their encoding.
//!
//! Counting allocates nothing: histograms and lists are reused. A worker emits only the encoding, so it may run in
//! another process or on another machine.

use std::borrow::Cow;
use std::ops::{Deref, DerefMut};

use brunt_cause::Cause;
use brunt_contract::{FaultKind, Phase};
use brunt_measure::{Histogram, Nanos};
use brunt_record::{ByteCounts, ConnectionFigures, HeartbeatCounts, Latency};

use crate::failure_class::FailureClass;
use crate::ids::UserId;
use crate::name_rows::{NameRows, count_code};
use crate::named_checks::CheckCounts;
use crate::traces::TraceSelection;

mod encoding;

pub(crate) use encoding::{Snapshot, decode, encode, translate};

/// Counts of a worker in a second: additive counts, stored as in the record, and others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SecondCounts {
    pub sums: brunt_record::Counts,
    pub bytes: ByteCounts,
    pub connections: ConnectionFigures,
    pub heartbeats: HeartbeatCounts,
    pub apart: UnsummedCounts,
}

brunt_record::counts! {
    /// Counts of workers that are not merged by addition.
    pub(crate) struct UnsummedCounts {
        /// Gauges at the end of the second, as in [`brunt_record::Second`].
        users, in_flight, waiting, open,
        /// Time to open the connections before a common start.
        ahead_ns,
        /// Scheduling of the thread: time on a core, time ready without one, periods of its CPU quota, and throttled
        /// periods.
        busiest_cpu_ns, ready_ns, periods, throttled,
        /// The resolution of the worker: see [`brunt_record::GeneratorUsage`].
        resolution_ns,
        /// Times of the first and the last success since the second's beginning, plus one; zero if there was none.
        first_success, last_success,
        /// The same of failures.
        first_failure, last_failure,
        /// Duration of the current busy period at the first success or, without one, at the end of the second, plus
        /// one; zero if nothing was in flight.
        busy_for,
        /// Time integral of the requests in flight.
        area_ns,
        /// Sum of the service times of the requests that ended.
        service_ns,
        /// Boundary terms: time already spent by the requests in flight at the beginning, and at the end.
        before_ns, after_ns,
    }
}

impl Deref for SecondCounts {
    type Target = brunt_record::Counts;
    fn deref(&self) -> &brunt_record::Counts {
        &self.sums
    }
}

impl DerefMut for SecondCounts {
    fn deref_mut(&mut self) -> &mut brunt_record::Counts {
        &mut self.sums
    }
}

impl SecondCounts {
    /// Returns all numbers, in encoding order.
    fn each(&mut self) -> impl Iterator<Item = &mut u64> {
        let sums = self.sums.each_mut().chain(self.bytes.each_mut());
        let more = self.connections.each_mut().chain(self.heartbeats.each_mut());
        sums.chain(more).chain(self.apart.each_mut())
    }
}

impl SecondCounts {
    /// Counts an unsolicited response, which may have been matched to another request.
    #[cold]
    pub fn stray(&mut self) {
        self.unsolicited += 1;
        self.strays += 1;
    }
}

/// Counts of one worker since the last roll.
#[derive(Debug)]
pub(crate) struct WorkerTally {
    pub counts: SecondCounts,
    pub latency: Latency,
    pub codes: Vec<(u32, u64)>,
    /// Reasons that peers gave for the end of connections and exchanges.
    pub closings: Vec<(u32, u64)>,
    pub failures: Vec<(FailureClass, u64)>,
    /// Lost connections that were part of the plan, by cause.
    pub losses: Vec<LossCount>,
    /// Connections that were not established and failed no request, by cause.
    pub failed_opens: Vec<LossCount>,
    /// Failed connects to names with several addresses, by address.
    pub failed_addresses: Vec<LossCount>,
    /// Counts by name, if the run has several names.
    pub named: Option<Box<NameRows>>,
    /// Results of checks.
    pub checks: CheckCounts,
    /// Traces of the slowest requests, if requests have any.
    pub traces: Option<Box<TraceSelection>>,
}

/// The number of connections lost for the same cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LossCount {
    pub kind: FaultKind,
    pub phase: Phase,
    pub errno: Option<i32>,
    /// Details beyond the kind, in English: the last message of the peer.
    pub detail: String,
    /// The details for reports in other languages.
    pub cause: Option<Cause>,
    pub count: u64,
}

/// Maximum number of distinct loss causes in a second, and of bytes kept of their texts, which peers choose and could
/// vary.
const WAYS: usize = 16;
const WORDS: usize = 160;

impl WorkerTally {
    /// Creates the counters of a run with `names` names.
    #[cfg(test)]
    pub fn new(names: usize) -> WorkerTally {
        WorkerTally::of(names, 0)
    }

    /// Creates counters with `names` rows, the last `scenarios` of which belong to scenarios.
    pub fn of(names: usize, scenarios: usize) -> WorkerTally {
        WorkerTally {
            named: NameRows::of(names, scenarios),
            counts: SecondCounts::default(),
            latency: Latency::default(),
            codes: Vec::with_capacity(16),
            closings: Vec::new(),
            failures: Vec::with_capacity(16),
            losses: Vec::new(),
            failed_opens: Vec::new(),
            failed_addresses: Vec::new(),
            checks: CheckCounts::default(),
            traces: None,
        }
    }

    /// Counts the status code of a response to a request of this name; 0 if none.
    #[inline]
    pub fn code(&mut self, (name, user): (u16, UserId), code: u32) {
        count_code(&mut self.codes, code);
        if let Some(named) = &mut self.named {
            named.count(name, user, |named, row| named.code(row, code));
        }
    }

    /// Counts a reason that the peer gave for the end of a connection or an exchange.
    #[cold]
    pub fn closing(&mut self, word: u32) {
        count_code(&mut self.closings, word);
    }

    /// Counts a success of a request of the warm-up.
    pub fn finished_of_warmup(&mut self, (name, user): (u16, UserId)) {
        self.counts.finished_of_warmup += 1;
        if let Some(named) = &mut self.named {
            named.count(name, user, |named, row| named.counts(row).finished_of_warmup += 1);
        }
    }

    /// Counts a failure.
    pub fn failure(&mut self, (name, user): (u16, UserId), sort: FailureClass) {
        self.counts.failed += 1;
        if let Some(named) = &mut self.named {
            named.count(name, user, |named, row| named.counts(row).failed += 1);
        }
        match self.failures.iter_mut().find(|(s, _)| *s == sort) {
            Some((_, n)) => *n += 1,
            None => self.failures.push((sort, 1)),
        }
    }

    /// Counts the loss of a connection that is part of the plan.
    #[cold]
    pub fn lost(&mut self, kind: FaultKind, errno: Option<i32>, why: Option<&Cause>) {
        self.counts.connections.lost += 1;
        add_loss(&mut self.losses, FailureClass { kind, phase: Phase::Hold, errno }, why);
    }

    /// Counts a connection that was not established and failed no request.
    #[cold]
    pub fn not_opened(&mut self, sort: FailureClass, why: Option<&Cause>) {
        add_loss(&mut self.failed_opens, sort, why);
    }

    /// Counts a failed connect to one of several addresses.
    #[cold]
    pub fn address_failed(&mut self, sort: FailureClass, which: &Cause) {
        add_loss(&mut self.failed_addresses, sort, Some(which));
    }

    pub fn clear(&mut self) {
        self.counts = SecondCounts::default();
        self.latency.all_mut().for_each(Histogram::clear);
        self.codes.clear();
        self.closings.clear();
        self.failures.clear();
        self.losses.clear();
        self.failed_opens.clear();
        self.failed_addresses.clear();
        self.checks.clear();
        self.traces.iter_mut().for_each(|traces| traces.clear());
        if let Some(named) = &mut self.named {
            named.clear();
        }
    }

    /// Returns `true` if nothing was counted (except gauges).
    pub fn is_idle(&self) -> bool {
        let c = &self.counts;
        let requests = c.due + c.sent + c.finished + c.failed + c.censored + c.warmup + c.finished_of_warmup;
        let ConnectionFigures { opened, failed, lost, refused, .. } = c.connections;
        let connections = opened + failed + lost + refused + c.bytes.received;
        let beats = c.heartbeats.sent + c.heartbeats.answered + c.heartbeats.missed + c.heartbeats.open;
        // An iteration may be cut in a second with no other event.
        requests + connections + beats == 0 && self.named.as_ref().is_none_or(|named| named.is_empty())
    }
}

/// Adds a loss to those with the same cause.
fn add_loss(losses: &mut Vec<LossCount>, sort: FailureClass, why: Option<&Cause>) {
    let detail = why.map_or(Cow::Borrowed(""), Cause::en);
    let cut = detail.floor_char_boundary(WORDS);
    let full = losses.len() >= WAYS;
    let FailureClass { kind, phase, errno } = sort;
    let mut known = losses.iter_mut().filter(|loss| (loss.kind, loss.phase, loss.errno) == (kind, phase, errno));
    match known.find(|loss| loss.detail == detail[..cut] || (full && loss.detail.is_empty())) {
        Some(loss) => loss.count += 1,
        None => {
            let detail = if full { String::new() } else { detail[..cut].to_owned() };
            let cause = why.filter(|_| !full).map(|why| why.truncated(WORDS));
            losses.push(LossCount { kind, phase, errno, detail, cause, count: 1 });
        }
    }
}

/// Requests in flight, integrated over time (for Little's law).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Concurrency {
    pub now: u64,
    /// Start of the current busy period.
    pub busy_since: Nanos,
    /// Sum of their start times.
    starts: u64,
    area: u64,
    last: Nanos,
    /// Time already spent by the requests in flight when the second began.
    before: u64,
}

impl Concurrency {
    pub fn begin(at: Nanos) -> Concurrency {
        Concurrency { last: at, ..Concurrency::default() }
    }

    #[inline]
    fn advance(&mut self, at: Nanos) {
        self.area += self.now * (at - self.last).0;
        self.last = self.last.max(at);
    }
    #[inline]
    pub fn start(&mut self, at: Nanos) {
        self.advance(at);
        if self.now == 0 {
            self.busy_since = at;
        }
        self.now += 1;
        self.starts = self.starts.wrapping_add(at.0);
    }
    #[inline]
    pub fn end(&mut self, started: Nanos, at: Nanos) {
        self.advance(at);
        self.now -= 1;
        self.starts = self.starts.wrapping_sub(started.0);
    }
    /// Closes the second at `at`. Returns the area, and the time already spent by the requests in flight at its
    /// beginning and at its end.
    pub fn roll(&mut self, at: Nanos) -> (u64, u64, u64) {
        self.advance(at);
        let after = self.now.wrapping_mul(at.0).wrapping_sub(self.starts);
        let rolled = (self.area, self.before, after);
        (self.area, self.before) = (0, after);
        rolled
    }
}

#[cfg(test)]
mod tests {
    use brunt_record::RunPart;

    use brunt_record::MAX_CODES;

    use super::*;
    use crate::name_rows::OTHER;

    #[test]
    fn codes_are_told_apart_up_to_a_bound_and_add_up() {
        let mut tally = WorkerTally::new(1);
        (1..=10_000).for_each(|code| tally.code((0, UserId(0)), code));
        tally.code((0, UserId(0)), 1);
        (1..=10_000).for_each(|word| tally.closing(word));
        let snapshot = decode(&encode(&tally, (Nanos(0), Nanos(1)), RunPart::Window, Nanos(0))).expect("a second");
        assert_eq!((&snapshot.codes, &snapshot.words), (&tally.codes, &tally.closings));
        assert_eq!(
            (tally.closings.len(), tally.closings[MAX_CODES]),
            (MAX_CODES + 1, (OTHER, 10_000 - MAX_CODES as u64))
        );
        assert!(tally.codes.len() <= MAX_CODES + 1, "{}", tally.codes.len());
        assert_eq!(tally.codes.iter().map(|(_, n)| n).sum::<u64>(), 10_001);
        assert_eq!((tally.codes[0], tally.codes[MAX_CODES].0), ((1, 2), OTHER));
    }

    #[test]
    fn losses_are_told_apart_by_their_words_up_to_a_bound_and_survive_their_encoding() {
        let said = |words: &str| Some(brunt_cause::verbatim(words));
        let full = said("1040 too many connections");
        let mut tally = WorkerTally::new(1);
        for _ in 0..2 {
            tally.lost(FaultKind::Closed, None, said("the server closed with 1001 (going away)").as_ref());
        }
        tally.lost(FaultKind::Reset, Some(libc::ECONNRESET), None);
        for n in 0..40 {
            let why = said(&format!("the server closed with {} (private)", 4000 + n));
            tally.lost(FaultKind::Closed, None, why.as_ref());
        }
        let refused = FailureClass { kind: FaultKind::WrongStatus, phase: Phase::Greeting, errno: None };
        (0..3).for_each(|_| tally.not_opened(refused, full.as_ref()));
        tally.not_opened(FailureClass { phase: Phase::Tls, ..refused }, full.as_ref());
        let which = brunt_cause::connecting::one_address("127.0.0.9:80", "2", "m.test");
        (0..2).for_each(|_| tally.address_failed(refused, &which));
        let snapshot = decode(&encode(&tally, (Nanos(0), Nanos(1)), RunPart::Window, Nanos(0))).expect("a second");
        assert_eq!((&snapshot.losses, &snapshot.unopened), (&tally.losses, &tally.failed_opens));
        assert_eq!(snapshot.failed_addresses, tally.failed_addresses);
        assert_eq!((snapshot.failed_addresses.len(), snapshot.failed_addresses[0].count), (1, 2));
        assert_eq!(tally.failed_opens.iter().map(|loss| loss.count).collect::<Vec<_>>(), [3, 1]);
        assert_eq!((snapshot.losses[0].count, snapshot.losses[1].errno), (2, Some(libc::ECONNRESET)));
        assert_eq!(snapshot.losses.iter().map(|loss| loss.count).sum::<u64>(), snapshot.counts.connections.lost);
        assert!(snapshot.losses.len() <= WAYS + 1, "{}", snapshot.losses.len());
        tally.lost(FaultKind::Closed, None, said(&"é".repeat(WORDS)).as_ref());
        tally.clear();
        assert!(tally.losses.is_empty() && tally.failed_opens.is_empty() && tally.failed_addresses.is_empty());
    }
}
