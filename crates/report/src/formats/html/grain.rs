//! How fine the data of a page is: as fine as the record where there is room, and coarser where a file would grow too large.
//!
//! Figures of the whole run are those of the report in any case. Coarser are what is told of parts of it: the buckets of the seconds' histograms, the
//! blocks of seconds in which names are told, and how often a counter is.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use record::{HostCounters, CounterValue, RunEvent};

use super::counters::is_telling;
use super::histogram::{COARSEST, FINEST, bucket_of};
use crate::ranked::headline;
use crate::seconds::Seconds;
use crate::summary::Summary;

/// A page has room for so many filled buckets of histograms in ten minutes, in so many blocks of names.
const BUCKETS: usize = 150_000;
const BLOCKS: u64 = 2_000;
/// And for so many of the parts of requests.
const PARTS: u64 = 30_000;
/// Rows of names that a page of a run that goes on has room for; and how long such a run takes where nobody knows (seconds).
const ROWS: u64 = 100_000;
const UNKNOWN: u64 = 3_600;
/// Buckets of names, as a power of two: values are off by at most 1.6 %.
const NAMES: u32 = 5;
/// So many names have blocks, those with most requests.
const NAMED: usize = 200;
/// Readings of a counter that is shown at once, and of one that has to be looked for.
const TELLING: usize = 600;
const OTHERS: usize = 80;
/// So many seconds make a block, one of these.
const LENGTHS: [u64; 14] = [1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600];

/// How fine it is.
pub(super) struct Grain {
    /// Of the seconds' histograms.
    pub buckets: u32,
    /// Of those of names.
    pub names: u32,
    /// Seconds of a block of names.
    pub block_s: u64,
    /// Seconds of a block of what is told of the parts of requests.
    pub phases_s: u64,
    /// The names that have blocks, by their index.
    pub named: BTreeSet<u16>,
    /// By host, what counters it tells, and which of them moved.
    pub hosts: BTreeMap<String, Told>,
    /// The run goes on: what its hosts tell is not known yet.
    pub live: bool,
}

/// What the counters of a host are.
#[derive(Clone, Default)]
pub(super) struct Told {
    /// How often they were read.
    pub readings: usize,
    /// Those that moved.
    pub moved: BTreeSet<String>,
}

impl Told {
    /// Every how many readings the lesser counters are told.
    pub fn coarse(&self) -> usize {
        self.readings.div_ceil(OTHERS).max(1)
    }

    /// Of a counter, every how many readings one is told.
    pub fn every(&self, counter: &str) -> usize {
        if is_telling(counter) { self.readings.div_ceil(TELLING).max(1) } else { self.coarse() }
    }

    /// Takes in a reading: what of it moved since the first.
    pub fn see(&mut self, sample: &HostCounters, first: &mut BTreeMap<String, CounterValue>) {
        self.readings += 1;
        for (name, value) in &sample.values {
            let before = first.get(name);
            if (before.is_some_and(|before| before != value) || is_telling(name))
                && self.moved.len() < COUNTERS
                && !self.moved.contains(name)
            {
                self.moved.insert(name.clone());
            }
            if before.is_none() && first.len() < COUNTERS {
                first.insert(name.clone(), *value);
            }
        }
    }
}

impl Grain {
    /// Of a run that goes on, of which its beginning is known: as fine as the record, names a little coarser where there are many.
    pub fn live(summary: &Summary) -> Grain {
        let named = expected(summary);
        let planned = summary.started.as_ref().and_then(|started| started.plan.duration);
        let seconds = planned.map_or(UNKNOWN, |lasts| lasts.0 / 1_000_000_000).max(1);
        let block_s = length(|length| seconds * named.len() as u64 / length <= ROWS);
        let phases_s = length(|length| seconds / length <= UNKNOWN);
        let hosts = BTreeMap::new();
        Grain { buckets: FINEST, names: NAMES, block_s, phases_s, named, hosts, live: true }
    }

    /// Of a run.
    pub fn of(summary: &Summary, seconds: &dyn Seconds) -> io::Result<Grain> {
        let mut survey = Survey::default();
        for event in seconds.events()? {
            match event? {
                RunEvent::Second(second) => survey.second(&second, summary.open),
                RunEvent::Counters(sample) => survey.counters(&sample),
                _ => {}
            }
        }
        let tens = (survey.seconds / 600).max(1);
        let buckets = (COARSEST..=FINEST).rev().zip(survey.filled);
        let buckets = buckets.filter(|(_, filled)| *filled <= BUCKETS * tens).map(|(grouping, _)| grouping).next();
        let named = most_asked(summary);
        let block_s = length(|length| survey.seconds as u64 * named.len() as u64 / length <= BLOCKS * tens as u64);
        let phases_s = length(|length| survey.parts as u64 / length <= PARTS * tens as u64);
        let buckets = buckets.unwrap_or(COARSEST);
        Ok(Grain { buckets, names: NAMES, block_s, phases_s, named, hosts: survey.hosts, live: false })
    }
}

/// The shortest block for which there is room.
fn length(fits: impl Fn(u64) -> bool) -> u64 {
    LENGTHS.into_iter().find(|length| fits(*length)).unwrap_or(LENGTHS[LENGTHS.len() - 1])
}

/// The names with most requests, and the rows of a flow, which stand behind the names.
fn most_asked(summary: &Summary) -> BTreeSet<u16> {
    let names = summary.names().len();
    let rows = summary.totals.named.each();
    let mut all: Vec<(u64, u16)> = rows.iter().zip(0..).take(names).map(|(row, at)| (row.counts.due, at)).collect();
    all.sort_unstable_by_key(|(due, at)| (std::cmp::Reverse(*due), *at));
    let asked = all.into_iter().take(NAMED).map(|(_, at)| at);
    let spans = (names..rows.len()).filter_map(|at| u16::try_from(at).ok());
    if names > 1 { asked.chain(spans).collect() } else { spans.collect() }
}

/// The rows of a run that goes on: nobody knows yet which names are asked most.
fn expected(summary: &Summary) -> BTreeSet<u16> {
    let names = summary.names().len();
    let behind = names + 2 * summary.spans().count() + summary.scenarios().count();
    let asked = if names > 1 { names.min(NAMED) } else { 0 };
    (0..asked).chain(names..behind).filter_map(|row| u16::try_from(row).ok()).collect()
}

#[derive(Default)]
struct Survey {
    seconds: usize,
    /// Filled buckets, the finest first.
    filled: [usize; (FINEST - COARSEST + 1) as usize],
    /// Filled buckets of the parts of requests.
    parts: usize,
    hosts: BTreeMap<String, Told>,
    first: BTreeMap<String, BTreeMap<String, CounterValue>>,
}

/// So many hosts and counters are told apart: a record from elsewhere may have any.
const HOSTS: usize = 64;
const COUNTERS: usize = 20_000;

impl Survey {
    fn second(&mut self, second: &record::Second, open: bool) {
        self.seconds += 1;
        self.parts += super::phases::filled(second);
        let finished = headline(&second.latency, open).finished;
        for (filled, grouping) in self.filled.iter_mut().zip((COARSEST..=FINEST).rev()) {
            let mut before = None;
            let new = |bucket: u64| before.replace(bucket) != Some(bucket);
            *filled +=
                finished.buckets().map(|(value, _)| bucket_of(value.0, grouping)).map(new).filter(|new| *new).count();
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
