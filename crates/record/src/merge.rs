//! Seconds of the agents of a run, added up to the seconds of the whole.
//!
//! Adding is exact: histograms bucket by bucket, lists without a bound, so that neither the order nor the grouping of
//! the agents changes the sum. What peers choose (codes, reasons) is bounded afterwards, by [`RunBounds`].

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::{
    CheckResults, ConnectionLoss, Failure, NamedFigures, Second, TracedRequest, add_code, counted_name, keep_slowest,
};

/// Maximum number of slowest requests kept of a second, sampled ones and others each.
pub const SLOWEST_OF_SECOND: usize = 8;

impl Second {
    /// Adds a second of another part of the run that starts at the same time.
    pub fn merge(&mut self, other: &Second) {
        // What a lost part left open stands in a second of zero length until others tell of that second.
        self.part = match (self.to_ns > self.from_ns, other.to_ns > other.from_ns) {
            (true, false) => self.part,
            (false, true) => other.part,
            _ => self.part.max(other.part),
        };
        self.to_ns = self.to_ns.max(other.to_ns);
        self.missing_share += other.missing_share;
        self.count(&other.counts());
        self.merge_levels(other);
        self.merge_moments(other);
        self.merge_lists(other);
        self.latency.merge(&other.latency);
        for named in &other.named {
            NamedFigures::entry(&mut self.named, named.name).merge_all(named);
        }
        other.checks.iter().for_each(|told| CheckResults::add(&mut self.checks, *told));
    }

    /// Adds what there is at the end of the second, its integrals, and the state of the generator.
    fn merge_levels(&mut self, other: &Second) {
        self.users = self.users.saturating_add(other.users);
        self.in_flight = self.in_flight.saturating_add(other.in_flight);
        self.waiting = self.waiting.saturating_add(other.waiting);
        self.in_flight_ns = self.in_flight_ns.saturating_add(other.in_flight_ns);
        self.service_ns = self.service_ns.saturating_add(other.service_ns);
        self.bytes.add(&other.bytes);
        self.connections.add(&other.connections);
        self.connections.open = self.connections.open.saturating_add(other.connections.open);
        self.connections.ahead_ns = self.connections.ahead_ns.max(other.connections.ahead_ns);
        self.heartbeats.add(&other.heartbeats);
        let other = &other.generator;
        let quota = (other.throttled, other.periods);
        self.generator.merge_worker(other.busiest_cpu_ns, other.ready_ns, quota, other.resolution_ns);
    }

    fn merge_moments(&mut self, other: &Second) {
        let earlier = |a: Option<i64>, b: Option<i64>| [a, b].into_iter().flatten().min();
        self.first_success_ns = earlier(self.first_success_ns, other.first_success_ns);
        self.last_success_ns = self.last_success_ns.max(other.last_success_ns);
        self.first_failure_ns = earlier(self.first_failure_ns, other.first_failure_ns);
        self.last_failure_ns = self.last_failure_ns.max(other.last_failure_ns);
        self.busy_since_ns = earlier(self.busy_since_ns, other.busy_since_ns);
    }

    fn merge_lists(&mut self, other: &Second) {
        add_counts(&mut self.status, &other.status);
        add_counts(&mut self.words, &other.words);
        add_failures(&mut self.failures, &other.failures);
        add_losses(&mut self.losses, &other.losses);
        add_losses(&mut self.unopened, &other.unopened);
        add_losses(&mut self.failed_addresses, &other.failed_addresses);
        if !other.slowest.is_empty() {
            self.slowest.extend(other.slowest.iter().cloned());
            sort_slowest(&mut self.slowest);
        }
    }
}

impl NamedFigures {
    /// Adds the figures of another part of the run in the same second, without a bound on the codes.
    fn merge_all(&mut self, other: &NamedFigures) {
        add_counts(&mut self.status, &other.status);
        self.merge_figures(other);
    }
}

fn add_counts(all: &mut BTreeMap<String, u64>, more: &BTreeMap<String, u64>) {
    for (name, n) in more {
        let counted = all.entry(name.clone()).or_default();
        *counted = counted.saturating_add(*n);
    }
}

fn add_failures(all: &mut Vec<Failure>, more: &[Failure]) {
    fn key(f: &Failure) -> (&String, &String, &Option<String>) {
        (&f.kind, &f.phase, &f.errno)
    }
    all.extend_from_slice(more);
    all.sort_by(|a, b| key(a).cmp(&key(b)));
    all.dedup_by(|later, first| {
        let same = key(later) == key(first);
        if same {
            first.count = first.count.saturating_add(later.count);
        }
        same
    });
}

fn add_losses(all: &mut Vec<ConnectionLoss>, more: &[ConnectionLoss]) {
    fn key(l: &ConnectionLoss) -> (&String, &String, &Option<String>, &String) {
        (&l.kind, &l.phase, &l.errno, &l.detail)
    }
    all.extend_from_slice(more);
    all.sort_by(|a, b| key(a).cmp(&key(b)));
    all.dedup_by(|later, first| {
        let same = key(later) == key(first);
        if same {
            first.count = first.count.saturating_add(later.count);
            first.cause = first.cause.take().or(later.cause.take());
        }
        same
    });
}

/// Sorts so that the slowest come first, whatever order they were told in.
fn sort_slowest(all: &mut [TracedRequest]) {
    fn key(t: &TracedRequest) -> (Reverse<u64>, &String, &String, i64) {
        (Reverse(t.latency_ns), &t.trace.id, &t.trace.span, t.ended_ns)
    }
    all.sort_by(|a, b| key(a).cmp(&key(b)));
}

/// The bounds of a run on what its peers choose, applied to each second of the whole once it is complete, in order.
///
/// Each agent keeps these bounds in its own record; of a hundred agents, each may know other codes.
#[derive(Clone, Debug, Default)]
pub struct RunBounds {
    /// Status codes distinguished so far.
    codes: BTreeMap<String, u64>,
}

impl RunBounds {
    /// Counts codes beyond the first [`crate::MAX_CODES`] of the run together, and losses of too many kinds without their
    /// details; keeps the slowest requests.
    pub fn apply(&mut self, second: &mut Second) {
        let codes = &mut self.codes;
        for code in second.status.keys() {
            add_code(codes, code, 0);
        }
        for named in &mut second.named {
            for code in named.status.keys() {
                add_code(codes, code, 0);
            }
            named.status = bounded(&named.status, codes);
        }
        second.status = bounded(&second.status, codes);
        let words = std::mem::take(&mut second.words);
        words.iter().for_each(|(word, n)| add_code(&mut second.words, word, *n));
        for losses in [&mut second.losses, &mut second.unopened, &mut second.failed_addresses] {
            let all = std::mem::take(losses);
            all.iter().for_each(|loss| ConnectionLoss::add(losses, loss));
        }
        let slowest = std::mem::take(&mut second.slowest);
        slowest.into_iter().for_each(|traced| keep_slowest(&mut second.slowest, traced, SLOWEST_OF_SECOND));
    }
}

fn bounded(counts: &BTreeMap<String, u64>, codes: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for (code, n) in counts {
        let counted: &mut u64 = all.entry(counted_name(codes, code).to_owned()).or_default();
        *counted = counted.saturating_add(*n);
    }
    all
}
