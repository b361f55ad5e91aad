//! What a run adds up to: the seconds of its record, merged.
//!
//! One pass, constant memory. Warm-up seconds count nothing but their warm-up requests, of which throughput has those that
//! succeeded within the window; seconds of the drain count for the accounting and the latency, never for throughput.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

use measure::{RunBlocks, Nanos};
use record::{ByteCounts, CheckResults, ConnectionFigures, Counts, Failure, HeartbeatCounts, Latency, ConnectionLoss, RunPart, Second};

use crate::named::ByName;
use crate::ranked::{Ranked, headline};

/// Sorts of failure that are told apart: a run has far fewer, a record from elsewhere may have any.
const SORTS: usize = 256;

/// Sums over the seconds of a run.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// What adds up, the warm-up left out but for its requests.
    pub counts: Counts,
    /// Of the unfinished, those open where the record stops: nobody wrote down how long, so they are in no histogram.
    pub untold: u64,
    /// Successes that ended within the window, those of requests of the warm-up included: what throughput counts.
    pub finished_in_window: u64,
    /// Bytes moved within the window.
    pub bytes_in_window: ByteCounts,
    /// Length of the seconds of the window, added up.
    pub window: Nanos,
    /// Length of all seconds, added up.
    pub elapsed: Nanos,
    /// Time integral of the requests in flight over the window.
    pub in_flight_ns: u128,
    /// Status code → count.
    pub status: BTreeMap<String, u64>,
    /// What peers said of how connections and exchanges end.
    pub words: BTreeMap<String, u64>,
    /// Failures of each sort, in the order of kind, phase and errno.
    pub failures: Vec<Failure>,
    /// Bytes on the wire.
    pub bytes: ByteCounts,
    /// Connections; `open` is the count at the end.
    pub connections: ConnectionFigures,
    /// Connections that were lost, by what ended them.
    pub losses: Vec<ConnectionLoss>,
    /// Connections that did not come to stand and failed no request, by what prevented them.
    pub unopened: Vec<ConnectionLoss>,
    /// The most connections that stood at the end of a second.
    pub standing: u64,
    /// Length of the seconds in which connections were opened, added up, and of what came before a common start.
    pub opening: Nanos,
    /// Connections that stood and are not known to be lost.
    stand: u64,
    /// Signs of life.
    pub heartbeats: HeartbeatCounts,
    /// Most users at the end of any second.
    pub users: u32,
    /// User-nanoseconds of the window: of each second the larger number of users, at its beginning or its end.
    pub users_ns: u128,
    /// Users at the end of the second before.
    users_before: u32,
    /// Histograms of the run.
    pub latency: Latency,
    /// Response and service by blocks of seconds: how much requests resemble their neighbours.
    blocks: [RunBlocks; 2],
    /// The same by name, where the run has several.
    pub named: ByName,
    /// What checks came to, in the order of their names: those with anything to tell.
    pub checks: Vec<CheckResults>,
    /// How many requests were waiting, at both ends of the window.
    pub backlog: Backlog,
    /// How the generator itself ran.
    pub generator: Generator,
}

impl Deref for Totals {
    type Target = Counts;
    fn deref(&self) -> &Counts {
        &self.counts
    }
}

impl DerefMut for Totals {
    fn deref_mut(&mut self) -> &mut Counts {
        &mut self.counts
    }
}

impl Totals {
    /// Adds a second.
    pub fn add(&mut self, s: &Second) {
        let length = s.length();
        self.elapsed = self.elapsed.saturating_add(length);
        self.users = self.users.max(s.users);
        let users = s.users.max(std::mem::replace(&mut self.users_before, s.users));
        self.connections.open = s.connections.open;
        self.stand = self.stand.saturating_add(s.connections.opened).saturating_sub(s.connections.lost);
        self.standing = self.standing.max(self.stand.min(u64::from(s.connections.open)));
        if s.part == RunPart::Warmup {
            self.counts.warmup = self.counts.warmup.saturating_add(s.warmup);
            return;
        }
        self.counts.add(&s.counts());
        if s.connections.opened > s.connections.ahead {
            self.opening = self.opening.saturating_add(length);
        }
        self.opening = self.opening.saturating_add(Nanos(s.connections.ahead_ns));
        self.heartbeats.add(&s.heartbeats);
        self.latency.merge(&s.latency);
        self.add_blocks(s, length);
        for (code, n) in &s.status {
            record::add_code(&mut self.status, code, *n);
        }
        s.words.iter().for_each(|(word, n)| record::add_code(&mut self.words, word, *n));
        s.failures.iter().for_each(|f| self.add_failure(f));
        s.losses.iter().for_each(|loss| ConnectionLoss::add(&mut self.losses, loss));
        s.unopened.iter().for_each(|loss| ConnectionLoss::add(&mut self.unopened, loss));
        self.bytes.add(&s.bytes);
        self.connections.add(&s.connections);
        self.named.add(s.part, &s.named);
        s.checks.iter().for_each(|told| CheckResults::add(&mut self.checks, *told));
        if s.part == RunPart::Window {
            self.finished_in_window = self.finished_in_window.saturating_add(s.successes());
            self.window = self.window.saturating_add(length);
            self.in_flight_ns = self.in_flight_ns.saturating_add(s.in_flight_ns);
            self.users_ns = self.users_ns.saturating_add(u128::from(users) * u128::from(length.0));
            self.bytes_in_window.add(&s.bytes);
            self.backlog.add(s);
            self.generator.add(s);
        }
    }

    /// What ends in the drain belongs to the window's last block.
    fn add_blocks(&mut self, s: &Second, length: Nanos) {
        let length = if s.part == RunPart::Window { length } else { Nanos::ZERO };
        for (blocks, open) in self.blocks.iter_mut().zip([true, false]) {
            let ranked = headline(&s.latency, open);
            blocks.add(length, ranked.finished, ranked.unfinished());
        }
    }

    /// The run's response (`open`) or service, with what tells its intervals.
    pub fn ranked(&self, open: bool) -> Ranked<'_> {
        let [response, service] = &self.blocks;
        Ranked { blocks: Some(if open { response } else { service }), ..headline(&self.latency, open) }
    }

    fn add_failure(&mut self, f: &Failure) {
        fn key(f: &Failure) -> (&String, &String, &Option<String>) {
            (&f.kind, &f.phase, &f.errno)
        }
        match self.failures.binary_search_by(|known| key(known).cmp(&key(f))) {
            Ok(at) => self.failures[at].count = self.failures[at].count.saturating_add(f.count),
            Err(at) if self.failures.len() < SORTS || *f == other(f.count) => self.failures.insert(at, f.clone()),
            Err(_) => self.add_failure(&other(f.count)),
        }
    }

    /// The record stops before the end of the run: what was still open then has no end we know of.
    pub(crate) fn cut_off(&mut self) {
        let open = self.open();
        self.censored = self.censored.saturating_add(open);
        self.untold = open;
        self.named.cut_off();
    }

    /// True where every request that was due is counted exactly once.
    pub fn add_up(&self) -> bool {
        self.due == self.ended()
    }

    /// Requests that were due and have no end yet.
    pub(crate) fn open(&self) -> u64 {
        self.due.saturating_sub(self.ended())
    }

    fn ended(&self) -> u64 {
        self.finished.saturating_add(self.failed).saturating_add(self.censored)
    }
}

/// Failures of sorts that are not told apart.
fn other(count: u64) -> Failure {
    Failure { kind: "other".into(), count, ..Failure::default() }
}

/// Requests that had been scheduled and not ended, at the ends of the first and the last second of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    seen: Option<[(i64, u64); 2]>,
}

impl Backlog {
    /// Adds a second of the window.
    fn add(&mut self, s: &Second) {
        let now = (s.to_ns, u64::from(s.in_flight) + u64::from(s.waiting));
        self.seen = Some([self.seen.map_or(now, |[first, _]| first), now]);
    }

    /// How many more there were each second, and how many at the end.
    pub fn growth(&self) -> Option<(f64, u64)> {
        let [(from, first), (to, last)] = self.seen?;
        let span_s = to.saturating_sub(from) as f64 / 1e9;
        (span_s > 0.0).then(|| ((last as f64 - first as f64) / span_s, last))
    }
}

/// How the generator itself ran within the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Generator {
    /// Length of the seconds that are long enough for a share of a core.
    pub rated: Nanos,
    /// CPU time of the busiest worker of each of these, added up.
    pub busiest: Nanos,
    /// CPU time of all workers in them.
    pub cpu: Nanos,
    /// What of it was polled away.
    pub spun: Nanos,
    /// Enforcement periods of the CPU quota.
    pub periods: u64,
    /// Of these, those in which it was used up.
    pub throttled: u64,
}

/// A second shorter than this says nothing about a share of a core.
pub(crate) const RATED_LEAST: Nanos = Nanos::from_millis(100);

impl Generator {
    fn add(&mut self, s: &Second) {
        self.periods = self.periods.saturating_add(s.generator.periods);
        self.throttled = self.throttled.saturating_add(s.generator.throttled);
        if s.length() >= RATED_LEAST {
            self.rated = self.rated.saturating_add(s.length());
            self.busiest = self.busiest.saturating_add(Nanos(s.generator.busiest_cpu_ns));
            self.cpu = self.cpu.saturating_add(Nanos(s.cpu_ns));
            self.spun = self.spun.saturating_add(Nanos(s.spun_ns));
        }
    }

    /// CPU time of each second's busiest worker ÷ their length; None where none was long enough.
    pub fn busiest_share(&self) -> Option<f64> {
        self.share(self.busiest)
    }

    /// A part of the rated seconds.
    pub(crate) fn share(&self, part: Nanos) -> Option<f64> {
        (self.rated > Nanos::ZERO).then(|| part.0 as f64 / self.rated.0 as f64)
    }
}
