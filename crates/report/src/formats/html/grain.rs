//! How fine the data of a page is: as fine as the record where there is room, and coarser where a file would grow too large.
//!
//! Figures of the whole run are those of the report in any case. Coarser are what is told of parts of it: the buckets of the seconds' histograms, the
//! blocks of seconds in which names are told, and how often a counter is.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use record::{Carried, HostCounters, RunEvent};

use super::counters::is_telling;
use super::histogram::{COARSEST, FINEST, bucket_of};
use crate::ranked::headline;
use crate::seconds::Seconds;
use crate::summary::Summary;

/// A page has room for so many filled buckets of histograms in ten minutes, in so many blocks of names.
const BUCKETS: usize = 150_000;
const BLOCKS: u64 = 2_000;
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
    /// The names that have blocks, by their index.
    pub named: BTreeSet<u16>,
    /// By host, what counters it tells, and which of them moved.
    pub hosts: BTreeMap<String, Told>,
}

/// What the counters of a host are.
#[derive(Default)]
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
}

impl Grain {
    /// As fine as the record, without names and counters.
    pub fn finest() -> Grain {
        let (named, hosts) = (BTreeSet::new(), BTreeMap::new());
        Grain { buckets: FINEST, names: NAMES, block_s: 1, named, hosts }
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
        let blocks = |length: &&u64| survey.seconds as u64 * named.len() as u64 / **length <= BLOCKS * tens as u64;
        let block_s = LENGTHS.iter().find(blocks).copied().unwrap_or(LENGTHS[LENGTHS.len() - 1]);
        Ok(Grain { buckets: buckets.unwrap_or(COARSEST), names: NAMES, block_s, named, hosts: survey.hosts })
    }
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

#[derive(Default)]
struct Survey {
    seconds: usize,
    /// Filled buckets, the finest first.
    filled: [usize; (FINEST - COARSEST + 1) as usize],
    hosts: BTreeMap<String, Told>,
    first: BTreeMap<String, Carried>,
}

/// So many hosts and counters are told apart: a record from elsewhere may have any.
const HOSTS: usize = 64;
const COUNTERS: usize = 20_000;

impl Survey {
    fn second(&mut self, second: &record::Second, open: bool) {
        self.seconds += 1;
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
        let told = self.hosts.entry(sample.host.clone()).or_default();
        told.readings += 1;
        let known = self.first.entry(sample.host.clone()).or_default();
        for (name, value) in &sample.values {
            let moved = known.values.get(name).is_some_and(|before| before != value) || is_telling(name);
            if moved && told.moved.len() < COUNTERS && !told.moved.contains(name) {
                told.moved.insert(name.clone());
            }
        }
        known.add(sample);
    }
}
