//! The totals of a run: the merged seconds of its record.
//!
//! They are computed in one pass with constant memory. Seconds of the warm-up contribute only their warm-up requests,
//! and throughput includes those of them that succeeded within the window. Seconds of the drain count for the
//! accounting and the latency, never for throughput.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

use brunt_measure::{Histogram, Nanos, RunBlocks};
use brunt_record::{
    ByteCounts, CheckResults, ConnectionFigures, ConnectionLoss, Counts, Failure, HeartbeatCounts, Latency, RunPart,
    Second,
};

use crate::name_totals::TotalsByName;
use crate::overload::Backlog;
use crate::ranked::{RankedLatency, headline};

/// Maximum number of distinct sorts of failure: a run has far fewer, but a record from another source may contain any
/// number.
const SORTS: usize = 256;

/// Sums over the seconds of a run.
#[derive(Clone, Debug, Default)]
pub struct RunTotals {
    /// Summed counts, excluding the warm-up except for its requests.
    pub counts: Counts,
    /// Unfinished requests that were open when the record stopped: their durations were not recorded, so they are in no
    /// histogram.
    pub unrecorded: u64,
    /// Successes that completed within the window, including those of warm-up requests: the basis of
    /// throughput.
    pub finished_in_window: u64,
    /// Largest share of the load that is missing from a second of the window, because agents were lost.
    pub missing_at_most: f64,
    /// Bytes moved within the window.
    pub bytes_in_window: ByteCounts,
    /// Set if the delay of each request that may be brunt's own is bounded: records of older versions lack this.
    pub has_bands: bool,
    /// Resolution of each second of the window, as often as it had successes.
    resolutions: Histogram,
    /// Time within the window for which workers with requests in flight were away from their sockets.
    pub away_in_window: Nanos,
    /// Total length of the seconds of the window.
    pub window: Nanos,
    /// Total length of all seconds.
    pub elapsed: Nanos,
    /// Time integral of the requests in flight over the window.
    pub in_flight_ns: u128,
    /// Status code → count.
    pub status: BTreeMap<String, u64>,
    /// Reasons that peers gave for closing connections and exchanges.
    pub words: BTreeMap<String, u64>,
    /// Failures of each sort, ordered by kind, phase and errno.
    pub failures: Vec<Failure>,
    /// Bytes on the wire.
    pub bytes: ByteCounts,
    /// Connections; `open` is the number at the end.
    pub connections: ConnectionFigures,
    /// Lost connections, by cause.
    pub losses: Vec<ConnectionLoss>,
    /// Connections that could not be opened but failed no request, by cause.
    pub unopened: Vec<ConnectionLoss>,
    /// Maximum number of established connections at the end of a second.
    pub max_established: u64,
    /// Total length of the seconds in which connections were opened, and of the time before a common start.
    pub opening: Nanos,
    /// Connections that were established and are not known to be lost.
    established: u64,
    /// Heartbeats.
    pub heartbeats: HeartbeatCounts,
    /// Maximum number of users at the end of any second.
    pub users: u32,
    /// User-nanoseconds of the window; in older records, computed from the larger of the user counts at the beginning and the
    /// end of each second.
    pub users_ns: u128,
    /// Users at the end of the previous second.
    users_before: u32,
    /// Histograms of the run.
    pub latency: Latency,
    /// Response and service times by blocks of seconds, which capture the correlation of neighbouring requests.
    blocks: [RunBlocks; 2],
    /// Totals by name, if the run has several names.
    pub named: TotalsByName,
    /// Results of the checks that have any, in the order of their names.
    pub checks: Vec<CheckResults>,
    /// Backlog of requests over the window.
    pub backlog: Backlog,
    /// State of the generator itself.
    pub generator: GeneratorTotals,
    /// Set for the totals of one agent among many: no blocks are kept, which would take megabytes for each.
    pub(crate) is_part: bool,
}

impl Deref for RunTotals {
    type Target = Counts;
    fn deref(&self) -> &Counts {
        &self.counts
    }
}

impl DerefMut for RunTotals {
    fn deref_mut(&mut self) -> &mut Counts {
        &mut self.counts
    }
}

impl RunTotals {
    /// Adds a second.
    pub fn add(&mut self, s: &Second) {
        let length = s.length();
        self.elapsed = self.elapsed.saturating_add(length);
        self.users = self.users.max(s.users);
        let users = s.users.max(std::mem::replace(&mut self.users_before, s.users));
        self.connections.open = s.connections.open;
        self.established = self.established.saturating_add(s.connections.opened).saturating_sub(s.connections.lost);
        self.max_established = self.max_established.max(self.established.min(u64::from(s.connections.open)));
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
        self.has_bands |= s.generator.resolution_ns > 0;
        self.add_blocks(s, length);
        for (code, n) in &s.status {
            brunt_record::add_code(&mut self.status, code, *n);
        }
        s.words.iter().for_each(|(word, n)| brunt_record::add_code(&mut self.words, word, *n));
        s.failures.iter().for_each(|f| self.add_failure(f));
        s.losses.iter().for_each(|loss| ConnectionLoss::add(&mut self.losses, loss));
        s.unopened.iter().for_each(|loss| ConnectionLoss::add(&mut self.unopened, loss));
        self.bytes.add(&s.bytes);
        self.connections.add(&s.connections);
        self.named.add(s.part, &s.named);
        s.checks.iter().for_each(|told| CheckResults::add(&mut self.checks, *told));
        if s.part == RunPart::Window {
            self.finished_in_window = self.finished_in_window.saturating_add(s.successes());
            self.missing_at_most = self.missing_at_most.max(s.missing_share);
            self.window = self.window.saturating_add(length);
            if s.generator.resolution_ns > 0 {
                self.resolutions.record_n(Nanos(s.generator.resolution_ns), s.successes());
            }
            self.away_in_window = self.away_in_window.saturating_add(Nanos(s.away_ns));
            self.in_flight_ns = self.in_flight_ns.saturating_add(s.in_flight_ns);
            let users_ns = match s.users_ns {
                0 => u128::from(users) * u128::from(length.0),
                users_ns => u128::from(users_ns),
            };
            self.users_ns = self.users_ns.saturating_add(users_ns);
            self.bytes_in_window.add(&s.bytes);
            self.backlog.add(s);
            self.generator.add(s);
        }
    }

    /// Adds a second to the blocks; requests that end in the drain count in the window's last block.
    fn add_blocks(&mut self, s: &Second, length: Nanos) {
        if self.is_part {
            return;
        }
        let length = if s.part == RunPart::Window { length } else { Nanos::ZERO };
        for (blocks, open) in self.blocks.iter_mut().zip([true, false]) {
            let ranked = headline(&s.latency, open);
            blocks.add(length, ranked.finished, ranked.unfinished());
        }
    }

    /// Returns the run's response (`open`) or service time, with the blocks for its intervals.
    pub fn ranked(&self, open: bool) -> RankedLatency<'_> {
        let [response, service] = &self.blocks;
        RankedLatency { blocks: Some(if open { response } else { service }), ..headline(&self.latency, open) }
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

    /// Completes the totals of a record that stops before the end of the run: open requests count as unfinished, and
    /// their durations are unknown.
    pub(crate) fn cut_off(&mut self) {
        let open = self.open();
        self.censored = self.censored.saturating_add(open);
        self.unrecorded = open;
        self.named.cut_off();
    }

    /// Returns the share of the users' time that their pauses in flows were too long because brunt woke them late.
    pub(crate) fn woken_late_share(&self) -> f64 {
        if self.users_ns == 0 { 0.0 } else { (self.woken_late_ns as f64 / self.users_ns as f64).min(1.0) }
    }

    /// Returns the resolution of the run: the usual time from brunt's last look at a socket to the reading of a
    /// response, of half of the responses. `None` if no record of it exists.
    pub fn resolution(&self) -> Option<Nanos> {
        self.resolutions.at_rank(brunt_measure::quantile::rank_of(self.resolutions.count(), 0.5))
    }

    /// Returns `true` if every request that was due is counted exactly once.
    pub fn is_consistent(&self) -> bool {
        self.due == self.ended()
    }

    /// Returns the connections that were established, in the warm-up or later, and are not known to be lost.
    pub(crate) fn established(&self) -> u64 {
        self.established
    }

    /// Returns the requests that were due and have not ended yet.
    pub(crate) fn open(&self) -> u64 {
        self.due.saturating_sub(self.ended())
    }

    fn ended(&self) -> u64 {
        self.finished.saturating_add(self.failed).saturating_add(self.censored)
    }
}

/// Creates the entry for failures whose sorts are not counted separately.
fn other(count: u64) -> Failure {
    Failure { kind: "other".into(), count, ..Failure::default() }
}

/// The state of the generator itself within the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GeneratorTotals {
    /// Total length of the seconds that are long enough to compute a share of a core.
    pub rated: Nanos,
    /// Sum of the CPU times of the busiest worker in each of these seconds.
    pub busiest: Nanos,
    /// CPU time of all workers in these seconds.
    pub cpu: Nanos,
    /// Part of `cpu` that was spent polling.
    pub polling: Nanos,
    /// Enforcement periods of the CPU quota.
    pub periods: u64,
    /// Periods in which the quota was exhausted.
    pub throttled: u64,
}

/// Length below which a second has no meaningful share of a core.
pub(crate) const RATED_LEAST: Nanos = Nanos::from_millis(100);

impl GeneratorTotals {
    fn add(&mut self, s: &Second) {
        self.periods = self.periods.saturating_add(s.generator.periods);
        self.throttled = self.throttled.saturating_add(s.generator.throttled);
        if s.length() >= RATED_LEAST {
            self.rated = self.rated.saturating_add(s.length());
            self.busiest = self.busiest.saturating_add(Nanos(s.generator.busiest_cpu_ns));
            self.cpu = self.cpu.saturating_add(Nanos(s.cpu_ns));
            self.polling = self.polling.saturating_add(Nanos(s.spun_ns));
        }
    }

    /// Returns the CPU time of the busiest worker in each second as a share of the rated seconds; `None` if there are
    /// none.
    pub fn busiest_share(&self) -> Option<f64> {
        self.share(self.busiest)
    }

    /// Returns `part` as a share of the rated seconds.
    pub(crate) fn share(&self, part: Nanos) -> Option<f64> {
        (self.rated > Nanos::ZERO).then(|| part.0 as f64 / self.rated.0 as f64)
    }
}
