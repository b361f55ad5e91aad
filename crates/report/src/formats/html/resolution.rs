//! The resolution of a page's data: that of the record if it fits, and coarser if the file would grow too
//! large.
//!
//! Figures of the whole run are always those of the report. Only the data of parts of the run is coarsened: the buckets
//! of the histograms of seconds, the blocks of figures by name, and the intervals of counters.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use brunt_record::{CounterValue, HostCounters, RunEvent};

use super::agents::AgentCurves;
use super::counters::is_prominent;
use super::histogram::{COARSEST, FINEST, bucket_of};
use crate::ranked::headline;
use crate::seconds::SecondsSource;
use crate::summary::Summary;

/// Limits of a page for each ten minutes of a run: filled buckets of histograms, and rows of names over all blocks.
const BUCKETS: usize = 150_000;
const BLOCKS: u64 = 2_000;
/// Maximum number of steps of seconds; a page with more seconds does not grow any more.
const STEPS: u64 = 1_800;
/// Limit on the filled buckets of request phases for each ten minutes of a run.
const PARTS: u64 = 30_000;
/// Limit on rows of names on the page of a live run, and the length assumed for such a run if unknown (seconds).
const ROWS: u64 = 100_000;
const UNKNOWN: u64 = 3_600;
/// Limit on rows of agents over all blocks for each ten minutes of a run.
const AGENTS: u64 = 5_000;
/// Resolution of the histograms of names, as a power of two: values are off by at most 1.6 %.
const NAMES: u32 = 5;
/// Maximum number of names with blocks: those with the most requests.
const NAMED: usize = 200;
/// Maximum number of readings of a prominent counter, and of any other.
const TELLING: usize = 600;
const OTHERS: usize = 80;
/// Number of seconds of a long run whose buckets are counted; the others have about as many.
const SURVEYED: usize = 1_200;
/// Possible lengths of a block, in seconds.
const LENGTHS: [u64; 14] = [1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600];

/// The resolution of a page's data.
pub(super) struct Resolution {
    /// Length of a step of seconds, in seconds.
    pub second_s: u64,
    /// Resolution of the histograms of seconds, as a power of two.
    pub buckets: u32,
    /// Resolution of the histograms of names.
    pub names: u32,
    /// Length of a block of names in seconds.
    pub block_s: u64,
    /// Length of a block of request phases in seconds.
    pub phases_s: u64,
    /// Length of a block of agents in seconds.
    pub agents_s: u64,
    /// Names with blocks, by their index.
    pub named: BTreeSet<u16>,
    /// Readings of each host, and the counters that changed.
    pub hosts: BTreeMap<String, HostCounterSet>,
    /// Set for a live run, in which the counters of hosts are not known yet.
    pub live: bool,
}

/// The counters of a host.
#[derive(Clone, Default)]
pub(super) struct HostCounterSet {
    /// Number of readings.
    pub readings: usize,
    /// Counters that changed.
    pub changed: BTreeSet<String>,
}

impl HostCounterSet {
    /// Returns the interval, in readings, at which the less prominent counters are written.
    pub fn coarse_interval(&self) -> usize {
        self.readings.div_ceil(OTHERS).max(1)
    }

    /// Returns the interval, in readings, at which a counter is written.
    pub fn interval_of(&self, counter: &str) -> usize {
        if is_prominent(counter) { self.readings.div_ceil(TELLING).max(1) } else { self.coarse_interval() }
    }

    /// Adds a reading and records which counters have changed since the first one.
    pub fn see(&mut self, sample: &HostCounters, first: &mut BTreeMap<String, CounterValue>) {
        self.readings += 1;
        for (name, value) in &sample.values {
            let before = first.get(name);
            if (before.is_some_and(|before| before != value) || is_prominent(name))
                && self.changed.len() < COUNTERS
                && !self.changed.contains(name)
            {
                self.changed.insert(name.clone());
            }
            if before.is_none() && first.len() < COUNTERS {
                first.insert(name.clone(), *value);
            }
        }
    }
}

impl Resolution {
    /// Returns the resolution for a live run, of which only the beginning is known: that of the record, except that
    /// names are slightly coarser.
    pub fn live(summary: &Summary) -> Resolution {
        let named = expected_names(summary);
        let planned = summary.started.as_ref().and_then(|started| started.plan.duration);
        let seconds = planned.map_or(UNKNOWN, |lasts| lasts.0 / 1_000_000_000).max(1);
        let block_s = length(|length| seconds * named.len() as u64 / length <= ROWS);
        let phases_s = length(|length| seconds / length <= UNKNOWN);
        let (hosts, agents_s) = (BTreeMap::new(), agents_s(summary, seconds, (seconds / 600).max(1)));
        Resolution { second_s: 1, buckets: FINEST, names: NAMES, block_s, phases_s, agents_s, named, hosts, live: true }
    }

    /// Returns the resolution for a completed run.
    pub fn of(summary: &Summary, seconds: &dyn SecondsSource) -> io::Result<Resolution> {
        let length_s = summary.totals.elapsed.0 / 1_000_000_000;
        let mut survey = Survey { apart: (length_s as usize / SURVEYED).max(1), ..Survey::default() };
        for event in seconds.events()? {
            match event? {
                RunEvent::Second(second) => survey.second(&second, summary.open),
                RunEvent::Counters(sample) => survey.counters(&sample),
                _ => {}
            }
        }
        let second_s = length(|length| survey.seconds as u64 / length <= STEPS);
        // The seconds of steps are told apart, so that there is less room for the rest.
        let tens = if second_s > 1 { 1 } else { (survey.seconds / 600).max(1) };
        let buckets = (COARSEST..=FINEST).rev().zip(survey.filled);
        let buckets = buckets
            .filter(|(_, filled)| *filled / second_s as usize <= BUCKETS * tens)
            .map(|(grouping, _)| grouping)
            .next();
        let named = most_frequent(summary);
        let block_s = length(|length| survey.seconds as u64 * named.len() as u64 / length <= BLOCKS * tens as u64);
        let phases_s = length(|length| survey.parts as u64 / length <= PARTS * tens as u64);
        let agents_s = agents_s(summary, survey.seconds as u64, tens as u64);
        let (buckets, hosts) = (buckets.unwrap_or(COARSEST), survey.hosts);
        Ok(Resolution { second_s, buckets, names: NAMES, block_s, phases_s, agents_s, named, hosts, live: false })
    }
}

/// Number of requests of a curve that a block should have, so that it has a p99; and number of blocks below which they are
/// not made longer for that.
const RANKED: u64 = 400;
const DRAWN: u64 = 20;

/// Returns the length of a block of agents.
fn agents_s(summary: &Summary, seconds: u64, tens: u64) -> u64 {
    let curves = AgentCurves::of(summary).names.len() as u64;
    let fits = |length: u64| seconds * curves / length <= AGENTS * tens;
    let each_s = summary.totals.finished / (seconds * curves).max(1);
    length(|length| {
        fits(length) && (summary.totals.finished == 0 || each_s * length >= RANKED || length * DRAWN >= seconds)
    })
}

/// Returns the shortest block length that fits.
fn length(fits: impl Fn(u64) -> bool) -> u64 {
    LENGTHS.into_iter().find(|length| fits(*length)).unwrap_or(LENGTHS[LENGTHS.len() - 1])
}

/// Returns the indices of the names with the most requests, and of the rows of flows, which follow the names.
fn most_frequent(summary: &Summary) -> BTreeSet<u16> {
    let names = summary.names().len();
    let rows = summary.totals.named.each();
    let mut all: Vec<(u64, u16)> = rows.iter().zip(0..).take(names).map(|(row, at)| (row.counts.due, at)).collect();
    all.sort_unstable_by_key(|(due, at)| (std::cmp::Reverse(*due), *at));
    let asked = all.into_iter().take(NAMED).map(|(_, at)| at);
    let spans = (names..rows.len()).filter_map(|at| u16::try_from(at).ok());
    if names > 1 { asked.chain(spans).collect() } else { spans.collect() }
}

/// Returns the same indices for a live run, whose most frequent names are not known yet.
fn expected_names(summary: &Summary) -> BTreeSet<u16> {
    let names = summary.names().len();
    let behind = names + 2 * summary.spans().count() + summary.scenarios().count();
    let asked = if names > 1 { names.min(NAMED) } else { 0 };
    (0..asked).chain(names..behind).filter_map(|row| u16::try_from(row).ok()).collect()
}

#[derive(Default)]
struct Survey {
    seconds: usize,
    /// Number of seconds for which one is looked at.
    apart: usize,
    /// Numbers of filled buckets at each resolution, the finest first.
    filled: [usize; (FINEST - COARSEST + 1) as usize],
    /// Number of filled buckets of request phases.
    parts: usize,
    hosts: BTreeMap<String, HostCounterSet>,
    first: BTreeMap<String, BTreeMap<String, CounterValue>>,
}

/// Maximum number of distinct hosts and counters: a record from another source may contain any number.
const HOSTS: usize = 64;
const COUNTERS: usize = 20_000;

impl Survey {
    fn second(&mut self, second: &brunt_record::Second, open: bool) {
        self.seconds += 1;
        if !self.seconds.is_multiple_of(self.apart) {
            return;
        }
        self.parts += self.apart * super::phases::filled(second);
        let ranked = headline(&second.latency, open);
        let own = ranked.own.map(|own| [own.delayed, own.undelayed]);
        for histogram in std::iter::once(ranked.finished).chain(own.into_iter().flatten()) {
            let mut before = [None; (FINEST - COARSEST + 1) as usize];
            for (low, ..) in histogram.cells() {
                for ((filled, before), grouping) in
                    self.filled.iter_mut().zip(&mut before).zip((COARSEST..=FINEST).rev())
                {
                    let bucket = Some(bucket_of(low.0, grouping));
                    *filled += self.apart * usize::from(std::mem::replace(before, bucket) != bucket);
                }
            }
        }
    }

    fn counters(&mut self, sample: &HostCounters) {
        if !self.hosts.contains_key(&sample.host) && self.hosts.len() >= HOSTS {
            return;
        }
        let first = self.first.entry(sample.host.clone()).or_default();
        self.hosts.entry(sample.host.clone()).or_default().see(sample, first);
    }
}
