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

#[cfg(test)]
mod tests {
    use brunt_measure::{Nanos, PackedHistogram, Rng};

    use super::*;
    use crate::{MAX_CODES, NamedCounts, OTHER_CODES, RunPart, TraceId};

    const S: i64 = 1_000_000_000;

    fn empty() -> Second {
        Second { from_ns: S, to_ns: 2 * S, part: RunPart::Window, ..Second::default() }
    }

    fn below(rng: &mut Rng, n: u64) -> u64 {
        (rng.f64() * n as f64) as u64
    }

    /// Counts a request in a second, as the worker that sent it would.
    fn count(second: &mut Second, request: &mut Rng) {
        let (took, name) = (Nanos(1000 + below(request, 1 << 33)), below(request, 5) as u16);
        let code = format!("{}", 200 + below(request, 9));
        let fails = request.f64() < 0.2;
        let at = Some(S + below(request, S as u64) as i64);
        let mut counts = crate::Counts::default();
        counts.each_mut().for_each(|n| *n = below(request, 3));
        second.count(&counts);
        second.in_flight_ns += u128::from(took.0);
        second.service_ns -= i128::from(took.0);
        (second.users, second.in_flight, second.waiting) = (second.users + 1, second.in_flight + 2, second.waiting + 3);
        second.connections.open += 1;
        second.connections.each_mut().for_each(|n| *n += 1);
        second.bytes.each_mut().for_each(|n| *n += took.0);
        second.heartbeats.each_mut().for_each(|n| *n += 1);
        second.generator.busiest_cpu_ns = second.generator.busiest_cpu_ns.max(took.0);
        second.latency.all_mut().for_each(|histogram| histogram.record(took));
        *second.status.entry(code.clone()).or_default() += 1;
        *second.words.entry("GOAWAY".into()).or_default() += 1;
        let named = NamedFigures::entry(&mut second.named, name);
        named.counts.add(&NamedCounts { due: 1, finished: 1, ..NamedCounts::default() });
        *named.status.entry(code).or_default() += 1;
        named.latency.merge(&PackedHistogram::of(took, 1));
        CheckResults::add(&mut second.checks, CheckResults { check: name, passed: 1, failed: 2 });
        let trace = TraceId { id: format!("{:x}", took.0), ..TraceId::default() };
        second.slowest.push(TracedRequest { trace, latency_ns: took.0, ..TracedRequest::default() });
        sort_slowest(&mut second.slowest);
        let earlier = |known: Option<i64>| known.into_iter().chain(at).min();
        if fails {
            second.first_failure_ns = earlier(second.first_failure_ns);
            second.last_failure_ns = second.last_failure_ns.max(at);
            let (kind, phase) = (format!("k{name}"), "connect".to_owned());
            add_failures(
                &mut second.failures,
                &[Failure { kind: kind.clone(), phase: phase.clone(), errno: None, count: 1 }],
            );
            let loss = ConnectionLoss { kind, phase, detail: format!("{name}"), count: 1, ..ConnectionLoss::default() };
            add_losses(&mut second.losses, &[loss]);
        } else {
            second.first_success_ns = earlier(second.first_success_ns);
            second.last_success_ns = second.last_success_ns.max(at);
            second.busy_since_ns = earlier(second.busy_since_ns);
        }
    }

    /// Merges parts two by two, in a random order, until one is left.
    fn merged(mut parts: Vec<Second>, rng: &mut Rng) -> Second {
        while parts.len() > 1 {
            let one = parts.swap_remove(below(rng, parts.len() as u64) as usize);
            let other = below(rng, parts.len() as u64) as usize;
            parts[other].merge(&one);
        }
        parts.remove(0)
    }

    #[test]
    fn a_second_split_over_any_parts_is_merged_to_the_same_in_any_order_and_grouping() {
        let mut rng = Rng::new(11);
        for round in 0..12 {
            let mut whole = empty();
            let mut parts = vec![empty(); 1 + below(&mut rng, 9) as usize];
            for n in 0..below(&mut rng, 60) {
                let part = below(&mut rng, parts.len() as u64) as usize;
                count(&mut whole, &mut Rng::new(round * 1000 + n));
                count(&mut parts[part], &mut Rng::new(round * 1000 + n));
            }
            assert_eq!(merged(parts.clone(), &mut rng), whole, "round {round}");
            assert_eq!(merged(parts, &mut rng), whole, "round {round}, in another order");
        }
    }

    #[test]
    fn what_a_lost_part_left_open_takes_the_length_and_part_of_the_others() {
        let left = Second { from_ns: S, to_ns: S, censored: 7, ..Second::default() };
        let told = Second { part: RunPart::Drain, finished: 3, missing_share: 0.25, ..empty() };
        for (first, second) in [(&left, &told), (&told, &left)] {
            let mut both = first.clone();
            both.merge(second);
            assert_eq!((both.to_ns, both.part, both.censored, both.finished), (2 * S, RunPart::Drain, 7, 3));
            assert_eq!(both.missing_share, 0.25);
        }
    }

    #[test]
    fn codes_reasons_and_traces_of_many_agents_stay_within_the_bounds_of_one_run() {
        let mut bounds = RunBounds::default();
        let second = |n: u64| {
            let codes = (0..300).map(|code| (format!("{}", 1000 * n + code), 2));
            let detail = |code| ConnectionLoss { detail: format!("{code}"), count: 1, ..ConnectionLoss::default() };
            let slow = |took| TracedRequest { latency_ns: took, ..TracedRequest::default() };
            Second {
                status: codes.clone().collect(),
                words: codes.clone().collect(),
                named: vec![NamedFigures { status: codes.collect(), ..NamedFigures::default() }],
                losses: (0..300).map(detail).collect(),
                slowest: (0..300).map(slow).collect(),
                ..empty()
            }
        };
        let mut all = [second(1), second(2)];
        all.iter_mut().for_each(|second| bounds.apply(second));
        let [first, then] = &all;
        assert_eq!((first.status.len(), first.status[OTHER_CODES]), (MAX_CODES + 1, 2 * (300 - MAX_CODES as u64)));
        assert_eq!((then.status.len(), then.status[OTHER_CODES]), (1, 600), "the run knew enough codes by then");
        for second in &all {
            assert_eq!(second.named[0].status, second.status);
            assert_eq!(second.words.values().sum::<u64>(), 600);
            assert_eq!(second.losses.iter().map(|loss| loss.count).sum::<u64>(), 300);
            assert!(second.words.len() <= MAX_CODES + 1 && second.losses.len() <= 65);
            let slowest: Vec<u64> = second.slowest.iter().map(|traced| traced.latency_ns).collect();
            assert_eq!((slowest.len(), slowest.iter().min()), (SLOWEST_OF_SECOND, Some(&292)));
        }
    }
}
